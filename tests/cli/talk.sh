#!/bin/sh
# talk.sh -- standard output is for results, standard error for talk; quiet when all is well; closed, full and broken streams; exit codes.
. "$(dirname "$0")/lib.sh"

gx 'a = arange(4); big = arange(3e5)'
gx
check 'no arguments: exit 2' same "$code" 2
check 'no arguments: a short help on standard error' like "$err" 'usage: gpuexpr*--help*'
check 'no arguments: nothing on standard output' same "$out" ''
gx -v 'b = a*2'
check '-v says what was written, on standard error' like "$err" '*wrote b.npy: int64 (4,)*'
check '-v leaves standard output alone' same "$out" ''
gx -v 'sum(a)'
check '-v says which device, on standard error' like "$err" '*device: *'
check '-v prints the result alone on standard output' same "$out" 6
gx 'a > 5 & a > 1'
check 'a warning goes to standard error' like "$err" '*:1:7: warning:*'
check 'and is none of the result' same "$out" '[False False False False]'
check 'and no failure' same "$code" 0
prints '-q leaves it out' '[False False False False]' -q 'a > 5 & a > 1'
gx -q 'a +'
check '-q does not hide errors' like "$err" '*:1:3: error:*'

fails 'exit 2: usage' 2 unknown --frobnicate
fails 'exit 3: syntax' 3 '<expr>:1:5: error:' 'a + )'
fails 'exit 3: type' 3 'error:' '-true'
fails 'exit 3: shape' 3 '(4,)*(3,)' 'a + arange(3)'
fails 'exit 3: index out of range while it runs' 3 'index 6 ' 'a[a+6]'
fails 'exit 4: input' 4 'no input' nothing_here
fails 'exit 5: output' 5 exists 'a = a'
fails 'exit 7: memory' 7 memory 'arange(1e12)'

"$exe" 'sum(a)' >&- 2>"$log/err"
check 'closed standard output: exit 5' same "$?" 5
check 'closed standard output: says so' like "$(cat "$log/err")" 'gpuexpr: cannot write to standard output: *'
"$exe" 'c = a' -o c=- >&- 2>"$log/err"
check 'closed standard output, an array: exit 5' same "$?" 5
"$exe" 'closed = a' >&- 2>"$log/err"
check 'closed standard output, nothing to print: done' npy_is closed.npy '<i8' '(4,)' 0000000000000000010000000000000002000000000000000300000000000000
check 'closed standard input, not needed' same "$("$exe" 'sum(a)' <&-)" 6
"$exe" 'sum(x)' x=- <&- >"$log/out" 2>"$log/err"
check 'closed standard input, needed: exit 4' same "$?" 4
check 'closed standard input: says so' like "$(cat "$log/err")" 'gpuexpr: <standard input>: *'
check 'closed standard error' same "$("$exe" -v 'sum(a)' 2>&-)" 6
"$exe" 'dark = a +' <&- >&- 2>&-
check 'all closed: the exit code is right' same "$?" 3
"$exe" 'sum(x)' x=- </dev/null >"$log/out" 2>"$log/err"
check 'empty standard input: exit 4' same "$?" 4
check 'empty standard input: says so' like "$(cat "$log/err")" 'gpuexpr: <standard input> is empty*'
if [ -c /dev/full ]; then
	"$exe" 'arange(900)' >/dev/full 2>"$log/err"
	check 'a full device, printed: exit 5' same "$?" 5
	check 'a full device, printed: says so' like "$(cat "$log/err")" 'gpuexpr: *No space left*'
	"$exe" 'big' -o - >/dev/full 2>"$log/err"
	check 'a full device, an array: exit 5' same "$?" 5
	GPUEXPR_LIBCUDA=$dir/none.so "$exe" --doctor >/dev/full 2>"$log/err"
	check 'a full device, an answer that is bad news: its exit code' same "$?" 6
	check 'a full device, an answer that is bad news: says so' like "$(cat "$log/err")" 'gpuexpr: cannot write to standard output: No space left*'
	fails 'a full device as the path' 5 '/dev/full: *No space left' 'big' -o /dev/full
else
	skip 'a full device' 'no /dev/full'
fi
broken() {   # broken ARGS...: into a reader that takes one byte; $code and $err
	{ { "$exe" "$@" 2>"$log/err"; echo $? >"$log/code"; } | head -c 1 >/dev/null; }
	code=$(cat "$log/code") err=$(cat "$log/err")
}
broken big -o -
check 'a reader that goes: by SIGPIPE' same "$code" 141
check 'a reader that goes: quietly' same "$err" ''
broken big -o -.csv
check 'text, a reader that goes: by SIGPIPE' same "$code" 141
check 'text, a reader that goes: quietly' same "$err" ''
{ "$exe" 'arange(900)' 2>"$log/err"; echo $? >"$log/code"; } | { exec <&-; sleep 0.2; }
check 'printed, a reader that has gone' like "$(cat "$log/code") $(cat "$log/err")" '141 '
broken --ops
check '--ops, a reader that goes: no talk' same "$(cat "$log/err")" ''
fails 'what users type is printed safely' 4 'x\\x1b[[]31m' x "x=x$(printf '\033')[31m"
end
