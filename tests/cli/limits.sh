#!/bin/sh
# limits.sh -- far beyond what is usual: nesting, length, numbers of inputs and outputs, sizes. A clear answer, soon, and never a crash.
. "$(dirname "$0")/lib.sh"

many() { awk "BEGIN {for (i = 0; i < $1; i++) printf \"%s\", \"$2\"}"; }
fast() { start=$(date +%s); }
soon() { check "$1: soon" test $(($(date +%s) - start)) -le "${2:-15}"; }

fast
{ many 100000 '('; printf 1; many 100000 ')'; } >nest.gx
fails '100,000 nested parentheses' 3 'nest.gx:1:257: error: nested deeper than 256 levels' -f nest.gx
many 100000 '(' >open.gx
fails '100,000 that are not closed' 3 'open.gx:1:*: error: ' -f open.gx
{ many 100000 '-'; printf 1; } >minus.gx
fails '100,000 minus signs' 3 'minus.gx:1:257: error: nested deeper than 256 levels' -f minus.gx
for n in 300 3000; do
	{ many $n -; printf 1; } >minus.gx
	fails "$n minus signs" 3 'minus.gx:1:257: error: nested deeper than 256 levels' -f minus.gx
	{ many $n '2**'; printf 1; } >power.gx
	fails "$n powers" 3 'power.gx:1:770: error: nested deeper than 256 levels' -f power.gx
done
{ many 200 '('; printf 7; many 200 ')'; } >ok.gx
prints '200 nested parentheses' 7 -f ok.gx
soon 'nesting'
fast
{ many 199999 'x + '; printf x; } >sum.gx
prints 'a sum of 200,000 terms' 200000 -f sum.gx x=1
gx -f sum.gx x=f32:[1,2]
check 'of an array, too' same "$code $out$err" '0 [200000. 400000.]'
{ many 200000 'x = x + 1;'; echo x; } >steps.gx
gx -n -f steps.gx x=1
check '200,000 statements' same "$code" 0
soon 'length' 30
head -c 70000000 /dev/zero | tr '\0' ' ' >blank.gx
fails 'a program of 70 MB' 4 'more than 64 MiB' -f blank.gx
rm blank.gx

fast
quiet '650 outputs' "$(awk 'BEGIN {for (i = 0; i < 650; i++) printf "v%d = f32(arange(3) + %d);", i, i}')"
check 'are 650 files' same "$(ls v*.npy | wc -l)" 650
program=$(awk 'BEGIN {for (i = 0; i < 650; i++) printf "%sv%d", i ? "+" : "", i}')
prints '650 inputs' '[210925. 211575. 212225.]' "$program"
soon '650 inputs and outputs'
long=$(many 300 n)
fails 'an input with a name of 300 letters' 4 'too long' "$long"
fails 'an output with a name of 300 letters' 5 'too long' "$long = 1"
prints 'bound, it is fine' 2 "$long" "$long=2"

fast
fails 'an array that does not fit' 7 'out of memory: the result needs 8.0 TB (float64, 1000000000000 elements); this machine has ' 'arange(1e12)'
fails 'the same, -n' 7 'out of memory: the result needs 8.0 TB' -n 'arange(1e12)'
fails 'an output that does not fit' 7 'out of memory: the output x needs 8.0 TB' 'x = arange(1e12)'
check 'no file' missing x.npy
fails 'outputs that do not fit together' 7 'out of memory: the output z needs ' "x = u8(zeros(10)); y = arange($(awk '/MemTotal/ {printf "%d", $2 * 1024 / 8 * 0.6}' /proc/meminfo)); z = y+1; y = y*2" --device=cpu
fails 'more elements than can be counted' 3 'too many elements' 'arange(1e19)'
prints 'a scalar of it is no problem' '(expression): int64 (), printed' -n 'sum(i64(arange(1e12)))'
for n in '' -n; do
	(ulimit -v 500000 && gx $n 'x = arange(1e8)' && printf '%s' "$code" >"$log/code")
	check "an output above ulimit -v $n: exit 7" same "$(cat "$log/code")" 7
	check 'says so' like "$(cat "$log/err")" 'gpuexpr: out of memory: the output x needs 800.0 MB (float64, 100000000 elements); ulimit -v allows 512.0 MB'
done
truncate -s 2000000000 big.raw
for x in x=big.raw:f32 x=-:f32; do
	(ulimit -v 500000 && gx 'sum(x)' $x <big.raw && printf '%s' "$code" >"$log/code")
	check "an input that memory has no room for, $x: exit 7" same "$(cat "$log/code")" 7
	check 'names file, size and reason' like "$(cat "$log/err")" 'gpuexpr: * (2.0 GB) cannot be mapped: Cannot allocate memory'
done
(ulimit -v 500000 && cat big.raw | gx 'sum(x)' x=-:f32)
check 'through a pipe: size' like "$(cat "$log/err")" 'gpuexpr: <standard input>: no memory for [1-9]*[0-9] MB'
soon 'sizes'
end
