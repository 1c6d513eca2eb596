#!/bin/sh
# locale.sh -- the same bytes in and out whatever the locale: a decimal comma, other digits, other letters.
. "$(dirname "$0")/lib.sh"

gx 'a = linspace(0, 1, 5); x = 1.5'
printf '0.5,1.25\n' >t.csv
whole() {
	gx "$@"
	printf '%s|%s|%s|' "$code" "$out" "$err"
}
everything() {
	whole 'a*0.1 + 1.5'
	whole 'a*k' k=2.5
	whole 'sum(t)' t=t.csv
	whole k k=f64:[0.5,1e-3]
	whole a -o -.csv
	whole '1,5'
	whole --emit=cuda 'sqrt(a)*0.3'
	whole --json -n 'c = a'  | sed 's/"ms".*//'
	whole --json 'x + 0.25' | sed 's/"ms".*//'
	whole 'pİ + 1'
}
want=$(everything)
check 'the C locale' like "$want" '0|\[1.5   1.525 *|0|1.75|*'
for l in de_DE.UTF-8 tr_TR.UTF-8; do
	if ! locale -a 2>/dev/null | grep -qi "^$(echo $l | sed 's/UTF-8/utf-\\{0,1\\}8/')$"; then
		mkdir -p locales
		localedef -i "${l%.*}" -f UTF-8 "locales/$l" >/dev/null 2>&1 || { skip "$l" 'no such locale, and localedef cannot make it'; continue; }
		export LOCPATH=$PWD/locales
	fi
	LC_ALL=$l
	[ $l != de_DE.UTF-8 ] || check "$l has a decimal comma" same "$(locale decimal_point)" ,
	check "$l: the same" same "$(everything)" "$want"
	LC_ALL=C
	unset LOCPATH
done
end
