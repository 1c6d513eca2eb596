#!/bin/sh
# stages.sh -- looking without running: --emit, --explain, --dry-run, --time; programs from files.
. "$(dirname "$0")/lib.sh"

gx 'a = f32(arange(10)); b = a/2'
prints '--emit=ast' 'c = ((a * b) + sin(a))' --emit=ast 'c = a*b + sin(a)'
gx --emit=ir 'c = a*b + sin(a)'
check '--emit=ir' like "$out" '*%* = multiply.f32 *'
gx --emit=plan 'c = a*b + sin(a)'
check '--emit=plan' like "$out" '*kernel*10*'
gx --emit=cuda 'c = a*b + sin(a)'
check '--emit=cuda' like "$out" '*c = a\*b + sin(a)*__global__*'
check '--emit writes nothing' missing c.npy
gx --emit=ptx --arch=sm_90 'c = a*b + sin(a)'
if [ "$code" = 0 ]; then
	check '--emit=ptx' like "$out" '*.target sm_90*.entry*'
	gx --emit=ptx --arch=sm_80 'c = a*b + sin(a)'
	check '--arch' like "$out" '*.target sm_80*'
	for a in sm_200 sm_10; do
		for use in --emit=ptx --doctor --explain -n; do
			fails "--arch=$a $use" 2 "gpuexpr: $a is no target of the compiler here; NVRTC *.* has *sm_90" --arch=$a $use 'c = a'
		done
	done
else
	skip '--emit=ptx' "no NVRTC: $err"
	check '--emit=ptx without NVRTC: exit 6' same "$code" 6
fi
for use in --emit=ptx --emit=ast --doctor --ops -q; do
	fails "--arch of nowhere, $use" 2 '--arch takes a GPU target such as sm_90, found `sm_1x`' --arch=sm_1x $use 'c = a'
done
for e in asm json explain; do
	fails "--emit=$e" 2 "--emit takes ast, ir, plan, cuda or ptx, found \`$e\`" --emit=$e 'c = a'
done
fails '--emit of a wrong program' 3 ':1:5: error: ' --emit=cuda 'c = nosuch(a)'
gx --explain 'c = a*b + sin(a)'
check '--explain' like "$out" '1 kernel, reads 80 B of inputs, writes 40 B*elementwise over 10*'
check '--explain runs nothing' missing c.npy
gx 'c = a'
gx --explain 'c = a*b'
check '--explain where the output exists' same "$code" 0
rm c.npy
prints '-n: types, shapes and places' 'c: float32 (10,) -> c.npy
d: float64 () -> d.csv
(expression): bool (10,), printed' -n 'c = a*b; d = f64(sum(a)); a > 1' -o d=d.csv
check '-n runs nothing' files . 'a.npy b.npy '
quiet '-n -q only checks' -n -q 'c = a*b'
fails '--dry-run, terabytes' 7 'out of memory: the result needs 8.0 TB (float64, 1000000000000 elements); this machine has ' --dry-run 'arange(1e12)'
fails '-n of a wrong program' 3 'error' -n 'c = a + arange(3)'
gx --time 'c = a*b'
check '--time: every stage, on standard error' like "$err" 'read * ms
check * ms
plan * ms*
run * ms *GB/s)
write * ms'
check '--time leaves standard output alone' same "$out" ''

cat >p.gx <<'E'
# the length of a vector
def length(x) = sqrt(sum(x*x))
length(v)
E
prints '-f file' 5.0 -f p.gx v=f64:[3,4]
prints '--file=file' 5.0 --file=p.gx v=f64:[3,4]
prints '-f behind a binding' 5.0 v=f64:[3,4] -f p.gx
prints '-f -' 5.0 -f - v=f64:[3,4] <p.gx
printf '1 + 1\n  nosuch(2)\n' >bad.gx
fails 'an error in a file has its name, line and column' 3 'bad.gx:2:3: error: unknown function `nosuch`' -f bad.gx
fails 'an error on standard input' 3 '<stdin>:2:3: error: ' -f - <bad.gx
printf '1\r\n2\r\n' >dos.gx
prints 'lines that end as on DOS' '1
2' -f dos.gx
printf '\357\273\2771+1' >bom.gx
prints 'a byte order mark is passed over' 2 -f bom.gx
printf '1+1\0+nosuch' >nul.gx
fails 'a NUL byte does not end the program' 3 'nul.gx:1:4: error' -f nul.gx
: >empty.gx
fails 'an empty file' 3 'empty.gx:' -f empty.gx
fails 'a file that is not there' 4 'cannot read the program: q.gx: No such file' -f q.gx
fails 'a folder as the program' 4 'cannot read the program: .*directory' -f .
fails 'a program and a file' 2 'expected name=binding, found `sum(a)`' -f p.gx 'sum(a)'
fails '-f without a name' 2 '-f needs a value' -f
prints 'a program that begins with a minus' '[-3. -4.]' '-v*1' v=f64:[3,4]
prints '-- ends the options' '[-3. -4.]' -- '-v' v=f64:[3,4]
prints 'an unary minus before a bracket' -7 '-(3+4)'
end
