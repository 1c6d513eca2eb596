#!/bin/sh
# fake.sh -- the tool on a GPU that is not there: the driver of tests/fake (memory is malloc, kernels are compiled but do not compute) shows
# what is said, kept and refused on the way to a device. Needs NVRTC.
. "$(dirname "$0")/lib.sh"

if ! ${CC:-cc} -std=c11 -D_GNU_SOURCE -ffp-contract=off -shared -fPIC "$here/../fake/libcuda.c" -o "$dir/libcuda.so" 2>"$log/check"; then
	skip 'all' "the fake driver was not compiled: $(head -n 1 "$log/check")"
	end
fi
GPUEXPR_LIBCUDA=$dir/libcuda.so
export GPUEXPR_LIBCUDA
gx 'a = f32(arange(1000))'
gx --device=cuda 'sum(a)'
if [ "$code" != 0 ]; then
	skip 'all' "no kernel compiles here: $err"
	end
fi
gx --time --device=cuda 'b = a*2'
check '--time: compiled the first time' like "$code $err" '0 *open GPU *compile *(1 kernel: 0 cached, 1 compiled)*load *kernels * ms*'
gx --time --device=cuda --force 'b = a*2'
check '--time: cached the second time' like "$err" '*(1 kernel: 1 cached, 0 compiled)*'
gx --time --device=cuda 'c = a[3:]*2'
check '--time: cached for another size' like "$err" '*(1 kernel: 1 cached, 0 compiled)*'
gx --time --device=cuda --force --no-cache 'b = a*2'
check '--no-cache compiles again' like "$err" '*(1 kernel: 0 cached, 1 compiled)*'
if [ -n "$python" ]; then
	gx --json --device=cuda --force 'b = a*2'
	check '--json: cached' "$python" -c 'import json, sys; assert json.load(open(sys.argv[1]))["cached"] == 1' "$log/out"
fi
gx -v --device=cuda 'b = a*2' --force
check '-v names the device' like "$err" '*device: *compute capability*wrote b.npy*'
check '--cache=list has both kernels' same "$("$exe" --cache=list | wc -l)" 2
gx --cache=stat
check '--cache=stat counts them' like "$out" '*entries: 2
*'
prints '--cache=verify' '2 good, 0 damaged' --cache=verify
check 'the folder is private' same "$(stat -c %a "$dir/cache")" 700
for f in $(find "$dir/cache" -type f -size +1k); do
	head -c 100 "$f" >"$log/torn" && cat "$log/torn" >"$f"
done
gx --cache=verify
check 'torn entries are found' like "$out" '*0 good, 2 damaged*'
gx --time --device=cuda --force 'b = a*2'
check 'and are no harm' like "$code $err" '0 *(1 kernel: 0 cached, 1 compiled)*'
gx --cache=clear
check '--cache=clear' like "$code $out" '0 removed [1-9]* files, *'
check 'it is empty' same "$("$exe" --cache=list)" ''
gx --verify 'd = a*2 + 1'
check '--verify tells what differs' like "$code $err" '0 verify d: GPU and CPU: * of 1000 elements differ, *first at element *: * against *'
gx --devices
check '--devices' like "$code $out" '0 0*compute capability*'
FAKE_PROBE=1
export FAKE_PROBE
gx --doctor
check '--doctor is content' like "$code $out" '0 *ok *driver*'
unset FAKE_PROBE
gx --doctor
check '--doctor: a kernel that gives nonsense' like "$code $out" '6 *FAIL *'

# What goes wrong on a device ends with exit code 6 (7 for memory); nothing is written and nothing falls back.
refused() {   # refused NAME CODE PART FAKE_FAIL
	FAKE_FAIL=$4
	export FAKE_FAIL
	fails "$1" "$2" "$3" --device=cuda 'z = a*3'
	check "$1: no file" missing z.npy
	unset FAKE_FAIL
}
refused 'no device' 6 "gpuexpr: " cuInit:100:1
refused 'a launch that fails' 6 "gpuexpr: " cuLaunchKernel:700:1
refused 'a lost device' 6 "gpuexpr: " cuStreamSynchronize:719:1+
refused 'no memory on the device' 7 memory cuMemAllocFromPoolAsync:2:1+
FAKE_FAIL=cuInit:100:1
export FAKE_FAIL
prints 'auto takes the CPU then' 499500.0 'sum(a)'
fails 'a device that is not there' 6 "gpuexpr: " --device=cuda:7 'sum(a)'
end
