"""Reductions against NumPy: every name, element type, memory order, set of axes and keepdims; ddof=, dtype=, empty arrays.

Sums and products of floats are made in float64 and rounded once, so a float32 result must be the reference's within its last place and
a float64 one within the error of a blocked sum; integers, min, max and positions are exact. Positions over several axes count in C
order over those axes (NumPy takes one axis only); min and max order -0 below +0, which NumPy leaves open.
"""
import itertools
import math

import numpy as np

from gx import STORE, TYPES, Refused, Typed
from values import BYTES, close, edges, is_float, noise, numeric, of_numpy, register, same, stored


class NoValue(Exception):
    """No result: an error is expected."""


def flat(x, axes):
    """Numbers with the reduced axes last, as one: kept shape + (count,)."""
    v = numeric(x)
    kept = [k for k in range(v.ndim) if k not in axes]
    v = np.transpose(v, kept + sorted(axes))
    return v.reshape([x.a.shape[k] for k in kept] + [math.prod(x.a.shape[k] for k in axes)])


def converted(x, t):
    from parity import as_type
    return x if t is None or t == x.t else as_type(x, t)


def mean_type(t):
    return t if is_float(t) else "f64"


def within_sum(x, parts, divide=1):
    """Room for the order of a float64 sum: some last places of the sum of the magnitudes (blocks, then a tree)."""
    return 16 * np.finfo("f8").eps * np.abs(parts.astype("g")).sum(-1) / divide


def total(x, axes, kind, dtype=None):
    x = converted(x, dtype)
    v = flat(x, axes)
    if is_float(x.t):
        wide = v.astype("g")
        if kind == "prod":
            # Where a partial product may leave float64's range the result depends on the order: anything goes (room without end).
            size = np.log2(np.abs(np.where(np.isfinite(v) & (v != 0), v, 1)).astype("g"))
            lost = (np.where(size > 0, size, 0).sum(-1) > 1000) | (np.where(size < 0, -size, 0).sum(-1) > 1000)
            w = wide.prod(-1)
            room = np.abs(np.where(np.isfinite(w), w, 0)) * 16 * v.shape[-1] * np.finfo("f8").eps
            return x.t, w, np.where(lost, np.inf, room)
        return x.t, wide.sum(-1), within_sum(x, wide)
    acc = "u8" if x.t[0] == "u" else "i8"
    r = getattr(np, kind)(v.astype(acc), axis=-1, dtype=acc)
    t = dtype or ("u64" if acc == "u8" else "i64")
    return Typed(t, (r != 0) if t == "b8" else r.astype(STORE[t]))


def mean(x, axes, dtype=None):
    x = converted(x, dtype)
    v = flat(x, axes).astype("g")
    return mean_type(x.t), v.sum(-1) / np.longdouble(v.shape[-1]), within_sum(x, v, max(v.shape[-1], 1))


def moments(x, axes, ddof, root, nan=False):
    nan = nan and is_float(x.t)          # np.nanvar of integers is np.var, which gives inf where no degree of freedom is left
    v = flat(x, axes).astype("g")
    with np.errstate(all="ignore"):
        n = np.full(v.shape[:-1], v.shape[-1], "g") if not nan else (v == v).sum(-1).astype("g")
        m = (np.where(v == v, v, 0) if nan else v).sum(-1) / n
        d = (v - m[..., None]) ** 2
        s = (np.where(v == v, d, 0) if nan else d).sum(-1)
        left = n - ddof
        r = s / (np.where(left > 0, left, np.nan) if nan else np.maximum(left, 0))
        scale = np.abs(np.where(np.isfinite(v), v, 0)).max(-1, initial=0) if v.shape[-1] else np.zeros(v.shape[:-1], "g")
        r = np.where(r > np.finfo("f8").max, np.inf, r)      # squares overflow as float64, for std too
        # One pass: the error of the running mean, which is of the size of the values, comes in once.
        room = 64 * np.finfo("f8").eps * (r + np.sqrt(r) * scale + np.finfo("f8").eps * scale**2)
        return (mean_type(x.t), np.sqrt(r), np.where(r > 0, room / np.sqrt(r), np.finfo("f8").eps * scale)) if root else (mean_type(x.t), r, room)


