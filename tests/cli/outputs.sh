#!/bin/sh
# outputs.sh -- where results go, in which format, and what is refused; an old file stays as it was until a whole new one takes its place.
. "$(dirname "$0")/lib.sh"

gx 'a = reshape(f32(arange(6)), 2, 3) / 4; b = u8(arange(3))'
mkdir to
quiet '-o name=path' 'x = a*2; y = b+1' -o y=to/y.npy
check 'the named one and the others' files . 'a.npy b.npy to x.npy '
check 'its bytes' npy_is to/y.npy '|u1' '(3,)' 010203
quiet '-o path for the only output' 'y = b' -o to/only.npy
quiet '--output=name=path' 'y = b' --output=y=to/long.npy
quiet 'a bare expression into a file' 'b*2' -o to/bare.npy
check 'its bytes' npy_is to/bare.npy '|u1' '(3,)' 000204
quiet '.csv' a -o to/a.csv
check 'its text' same "$(cat to/a.csv)" '0.0,0.25,0.5
0.75,1.0,1.25'
quiet '.tsv' a -o to/a.tsv
check 'its text' same "$(cat to/a.tsv)" "$(printf '0.0\t0.25\t0.5\n0.75\t1.0\t1.25')"
quiet '.txt' b -o to/b.txt
check 'its text' same "$(cat to/b.txt)" '0
1
2'
quiet '.raw' 'b == 1' -o to/b.raw
check 'its bytes' same "$(hex <to/b.raw)" 000100
quiet '.bin is raw, too' 'b == 1' -o to/b.bin
check 'its bytes' same "$(hex <to/b.bin)" 000100
for e in dat npz png h5 json gz v2; do
	fails "no format is called .$e" 2 "to/b.$e: no format has this extension; there are .npy, .csv, .tsv, .txt, .raw and .bin; hint: * -o -.raw > FILE" b -o to/b.$e
	check 'nothing is written' missing to/b.$e
done
fails 'an extension of standard output, too' 2 '-.dat: no format' b -o -.dat
fails 'a dry run says so, too' 2 'no format' -n 'y = b' -o y=b.dat
quiet 'no extension is .npy' 'y = b' -o to/b
check 'its bytes' npy_is to/b '|u1' '(3,)' 000102
mkfifo to/pipe.end
{ cat to/pipe.end >"$log/piped" & }
quiet 'a pipe is .npy whatever its name' 'y = b' -o to/pipe.end
wait
check 'its bytes' npy_is "$log/piped" '|u1' '(3,)' 000102
gx 'h = bf16(b)/2'
check 'bfloat16 becomes float32 in .npy' npy_is h.npy '<f4' '(3,)' 000000000000003f0000803f
quiet 'and stays as it is in .raw' 'bf16(b)/2' -o to/h.raw
check 'its bytes' same "$(hex <to/h.raw)" 0000003f803f
rm h.npy
prints 'text that is read back' True 'all(t == a)' t=to/a.csv
"$exe" 'y = b' -o y=- >to/stdout.npy 2>"$log/err"
check '-o name=- is .npy on standard output' cmp to/stdout.npy to/only.npy
check 'and nothing is said' same "$(cat "$log/err")" ''
prints '-o -.csv is text there' '0
1
2' b -o -.csv
check 'a pipe of two' same "$("$exe" 'b*2' -o - | "$exe" 'sum(x)' x=-)" 6

fails 'rank 3 into text' 5 'rank 3' 'zeros(2, 2, 2)' -o to/z.csv
check 'and no file' missing to/z.csv

cp x.npy old
fails 'an existing file' 5 'x.npy exists; use --force' 'x = a*0'
check 'stays as it was' cmp x.npy old
fails 'a dry run says so, too' 5 'x.npy exists' -n 'x = a*0'
fails 'one of two outputs exists' 5 'x.npy exists' 'w = a; x = a*0'
check 'then the other is not written' missing w.npy
chmod 640 x.npy
quiet '--force' --force 'x = a*0'
check 'replaces it' npy_is x.npy '<f4' '(2, 3)' "$(printf %048d 0)"
check 'with the mode of the old file' same "$(stat -c %a x.npy)" 640
if [ "$root" = 0 ]; then
	chown 65534:65534 x.npy
	quiet '--force as root' --force 'x = a*0'
	check 'keeps the owner of the old file' same "$(stat -c '%u %g %a' x.npy)" '65534 65534 640'
	chown 0:0 x.npy
