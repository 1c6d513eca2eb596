#!/bin/sh
# bindings.sh -- every way to give a program its inputs, and what is said about a wrong one.
. "$(dirname "$0")/lib.sh"

mkdir in
gx 'a = f32(arange(12)) + 0.5; b = f64(arange(3))' -o a=in/a.raw -o b=in/b.npy
gx 'm = reshape(arange(6), 2, 3)' -o m=in/m.csv
prints 'name=file.npy' '[0. 1. 2.]' x x=in/b.npy
prints 'name=3.5' '[0.  3.5 7. ]' 'x*k' x=in/b.npy k=3.5
prints 'name=-2' '[-2. -1.  0.]' 'x+k' x=in/b.npy k=-2
gx 'u = u8(arange(3))' -o u=in/u.npy
quiet 'a number is weak' 'w = u*k' u=in/u.npy k=2
check 'its product keeps the type' npy_is w.npy '|u1' '(3,)' 000204
prints 'name=1e3' 1000.0 k k=1e3
prints 'name=nan' nan k k=nan
prints 'name=f32:[1,2,3]' '[2. 4. 6.]' 'k*2' k=f32:[1,2,3]
prints 'name=u8:[[1, 2], [3, 4]]' '[[1 2]
 [3 4]]' k 'k=u8:[[1, 2], [3, 4]]'
prints 'name=i16:-7' -7 k k=i16:-7
prints 'name=bool:[true,false]' '[ True False]' k k=bool:[true,false]
prints 'name=true' '[ True False]' 'arange(2) < 1 and k' k=true
prints 'name=false' False k k=false
prints 'name=f64:[]' '[]' k k=f64:[]
prints 'name=file.raw:f32:3x4' '[[ 0.5  1.5  2.5  3.5]
 [ 4.5  5.5  6.5  7.5]
 [ 8.5  9.5 10.5 11.5]]' x x=in/a.raw:f32:3x4
prints 'name=file.raw:f32 is all of the file' 12 'size(x)' x=in/a.raw:f32
prints 'name=table.csv' '[[0 1 2]
 [3 4 5]]' x x=in/m.csv
printf 'x,y\n1,2.5\n3,4.5\n' >in/head.csv
prints 'a table with a header line' '[[1.  2.5]
 [3.  4.5]]' x x=in/head.csv
prints 'name=- is .npy on standard input' '[0. 1. 2.]' x x=- <in/b.npy
check 'from a pipe, what follows the array stays unread' same "$({ cat in/b.npy; echo more; } | "$exe" 'sum(x)' x=-)" 3.0
prints 'name=-.csv is text on standard input' '[10 20]' 'x*10' x=-.csv <<-'E'
	1
	2
	E
if [ -n "$python" ]; then
	"$python" - <<-'E'
	import zipfile, io
	npy = open('in/b.npy', 'rb').read()
	with zipfile.ZipFile('in/two.npz', 'w', zipfile.ZIP_DEFLATED) as z:
	    z.writestr('x.npy', npy)
	    z.writestr('y.npy', npy)
	E
	prints 'name=file.npz:key' '[0. 1. 2.]' v v=in/two.npz:y
	fails 'file.npz without a key names the keys' 2 'x' v v=in/two.npz
	fails 'file.npz with a wrong key' 4 z v v=in/two.npz:z
else
	skip 'name=file.npz:key' 'no python3 to make one'
fi
cp in/b.npy 'in/a b"c'\''d.npy'
prints 'a path with spaces and quotes' '[0. 1. 2.]' x "x=in/a b\"c'd.npy"
cp in/b.npy ./-n.npy
prints 'a path with a leading minus' '[0. 1. 2.]' x x=-n.npy
cp in/b.npy ./x=y.npy
prints 'a path with =' '[0. 1. 2.]' x x=x=y.npy
cp in/b.npy ./int.npy
prints 'a name that is a word of C' '[0. 1. 2.]' int
cp in/b.npy ./sum.npy
prints 'an input with the name of a function' 3.0 'sum(sum)'