def extreme(x, axes, name, ignore_nan=False):
    v = flat(x, axes)
    if v.shape[-1] == 0:
        raise NoValue
    if not is_float(x.t):
        return Typed(x.t, getattr(v, name)(-1))
    if ignore_nan:
        low = -np.inf if name == "max" else np.inf
        some = (v == v).any(-1)
        v = np.where(v == v, v, np.where(some, low, np.nan)[..., None])
    r = getattr(v, name)(-1)
    zero = np.signbit(v) & (v == 0)
    if name == "min":
        r = np.where((r == 0) & zero.any(-1), np.copysign(0, -1), r)
    else:
        r = np.where((r == 0) & (zero | (v != 0)).all(-1), np.copysign(0, -1), np.where(r == 0, 0.0, r))
    return stored(x.t, r)


def position(x, axes, name):
    v = flat(x, axes)
    if v.shape[-1] == 0:
        raise NoValue
    return Typed("i64", getattr(np, name)(v, axis=-1).astype("i8"))


def truth(fn):
    return lambda x, axes: Typed("b8", np.asarray(fn(flat(x, axes) != 0, axis=-1)))


def norm(x, axes):
    v = flat(x, axes).astype("g")
    with np.errstate(all="ignore"):
        s = (flat(x, axes).astype("f8") ** 2).sum(-1).astype("g")     # squares overflow as float64
        s = np.where(np.isfinite(s) & (s > 1e-290), (v * v).sum(-1), s)
    return mean_type(x.t), np.sqrt(s), 8 * np.finfo("f8").eps * np.sqrt(np.where(np.isfinite(s), s, 0))


def logsumexp(x, axes):
    from values import float_of
    t = float_of(x.t)
    v = flat(x, axes).astype(register(t)).astype("g")
    with np.errstate(all="ignore"):
        m = v.max(-1, initial=-np.inf)
        m = np.where(np.isfinite(m), m, 0)
        r = np.log(np.exp(v - m[..., None]).sum(-1)) + m
    # Terms are exponentials within their row's bound, of differences in the type that it computes in.
    eps = np.finfo(register(t)).eps
    return t, r, 8 * eps * (1 + np.abs(np.where(np.isfinite(r), r, 0)) + np.abs(m))


def without_nan(x, value):
    return x if not is_float(x.t) else stored(x.t, np.where(np.isnan(numeric(x)), register(x.t).type(value), numeric(x)))


def nan_mean(x, axes, dtype=None):
    x = converted(x, dtype)
    v = flat(x, axes).astype("g")
    n = (v == v).sum(-1)
    with np.errstate(all="ignore"):
        z = np.where(v == v, v, 0)
        return mean_type(x.t), z.sum(-1) / n.astype("g"), within_sum(x, np.where(np.isfinite(z), z, 0)) / np.maximum(n, 1)


REDUCTIONS = {
    "sum": lambda x, a: total(x, a, "sum"), "prod": lambda x, a: total(x, a, "prod"), "mean": mean,
    "min": lambda x, a: extreme(x, a, "min"), "max": lambda x, a: extreme(x, a, "max"),
    "var": lambda x, a: moments(x, a, 0, False), "std": lambda x, a: moments(x, a, 0, True),
    "any": truth(np.any), "all": truth(np.all), "count": lambda x, a: Typed("i64", np.asarray((flat(x, a) != 0).sum(-1), "i8")),
    "argmin": lambda x, a: position(x, a, "argmin"), "argmax": lambda x, a: position(x, a, "argmax"), "norm": norm, "logsumexp": logsumexp,
    "nansum": lambda x, a: total(without_nan(x, 0), a, "sum"), "nanprod": lambda x, a: total(without_nan(x, 1), a, "prod"),
    "nanmin": lambda x, a: extreme(x, a, "min", True), "nanmax": lambda x, a: extreme(x, a, "max", True), "nanmean": nan_mean,
    "nanvar": lambda x, a: moments(x, a, 0, False, True), "nanstd": lambda x, a: moments(x, a, 0, True, True),
}