fi
GPUEXPR_FORCE=1
export GPUEXPR_FORCE
quiet 'GPUEXPR_FORCE=1' 'x = b'
unset GPUEXPR_FORCE
check 'replaces it' npy_is x.npy '|u1' '(3,)' 000102

ln -s to/target.npy link.npy
quiet 'a link to a file that is not there yet' 'link = b'
check 'makes that file' npy_is to/target.npy '|u1' '(3,)' 000102
check 'and leaves the link' test -L link.npy
quiet 'a link, --force' --force 'link = b+1'
check 'replaces the file' npy_is to/target.npy '|u1' '(3,)' 010203
check 'and leaves the link' test -L link.npy
ln -s loop.npy loop.npy
fails 'a link to itself' 5 'loop.npy' 'loop = b'
ln -s no/where.npy lost.npy && ln -s no nowhere
fails 'a link into a folder that is not there' 5 'gpuexpr: lost.npy is a symbolic link that leads nowhere (to no/where.npy)' 'lost = b'
fails 'a folder that is such a link' 5 'gpuexpr: nowhere is a symbolic link that leads nowhere (to no)' b -o nowhere/b.npy
mkdir dir.npy
fails 'a folder' 5 'dir.npy is a folder' --force 'dir = b'
fails 'a folder with a slash' 5 'to/ is a folder' b -o to/
fails 'a folder that is not there' 5 "folder 'no/where' does not exist" b -o no/where/b.npy
check 'is not made' missing no
fails 'a file as a folder' 5 'a.npy/b.npy' b -o a.npy/b.npy
mkdir locked && chmod 555 locked
if without_root; then
	fails 'a folder that may not be written' 5 'locked/b.npy: *Permission denied' b -o locked/b.npy
	chmod 444 b.npy
	fails 'a file that is protected' 5 'b.npy: may not be written, and --force does not change that: Permission denied' --force 'b = 0'
	fails 'a dry run says so, too' 5 'b.npy: may not be written' -n --force 'b = 0'
	check 'stays as it was' npy_is b.npy '|u1' '(3,)' 000102
	chmod 000 b.npy
	fails 'an input that may not be read' 4 'b.npy: *Permission denied' b
	chmod 644 b.npy
	exe=$privileged
else
	skip 'unwritable folder' 'root, and the tool cannot be run as nobody'
fi
quiet 'a path with spaces and quotes' b -o "to/a b\"'.npy"
check 'is there' npy_is "to/a b\"'.npy" '|u1' '(3,)' 000102
quiet 'a path with a newline' b -o 'to/a
b.npy'
fails 'its message has one line' 5 'to/a\\x0ab.npy exists' b -o 'to/a
b.npy'
fails 'no such output' 2 'no output `resul`; did you mean `result`' 'result = b' -o resul=x.npy
fails 'one path, two outputs' 2 'has 2 outputs' 'p = b; q = b' -o x.npy
fails 'two outputs, one path' 2 'two outputs go to to/../to/same.npy' 'p = b; q = b' -o p=to/same.npy -o q=to/../to/same.npy
fails 'two outputs on standard output' 2 'standard output: p and q' 'p = b; q = b' -o p=- -o q=-
fails 'an array and printed text on standard output' 2 'standard output' 'p = b; sum(b)' -o p=-
fails '-o twice for a name' 2 'given twice for p' 'p = b' -o p=to/1.npy -o p=to/2.npy
fails '-o without a path' 2 'needs a value' b -o
fails '-o with an empty path' 2 '-o needs a value' b -o ''
fails '-o name= without a path' 2 '-o p=: there is nothing behind the =' 'p = b' -o p=
fails '-o=path' 2 'unknown option -o=z.npy; write -o z.npy' b -o=z.npy
fails '-opath' 2 'unknown option -oz.npy; write -o z.npy' b -oz.npy
check 'no temporary is left' same "$(find . -name '.gpuexpr*')" ''
if has_terminal; then
	check 'a terminal gets no binary' like "$(script -qec "'$exe' b -o -" /dev/null </dev/null)" '*refusing to write a binary*terminal*'
	check 'a terminal is no .npy file' like "$(script -qec "'$exe' 'sum(x)' x=-" /dev/null)" '*standard input is a terminal; feed it*'
	check 'a terminal is told what was written' like "$(script -qec "'$exe' 'told = b'" /dev/null </dev/null)" 'wrote told.npy: uint8 (3,)*'
else
	skip 'terminals' "$why_not"
fi
end
