"""Every operation and function of the op table, for every element type (pair), on edge values and noise, against NumPy 2.

    .venv/bin/python tests/numpy/parity.py [--build=build] [--device=cpu|cuda] [--only=REGEX]

Rows come from the library's own table, so a new row is tested without a change here: without a counterpart in COUNTERPART or DEFINED
it fails. Result type, shape and value are compared; exact rows bit for bit, the others within the row's bound of a long double
reference. Where LANGUAGE.md differs from NumPy the rule is written here, with a comment that says so.
"""
import argparse
import functools
import itertools
import math
import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import makes  # noqa: E402
import reductions  # noqa: E402
import scans  # noqa: E402
from gx import STORE, TYPES, Library, Refused, Typed  # noqa: E402
from values import (BYTES, LARGEST, close, common, float_of, is_float, noise, numeric, pair, promote, register, same, single, stored,  # noqa: E402
                    of_numpy)

np.seterr(all="ignore")


# ---- what the rows of the table mean ----

class NoRow(Exception):
    """The operation is not defined for these types."""


def in_numpy(fn):
    """A row that is a NumPy function of the promoted operands. float16 goes to NumPy as it is (it computes in float32, rounds once)."""
    def reference(*x):
        t = common([v.t for v in x])
        arrays = [v.a for v in x] if all(v.t != "bf16" for v in x) else [numeric(v).astype(register(t)) for v in x]
        try:
            r = fn(*arrays)
        except TypeError:
            raise NoRow from None
        if t == "bf16" and r.dtype == "f4":
            return stored(t, r)
        return Typed(of_numpy(r.dtype), r)
    return reference


def in_float(fn):
    """An exact function that takes integers as floats (float_of), computed in float32 or float64."""
    def reference(*x):
        t = float_of(common([v.t for v in x]))
        return stored(t, fn(*(numeric(v).astype(register(t)) for v in x)))
    return reference


class Within:
    """A function within the bound of its row: fn in long double; extra(values) is absolute room for what the bound cannot say."""

    def __init__(self, fn, extra=None):
        self.fn, self.extra = fn, extra

    def __call__(self, *x):
        t = float_of(common([v.t for v in x]))
        c = [numeric(v).astype(register(t)) for v in x]
        return t, self.fn(*(v.astype("g") for v in c)), self.extra(*c) if self.extra else 0


def extreme(fn, prefer_negative):
    """minimum and maximum; NumPy leaves open which zero wins, LANGUAGE.md orders -0 below +0."""
    def f(a, b):
        r = fn(a, b)
        if r.dtype.kind != "f":
            return r
        zero = (a == 0) & (b == 0)
        sign = np.signbit(a) | np.signbit(b) if prefer_negative else np.signbit(a) & np.signbit(b)
        return np.where(zero, np.where(sign, r.dtype.type(-0.0), r.dtype.type(0)), r)
    return in_numpy(f)


def wide_power(x, y):
    """powl of some libraries gives (-inf) ** -2**63 as inf; infinite operands need no long double."""
    special = np.isinf(x) | np.isinf(y)
    return np.where(special, np.power(x.astype("f8"), y.astype("f8")).astype("g"), np.power(x, y))


def power(a, b):
    """NumPy refuses arrays of negative integer exponents; LANGUAGE.md gives 0 there, except for bases 1 and -1."""
    t = common([a.t, b.t])
    if is_float(t):
        return Within(wide_power)(a, b)
    t = "i8" if t == "b8" else t
    x, y = a.a.astype(STORE[t]), b.a.astype(STORE[t])
    r = np.power(x, np.where(y < 0, np.zeros_like(y), y))
    if t[0] == "i":
        odd = np.where(y % 2 == 1, -1, 1)
        r = np.where(y < 0, np.where(x == 1, 1, np.where(x == -1, odd, 0)), r).astype(STORE[t])
    return Typed(t, r)


def where(c, y, z):
    t = promote(y.t, z.t)
    return stored(t, np.where(numeric(c) != 0, numeric(y).astype(register(t)), numeric(z).astype(register(t))))


