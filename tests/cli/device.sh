#!/bin/sh
# device.sh -- which device runs: auto tells why with -v, cuda never falls back, --verify wants both, and what is said where there is none.
. "$(dirname "$0")/lib.sh"

gx 'a = f32(arange(1000))'
prints '--device=cpu' 499500.0 --device=cpu 'sum(a)'
gx --device=cpu -v 'sum(a)'
check '--device=cpu -v names it' like "$err" 'device: CPU, * thread*'
gx -v 'sum(a)'
check 'auto -v says why the CPU is enough' like "$err" 'auto: *on the CPU*on a GPU*: using the CPU
device: CPU*'
fails 'an unknown device' 2 '--device takes auto, cpu, cuda or cuda:N, found `tpu`' --device=tpu a
fails 'a device that is no number' 2 'cuda:0' --device=cuda:one a
fails 'a device number too high' 6 "gpuexpr: " --device=cuda:999 'sum(a)'
check 'says which there are' like "$err" 'gpuexpr: *'
prints '--threads=1 gives the same' 499500.0 --device=cpu --threads=1 'sum(a)'
fails '--threads=many' 2 '--threads takes a number from 0 to 1024, found `many`' --threads=many a
fails '--math=loose' 2 '--math takes strict, fma or fast, found `loose`' --math=loose a
for m in strict fma fast; do
	prints "--math=$m" 499500.0 --math=$m 'sum(a)'
done
fails '--verify beside --device=cpu' 2 'does not go with --device=cpu' --verify --device=cpu a
GPUEXPR_LIBCUDA=$dir/nothing.so
export GPUEXPR_LIBCUDA
fails 'GPUEXPR_LIBCUDA that leads nowhere is named' 6 "gpuexpr: GPUEXPR_LIBCUDA names no usable driver: $dir/nothing.so: *; unset it, or " --device=cuda 1
unset GPUEXPR_LIBCUDA
heavy='sum(sin(cos(sin(cos(arange(4.5e7))))))'
if has_gpu; then
	prints '--device=cuda' 499500.0 --device=cuda 'sum(a)'
	prints '--device=cuda:0' 499500.0 --device=cuda:0 'sum(a)'
	gx --device=cuda -v 'sum(a)'
	check '--device=cuda -v names it' unlike "$err" '*device: CPU*'
	gx --verify 'sum(a); b = a*2'
	check '--verify: the result' same "$code $out" '0 499500.0'
	check '--verify: a line for each output' like "$err" 'verify (expression): GPU and CPU: 1 elements equal
verify b: GPU and CPU: 1000 elements equal'
	gx --time --device=cuda 'a*2' -o -.raw
	gx --time --device=cuda 'sum(a*3)'
	gx --time --device=cuda 'sum(a*3)'
	check '--time says cached the second time' like "$err" '*: * cached, 0 compiled)*'
	fails '--no-cache compiles again' 0 ' 0 cached, ' --no-cache --time --device=cuda 'b = a*3' --force
else
	fails '--device=cuda without a GPU' 6 'gpuexpr: *; install the driver, or use --device=cpu' --device=cuda 'sum(a)'
	check 'one line' test "$(wc -l <"$log/err")" = 1
	fails '--device=cuda writes nothing' 6 "gpuexpr: " --device=cuda 'b = a*2'
	check 'no file' missing b.npy
	fails '--device=gpu is the same' 6 "gpuexpr: " --device=gpu 'sum(a)'
	fails '--verify without a GPU' 6 '--verify compares the GPU with the CPU' --verify 'sum(a)'
	gx -v --threads=1 "$heavy"
	check 'auto, heavy work, no GPU: the CPU does it' like "$code $err" '0 auto: *trying the GPU
using the CPU: *
device: CPU*'
	fails '--emit for a device that is not there' 6 "gpuexpr: " --device=cuda --emit=cuda 'sum(a)'
fi
end
