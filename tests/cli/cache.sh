#!/bin/sh
# cache.sh -- the kernel cache on disk as the tool shows it, and that no state of it changes an answer.
. "$(dirname "$0")/lib.sh"

gx 'a = f32(arange(4))'
prints '--cache=path' "$dir/cache" --cache=path
gx --cache=stat
check '--cache=stat, no cache yet' like "$code $err$out" "0 folder: $dir/cache
state: not there yet
entries: 0
bytes: 0
limit: [1-9]*"
quiet '--cache=list, no cache yet' --cache=list
prints '--cache=verify, no cache yet' '0 good, 0 damaged' --cache=verify
prints '--cache=clear, no cache yet' 'removed 0 files, 0 bytes' --cache=clear
fails '--cache=burn' 2 'stat, list, verify, clear' --cache=burn
fails '--cache without a command' 2 '--cache needs a value' --cache
# Whatever stands in the cache's place.
rm -rf "$dir/cache"
: >"$dir/cache"
prints 'a file in its place' 6.0 'sum(a)'
prints '--cache=stat tells' "folder: $dir/cache
state: unusable: it is a link or not a folder" --cache=stat
fails 'and nothing is cleared' 5 "the kernel cache cannot be used: $dir/cache is a link or not a folder" --cache=clear
GPUEXPR_CACHE_DIR=$dir/cache/below
prints 'a folder below a file' "folder: $dir/cache/below
state: unusable: it is a link or not a folder" --cache=stat
GPUEXPR_CACHE_DIR=$dir/cache
rm "$dir/cache"
mkdir "$dir/cache" && chmod 777 "$dir/cache"
prints 'a folder that anybody may write' "folder: $dir/cache
state: unusable: it belongs to somebody else or may be written by others (chmod 700 it)" --cache=stat
chmod 700 "$dir/cache"
gx --cache=stat
check 'a folder that is ours' like "$out" "folder: $dir/cache
state: in use
*"
chmod 555 "$dir/cache"
if without_root; then
	gx --cache=stat
	check 'a folder that may not be written' like "$code $out" "0 folder: $dir/cache
state: unusable for new kernels: it cannot be written
entries: 0
*"
	fails 'and nothing is cleared' 5 "the kernel cache cannot be used: $dir/cache cannot be written" --cache=clear
	GPUEXPR_CACHE_DIR=$dir/cache/a/b
	gx --cache=stat
	check 'a folder that cannot be made' like "$code $out" "0 folder: $dir/cache/a/b
state: unusable: it is not there and cannot be made
*"
	chmod 000 "$dir/cache"
	prints 'a folder that may not be looked into' "folder: $dir/cache/a/b
state: unusable: it may not be opened" --cache=stat
	exe=$privileged
else
	skip 'a folder that may not be written' 'root, and the tool cannot be run as nobody'
fi
chmod 700 "$dir/cache"
rmdir "$dir/cache"
GPUEXPR_CACHE_DIR=/proc/nowhere
prints 'a place that cannot be' 6.0 'sum(a)'
unset GPUEXPR_CACHE_DIR
XDG_CACHE_HOME=$dir/xdg
export XDG_CACHE_HOME
prints 'XDG_CACHE_HOME' "$dir/xdg/gpuexpr" --cache=path
unset XDG_CACHE_HOME
prints 'HOME' "$dir/home/.cache/gpuexpr" --cache=path
unset HOME
gx 'sum(a)'
check 'no HOME' same "$code $out" '0 6.0'
end
