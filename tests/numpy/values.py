"""Element types, edge values and comparison for the parity tests.

Half types compute in float32 (numeric() gives that), bfloat16 is made from uint16 by hand: NumPy has none.
"""
import functools
import zlib

import numpy as np

from gx import STORE, TYPES, Typed

FLOATS = ("f16", "bf16", "f32", "f64")
BYTES = {t: np.dtype(STORE[t]).itemsize for t in TYPES}
LARGEST = {"f16": 65504.0, "bf16": float(np.float32(2.0**127 * (2 - 2.0**-7))), "f32": float(np.finfo("f4").max), "f64": float(np.finfo("f8").max)}


def is_float(t):
    return t in FLOATS


def register(t):
    """The NumPy type that expressions of type t compute in."""
    return np.dtype("f4" if t in ("f16", "bf16") else STORE[t])


def of_numpy(dtype):
    return next(t for t in TYPES if t != "bf16" and np.dtype(STORE[t]) == dtype)


def promote(a, b):
    """NumPy's promotion; bfloat16 as float16, the two together float32."""
    if a == b:
        return a
    if {a, b} == {"f16", "bf16"}:
        return "f32"
    t = of_numpy(np.result_type(*(STORE["f16" if x == "bf16" else x] for x in (a, b))))
    return "bf16" if t == "f16" and "bf16" in (a, b) else t


def common(types):
    return functools.reduce(promote, types)


def float_of(t):
    """What a float function takes an integer as. NumPy takes 8 bits as float16; LANGUAGE.md says float32 there."""
    if is_float(t):
        return t
    return "f32" if BYTES[t] <= 2 else "f64"


def numeric(x):
    """Values in the type that they compute in."""
    if x.t == "bf16":
        return (x.a.astype("u4") << 16).view("f4")
    return x.a.astype("f4") if x.t == "f16" else x.a


def stored(t, v):
    """Numbers rounded once to type t, which is a float type, or had as they are."""
    v = np.asarray(v)
    if t != "bf16":
        return Typed(t, v.astype(STORE[t]))
    d = v.astype("f8")
    _, e = np.frexp(np.where(np.isfinite(d), d, 0))
    step = np.ldexp(1.0, np.maximum(e, -125) - 8)
    r = np.where(np.isfinite(d), np.rint(d / step) * step, d)
    r = np.where(np.abs(r) > LARGEST[t], np.copysign(np.inf, d), r)
    r = np.where(r == 0, np.copysign(0.0, d), r)
    return Typed(t, (r.astype("f4").view("u4") >> 16).astype("u2"))


def edges(t):
    if t == "b8":
        return np.array([False, True])
    if not is_float(t):
        i = np.iinfo(STORE[t])
        n = 8 * BYTES[t]
        v = [0, 1, 2, 3, 5, 7, 10, n - 1, n, n + 1, 100, i.max, i.max - 1, i.max // 2, i.max // 3]
        v += [-1, -2, -3, -7, -n, -100, i.min, i.min + 1, i.min // 2] if i.min else [i.max // 2 + 1]
        return np.array(v, STORE[t])
    f = np.finfo(register(t))
    if t == "f16":
        f = np.finfo("f2")
    v = [0.0, 1.0, 2.0, 0.5, 1.5, 2.5, 3.0, 3.5, 10.0, 0.1, 1e-5, 0.99, np.pi, 88.0, 127.5, 255.5, 1000.0, float(f.max), float(f.tiny),
         float(f.smallest_subnormal), float(f.tiny) / 4, float(f.eps), 1 + float(f.eps), 1 - float(f.eps) / 2, np.inf]
    v += [2.0**31, 2.0**32 + 2.0**10, 2.0**63, 2.0**64, 1e30] if t != "f16" else [32768.0, 2048.0]
    v = np.array(v + [-x for x in v] + [np.nan], "f8")
    return stored(t, v).a


def noise(t, n, seed):
    """Seeded random values: half of them all bit patterns, half of moderate size."""
    rng = np.random.default_rng(zlib.crc32(f"{t} {seed}".encode()))
    if t == "b8":
        return rng.integers(0, 2, n).astype("?")
    a = rng.integers(0, 256, n * BYTES[t], dtype="u1").view(STORE[t])
    if is_float(t):
        m = stored(t, rng.standard_normal(n) * 10.0 ** rng.integers(-3, 3, n)).a
    else:
        m = rng.integers(0 if t[0] == "u" else -20, 20, n).astype(STORE[t])
    return np.where(np.arange(n) % 2, a, m)


@functools.lru_cache(None)
def single(t):
    return Typed(t, np.concatenate([edges(t), noise(t, 300, 0)]))


@functools.lru_cache(None)
def pair(t, u):
    """Every edge with every edge, then noise with noise."""
    a, b = edges(t), edges(u)
    return (Typed(t, np.concatenate([np.repeat(a, len(b)), noise(t, 200, 1)])), Typed(u, np.concatenate([np.tile(b, len(a)), noise(u, 200, 2)])))


def show(x, i):
    return f"{numeric(x).ravel()[i]!r}" if x.a.size else "nothing"


def report(bad, got, want, inputs):
    i = int(np.flatnonzero(bad.ravel())[0])
    given = ", ".join(show(x, i) for x in inputs if x.a.size == got.a.size)
    return f"{int(bad.sum())} of {bad.size} differ, first [{i}] of ({given}): got {show(got, i)}, wanted {want.ravel()[i]!r}"


def same(got, want, inputs=()):
    """None, or how the arrays differ: type, shape, every bit; NaNs are alike."""
    if got.t != want.t:
        return f"type {got.t}, wanted {want.t}"
    if got.a.shape != want.a.shape:
        return f"shape {got.a.shape}, wanted {want.a.shape}"
    g, w = numeric(got), numeric(want)
    bad = g != w
    if is_float(got.t):
        bad = (bad | (np.signbit(g) != np.signbit(w))) & ~(np.isnan(g) & np.isnan(w))
    return report(bad, got, w, inputs) if np.any(bad) else None


def unit(v, dtype):
    """The last place of v in a float type, as long double; v may lie outside of its range."""
    f = np.finfo(dtype)
    return np.spacing(np.clip(np.abs(v), f.tiny, f.max).astype(dtype)).astype("g")


def close(got, t, exact, ulp, extra=0, inputs=()):
    """As same, for a function: within ulp last places of the type that it computes in, and one rounding to a half type.

    extra: absolute room on top; where it is infinite anything is right."""
    if got.t != t:
        return f"type {got.t}, wanted {t}"
    if got.a.shape != exact.shape:
        return f"shape {got.a.shape}, wanted {exact.shape}"
    g = numeric(got).astype("g")
    finite = np.where(np.isfinite(exact), exact, 0)
    room = ulp * unit(finite, register(t)) + np.where(np.isfinite(extra), extra, 0)
    if t in ("f16", "bf16"):
        step = np.maximum(unit(finite, "f2") if t == "f16" else unit(finite, "f4") * 2.0**16, 2.0**-24 if t == "f16" else 2.0**-133)
        room = room + step / 2
    over = np.isinf(g) & np.isfinite(exact) & (np.sign(g) == np.sign(exact)) & (np.abs(finite) + room >= LARGEST[t])
    with np.errstate(all="ignore"):
        good = np.where(np.isfinite(exact), (np.abs(g - finite) <= room) | over, g == exact)
    good = np.where(np.isnan(exact), np.isnan(g), good) | (extra == np.inf)
    good &= ~((g == 0) & (exact == 0) & (np.signbit(g) != np.signbit(exact)))
    return report(~good, got, exact, inputs) if not np.all(good) else None
