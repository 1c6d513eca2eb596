#!/bin/sh
# examples.sh BUILD CC -- every file of examples/ as a user runs it, in an empty folder: a formula must print what its `#>` comments
# say, a C program must build without a warning and end well (77: it needs a GPU and there is none).
set -u
build=$(cd "$1" && pwd) cc=$2
here=$PWD
dir=$(mktemp -d "${TMPDIR:-/tmp}/gpuexpr-examples.XXXXXX")
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0 skipped=0

ok() {
	echo "ok $1"
	passed=$((passed + 1))
}
fail() {
	echo "FAIL $1: $2"
	failed=$((failed + 1))
}

for gx in "$here"/examples/*.gx; do
	name=$(basename "$gx")
	sed -n 's/^.*#> \{0,1\}//p' "$gx" >"$dir/want"
	mkdir "$dir/$name"
	if ! (cd "$dir/$name" && "$build/gpuexpr" -q -f "$gx" >"$dir/got" 2>"$dir/err"); then
		fail "$name" "$(cat "$dir/err")"
	elif ! [ -s "$dir/want" ]; then
		fail "$name" "it has no #> line"
	elif ! cmp -s "$dir/want" "$dir/got"; then
		fail "$name" "printed
$(diff "$dir/want" "$dir/got")"
	elif [ "$(wc -l <"$gx")" -gt 60 ]; then
		fail "$name" "over 60 lines"
	else
		ok "$name"
	fi
done
for c in "$here"/examples/*.c; do
	name=$(basename "$c" .c)
	mkdir -p "$build/examples"
	if ! $cc -Wall -Wextra -Werror -I"$here/include" "$c" -o "$build/examples/$name" "$build/libgpuexpr.so" \
		-Wl,-rpath,'$ORIGIN/..' -ldl 2>"$dir/err"; then
		fail "$name.c" "$(cat "$dir/err")"
		continue
	fi
	"$build/examples/$name" >"$dir/got" 2>&1
	status=$?
	if [ $status = 77 ]; then
		echo "skip $name.c: $(cat "$dir/got")"
		skipped=$((skipped + 1))
	elif [ $status != 0 ]; then
		fail "$name.c" "status $status: $(cat "$dir/got")"
	elif [ "$(wc -l <"$c")" -gt 60 ]; then
		fail "$name.c" "over 60 lines"
	else
		ok "$name.c"
	fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