def keeps_integers(fn):
    """Rounding of integers and bools is the identity (as np.floor since NumPy 2.1; np.rint would make floats)."""
    return in_numpy(lambda a: fn(a) if a.dtype.kind == "f" else a.copy())


def by_mpmath(fn):
    """Functions that NumPy lacks, one value at a time with 40 digits."""
    @functools.lru_cache(None)
    def one(v, sign):
        import mpmath
        mpmath.mp.prec = 140
        r = fn(mpmath, v)
        return np.longdouble(mpmath.nstr(r, 28) if isinstance(r, mpmath.mpf) else r)
    return lambda a: np.array([one(v, math.copysign(1, v)) for v in a.astype("f8").ravel().tolist()], "g").reshape(a.shape)


def gamma(mp, v):
    if v > 2000:
        return math.inf
    if v == 0:
        return math.copysign(math.inf, v)
    if not math.isfinite(v):
        return math.nan
    if v < 0 and v == math.floor(v):
        return math.nan
    if v < -2000:
        return -0.0 if math.floor(v) % 2 else 0.0
    return mp.gamma(v)


def log_gamma(mp, v):
    if not math.isfinite(v):
        return abs(v)
    if v <= 0 and v == math.floor(v):
        return math.inf
    if v > 0:
        return mp.loggamma(v) if v != 1 and v != 2 else 0.0
    x = mp.mpf(v)
    return mp.log(mp.pi / abs(x * mp.sin(mp.pi * x))) - mp.loggamma(-x)


def near_zero_of_lgamma(a):
    """Below 0 the function crosses 0 between its poles: no relative bound holds there (CUDA's own table leaves -10..-2.26 out)."""
    return np.where((a < 0) & (a > -20), 64 * np.finfo(a.dtype).eps, 0)


def erfinv(mp, v):
    return mp.erfinv(v) if -1 < v < 1 and v != 0 else v if v == 0 else math.copysign(math.inf, v) if abs(v) == 1 else math.nan


def erf(mp, v):
    return v if v == 0 or v != v else mp.erf(v) if abs(v) < 200 else math.copysign(1, v)


def erfc(mp, v):
    return v if v != v else mp.erfc(v) if abs(v) < 200 else 0.0 if v > 0 else 2.0


def popcount(a):
    return np.bitwise_count(a) if a.dtype.kind in "iu" else np.bitwise_count(a.astype("i1")) if a.dtype.kind == "b" else np.bitwise_and(a, a)


def of_bools_too(fn):
    """NumPy refuses gcd of two bools; here bools are int8 as in all integer arithmetic."""
    return in_numpy(lambda a, b: fn(a.astype("i1"), b.astype("i1")) if a.dtype.kind == b.dtype.kind == "b" else fn(a, b))


def tests_of(fn):
    return in_numpy(lambda a: fn(a.astype("f8")) if a.dtype.kind != "f" else fn(a))


