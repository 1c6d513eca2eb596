#!/bin/sh
# lint.sh BUILD ROOM... -- the sources of the rooms: layers, sizes, format, conflicts of the grammar, cppcheck, scripts -> one line a
# check and the count. A check whose program is not here is skipped and says so.
set -u
build=$1
shift
rooms=$*
sources=
for room in $rooms; do
	for f in "$room"/*.[ch]; do
		[ -f "$f" ] && sources="$sources $f"
	done
done
passed=0 failed=0 skipped=0

check() {
	name=$1
	shift
	"$@"
	case $? in
	0) echo "ok $name"; passed=$((passed + 1)) ;;
	77) echo "skip $name"; skipped=$((skipped + 1)) ;;
	*) echo "FAIL $name"; failed=$((failed + 1)) ;;
	esac
}
needs() { command -v "$1" >/dev/null || { echo "# $1 is not here"; return 1; }; }

conflicts() {
	needs lemon || return 77
	lemon -l -q -d"$build/lint" parser/grammar.y   # its status is the number of conflicts
}
static() {   # loops*.h are made of macros that cppcheck takes for hours of work
	needs cppcheck || return 77
	cppcheck -q --std=c11 --language=c --enable=warning,portability --inline-suppr -I. -I"$build" -D_GNU_SOURCE -D__x86_64__ \
		--suppress=missingIncludeSystem --suppressions-list=scripts/cppcheck.txt --error-exitcode=1 -j2 \
		$(echo " $rooms" | sed 's/ ops / /')
}
scripts() {
	for s in bootstrap .ci/run scripts/*.sh tests/*.sh tests/*/*.sh; do
		sh -n "$s" || return 1
	done
}
blanks() { ! grep -nP '^ +[a-zA-Z]|[ \t]+$' $sources parser/grammar.y lexer/lex.re; }

mkdir -p "$build/lint"
check layers sh scripts/layers.sh
check sizes awk -v limit=520 -f scripts/sizes.awk $sources lexer/lex.re parser/grammar.y
check format sh scripts/format.sh $sources
check conflicts conflicts
check cppcheck static
check scripts scripts
check blanks blanks
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
