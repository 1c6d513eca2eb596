#!/bin/sh
# print_numpy.sh -- 200 random arrays of all types, ranks and magnitudes: what the tool prints is what NumPy 2.4 or later prints.
. "$(dirname "$0")/lib.sh"

numpy=$here/../../.venv/bin/python
if ! "$numpy" -c 'import numpy; assert tuple(map(int, numpy.__version__.split(".")[:2])) >= (2, 4)' 2>/dev/null; then
	skip 'all' 'no NumPy 2.4 in .venv'
	end
fi
cat >compare.py <<'E'
import random, subprocess, sys
import numpy as np
seed = int(sys.argv[2])
r = np.random.default_rng(seed)
random.seed(seed)
wrong = []
for k in range(200):
    rank = random.randint(1, 4)
    most = ([3000, 80, 20, 10] if random.random() < .15 else [40, 12, 6, 4])[rank - 1]
    shape = tuple(random.randint(0 if random.random() < .03 else 1, most) for _ in range(rank))
    v = r.normal(size=shape)
    v = random.choice([
        lambda: v, lambda: v * 10.0 ** r.integers(-8, 9, size=shape), lambda: np.round(v * 4) / 4,
        lambda: np.where(r.random(shape) < .1, np.nan, v * 100), lambda: v * 10.0 ** r.integers(-12, 13),
        lambda: np.where(r.random(shape) < .1, np.copysign(np.inf, v), np.round(v * 1000))])()
    with np.errstate(all='ignore'):
        a = v.astype(random.choice(['f4', 'f8', 'f2', 'i8', 'i4', 'u1', 'i1', '?']))
    np.save('z.npy', a)
    got = subprocess.run([sys.argv[1], 'z'], capture_output=True, text=True).stdout.rstrip('\n')
    got = got.split('\n', 1)[1] if a.size > 1000 else got
    if got != str(a):
        wrong.append(f'{a.dtype} {shape} number {k} of seed {seed}: {got[:200]!r} wanted {str(a)[:200]!r}')
print('\n'.join(wrong))
sys.exit(bool(wrong))
E
check '200 arrays of seed 1' "$numpy" compare.py "$exe" 1
seed=$(date +%N | sed 's/^0*//')
check "200 arrays of seed $seed" "$numpy" compare.py "$exe" "${seed:-2}"
end