COUNTERPART = {
    "negative": in_numpy(np.negative), "add": in_numpy(np.add), "subtract": in_numpy(np.subtract), "multiply": in_numpy(np.multiply),
    "divide": in_numpy(np.divide), "floor_divide": in_numpy(np.floor_divide), "remainder": in_numpy(np.remainder), "fmod": in_numpy(np.fmod),
    "power": power,
    "equal": in_numpy(np.equal), "not_equal": in_numpy(np.not_equal), "less": in_numpy(np.less), "less_equal": in_numpy(np.less_equal),
    "greater": in_numpy(np.greater), "greater_equal": in_numpy(np.greater_equal),
    "bitwise_and": in_numpy(np.bitwise_and), "bitwise_or": in_numpy(np.bitwise_or), "bitwise_xor": in_numpy(np.bitwise_xor),
    "invert": in_numpy(np.invert), "left_shift": in_numpy(np.left_shift), "right_shift": in_numpy(np.right_shift), "where": where,
    "min": extreme(np.minimum, True), "max": extreme(np.maximum, False), "fmin": extreme(np.fmin, True), "fmax": extreme(np.fmax, False),
    "abs": in_numpy(np.abs), "sign": in_numpy(np.sign), "square": in_numpy(np.square), "sqrt": in_float(np.sqrt), "cbrt": Within(np.cbrt),
    "floor": keeps_integers(np.floor), "ceil": keeps_integers(np.ceil), "round": keeps_integers(np.rint), "trunc": keeps_integers(np.trunc),
    "exp": Within(np.exp), "exp2": Within(np.exp2), "expm1": Within(np.expm1), "log": Within(np.log), "log2": Within(np.log2),
    "log10": Within(np.log10), "log1p": Within(np.log1p), "sin": Within(np.sin), "cos": Within(np.cos), "tan": Within(np.tan),
    "asin": Within(np.arcsin), "acos": Within(np.arccos), "atan": Within(np.arctan), "atan2": Within(np.arctan2), "sinh": Within(np.sinh),
    "cosh": Within(np.cosh), "tanh": Within(np.tanh), "asinh": Within(np.arcsinh), "acosh": Within(np.arccosh), "atanh": Within(np.arctanh),
    "hypot": Within(np.hypot), "erf": Within(by_mpmath(erf)), "erfc": Within(by_mpmath(erfc)),
    "erfinv": Within(by_mpmath(erfinv)), "lgamma": Within(by_mpmath(log_gamma), near_zero_of_lgamma), "tgamma": Within(by_mpmath(gamma)),
    "copysign": in_float(np.copysign), "isnan": tests_of(np.isnan), "isinf": tests_of(np.isinf), "isfinite": tests_of(np.isfinite),
    "signbit": tests_of(np.signbit), "gcd": of_bools_too(np.gcd), "lcm": of_bools_too(np.lcm), "popcount": in_numpy(popcount),
}
# Rows that run once for each pair of types, third operand or not.
ARITY = {"where": 3}


# ---- functions that the table defines in the language itself: the reference takes the same roundings where they matter ----

def wide(fn):
    return lambda x: fn(x.astype("g"))


def rounded_to(x, v):
    return v.astype(x.dtype).astype("g")


def sinc(x):
    y = x * x.dtype.type(math.pi)
    return np.where(x == 0, 1, np.sin(y.astype("g")) / y.astype("g"))


def sigmoid(x):
    return 1 / (1 + rounded_to(x, np.exp(-x.astype("g"))))


def gelu(x):
    h, y = x * x.dtype.type(0.5), x * x.dtype.type(-0.7071067811865476)
    return h.astype("g") * by_mpmath(erfc)(y)


def softplus(x):
    return np.maximum(x, 0).astype("g") + np.log1p(np.exp(-np.abs(x.astype("g"))))


def finite(v):
    return np.where(np.isfinite(v), v, 0)


def tiny(*x):
    """A result far below the normal numbers of its parts."""
    return np.finfo(x[0].dtype).tiny * (1 + finite(np.abs(x[0].astype("g"))))


def of_largest(x, y):
    return 4 * np.finfo(x.dtype).eps * finite(np.maximum(np.abs(x), np.abs(y)).astype("g"))


class Defined(Within):
    """fn of the values in the type that they compute in, within `ulp` last places of that type."""

    def __init__(self, ulp, fn, extra=None):
        super().__init__(fn, extra)
        self.ulp = ulp

    def __call__(self, *x):
        t = float_of(common([v.t for v in x]))
        c = [numeric(v).astype(register(t)) for v in x]
        return t, self.fn(*c).astype("g"), self.extra(*c) if self.extra else 0


DEFINED = {
    "rsqrt": in_float(lambda x: 1 / np.sqrt(x)), "reciprocal": in_float(lambda x: 1 / x), "sigmoid": Defined(6, sigmoid, tiny),
    "gelu": Defined(6, gelu, tiny), "softplus": Defined(4, softplus), "degrees": in_float(lambda x: x * x.dtype.type(57.29577951308232)),
    "radians": in_float(lambda x: x * x.dtype.type(0.017453292519943295)), "sinc": Defined(4, sinc),
    "relu": lambda x: relu(x), "clip": lambda x, lo, hi: COUNTERPART["min"](COUNTERPART["max"](x, lo), hi), "heaviside": in_float(np.heaviside),
    "logaddexp": Defined(4, lambda x, y: np.logaddexp(x.astype("g"), y.astype("g")), of_largest),
}
OPERATOR = {"add": "x + y", "subtract": "x - y", "multiply": "x * y", "divide": "x / y", "floor_divide": "x // y", "remainder": "x % y",
            "power": "x ** y", "equal": "x == y", "not_equal": "x != y", "less": "x < y", "less_equal": "x <= y", "greater": "x > y",
            "greater_equal": "x >= y", "bitwise_and": "x & y", "bitwise_or": "x | y", "bitwise_xor": "x ^ y", "left_shift": "x << y",
            "right_shift": "x >> y", "negative": "-x", "invert": "~x"}