ln -s gone.npy lost.npy && ln -s gone nowhere
fails 'a link that leads nowhere' 4 'gpuexpr: lost.npy is a symbolic link that leads nowhere (to gone.npy)' 'sum(lost)'
fails 'the same, bound' 4 'gpuexpr: lost.npy is a symbolic link that leads nowhere (to gone.npy)' 'sum(x)' x=lost.npy
fails 'a link to a folder' 4 'gpuexpr: nowhere is a symbolic link that leads nowhere (to gone)' 'sum(x)' x=nowhere/x.npy
fails 'as the program' 4 'cannot read the program: lost.npy is a symbolic link that leads nowhere (to gone.npy)' -f lost.npy
fails 'a name bound twice' 2 'bound twice*x=1*x=2' x x=1 x=2
fails 'an unused binding' 2 'no input named `weight`; did you mean `weights`' 'weights*2' weights=1 weight=2
fails 'nothing behind the =' 2 'x=: *nothing' x x=
fails 'a file without a name' 2 'expected name=binding, found `in/b.npy`*say which input that is: name=in/b.npy' 'x' in/b.npy
fails 'the program in pieces' 2 'quotes' c = a
fails 'bindings before the program' 2 'the program comes first' x=in/b.npy 'sum(x)'
fails 'standard input twice' 2 'standard input*`x`*`y`' 'x+y' x=- y=- <in/b.npy
fails 'standard input for program and input' 2 'standard input' -f - x=- <in/b.npy
fails 'a literal out of range' 2 'x=u8:300: *range*uint8' x x=u8:300
fails 'a literal with rows of two lengths' 2 'rows have different lengths' x 'x=f32:[[1,2],[3]]'
fails 'a literal with a word in it' 2 'expected a number' x 'x=f32:[1,two]'
fails 'a literal that does not end' 2 'not closed' x 'x=f32:[1,2'
slips() {   # slips VALUE WHAT HINT: k=VALUE is no value and no file
	gx 'k*2' "k=$1"
	check "k=$1" same "$code $out$err" "2 gpuexpr: k=$1: $2
hint: $3"
}
slips '[1,2]' 'an array has its type in front' 'write k=f32:[1,2]'
slips 1,2.5,3 'an array has its type in front and brackets' 'write k=f32:[1,2.5,3]'
slips 3,5 'a number has a point' 'write k=3.5, or for an array k=f32:[3,5]'
slips True 'truth is written in small letters' 'write k=true'
slips FALSE 'truth is written in small letters' 'write k=false'
slips 'f33:[300]' 'there is no type `f33`' 'did you mean k=f32:[300]?'
slips F64:3 'there is no type `F64`' 'did you mean k=f64:3?'
slips double:3 'there is no type `double`' 'the types are bool, i8 to i64, u8 to u64, f16, bf16, f32 and f64'
for k in 0x10 1/3 '2*pi' 3px; do
	slips "$k" 'neither a number nor a file' 'a number is decimal; what is to be computed belongs into the program'
done
fails 'a word' 4 'gpuexpr: pi: no such file
hint: a value is written k=3.5, k=true or k=f32:[[]1,2]' k k=pi
fails 'a file with a number for its name' 4 'gpuexpr: 2024.npy: no such file' k k=2024.npy
cp in/b.npy 3,5
prints 'a file that is there with such a name' '[0. 1. 2.]' k k=3,5
fails 'a raw file of a wrong shape' 4 'in/a.raw*(5, 5)*needs 100 *found 48' x x=in/a.raw:f32:5x5
fails 'a raw file of an unknown type' 2 "in/a.raw: cannot make sense of ':f33:5x5' *; did you mean \`f32\`[?] hint: " x x=in/a.raw:f33:5x5
fails 'a raw file of a shape that is none' 2 'a shape is written 1024x1024' x x=in/a.raw:f32:5x
end
