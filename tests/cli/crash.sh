#!/bin/sh
# crash.sh -- whatever happens half-way, an output is the old file or the new one, whole: killed, interrupted, out of disk, out of quota.
. "$(dirname "$0")/lib.sh"

# Half of the time of a whole run is where a kill finds the tool at work.
n=6000000
gx "a = f32(arange($n)); once = sum(a)"
cp a.npy old
t0=$(date +%s%N)
gx 'a = a + 1' --force
t1=$(date +%s%N)
cp a.npy new
mv old a.npy && cp a.npy old
whole() { cmp -s a.npy old || cmp -s a.npy new || { echo "torn: $(stat -c %s a.npy) bytes"; return 1; }; }
seconds() { awk "BEGIN {printf \"%.4f\", ($t1 - $t0) * 1e-9 * $1}"; }
killed=0
for sig in KILL TERM INT HUP; do
	torn='' left='' codes=''
	for part in 0.1 0.3 0.5 0.6 0.7 0.8 0.9; do
		timeout --foreground --preserve-status -s $sig "$(seconds $part)" "$exe" 'a = a + 1' --force >"$log/out" 2>"$log/err"
		code=$?
		[ $code != 0 ] && killed=$((killed + 1)) && codes="$codes $code"
		whole >/dev/null || torn="$torn $part"
		[ $sig = KILL ] || left="$left$(find . -name '.gpuexpr*')"
		cmp -s a.npy old || cp old a.npy
	done
	check "SIG$sig at seven moments: a.npy is old or new" same "$torn" ''
	[ $sig = KILL ] || check "SIG$sig: no temporary is left" same "$left" ''
	case $sig in KILL) want=137 ;; TERM) want=143 ;; INT) want=130 ;; HUP) want=129 ;; esac
	check "SIG$sig: by the signal" same "$(echo $codes | tr ' ' '\n' | sort -u | grep -v "^$want$")" ''
done
check 'some of them were hit at work' test $killed -gt 0
: >".gpuexpr-00000000-1-0.tmp"
gx 'later = 1'
check 'what the killed ones left is swept by a later run' same "$(find . -name '.gpuexpr*' ! -name '.gpuexpr-00000000-*')" ''
check 'a temporary of another machine is let be' test -e ".gpuexpr-00000000-1-0.tmp"

# A run of minutes.
long='def f(x) = sin(cos(sin(cos(exp(sin(x)))))); big = sum(f(f(f(f(arange(4e9))))))'
for sig in INT TERM; do
	t0=$(date +%s%N)
	timeout --foreground --preserve-status -s $sig 0.4 "$exe" --device=cpu "$long" >"$log/out" 2>"$log/err"
	code=$?
	t1=$(date +%s%N)
	check "SIG$sig in a long run: by the signal" same $code "$([ $sig = INT ] && echo 130 || echo 143)"
	check "SIG$sig in a long run: at once" test $(((t1 - t0) / 1000000)) -lt 3000
	check "SIG$sig in a long run: no file" missing big.npy
	check "SIG$sig in a long run: nothing is said" same "$(cat "$log/out" "$log/err")" ''
done
# An input that another process cuts while it is being read.
gx 'cut = f32(arange(8000000))'
"$exe" --device=cpu --threads=1 'def f(x) = sin(cos(sin(cos(exp(sin(x)))))); big = sum(f(f(f(f(cut)))))' >"$log/out" 2>"$log/err" &
sleep 0.1
head -c 200 /dev/null >cut.npy
wait $!
check 'an input that is cut off meanwhile: exit 4' same $? 4
check 'an input that is cut off meanwhile: says so' like "$(cat "$log/err")" 'gpuexpr: *an input file became shorter while it was read'
check 'an input that is cut off meanwhile: no file' missing big.npy
(trap '' HUP; exec "$exe" 'u = sum(sin(arange(3e8)))' --device=cpu --threads=1 2>"$log/err") &
sleep 0.3
kill -HUP $! 2>/dev/null
check 'nohup: hit at work' same $? 0
wait $!
check 'nohup holds' npy_is u.npy '<f8' '()' "$("$exe" 'f64(u)' -o -.raw | hex)"

# No room.
cp a.npy before
(ulimit -f 100 && gx 'a = a + 1' --force && printf '%s' "$code" >"$log/code")
check 'a limit on file sizes: exit 5' same "$(cat "$log/code")" 5
check 'a limit on file sizes: says so' like "$(cat "$log/err")" 'gpuexpr: a.npy: *ulimit -f*'
check 'a limit on file sizes: the old file' cmp a.npy before
mkdir disk
if [ "$root" = 0 ] && mount -t tmpfs -o size=1m none disk 2>/dev/null; then
	at_exit() { cd /; umount "$dir/work/disk"; }
	gx 'x = arange(4)' -o disk/x.npy
	cp disk/x.npy x.old
	fails 'a full disk' 5 'disk/x.npy: *No space left' 'x = a' -o disk/x.npy --force
	check 'a full disk: the old file' cmp disk/x.npy x.old
	check 'a full disk: nothing else' files disk 'x.npy '
	fails 'a full disk, text' 5 'disk/x.csv: *No space left' 'x = a' -o disk/x.csv
	fails 'a full disk, two outputs' 5 'No space left' 'x = 1; y = a' -o x=disk/x.npy -o y=disk/y.npy --force
	check 'a full disk, two outputs: neither' cmp disk/x.npy x.old
	check 'a full disk, two outputs: nothing else' files disk 'x.npy '
	mount -o remount,ro disk 2>/dev/null && fails 'a disk to read from only' 5 'Read-only' 'y = 1' -o disk/y.npy
else
	skip 'a full disk' 'tmpfs cannot be mounted here'
fi
(ulimit -v 400000 && gx 'sum(a); huge = arange(6e7)' && printf '%s' "$code" >"$log/code")
check 'memory that runs out: exit 7' same "$(cat "$log/code")" 7
check 'memory that runs out: says of what' like "$(cat "$log/err")" 'gpuexpr: out of memory: *'
check 'memory that runs out: no file' missing huge.npy
end