# ---- the table of the library ----

class Row:
    def __init__(self, name, arity, bound):
        self.name, self.arity = name, arity
        m = re.match(r"(\d+) / (\d+)$", bound)
        self.ulp = (int(m[1]), int(m[2])) if m else (0, 0)
        self.defined = bound.startswith("as ")
        self.reference = (DEFINED if self.defined else COUNTERPART).get(name)

    def bound(self, t):
        return self.reference.ulp if self.defined else self.ulp[t == "f64"]


def rows_of(table):
    """Rows of operations, names of reductions, of scans and of what makes arrays, and (spelling, name) pairs."""
    part = re.split(r"^\| reduction .*|^\| scan .*|^\| arrays made .*", table, flags=re.M)
    assert len(part) == 4, "the table of operations has other parts than this file knows"
    rows = []
    for line in part[0].splitlines():
        m = re.match(r"\| `(\w+)\(([^)]*)\)` \|.*\| ([^|]*) \|$", line)
        if m:
            rows.append(Row(m[1], m[2].count(",") + 1, m[3].strip()))
    names = [re.findall(r"^\| `(\w+)\(", p, re.M) for p in part[1:]]
    return rows, *names, re.findall(r"`(\w+)` = `(\w+)`", table)


class Suite:
    def __init__(self, lib, only):
        self.lib, self.only = lib, re.compile(only)
        self.passed = self.failed = 0

    def check(self, name, why):
        if why:
            self.failed += 1
            print(f"FAIL {name}: {why}")
        else:
            self.passed += 1
            print(f"ok {name}")

    def judge(self, name, row, args, got):
        try:
            want = row.reference(*args)
        except NoRow:
            return self.check(name, f"gave {got.t}, NumPy has no such operation")
        if isinstance(want, Typed):
            return self.check(name, same(got, want, args))
        t, exact, extra = want
        self.check(name, close(got, t, exact, row.bound("f64" if register(t) == "f8" else "f32"), extra, args))

    def run(self, jobs, inputs):
        """jobs: (name, row, expression, inputs of it). All in one program; one by one where that does not compile."""
        defined = []
        for job in jobs:
            if not self.only.search(job[0]):
                continue
            try:
                job[1].reference(*(Typed(v.t, v.a[:0]) for v in job[3]))
                defined.append(job)
            except NoRow:
                status = self.lib.refusal(f"r = {job[2]}", self.used([job], inputs))
                self.check(job[0], None if status == "TYPE" else f"NumPy has no such operation; wanted a TYPE error, found {status}")
        for group in ([defined] if self.compiles(defined, inputs) else [[j] for j in defined]):
            self.run_group(group, inputs)

    def compiles(self, jobs, inputs):
        return self.lib.refusal(program(jobs), self.used(jobs, inputs)) == "OK"

    @staticmethod
    def used(jobs, inputs):
        return {k: v for k, v in inputs.items() if any(re.search(rf"\b{k}\b", j[2]) for j in jobs)}

    def run_group(self, jobs, inputs):
        if not jobs:
            return
        try:
            results = self.lib.run(program(jobs), self.used(jobs, inputs))
        except Refused as e:
            for j in jobs:
                self.check(j[0], f"{e.status}: {e}")
            return
        for (name, row, _, args), got in zip(jobs, results):
            self.judge(name, row, args, got)


def program(jobs):
    return "; ".join(f"r{i} = {j[2]}" for i, j in enumerate(jobs))


# ---- groups of tests ----

def call(row, letters="xyz"):
    return f"{row.name}({', '.join(letters[:row.arity])})"


