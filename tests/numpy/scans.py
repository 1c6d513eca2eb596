"""Scans against NumPy: every name, element type, memory order and axis; dtype=, empty arrays, sizes around the engines' units and parts.

Integers, cummin and cummax are exact, as minimum.accumulate is, with -0 below +0. Float sums and products are made in float64 and
rounded once at each element: a float32 result is the reference's within its last place whatever the length, which a running float32
sum is not, and a float64 one within a few last places of the sum of the magnitudes.
"""
import itertools
import math

import numpy as np

from gx import STORE, TYPES, Refused, Typed
from values import close, edges, is_float, noise, numeric, register, same, stored


def row(x, axis):
    """The numbers that a scan runs through: without an axis all of them, in C order."""
    v = numeric(x)
    return (v.reshape(-1), 0) if axis is None or v.ndim == 0 else (v, axis)


def total(x, axis, kind, dtype=None):
    from reductions import converted
    x = converted(x, dtype)
    v, axis = row(x, axis)
    if not is_float(x.t):
        acc = "u8" if x.t[0] == "u" else "i8"
        r = getattr(np, kind)(v.astype(acc), axis=axis, dtype=acc)
        t = dtype or ("u64" if acc == "u8" else "i64")
        return Typed(t, (r != 0) if t == "b8" else r.astype(STORE[t]))
    w = getattr(np, kind)(v.astype("g"), axis=axis)
    finite = np.where(np.isfinite(v), v, 0).astype("g")
    if kind == "cumsum":
        size = np.cumsum(np.abs(finite), axis=axis)
        return x.t, w, np.where(size > np.finfo("f8").max, np.inf, 8 * np.finfo("f8").eps * size)
    # Where a partial product may leave float64's range the result depends on the order.
    size = np.log2(np.abs(np.where(finite != 0, finite, 1)))
    lost = (np.cumsum(np.maximum(size, 0), axis=axis) > 1000) | (np.cumsum(np.maximum(-size, 0), axis=axis) > 1000)
    return x.t, w, np.where(lost, np.inf, np.abs(np.where(np.isfinite(w), w, 0)) * (v.shape[axis] + 1) * np.finfo("f8").eps)


def extreme(x, axis, ufunc):
    v, axis = row(x, axis)
    r = ufunc.accumulate(v, axis=axis)
    if not is_float(x.t):
        return Typed(x.t, r)
    seen = np.logical_or.accumulate((v == 0) & (np.signbit(v) == (ufunc is np.minimum)), axis=axis)
    return stored(x.t, np.where(r == 0, np.where(seen == (ufunc is np.minimum), -0.0, 0.0).astype(r.dtype), r))


SCANS = {
    "cumsum": lambda x, a: total(x, a, "cumsum"), "cumprod": lambda x, a: total(x, a, "cumprod"),
    "cummin": lambda x, a: extreme(x, a, np.minimum), "cummax": lambda x, a: extreme(x, a, np.maximum),
}


def judge(s, name, want, got):
    if isinstance(want, Typed):
        return s.check(name, same(got, want))
    t, exact, extra = want
    s.check(name, close(got, t, exact, 1, extra))


def batch(s, label, x, jobs):
    """jobs: (expression, reference of x), all in one program."""
    jobs = [(f"{e} of {label}", e, f) for e, f in jobs if s.only.search(f"{e} of {label}")]
    if not jobs:
        return
    try:
        got = s.lib.run("; ".join(f"r{i} = {e}" for i, (_, e, _) in enumerate(jobs)), {"x": x})
    except Refused as e:
        for j in jobs:
            s.check(j[0], f"{e.status}: {e}")
        return
    for (name, _, f), r in zip(jobs, got):
        judge(s, name, f(x), r)


def every(s, label, x):
    """All scans along every axis of x, counted from either end, and through all of it."""
    rank = x.a.ndim
    for i, axis in enumerate([None, *range(max(rank, 1))]):
        text = "" if axis is None else f", axis={axis - max(rank, 1) if i % 2 else axis}"
        batch(s, label, x, [(f"{n}(x{text})", lambda v, f=f, a=axis: f(v, a)) for n, f in SCANS.items()])


def dtypes(s):
    from reductions import moderate
    for t in TYPES:
        x = Typed(t, moderate(t, 28, 8).reshape(4, 7))
        for axis, text in ((None, ""), (0, ", axis=0"), (1, ", axis=-1")):
            batch(s, t, x, [(f"{n}(x{text}, dtype={u})", lambda v, n=n, u=u, a=axis: total(v, a, n, u))
                            for n in ("cumsum", "cumprod") for u in TYPES])


def shapes(s):
    from reductions import moderate
    for t in TYPES:
        for shape in ((0,), (0, 3), (3, 0), (2, 0, 3), (), (1,), (1, 1), (1, 5), (5, 1)):
            every(s, f"{t} {shape}", Typed(t, moderate(t, math.prod(shape), 9).reshape(shape)))
    for shape in ((63,), (64,), (65,), (1000,), (4097,), (70001,), (200000,), (3, 70000), (70000, 3), (5000, 600), (129, 257), (33, 3, 65)):
        for t in ("f32", "f64", "i32", "u8", "f16"):
            every(s, f"{t} {shape}", Typed(t, moderate(t, math.prod(shape), 10).reshape(shape)))


def special(s):
    for t in TYPES:
        rng = np.random.default_rng(13)
        a = rng.choice(edges(t), (40, 3))
        every(s, f"edges of {t}", Typed(t, a))
        every(s, f"edges of {t} F", Typed(t, np.asfortranarray(a)))
        every(s, f"noise of {t}", Typed(t, noise(t, 60, 14).reshape(20, 3)))
        if is_float(t):
            z = stored(t, rng.choice([0.0, -0.0, 1.0, np.nan], (200, 3), p=[.44, .44, .1, .02])).a
            every(s, f"zeros of {t}", Typed(t, z))
            every(s, f"-0 of {t}", stored(t, np.full((300, 2), -0.0)))


def long_rows(s):
    """A million times 0.1: a running float32 sum is off by thousands of last places, a running float64 sum by hundreds."""
    for (t, most), shape in itertools.product((("f32", 1), ("f64", 16)), ((1000000,), (1000000, 2), (2, 1000000))):
        x = Typed(t, np.full(shape, 0.1, register(t)))
        axis = shape.index(1000000)
        got = s.lib.run(f"r = cumsum(x, axis={axis})", {"x": x})[0].a
        n = np.arange(1, 1000001, dtype="g").reshape([-1 if k == axis else 1 for k in range(len(shape))])
        error = np.max(np.abs(got.astype("g") - x.a.astype("g") * n) / np.spacing(got).astype("g"))
        s.check(f"cumsum(x, axis={axis}) of {t} {shape} times 0.1", None if error <= most else f"{float(error):.0f} last places off")


def run(s):
    from reductions import layouts
    for i, t in enumerate(TYPES):
        for label, a in layouts(t, i):
            every(s, f"{t} {label}", Typed(t, a))
    dtypes(s)
    shapes(s)
    special(s)
    long_rows(s)
