#!/bin/sh
# sum.sh FOLDER -- the count lines that the suites left in FOLDER/*.log -> one table and, last, the line "N passed, N failed, N skipped".
# A suite whose log has no count line, or that passed nothing and skipped nothing, counts as failed: silence is no success.
set -u
passed=0 failed=0 skipped=0
echo
for log in "$1"/*.log; do
	name=$(basename "$log" .log)
	line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
	set -- ${line:-0 passed, 0 failed, 0 skipped}
	p=$1 f=$3 s=$5
	[ $((p + f + s)) = 0 ] && f=1 && line="no count line: it broke off"
	printf '%-12s %s\n' "$name" "$line"
	[ "$f" = 0 ] || grep -n '^FAIL' "$log" | head -n 20 | sed 's/^/    /'
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed != 0 ]
