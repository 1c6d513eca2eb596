#!/bin/sh
# tables.sh -- the answers that need no program: help, version, functions, devices, the doctor.
. "$(dirname "$0")/lib.sh"

gx --help
check '--help' like "$code$err $out" '0 gpuexpr: *Examples*Inputs*Outputs*Options*Exit codes*'
check '--help fits 110 columns' same "$(awk 'length($0) > 110' "$log/out")" ''
for o in $(sed -n 's/^ *{"\(--[a-z-]*\)".*/\1/p; s/.*, {"\(--[a-z-]*\)".*/\1/p' "$here/../../tool/options.c" | sort -u); do
	check "--help tells of $o" grep -q -- "$o" "$log/out"
done
for n in 0 2 3 4 5 6 7 70; do
	check "--help tells of exit code $n" grep -q "^Exit codes.*[ (]$n " "$log/out"
done
for c in $(sed -n 's/^\t{"\([a-z]*\)", [a-z]*_command.*/\1/p' "$here/../../runtime/cache_command.c"); do
	check "--help tells of --cache=$c" grep -q -- "--cache=CMD .*$c" "$log/out"
done
check '--help tells of --device=gpu' grep -q -- '--device=D.*gpu' "$log/out"
cp "$log/out" help
gx -h
check '-h is the same' cmp "$log/out" help
gx --help nonsense
check '--help wins' cmp "$log/out" help
prints '--version' "gpuexpr $(sed -n 's/.*GX_VERSION_TEXT "\(.*\)"/\1/p' "$here/../../include/gpuexpr.h")" --version
gx --ops
check '--ops is a Markdown table' like "$code$err $out" '0 | function |*|---|*| `sqrt(x)` |*'
check '--ops has the reductions' like "$out" '*`sum(*'
# The examples of the help, as they stand there.
gx 'a = f32(linspace(0, 1, 8)); b = a; x = f32(ones(2, 3)); nir = f32(zeros(2, 3)); red = u16(nir) + 7; table = nir'
"$exe" red -o b4.raw && "$exe" nir -o b8.npy && "$exe" nir -o table.csv && echo 'sum(t)' >model.gx && mkdir -p out && rm -f y.npy
sed -i 's/1024x1024/2x3/' help
ran=0
sed -n '/^Examples/,/^$/s/^  \(gpuexpr .*\)/\1/p' help | sed 's/    *.*//' >examples
while IFS= read -r line; do
	ran=$((ran + 1))
	rm -f c.npy y.npy d.npy
	gpuexpr() { "$exe" "$@"; }
	check "example of the help: $line" eval "$line"
done <examples
check 'there are eight of them' test $ran -ge 8
gx --devices
if has_gpu; then
	check '--devices' like "$code$err $out" '0 0*'
	gx --doctor
	check '--doctor' like "$code $out" '0 *ok*driver*'
else
	check '--devices without a GPU' like "$code $out $err" '6  gpuexpr: *'
	gx --doctor
	check '--doctor without a GPU' like "$code $out" '6 *FAIL*driver*'
	check '--doctor gives a remedy' like "$out" '*install*'
fi
check '--doctor tells version and cache' like "$out" '*gpuexpr *0.*cache*'
check '--doctor says nothing besides' same "$err" ''
end
