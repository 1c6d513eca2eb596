#!/bin/sh
# basic.sh -- the first page of the manual: programs over .npy files in this folder; the bytes of the results.
. "$(dirname "$0")/lib.sh"

quiet 'two statements write two files' 'a = f32(arange(4)); b = a*0.5 + 1'
check 'and nothing else' files . 'a.npy b.npy '
check 'a.npy, byte for byte' npy_is a.npy '<f4' '(4,)' 000000000000803f0000004000004040
check 'b.npy, byte for byte' npy_is b.npy '<f4' '(4,)' 0000803f0000c03f0000004000002040
quiet 'c = a*b + sin(a)' 'c = a*b + sin(a)'
# 0, 1.5+sin 1, 4+sin 2, 7.5+sin 3 in float32: 0, 2.341471, 4.9092975, 7.64112
check 'c.npy, byte for byte' npy_is c.npy '<f4' '(4,)' 00000000a9da1540f7189d400e84f440
prints 'a bare name is printed' '[0.        2.341471  4.9092975 7.64112  ]' c
prints 'a bare expression over files' 17.0 'sum(a*b + 1)'
prints 'assignments and prints in one program' 6.0 'd = a+b; sum(a)'
check 'the assignment was written' npy_is d.npy '<f4' '(4,)' 0000803f00002040000080400000b040
quiet 'a temporary is no output' '_t = a+1; e = _t*2'
check '_t.npy is not there' missing _t.npy
prints 'a program with newlines and comments' '6
4' '# sums
_s = arange(4)   # temporary
sum(_s)
count(_s >= 0)'
quiet 'an output that was read first' --force 'a = a*2'
check 'a.npy is new' npy_is a.npy '<f4' '(4,)' 0000000000000040000080400000c040
quiet 'a matrix' 'm = reshape(u8(arange(6)), 2, 3)'
check 'm.npy, byte for byte' npy_is m.npy '|u1' '(2, 3)' 000102030405
quiet 'a scalar' 's = sum(m)'
check 's.npy, byte for byte' npy_is s.npy '<u8' '()' 0f00000000000000
quiet 'bools' 't = m > 2'
check 't.npy, byte for byte' npy_is t.npy '|b1' '(2, 3)' 000000010101
quiet 'nothing' 'n = zeros(0, 3)'
check 'n.npy, byte for byte' npy_is n.npy '<f8' '(0, 3)' ''
end
