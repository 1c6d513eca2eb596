#!/bin/sh
# cache.sh -- the kernel cache on disk as the tool shows it, and that no state of it changes an answer.
. "$(dirname "$0")/lib.sh"

gx 'a = f32(arange(4))'
prints '--cache=path' "$dir/cache" --cache=path
gx --cache=stat
check '--cache=stat, no cache yet' like "$code $err$out" "0 folder: $dir/cache
*entries: 0
bytes: 0 of *"
quiet '--cache=list, no cache yet' --cache=list
prints '--cache=verify, no cache yet' '0 good, 0 damaged' --cache=verify
prints '--cache=clear, no cache yet' 'removed 0 files, 0 bytes' --cache=clear
fails '--cache=burn' 2 'stat, list, verify, clear' --cache=burn
fails '--cache without a command' 2 '--cache needs a value' --cache
# Whatever stands in the cache's place.
rm -rf "$dir/cache"
: >"$dir/cache"
prints 'a file in its place' 6.0 'sum(a)'
gx --cache=stat
check '--cache=stat tells' like "$code $out$err" '[05] *'
rm "$dir/cache"
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