def unary(s, rows):
    for t in TYPES:
        x = single(t)
        s.run([(f"{r.name} {t}", r, OPERATOR.get(r.name, call(r)), (x,)) for r in rows if r.arity == 1], {"x": x})


def binary(s, rows):
    for t, u in itertools.product(TYPES, TYPES):
        x, y = pair(t, u)
        s.run([(f"{r.name} {t} {u}", r, OPERATOR.get(r.name, call(r)), (x, y)) for r in rows if r.arity == 2], {"x": x, "y": y})


def ternary(s, rows):
    """Rows of three operands: every type of the condition with every pair of the others in turn."""
    for i, (t, u) in enumerate(itertools.product(TYPES, TYPES)):
        y, z = pair(t, u)
        c = TYPES[i % len(TYPES)]
        x = Typed(c, np.resize(single(c).a, y.a.shape))
        s.run([(f"{r.name} {c} {t} {u}", r, call(r), (x, y, z)) for r in rows if r.arity == 3], {"x": x, "y": y, "z": z})


def shaped(s, rows):
    """Broadcasting and memory order for every row: results have NumPy's shape and lie in C order."""
    rng = np.random.default_rng(5)
    for t in ("f32", "i32", "u8", "f16"):
        a = Typed(t, np.asfortranarray(noise(t, 84, 3).reshape(7, 12)))
        b = Typed(t, noise(t, 14, 4).reshape(7, 2)[::-1, :1])
        c = Typed("b8", rng.integers(0, 2, (3, 1, 12)).astype("?")[:, :, ::-1])
        for names, args in ((("a", "b"), (a, b)), (("b", "a"), (b, a))):
            jobs = [(f"{r.name} shapes {t} {names[0]}", r, call(r, names), args[:r.arity]) for r in rows if r.arity < 3]
            s.run(jobs, {"a": a, "b": b})
        s.run([(f"{r.name} shapes {t}", r, call(r, "cab"), (c, a, b)) for r in rows if r.arity == 3], {"a": a, "b": b, "c": c})


def spellings(s, rows, aliases):
    """Other names, and call form where an operator was tested, give the same bits."""
    arity = {r.name: r.arity for r in rows}
    both = [(f"{k}({', '.join('xyz'[:arity[v]])})", f"{v}({', '.join('xyz'[:arity[v]])})") for k, v in aliases if v in arity]
    both += [(f"{k}({', '.join('xy'[:arity[k]])})", v) for k, v in OPERATOR.items()]
    both += [("permute_dims(x)", "transpose(x)"), ("count_nonzero(x)", "count(x)"), ("cumulative_sum(x)", "cumsum(x)"),
             ("cumulative_prod(x)", "cumprod(x)"), ("!x", "not x"), ("x && y", "x and y"), ("x || y", "x or y"),
             ("x < y < z", "(x < y) and (y < z)"), ("x ? y : z", "where(x, y, z)"), ("+x", "x")]
    reached = {a.split("(")[0] for a, _ in both}
    for k, v in aliases:
        s.check(f"spelling {k} = {v} is compared", None if k in reached else "no test knows how to call it")
    for t in ("i16", "f32", "b8"):
        x, y = (Typed(t, v.a.reshape(1, -1)) for v in pair(t, t))
        z = Typed(t, np.ascontiguousarray(y.a[:, ::-1]))
        for a, b in both:
            if not s.only.search(f"{a} is {b}"):
                continue
            inputs = {k: v for k, v in zip("xyz", (x, y, z)) if re.search(rf"\b{k}\b", a)}
            if s.lib.refusal(f"r = {b}", inputs) != "OK":
                continue
            try:
                got, want = s.lib.run(f"r = {a}; s = {b}", inputs)
                s.check(f"{a} is {b} {t}", same(got, want, (x,)))
            except Refused as e:
                s.check(f"{a} is {b} {t}", f"{e.status}: {e}")


