/* help.c -- what --help says: examples first. */
#include <stdio.h>

#include "tool/tool.h"

void help_short(void)
{
	fputs("usage: gpuexpr [options] 'program' [name=binding ...]\n"
		"\n"
		"  gpuexpr 'c = a*b + sin(a)'                        reads a.npy and b.npy, writes c.npy\n"
		"  gpuexpr 'mean(x, axis=0)' x=data.npz:x            prints a result\n"
		"  gpuexpr 'm = mean(x, axis=0); s = std(x, axis=0)' one pass over x\n"
		"\n"
		"  -o name=path   where an output goes        --device=auto|cpu|cuda[:N]\n"
		"  --force        replace existing files      --explain   what will run, and why\n"
		"  -n             types and shapes only       --time      where the time goes\n"
		"  gpuexpr --help shows the rest.\n", stderr);
}

static const char long_text[] =
	"gpuexpr: compute array formulas on the GPU or the CPU\n"
	"\n"
	"usage: gpuexpr [options] 'program' [name=binding ...]\n"
	"\n"
	"Examples\n"
	"  gpuexpr 'c = a*b + sin(a)'                   reads a.npy and b.npy in this folder, writes c.npy\n"
	"  gpuexpr 'sum(a)'                             a bare expression is printed\n"
	"  gpuexpr 'y = exp(x - max(x, axis=1, keepdims=true)); y = y / sum(y, axis=1, keepdims=true)'\n"
	"  gpuexpr 'a = a*2' --force                    replaces a.npy, all at once\n"
	"  gpuexpr 'd = f32(red) - nir' red=b4.raw:u16:1024x1024 nir=b8.npy -o d=out/diff.npy\n"
	"  gpuexpr 'y = k*x + b' k=2.5 b=f32:[1,2,3]    numbers and small arrays on the command line\n"
	"  gpuexpr 'log(x)' x=- -o - < x.npy > y.npy    through pipes\n"
	"  gpuexpr -f model.gx t=table.csv              the program from a file\n"
	"\n"
	"Inputs: every free name. NAME.npy in this folder, or name=FILE.npy, name=FILE.npz:member, name=FILE.csv,\n"
	"  name=FILE:dtype:ROWSxCOLS (raw bytes), name=- (npy on standard input), name=3.5, name=true,\n"
	"  name=f32:[[1,2],[3,4]]\n"
	"Outputs: every assigned name without a leading _ goes to NAME.npy; a bare expression is printed.\n"
	"\n"
	"Options\n"
	"  -o, --output name=path   where an output goes: .npy .csv .tsv .txt .raw by extension; - is standard output\n"
	"  -f, --file FILE          read the program from FILE (- = standard input)\n"
	"      --force              replace existing files (also GPUEXPR_FORCE=1)\n"
	"  -n, --dry-run            check everything and print types, shapes and places; run nothing\n"
	"      --device=D           auto (the GPU when it pays), cpu, cuda or cuda:N (never falls back); gpu is cuda\n"
	"      --math=M             strict (default: IEEE + - * / sqrt), fma, fast\n"
	"      --threads=N          CPU threads, 0 = all\n"
	"      --explain            the kernels, the bytes they move and why; run nothing\n"
	"      --time               milliseconds of every stage, GB/s, cached or compiled\n"
	"      --verify             run on the GPU and on the CPU and compare\n"
	"      --emit=STAGE         print ast, ir, plan, cuda or ptx and stop\n"
	"      --arch=sm_NN         target of --emit=ptx instead of the GPU's own or sm_90\n"
	"      --json               results, errors, times and tables as one JSON object\n"
	"  -q, --quiet              no warnings\n"
	"  -v, --verbose            which device and why, what was written\n"
	"      --devices  --doctor  the GPUs; a check of driver, compiler and cache with remedies\n"
	"      --ops                all functions, what they mean, and their error\n"
	"      --cache=CMD          stat, list, verify, trim, clear or path; --no-cache does without it\n"
	"  -h, --help  --version    -- ends the options\n"
	"\n"
	"Exit codes: 0 done, 2 usage, 3 formula, 4 input, 5 output, 6 device, 7 memory, 70 internal error\n";

int help_long(int json)
{
	struct buf b = {0};

	if (json) {
		buf_str(&b, "{\"version\": 1, \"help\": ");
		buf_json(&b, long_text);
		buf_str(&b, "}\n");
	} else {
		buf_str(&b, long_text);
	}
	return print_text(&b);
}
