#!/bin/sh
# print.sh -- results on standard output as NumPy prints them; a scalar is a bare number, a large array is summed up.
. "$(dirname "$0")/lib.sh"

prints 'an integer' 45 'sum(arange(10))'
prints 'a float' 0.1 '0.1'
prints 'a whole float keeps its point' 3.0 '1.5*2'
prints 'a float32 is the shortest text of a float32' 0.1 'f32(0.1)'
prints 'a float16' 0.1 'f16(0.1)'
prints 'a bool' True '1 < 2'
prints 'nan' nan '0.0/0.0'
prints 'minus infinity' -inf '-1/0.0'
prints 'minus zero' -0.0 '-0.0'
prints 'an unsigned 64-bit integer' 18446744073709551615 '~u64(0)'
prints 'the least integer' -9223372036854775808 'i64(1) << 63'
prints 'large and small' '1e+300
1e-300' '1e300; 1e-300'
prints 'rank 0' 2 'arange(5)[2]'
prints 'one axis' '[0 1 2]' 'arange(3)'
prints 'columns are as wide as the widest' '[  1 -10 100]' 'i32(where(arange(3) == 1, -10, 10**arange(3)))'
prints 'fractions line up' '[0.   0.25 0.5 ]' 'arange(3)/4'
prints 'mixed sizes are scientific' '[1.e+00 1.e+04 1.e+08]' '1e4**arange(3)'
prints 'bools line up' '[ True False]' 'arange(2) == 0'
prints 'float16' '[0.     0.3333 0.6665 1.    ]' 'f16(linspace(0, 1, 4))'
prints 'nan and inf among numbers' '[nan inf  1.]' 'f32(1)/where(arange(3) == 0, nan, where(arange(3) == 1, 0, 1))'
prints 'nan beside fractions' '[nan 0.5]' 'where(arange(2) == 0, nan, 0.5)'
prints 'only inf' '[ inf -inf]' 'where(arange(2) == 0, inf, -inf)'
prints 'float32, scientific: digits of the value itself' '[5.0755888e-09 1.2345679e+00]' 'f32(where(arange(2) == 0, 5.075589e-9, 1.2345679))'
prints 'float32, scientific from a million on' '[1.e+06 1.e+05]' 'f32(where(arange(2) == 0, 1e6, 1e5))'
prints 'float16, scientific from a thousand on' '[1.23e+03 9.99e+02]' 'f16(where(arange(2) == 0, 1230, 999))'
prints 'float32, fixed: 8 digits after the point' '[0.01234568 0.5       ]' 'f32(where(arange(2) == 0, 0.0123456789, 0.5))'
prints 'exponents of three digits' '[1.e+300 1.e-005]' 'where(arange(2) == 0, 1e300, 1e-5)'
prints 'bools that are all true' '[ True  True]' 'arange(2) >= 0'
prints 'two axes' '[[0 1 2]
 [3 4 5]]' 'reshape(arange(6), 2, 3)'
prints 'three axes' '[[[0 1]
  [2 3]]

 [[4 5]
  [6 7]]]' 'reshape(arange(8), 2, 2, 2)'
prints 'long rows are wrapped at 75 columns' '[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23
 24 25 26 27 28 29]' 'arange(30)'
prints 'rows of two axes are wrapped at one column less' '[[10000 10001 10002 10003 10004 10005 10006 10007 10008 10009 10010 10011
  10012 10013]]' '10000 + reshape(arange(14), 1, 14)'
prints 'empty' '[]' 'arange(0)'
prints 'empty, two axes' '[]' 'zeros(0, 3)'
prints 'several, one after the other' '1
[0 1]
True' '1; arange(2); true'
gx 'arange(1000)'
check 'a thousand elements are printed in full' same "$(tr -d '[]' <"$log/out" | wc -w)" 1000
prints 'more are summed up' 'int64 (1001,)  min 0  mean 500.0  max 1000
[   0    1    2 ...  998  999 1000]' 'arange(1001)'
prints 'its corners, two axes' 'float32 (40, 50)  min 0.0  mean 999.5  max 1999.0
[[0.000e+00 1.000e+00 2.000e+00 ... 4.700e+01 4.800e+01 4.900e+01]
 [5.000e+01 5.100e+01 5.200e+01 ... 9.700e+01 9.800e+01 9.900e+01]
 [1.000e+02 1.010e+02 1.020e+02 ... 1.470e+02 1.480e+02 1.490e+02]
 ...
 [1.850e+03 1.851e+03 1.852e+03 ... 1.897e+03 1.898e+03 1.899e+03]
 [1.900e+03 1.901e+03 1.902e+03 ... 1.947e+03 1.948e+03 1.949e+03]
 [1.950e+03 1.951e+03 1.952e+03 ... 1.997e+03 1.998e+03 1.999e+03]]' 'reshape(f32(arange(2000)), 40, 50)'
prints 'bools are summed up, too' 'bool (2000,)  min False  mean 0.5  max True
[False False False ...  True  True  True]' 'arange(2000) >= 1000'
prints 'a nan among many shows' 'float64 (2000,)  min nan  mean nan  max nan
[nan  1.  1. ...  1.  1.  1.]' 'where(arange(2000) == 0, nan, 1.0)'
end