class Ulps:
    """What the suite looks for in a row: one last place for the rounding of the reference."""

    def __init__(self, reference, ulp=1):
        self.reference, self.ulp = reference, ulp


def judge(s, name, x, reference, keep, axes, got):
    want = reference(x, axes)
    shape = tuple((1 if k in axes else n) for k, n in enumerate(x.a.shape) if keep or k not in axes)
    if isinstance(want, Typed):
        return s.check(name, same(got, Typed(want.t, want.a.reshape(shape))))
    t, exact, extra = want
    extra = np.broadcast_to(np.asarray(extra, "g"), exact.shape).reshape(shape)
    s.check(name, close(got, t, exact.reshape(shape), 1, extra))


def axis_text(axes, rank, i):
    """axis=1, axis=(0, 2), and every other time counted from the end."""
    if axes is None:
        return ""
    numbers = [a - rank if (i + a) % 2 else a for a in axes]
    return f", axis={numbers[0]}" if len(numbers) == 1 else f", axis=({', '.join(map(str, numbers))})"


def batch(s, label, x, jobs):
    """jobs: (name, expression, reference, keepdims, axes); all in one program, so that they share passes as users' programs do."""
    good = []
    for job in jobs:
        name = f"{job[1]} of {label}"
        if not s.only.search(name):
            continue
        try:
            job[2](x, job[4])
            good.append((name, *job[1:]))
        except NoValue:
            status = s.lib.refusal(f"r = {job[1]}", {"x": x})
            s.check(name, None if status == "SHAPE" else f"a SHAPE error was wanted, found {status}")
    if not good:
        return
    try:
        got = s.lib.run("; ".join(f"r{i} = {g[1]}" for i, g in enumerate(good)), {"x": x})
    except Refused as e:
        for g in good:
            s.check(g[0], f"{e.status}: {e}")
        return
    for g, r in zip(good, got):
        judge(s, g[0], x, g[2], g[3], g[4], r)


def every(s, label, x):
    """All reductions over all sets of axes of x."""
    rank = x.a.ndim
    choices = [None] + [c for n in range(1, rank + 1) for c in itertools.combinations(range(rank), n)]
    for i, c in enumerate(choices):
        axes = set(range(rank)) if c is None else set(c)
        keep = i % 2
        text = axis_text(c, rank, i) + (", keepdims=true" if keep else "")
        batch(s, label, x, [(n, f"{n}(x{text})", f, keep, axes) for n, f in REDUCTIONS.items()])


def moderate(t, n, seed):
    """Values whose sums do not overflow, without NaN; half of them integers, so that ties of min and max happen."""
    rng = np.random.default_rng(seed)
    if not is_float(t):
        return noise(t, n, seed)
    return stored(t, np.where(rng.integers(0, 2, n) == 1, rng.integers(-3, 4, n), rng.standard_normal(n)).astype("f8")).a


def layouts(t, seed):
    """The same 3 x 4 x 5 numbers in several memory orders, with their names."""
    a = moderate(t, 60, seed).reshape(3, 4, 5)
    wide = np.zeros((6, 4, 10), STORE[t])
    wide[::2, :, 1::2] = a
    back = np.ascontiguousarray(a[::-1, :, ::-1])
    yield "C", a
    yield "F", np.asfortranarray(a)
    yield "gaps", wide[::2, :, 1::2]
    yield "reversed", back[::-1, :, ::-1]
    yield "middle first", np.ascontiguousarray(a.transpose(1, 0, 2)).transpose(1, 0, 2)
    yield "broadcast", np.broadcast_to(a[:, :1, :], (3, 4, 5))


