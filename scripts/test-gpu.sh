#!/bin/sh
# test-gpu.sh FOLDER [cuda|cpu] -- the suites that mean something on a real device, from the binaries in FOLDER; nothing is built.
# Ends with the sum of their counts. (cpu: to try this script where there is no GPU.)
set -u
dir=$(cd "$1" && pwd) device=${2:-cuda} python=${PYTHON:-python3}
here=$PWD
log=$dir/log
export GPUEXPR_CACHE_DIR="$dir/cache"
rm -rf "$log" "$dir/cache" "$dir/run"
mkdir -p "$log" "$dir/run"

# suite NAME COMMAND...: runs it, keeps its log, shows what is not ok.
suite() {
	name=$1
	shift
	echo "== $name"
	"$@" >"$log/$name.log" 2>&1
	grep -v '^ok \|^skip ' "$log/$name.log" | tail -n 30
}
# Checks that are one command each.
checks() {
	passed=0 failed=0
	check() {
		what=$1
		shift
		if "$@" >"$dir/run/out" 2>&1; then
			echo "ok $what"
			passed=$((passed + 1))
		else
			echo "FAIL $what: $(tail -n 5 "$dir/run/out")"
			failed=$((failed + 1))
		fi
	}
	cd "$dir/run" || return 1
	"$dir/gpuexpr" --device=cpu 'a = f32(linspace(0, 6, 1000000)); b = cos(a)'
	if [ "$device" = cuda ]; then
		check "doctor finds nothing wrong" "$dir/gpuexpr" --doctor
		check "GPU against CPU" "$dir/gpuexpr" --verify 'c = a*b + sin(a); s = sum(c); m = argmax(c)'
		check "embed_device works in the caller's buffers and stream" "$dir/embed_device"
	fi
	check "embed" "$dir/embed"
	check "the demo's formula" "$dir/gpuexpr" --device="$device" --force 'c = a*b + sin(a)'
	check "and again without a compiler, from the cache" env GPUEXPR_NVRTC=/none "$dir/gpuexpr" --device="$device" --force 'c = a*b + sin(a)'
	for gx in "$here"/examples/*.gx; do
		sed -n 's/^.*#> \{0,1\}//p' "$gx" >want
		check "$(basename "$gx")" sh -c '"$1" -q --force --device="$2" -f "$3" >got && diff want got' - "$dir/gpuexpr" "$device" "$gx"
	done
	echo "$passed passed, $failed failed, 0 skipped"
}

suite checks checks
cd "$here" || exit 1
suite lang "$dir/run_lang" --engine="$device" tests/lang/*.gx
suite random "$dir/random" --engine="$device"
suite numpy "$python" tests/numpy/parity.py --build="$dir" --device="$device"
suite cases "$python" tests/cases.py "$dir/run.py" "$dir/gpuexpr" tests/cases-not-covered.txt "$device"
rm -rf "$dir/cache" "$dir/run"   # the folder travels: only what is needed stays in it
exec sh scripts/sum.sh "$log"
