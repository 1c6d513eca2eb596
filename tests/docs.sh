#!/bin/sh
# docs.sh GPUEXPR -- what the documents show is what the tool does: every `$ gpuexpr ...` of an indented block runs, in order, in one
# folder a document, and must print the lines below it; the operation table is that of the tool; links lead somewhere.
set -u
exe=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
here=$PWD
dir=$(mktemp -d "${TMPDIR:-/tmp}/gpuexpr-docs.XXXXXX")
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin"
ln -s "$exe" "$dir/bin/gpuexpr"
PATH="$dir/bin:$PATH"
export GPUEXPR_CACHE_DIR="$dir/cache"
passed=0 failed=0

verdict() {
	if [ "$1" = 0 ]; then
		echo "ok $2"
		passed=$((passed + 1))
	else
		echo "FAIL $2"
		failed=$((failed + 1))
	fi
}

# What a document shows -> N.cmd, N.want for each command.
split() {
	awk -v dir="$2" '
	/^    \$ / { n++; cmd = dir "/" n ".cmd"; want = dir "/" n ".want"; print substr($0, 7) >cmd; printf "" >want; on = 1; next }
	/^    / && on { print substr($0, 5) >want; next }
	{ on = 0 }
	END { print n + 0 }' "$1"
}

for doc in README.md docs/LANGUAGE.md; do
	name=$(basename "$doc" .md)
	mkdir "$dir/$name" "$dir/$name/run"
	n=$(split "$doc" "$dir/$name")
	verdict "$([ "$n" -gt 0 ]; echo $?)" "$doc shows commands"
	i=0
	while [ $i -lt "$n" ]; do
		i=$((i + 1))
		(cd "$dir/$name/run" && sh "../$i.cmd" >"../$i.got" 2>&1)
		diff "$dir/$name/$i.want" "$dir/$name/$i.got"
		verdict $? "$doc: $(cat "$dir/$name/$i.cmd")"
	done
done

cp docs/LANGUAGE.md "$dir/now.md"
sh scripts/docs.sh "$exe" "$dir/now.md"
cmp docs/LANGUAGE.md "$dir/now.md"
verdict $? "the operation table of docs/LANGUAGE.md is that of the tool (else: make docs)"

for doc in README.md docs/*.md; do
	for link in $(grep -o '](\([^)#]*\))' "$doc" | sed 's/](\(.*\))/\1/' | grep -v '^http'); do
		[ -e "$(dirname "$doc")/$link" ]
		verdict $? "$doc links to $link"
	done
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