def as_type(x, t):
    """A conversion. Float to integer saturates and NaN gives 0 (NumPy leaves that open); floats to half types round once."""
    v = numeric(x)
    if t == "b8":
        return Typed(t, v != 0)
    if is_float(t):
        return stored(t, v)
    if not is_float(x.t):
        return Typed(t, x.a.astype(STORE[t]))
    i = np.iinfo(STORE[t])
    w = np.trunc(np.where(np.isnan(v), 0, v).astype("g"))
    w = np.where(w <= i.min, np.longdouble(i.min), w)
    big = w >= np.longdouble(i.max)
    r = np.where(big, 0, w)
    low = np.where(r < 0, r, 0).astype("i8")
    r = np.where(r < 0, low, np.where(r < 0, 0, r).astype("u8").astype("i8", casting="unsafe"))
    return Typed(t, np.where(big, np.array(i.max, STORE[t]), r.astype(STORE[t])))


class Rule:
    """A row of its own: an exact reference without a row of the table."""

    def __init__(self, reference):
        self.reference = reference


def casts(s):
    for t in TYPES:
        x = single(t)
        s.run([(f"cast {t} to {u}", Rule(lambda v, u=u: as_type(v, u)), f"{u}(x)", (x,)) for u in TYPES], {"x": x})


def logic(s):
    """Truth values: anything that is not 0 is true, NaN too; the result is bool."""
    truth = lambda v: numeric(v) != 0  # noqa: E731
    both = {"x and y": np.logical_and, "x or y": np.logical_or}
    for t, u in itertools.product(TYPES, TYPES):
        x, y = pair(t, u)
        jobs = [(f"{k} {t} {u}", Rule(lambda a, b, f=f: Typed("b8", f(truth(a), truth(b)))), k, (x, y)) for k, f in both.items()]
        s.run(jobs, {"x": x, "y": y})
    for t in TYPES:
        x = single(t)
        s.run([(f"not {t}", Rule(lambda a: Typed("b8", ~truth(a))), "not x", (x,)), (f"relu {t}", Rule(relu), "relu(x)", (x,)),
               (f"clip {t}", Rule(clip), "clip(x, 0, 1)", (x,))], {"x": x})


def relu(x):
    """max(x, 0): NaN stays, and -0 becomes +0; the weak 0 leaves the type (a bool with an integer literal is int64)."""
    t = "i64" if x.t == "b8" else x.t
    v = numeric(x).astype(register(t))
    return stored(t, np.where(v > 0, v, np.where(v != v, v, np.zeros_like(v))))


def clip(x):
    t = "i64" if x.t == "b8" else x.t
    v = numeric(x).astype(register(t))
    return stored(t, np.where(v != v, v, np.where(v > 1, np.ones_like(v), np.where(v > 0, v, np.zeros_like(v)))))


# ---- weak scalars ----

