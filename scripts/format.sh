#!/bin/sh
# format.sh FILE... -- sources against .clang-format, spaces within lines left to the writer -> an error for a file of which more than
# one line in twenty differs. Tables and one-line records keep the shape that people gave them; indentation gone wrong is found.
set -u
failed=0
if ! command -v clang-format >/dev/null; then
	echo "skip format: clang-format is not here"
	exit 77
fi
for f; do
	lines=$(wc -l <"$f")
	n=$(clang-format "$f" | diff -w "$f" - | grep -c '^<')
	if [ $((n * 20)) -gt "$lines" ] && [ "$n" -gt 10 ]; then
		echo "FAIL format: $f: $n of $lines lines are not as clang-format has them (clang-format $f | diff -w $f -)"
		failed=1
	fi
done
[ $failed = 0 ] && echo "ok format"
exit $failed