def dtypes(s):
    """dtype= converts the elements first; ddof= up to and beyond the number of elements."""
    for t in TYPES:
        x = Typed(t, moderate(t, 28, 8).reshape(4, 7))
        for axes in ({0}, {1}, {0, 1}):
            text = "" if len(axes) == 2 else f", axis={min(axes)}"
            jobs = []
            for u in TYPES:
                jobs += [(n, f"{n}(x{text}, dtype={u})", lambda v, a, n=n, u=u: total(v, a, n, u), 0, axes) for n in ("sum", "prod")]
                if is_float(u):
                    jobs.append(("mean", f"mean(x{text}, dtype={u})", lambda v, a, u=u: mean(v, a, u), 0, axes))
                    jobs.append(("var", f"var(x{text}, dtype={u})", lambda v, a, u=u: moments(converted(v, u), a, 0, False), 0, axes))
                    jobs.append(("std", f"std(x{text}, dtype={u})", lambda v, a, u=u: moments(converted(v, u), a, 0, True), 0, axes))
            for d in (1, 3, 4, 7, 28, 100, 0.5):
                for n, root, nan in (("var", 0, 0), ("std", 1, 0), ("nanvar", 0, 1), ("nanstd", 1, 1)):
                    jobs.append((n, f"{n}(x{text}, ddof={d})", lambda v, a, d=d, root=root, nan=nan: moments(v, a, d, root, nan), 0, axes))
            batch(s, t, x, jobs)


def shapes(s):
    """Empty axes, rank 0, one element, sizes around the blocks of the engines."""
    for t in TYPES:
        for shape in ((0,), (0, 3), (3, 0), (2, 0, 3), (), (1,), (1, 1)):
            every(s, f"{t} {shape}", Typed(t, moderate(t, math.prod(shape), 9).reshape(shape)))
    for shape in ((1000,), (4097,), (70001,), (3, 5000), (5000, 3), (129, 257), (33, 3, 65)):
        for t in ("f32", "f64", "i32", "u8", "f16"):
            every(s, f"{t} {shape}", Typed(t, moderate(t, math.prod(shape), 10).reshape(shape)))


def long_columns(s):
    """Adding 0.1 one by one errs by half a last place each time, always to the same side; sums must be made of short pieces."""
    for shape, axis in (((200000, 3), 0), ((3, 200000), 1)):
        x = Typed("f64", np.full(shape, 0.1))
        got = s.lib.run(f"r = sum(x, axis={axis})", {"x": x})[0].a
        error = float(np.max(np.abs(got.astype("g") / (np.longdouble(0.1) * 200000) - 1)) / np.finfo("f8").eps)
        s.check(f"sum(x, axis={axis}) of {shape} times 0.1", None if error < 600 else f"{error:.0f} last places off")


def special(s):
    """Edge values: NaN, infinities and zeros of both signs in every place of a short axis."""
    for t in TYPES:
        e = edges(t)
        rng = np.random.default_rng(11)
        a = rng.choice(e, (40, 3))
        every(s, f"edges of {t}", Typed(t, a))
        every(s, f"edges of {t} F", Typed(t, np.asfortranarray(a)))
        every(s, f"noise of {t}", Typed(t, noise(t, 60, 12).reshape(20, 3)))
        if is_float(t):
            z = stored(t, rng.choice([0.0, -0.0, 1.0, np.nan], (64, 3), p=[.4, .4, .1, .1])).a
            every(s, f"zeros of {t}", Typed(t, z))
            every(s, f"all NaN of {t}", stored(t, np.full((2, 3), np.nan)))


def run(s):
    for i, t in enumerate(TYPES):
        for label, a in layouts(t, i):
            every(s, f"{t} {label}", Typed(t, a))
    dtypes(s)
    shapes(s)
    special(s)
    long_columns(s)
