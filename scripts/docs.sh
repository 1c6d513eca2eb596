#!/bin/sh
# docs.sh GPUEXPR FILE -- FILE with what stands between its two marks replaced by the operation table of GPUEXPR.
set -eu
new=$(mktemp)
trap 'rm -f "$new"' EXIT
{
	sed '/<!-- operations: made by make docs -->/q' "$2"
	echo
	"$1" --ops
	echo
	sed -n '/<!-- end of operations -->/,$p' "$2"
} >"$new"
cmp -s "$new" "$2" || cat "$new" >"$2"
