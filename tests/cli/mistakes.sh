#!/bin/sh
# mistakes.sh -- what people get wrong: the message names it, says what was found, and where it can proposes what was meant.
. "$(dirname "$0")/lib.sh"

gx 'alpha = f32(arange(4)); beta = alpha+1; m = zeros(2, 3)'
fails 'a misspelt input' 4 'no input `alhpa`: there is no alhpa.npy*
found: alpha.npy, beta.npy, m.npy
hint: did you mean `alpha`?' 'alhpa*2'
fails 'a misspelt function' 3 '<expr>:1:1: error: unknown function `sqtr`
  sqtr(alpha)
  ^~~~
hint: did you mean `sqrt`?' 'sqtr(alpha)'
fails 'a misspelt option' 2 'unknown option --expain; did you mean --explain?' --expain 'sum(alpha)'
fails 'an option behind the program' 2 'unknown option --forec; did you mean --force?' 'c = alpha' --forec
fails 'an option with a value it does not take' 2 '--force takes no value' --force=yes 'c = alpha'
fails 'an option without the value it needs' 2 '--device needs a value' 'c = alpha' --device
fails 'a short option that is none' 2 '-x was taken as the program' -x 'sum(alpha)'
fails '-o=path before the program' 2 'unknown option -o=z.npy; write -o z.npy' -o=z.npy 'c = alpha'
fails '-opath before the program' 2 'hint: -oz.npy was taken as the program; if it is an option, write -o z.npy' -oz.npy 'c=alpha'
fails 'two letters in one' 2 'unknown option -nq; write -n -q' 'c = alpha' -nq
prints 'and compare' True '-q==-5' q=5
prints 'a program may begin as an option does' '[-0. -1. -2. -3.]' '-oo' oo=alpha.npy
printf '1,2\n3,4\n' >table.csv
fails 'a table of that name' 4 'hint: there is table.csv: add table=table.csv' 'sum(table)'
fails 'a file that is not there' 4 'other.npy: no such file' x x=other.npy
mkdir empty && cd empty || exit
fails 'an empty folder' 4 'found: no .npy files in this folder' 'a+b'
cd ..
fails 'shapes that do not fit' 3 '<expr>:1:8: error: shapes (2, 3) and (4,)*aligned from the right, axis 1 of `m` has 3 and axis 0 of `alpha` has 4' 'c = m  + alpha'
check 'nothing is written' missing c.npy
fails 'a mistyped assignment' 3 ':1:3: error: unexpected `=`' '2 = alpha'
fails 'a power as in other languages' 3 '\*\*' 'alpha ^ 2'
fails 'nothing at all' 3 'error: ' ''
fails 'only a comment' 3 'error: ' '# sum(alpha)'

# Files that are not what their names say.
head -c 100 alpha.npy >short.npy
fails 'a header cut off' 4 'short.npy*header' short
head -c 140 alpha.npy >cut.npy
fails 'data cut off' 4 'cut.npy is truncated: shape (4,) of float32 needs 16 data bytes, found 12' cut
{ cat alpha.npy; echo tail; } >long.npy
prints 'bytes after the data are let be, as NumPy does' 6.0 'sum(long)'
: >nothing.npy
fails 'an empty file' 4 'nothing.npy is empty (0 bytes)' nothing
echo 1,2,3 >text.npy
fails 'text' 4 "text.npy is not an .npy file: it begins with '1,2,3*raw numbers are named FILE:f32:1024x1024, files of text .csv, .tsv or .txt" text
printf 'PK\003\004rest' >zip.npy
fails 'a zip archive' 4 'zip.npy is not an .npy file: *zip archive*FILE.npz:NAME' zip
printf '\223NUMPY\011\000v\000{' >version.npy
fails 'a version of the future' 4 'version.npy: format version 9.0 is not known' version
npy object.npy "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }" '\200\004.'
fails 'Python objects' 4 'object.npy holds Python objects' object
npy text.npy "{'descr': '<U3', 'fortran_order': False, 'shape': (1,), }" 'abcabcabcabc'
fails 'strings' 4 'text.npy holds text strings' text
npy record.npy "{'descr': [('x', '<f4'), ('y', '<i2')], 'fortran_order': False, 'shape': (1,), }" 'abcdef'
fails 'records' 4 'record.npy has a structured dtype (fields x: float32, y: int16)' record
npy big.npy "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }" '\077\200\000\000\100\000\000\000'
prints 'big-endian numbers are read' '[1. 2.]' big
npy fortran.npy "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }" '\001\002\003\004\005\006'
prints 'Fortran order is read' '[[1 3 5]
 [2 4 6]]' fortran
npy negative.npy "{'descr': '|u1', 'fortran_order': False, 'shape': (-1,), }" 'a'
fails 'a negative extent' 4 'negative.npy: *negative' negative
npy huge.npy "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }" 'a'
fails 'an impossible shape' 4 'huge.npy: *2**63' huge
npy code.npy "{'descr': '<f8', 'fortran_order': False, 'shape': (__import__('os').system('touch owned'),), }" 'a'
fails 'code in the header' 4 'code.npy: header: ' code
check 'is not run' missing owned
printf '1,2\n3\n' >ragged.csv
fails 'a ragged table' 4 'ragged.csv*2' t t=ragged.csv
printf '1,2\n3,four\n' >words.csv
fails 'words in a table' 4 'words.csv*four' t t=words.csv
mkdir folder.npy
fails 'a folder' 4 'folder.npy is a folder, not a file' folder
mkfifo pipe.npy
{ cat alpha.npy >pipe.npy & }
prints 'a named pipe' 6.0 'sum(pipe)'
end