WEAK_OPS = ["add", "subtract", "multiply", "divide", "floor_divide", "remainder", "min", "max", "bitwise_and", "left_shift", "power",
            "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "atan2", "heaviside"]
WEAK_VALUES = [0, 1, -1, 2, 3, 127, 128, -128, -129, 255, 256, 65535, 65536, 2**31 - 1, 2**31, -2**31, 2**32, 2**63 - 1, -2**63, 0.0, -0.0, 0.5,
               2.5, -1.5, 1e5, 1e30, 1e300, math.inf, -math.inf, math.nan]
COMPARE = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def weak_type(t, v):
    """NEP 50: a Python number has only a kind."""
    if isinstance(v, float):
        return t if is_float(t) else "f64"
    return "i64" if t == "b8" else t


def fits(t, v):
    return is_float(t) or np.iinfo(STORE[t]).min <= v <= np.iinfo(STORE[t]).max


def weak_rule(row, v, first):
    """Rule for op(x, v), or op(v, x): the number takes the type that the operation computes in. A number that this type does not hold
    is an error (u8 + 256), but comparisons are exact mathematics, and `/` computes in float64 (u8 / 256 is fine)."""
    name = row.name

    def reference(x):
        t = weak_type(x.t, v)
        if name in COMPARE and isinstance(v, int) and not fits(t, v):
            a = numeric(x).astype("g")
            pair_ = (np.longdouble(v), a) if first else (a, np.longdouble(v))
            return Typed("b8", getattr(np, name)(*pair_) & np.ones(a.shape, "?"))
        if name == "power" and not first and isinstance(v, int) and v < 0 and not is_float(x.t):
            raise NoRow          # an integer array to a negative literal: an error, as in NumPy
        if name in ("divide", "atan2", "heaviside") and not is_float(t):
            t = "f64" if name == "divide" else float_of(t)
        if not fits(t, v):
            raise NoRow
        a = Typed(x.t, x.a) if promote(x.t, t) == t else as_type(x, t)
        if register(t) != np.dtype(STORE[t]) and name in COUNTERPART:   # half types compute in float32, so 1e5 is not infinite there
            wide_x, w = Typed("f32", numeric(x).astype("f4")), Typed("f32", np.full(x.a.shape, v, "f4"))
            r = row.reference(*((w, wide_x) if first else (wide_x, w)))
            if isinstance(r, tuple):
                return (t, *r[1:])
            return r if r.t == "b8" else stored(t, numeric(r))
        w = Typed(t, np.full(x.a.shape, v, STORE[t])) if not is_float(t) else None
        if w is None:
            return row.reference(*(lift(y, t, x) for y in ((v, a) if first else (a, v))))
        return row.reference(*((w, a) if first else (a, w)))
    return reference


def lift(y, t, x):
    return y if isinstance(y, Typed) else Typed("f32" if t == "bf16" else t, np.full(x.a.shape, y, "f4" if t == "bf16" else STORE[t]))


def literal(v):
    if isinstance(v, float):
        return repr(v) if math.copysign(1, v) > 0 else f"({v!r})"
    return str(v) if v >= 0 else f"({v})"


def weak(s, rows):
    """Literals, and scalar inputs without a type, beside arrays."""
    by_name = {r.name: r for r in rows}
    for t, v in itertools.product(TYPES, WEAK_VALUES):
        x = single(t)
        for by_input in (False, True):
            jobs = []
            for name, first in itertools.product(WEAK_OPS, (False, True)):
                r = by_name.get(name)
                if not r or (t == "bf16" and name == "heaviside"):
                    continue
                rule = Row(r.name, 1, "exact")
                rule.ulp, rule.defined, rule.reference = r.ulp, False, weak_rule(r, v, first)
                text = literal(v) if not by_input else "n"
                a, b = (text, "x") if first else ("x", text)
                expr = OPERATOR.get(name, f"{name}(x, y)")
                expr = re.sub(r"\b[xy]\b", lambda m: a if m[0] == "x" else b, expr)
                jobs.append((f"weak {expr} {t}{f' n={v}' if by_input else ''}", rule, expr, (x,)))
            s.run(jobs, {"x": x, **({"n": v} if by_input else {})})


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default="build")
    ap.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    ap.add_argument("--only", default="", help="run tests whose name matches")
    args = ap.parse_args()
    s = Suite(Library(os.path.join(args.build, "libgpuexpr.so"), args.device), args.only)
    rows, folds, running, makers, aliases = rows_of(s.lib.ops_table())
    s.check("the table of operations is read", None if min(len(rows) - 60, len(folds) - 10, len(makers), len(aliases)) > 10
            else f"{len(rows)} rows, {len(folds)} reductions, {len(makers)} makers, {len(aliases)} spellings")
    for names, known, where_ in ((folds, reductions.REDUCTIONS, "REDUCTIONS"), (running, scans.SCANS, "SCANS"), (makers, makes.MAKES, "MAKES")):
        for n in names:
            s.check(f"counterpart of {n}", None if n in known else f"this suite does not know it: add it to {where_}")
    for r in rows:
        s.check(f"counterpart of {r.name}", None if r.reference else "the op table has a row that this file does not know: add it to COUNTERPART")
    rows = [r for r in rows if r.reference]
    unary(s, rows)
    binary(s, rows)
    ternary(s, rows)
    shaped(s, rows)
    spellings(s, rows, aliases)
    casts(s)
    logic(s)
    weak(s, rows)
    makes.run(s)
    reductions.run(s)
    scans.run(s)
    print(f"{s.passed} passed, {s.failed} failed, 0 skipped")
    return s.failed != 0


if __name__ == "__main__":
    sys.exit(main())
