#!/bin/sh
# json.sh -- with --json all of standard output is one JSON object: results, errors, times, tables.
. "$(dirname "$0")/lib.sh"
if [ -z "$python" ]; then
	skip 'all' 'no python3 to read JSON with'
	end
fi

# holds NAME CODE EXPRESSION ARGS...: exit CODE, and the Python expression over j, the parsed standard output, is true. What is printed is
# kept and judged at the end, by one Python.
kept=0
holds() {
	name=$1 want=$2 test=$3
	shift 3
	gx "$@"
	kept=$((kept + 1))
	cp "$log/out" "$log/$kept.out"
	if [ "$code" = "$want" ]; then
		printf '%s\t%s\t%s\n' "$log/$kept.out" "$name" "$test" >>"$log/tests"
	else
		bad "$name" "$(ended); wanted exit code $want"
	fi
}
judge() {
	"$python" - "$log/tests" >"$log/judged" <<-'E'
	import json, sys
	for line in open(sys.argv[1], encoding='utf-8'):
	    path, name, test = line.rstrip('\n').split('\t')
	    text = open(path, encoding='utf-8').read()
	    try:
	        j = json.loads(text, parse_constant=lambda c: 1 / 0)
	        good = j['version'] == 1 and eval(test)
	    except Exception as e:
	        good, text = False, repr(e) + ' in ' + text
	    print('ok json: ' + name if good else 'FAIL json: ' + name + ': ' + text.strip()[:600])
	E
	cat "$log/judged"
	passed=$((passed + $(grep -c '^ok' "$log/judged"))) failed=$((failed + $(wc -l <"$log/tests") - $(grep -c '^ok' "$log/judged")))
}

gx 'a = f32(arange(4))'
holds 'a scalar' 0 'j["outputs"] == [{"name": "", "dtype": "float32", "shape": [], "value": 6.0}]' --json 'sum(a)'
holds 'an array' 0 'j["outputs"][0]["value"] == [[0, 1, 2], [3, 4, 5]] and j["outputs"][0]["shape"] == [2, 3]' --json 'reshape(arange(6), 2, 3)'
holds 'bools' 0 'j["outputs"][0]["value"] == [True, False]' --json 'arange(2) == 0'
holds 'nan and inf are strings' 0 'j["outputs"][0]["value"] == ["nan", "-inf", 1e300, 0.1]' --json 'where(arange(4) < 2, where(arange(4) == 0, nan, -inf), where(arange(4) == 2, 1e300, 0.1))'
holds 'an empty array' 0 'j["outputs"][0]["value"] == [] and j["outputs"][0]["shape"] == [0, 3]' --json 'zeros(0, 3)'
holds 'the largest integer keeps its digits' 0 'j["outputs"][0]["value"] == 18446744073709551615' --json '~u64(0)'
holds 'large arrays without their values' 0 '"value" not in j["outputs"][0]' --json 'arange(5000)'
holds 'files' 0 'j["outputs"] == [{"name": "c", "dtype": "float32", "shape": [4], "file": "c.npy"}, {"name": "", "dtype": "float32", "shape": [], "value": 3.0}]' --json 'c = a*2; max(a)'
check 'are written' test -s c.npy
holds 'a path with quotes' 0 'j["outputs"][0]["file"] == "q\"\\.npy"' --json 'a+1' -o 'q"\.npy'
holds 'times and bytes' 0 'j["ms"]["run"] >= 0 and j["ms"]["check"] >= 0 and j["bytes_read"] == 16 and j["kernels"] == 1' --json --time 'sum(a)'
check '--time says nothing besides' same "$err" ''
holds 'a dry run' 0 'j["outputs"][0]["file"] == "d.npy" and "value" not in j["outputs"][1]' --json -n 'd = a; sum(a)'
check 'writes nothing' missing d.npy
holds '--explain' 0 'j["kernels"]' --json --explain 'sum(a)'

holds 'an error in the formula' 3 'j["error"]["kind"] == "formula" and (j["error"]["line"], j["error"]["column"]) == (1, 5) and "nosuch" in j["error"]["message"]' --json 'a + nosuch(1)'
check 'is told on standard error, too' like "$err" '<expr>:1:5: error: *'
holds 'an error of usage' 2 'j["error"]["kind"] == "usage" and j["error"]["code"] == 2' --json --frob 1
holds 'the same, --json last' 2 'j["error"]["kind"] == "usage"' --frob 1 --json
holds 'an input that is missing' 4 'j["error"]["kind"] == "input" and "nope.npy" in j["error"]["message"]' --json nope
holds 'a malformed input' 4 'j["error"]["kind"] == "input"' --json x x=/dev/null
holds 'an output that exists' 5 'j["error"]["kind"] == "output"' --json 'a = a*2'
holds 'too large' 7 'j["error"]["kind"] == "memory"' --json 'arange(1e12)'
holds 'characters that need care' 4 'j["error"]["kind"] == "input"' --json x "x=$(printf '\001\033"\\\303\251').npy"
holds '--json beside -o -' 2 'j["error"]["kind"] == "usage"' --json a -o -

holds 'no program' 2 'j["error"]["kind"] == "usage" and "no program" in j["error"]["message"]' --json
holds '--version' 0 'j["gpuexpr"].split(".")[0] == "0"' --version --json
holds '--help' 0 '"Examples\n" in j["help"] and "--json" in j["help"]' --help --json
for e in ast ir plan cuda; do
	holds "--emit=$e" 0 'j["stage"] == "'$e'" and "sum" in j["text"]' --json --emit=$e 'sum(a)'
done
holds '--ops' 0 'len(j["ops"]) > 60 and all(any(o["call"].startswith(c) and o["meaning"] and o["table"] == t for o in j["ops"]) for c, t in (("sqrt(", "function"), ("mean(", "reduction"), ("arange(", "arrays"))) and not any("`" in o["call"] for o in j["ops"])' --ops --json
holds '--cache=stat' 0 'j["folder"].endswith("/cache") and j["entries"] == 0 and j["bytes"] == 0 and j["limit"] > 1e6' --cache=stat --json
holds '--cache=list' 0 'j["lines"] == []' --cache=list --json
holds '--cache of something else' 2 'j["error"]["kind"] == "usage"' --cache=burn --json
if has_gpu; then
	holds '--devices' 0 'j["devices"]' --devices --json
	holds '--doctor' 0 'any(c["name"] == "driver" and c["state"] == "ok" for c in j["checks"])' --doctor --json
	holds 'the GPU is named' 0 '"CPU" not in j["device"]' --json --device=cuda 'sum(a)'
else
	holds '--devices without a GPU' 6 'j["error"]["kind"] == "device"' --devices --json
	holds '--doctor without a GPU' 6 'any(c["name"] == "driver" and c["state"] == "fail" for c in j["checks"])' --doctor --json
	holds '--device=cuda without a GPU' 6 'j["error"]["kind"] == "device"' --device=cuda --json 'sum(a)'
fi
GPUEXPR_LIBCUDA=$dir/none.so
export GPUEXPR_LIBCUDA
holds '--doctor has a remedy for what is wrong' 6 'all(c["remedy"] and "; " not in c["detail"] for c in j["checks"] if c["state"] in ("fail", "warn"))' --doctor --json
holds '--doctor keeps the remedy out of the text' 6 'any(c["name"] == "driver" and c["remedy"].startswith("unset it") for c in j["checks"])' --doctor --json
judge
end
