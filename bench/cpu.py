"""cpu.py -- the CPU engine against NumPy and numexpr, end to end in one process: a table of times and ratios.

Every contestant computes the same formula on the same arrays into memory that it was given before (NumPy also without out=).
One round calls each contestant once, in an order that turns; the table shows medians over the rounds, and ratios rival/gpuexpr
within the run: above 1 gpuexpr is faster. Results are compared with NumPy's before anything is timed.

    build/.../python bench/cpu.py [--threads=1] [--sizes=1e4,1e6] [--only=sin,exp] [--rounds=9] [--no-numexpr] [--json=FILE] [--markdown]
"""
import argparse
import ctypes as C
import json
import os
import platform
import statistics
import sys
import time

import numpy as np

MAX_RANK = 8
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64"]
HOST = 0


class Array(C.Structure):
    _fields_ = [("name", C.c_char_p), ("dtype", C.c_int), ("place", C.c_int), ("rank", C.c_int), ("shape", C.c_int64 * MAX_RANK),
                ("stride", C.c_int64 * MAX_RANK), ("data", C.c_void_p), ("integer", C.c_int64), ("real", C.c_double)]


class Error(C.Structure):
    _fields_ = [("status", C.c_int), ("line", C.c_int), ("column", C.c_int), ("message", C.c_char * 512), ("text", C.c_char * 2048)]


class Options(C.Structure):
    _fields_ = [("size", C.c_size_t), ("device", C.c_int), ("math", C.c_int), ("threads", C.c_int), ("no_cache", C.c_int),
                ("cache_dir", C.c_char_p), ("arch", C.c_char_p)]


class Engine:
    """One context of the library; program() gives a call without arguments that runs a formula on fixed arrays."""

    def __init__(self, threads):
        self.lib = C.CDLL(os.environ.get("GPUEXPR_LIB", os.path.join(ROOT, "build", "libgpuexpr.so")))
        self.lib.gx_context_note.restype = C.c_char_p
        self.error = Error()
        self.context = C.c_void_p()
        options = Options(size=C.sizeof(Options), device=-1, threads=threads)
        self.check(self.lib.gx_open(C.byref(options), C.byref(self.context), C.byref(self.error)))
        self.note = self.lib.gx_context_note(self.context).decode()

    def check(self, status):
        if status:
            raise RuntimeError(self.error.text.decode())

    @staticmethod
    def describe(name, a):
        d = Array(name=name.encode(), dtype=DTYPES.index(a.dtype.name), place=HOST, rank=a.ndim, data=a.ctypes.data)
        for k in range(a.ndim):
            d.shape[k] = a.shape[k]
            d.stride[k] = a.strides[k] // a.itemsize
        return d

    def program(self, text, inputs, outputs):
        formula, program = C.c_void_p(), C.c_void_p()
        ins = (Array * len(inputs))(*[self.describe(k, v) for k, v in inputs.items()])
        self.check(self.lib.gx_parse(text.encode(), C.c_size_t(len(text.encode())), None, C.byref(formula), C.byref(self.error)))
        self.check(self.lib.gx_compile(self.context, formula, ins, len(ins), C.byref(program), C.byref(self.error)))
        made, out = Array(), {}
        i = 0
        while self.lib.gx_program_output(program, i, C.byref(made)) == 0:
            name = made.name.decode()
            out[name] = np.ones(tuple(made.shape[:made.rank]), DTYPES[made.dtype])
            i += 1
        outs = (Array * i)(*[self.describe(k, v) for k, v in out.items()])
        outputs.update(out)
        args = (self.context, program, ins, len(ins), outs, len(outs), None, C.byref(self.error))
        run, keep = self.lib.gx_run, (inputs, out, ins, outs)

        def call():
            if run(*args):
                raise RuntimeError(self.error.text.decode())
            return keep
        return call


def normal(dtype, *shape):
    return np.random.default_rng(1).standard_normal(shape, dtype="f4" if dtype == "f4" else "f8").astype(dtype)


def uniform(dtype, *shape):
    return (np.random.default_rng(2).random(shape) + 0.5).astype(dtype)


def integers(dtype, *shape):
    return np.random.default_rng(3).integers(-50, 50, shape, dtype=dtype)


def pair(make, dtype):
    return lambda n: {"a": make(dtype, n), "b": make(dtype, n)[::-1].copy()}


def one(make, dtype):
    return lambda n: {"a": make(dtype, n)}


def square(make, dtype, names="a"):
    def build(n):
        m = int(n ** 0.5)
        return {k: make(dtype, m, m) for k in names}
    return build


class Case:
    """name; what gpuexpr gets (its output is c); what makes the inputs; NumPy with out= (None: no such form) and without; numexpr's text."""

    def __init__(self, name, text, build, into, plain, numexpr=None, tolerance=1e-5):
        self.name, self.text, self.build, self.into, self.plain, self.numexpr, self.tolerance = name, text, build, into, plain, numexpr, tolerance


def unary(ufunc):
    return (lambda x, o: ufunc(x["a"], out=o)), (lambda x: ufunc(x["a"]))


def headline(x, o):
    t = x.setdefault("_t", np.empty_like(x["a"]))
    np.multiply(x["a"], x["b"], out=o)
    np.sin(x["a"], out=t)
    np.add(o, t, out=o)


def fused3(x, o):
    np.multiply(x["a"], x["b"], out=o)
    np.add(o, x["k"], out=o)


def softmax_into(x, o):
    np.subtract(x["a"], x["a"].max(axis=1, keepdims=True), out=o)
    np.exp(o, out=o)
    np.divide(o, o.sum(axis=1, keepdims=True), out=o)


def softmax(x):
    e = np.exp(x["a"] - x["a"].max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def black_scholes(x):
    """NumPy and numexpr have no erf: all sides use a logistic form of the normal distribution."""
    a, b, t = x["a"], x["b"], x["t"]
    s = np.float32(0.3) * np.sqrt(t) if a.dtype == np.float32 else 0.3 * np.sqrt(t)
    d1 = (np.log(a / b) + 0.065 * t) / s
    d2 = d1 - s
    return a * (0.5 + 0.5 * np.tanh(0.8 * d1)) - b * np.exp(-0.02 * t) * (0.5 + 0.5 * np.tanh(0.8 * d2))


BS_GX = ("_s = 0.3*sqrt(t); _d1 = (log(a/b) + 0.065*t)/_s; _d2 = _d1 - _s;"
         "c = a*(0.5 + 0.5*tanh(0.8*_d1)) - b*exp(-0.02*t)*(0.5 + 0.5*tanh(0.8*_d2))")
BS_D1 = "((log(a/b) + 0.065*t)/(0.3*sqrt(t)))"
BS_NE = "a*(0.5 + 0.5*tanh(0.8*%s)) - b*exp(-0.02*t)*(0.5 + 0.5*tanh(0.8*(%s - 0.3*sqrt(t))))" % (BS_D1, BS_D1)


def cases():
    f4, f8 = "float32", "float64"
    out = []
    for d, tol in (f4, 1e-5), (f8, 1e-12):
        s = {"float32": "f32", "float64": "f64"}[d]
        out += [
            Case("a*b + sin(a) " + s, "c = a*b + sin(a)", pair(normal, d), headline, lambda x: x["a"] * x["b"] + np.sin(x["a"]),
                 "a*b + sin(a)", tol),
            Case("2*a + b " + s, "c = 2*a + b", pair(normal, d),
                 lambda x, o: (np.multiply(x["a"], 2, out=o), np.add(o, x["b"], out=o)), lambda x: 2 * x["a"] + x["b"], "2*a + b", tol),
            Case("a + b " + s, "c = a + b", pair(normal, d), lambda x, o: np.add(x["a"], x["b"], out=o), lambda x: x["a"] + x["b"], "a + b", tol),
            Case("exp(a) " + s, "c = exp(a)", one(normal, d), *unary(np.exp), "exp(a)", tol),
            Case("log(a) " + s, "c = log(a)", one(uniform, d), *unary(np.log), "log(a)", tol),
            Case("sqrt(a) " + s, "c = sqrt(a)", one(uniform, d), *unary(np.sqrt), "sqrt(a)", tol),
            Case("a**2 " + s, "c = a**2", one(normal, d), lambda x, o: np.power(x["a"], 2, out=o), lambda x: x["a"] ** 2, "a**2", tol),
            Case("tanh(a) " + s, "c = tanh(a)", one(normal, d), *unary(np.tanh), "tanh(a)", tol),
            Case("where(a>0,a,0) " + s, "c = where(a > 0, a, 0)", one(normal, d), None,
                 lambda x: np.where(x["a"] > 0, x["a"], x["a"].dtype.type(0)), "where(a > 0, a, 0)", tol),
            Case("a > b " + s, "c = a > b", pair(normal, d), lambda x, o: np.greater(x["a"], x["b"], out=o), lambda x: x["a"] > x["b"], "a > b", tol),
            Case("sum(a) " + s, "c = sum(a)", one(uniform, d), None, lambda x: np.sum(x["a"]), "sum(a)", tol),
            Case("mean axis 0 " + s, "c = mean(a, axis=0)", square(uniform, d), lambda x, o: np.mean(x["a"], axis=0, out=o),
                 lambda x: np.mean(x["a"], axis=0), None, 1e-4 if s == "f32" else tol),
            Case("mean axis 1 " + s, "c = mean(a, axis=1)", square(uniform, d), lambda x, o: np.mean(x["a"], axis=1, out=o),
                 lambda x: np.mean(x["a"], axis=1), None, tol),
            Case("std axis 0 " + s, "c = std(a, axis=0)", square(uniform, d), lambda x, o: np.std(x["a"], axis=0, out=o),
                 lambda x: np.std(x["a"], axis=0), None, 1e-3 if s == "f32" else tol),
            Case("std axis 1 " + s, "c = std(a, axis=1)", square(uniform, d), lambda x, o: np.std(x["a"], axis=1, out=o),
                 lambda x: np.std(x["a"], axis=1), None, 1e-4 if s == "f32" else tol),
            Case("max axis 0 " + s, "c = max(a, axis=0)", square(normal, d), lambda x, o: np.max(x["a"], axis=0, out=o),
                 lambda x: np.max(x["a"], axis=0), None, tol),
            Case("max axis 1 " + s, "c = max(a, axis=1)", square(normal, d), lambda x, o: np.max(x["a"], axis=1, out=o),
                 lambda x: np.max(x["a"], axis=1), None, tol),
            Case("argmax axis 1 " + s, "c = argmax(a, axis=1)", square(normal, d), lambda x, o: np.argmax(x["a"], axis=1, out=o),
                 lambda x: np.argmax(x["a"], axis=1), None, tol),
            Case("softmax rows " + s, "_m = max(a, axis=1, keepdims=true); _e = exp(a - _m); c = _e / sum(_e, axis=1, keepdims=true)",
                 square(normal, d), softmax_into, softmax, None, tol),
            Case("a + b.T " + s, "c = a + b.T", square(normal, d, "ab"), lambda x, o: np.add(x["a"], x["b"].T, out=o),
                 lambda x: x["a"] + x["b"].T, None, tol),
            Case("a[::3]*2 " + s, "c = a[::3]*2", one(normal, d), lambda x, o: np.multiply(x["a"][::3], 2, out=o),
                 lambda x: x["a"][::3] * 2, None, tol),
            Case("a - mean(a,0) " + s, "c = a - mean(a, axis=0)", square(normal, d), None, lambda x: x["a"] - np.mean(x["a"], axis=0), None, 1e-3),
            Case("black-scholes " + s, BS_GX, lambda n, d=d: {"a": uniform(d, n), "b": uniform(d, n)[::-1].copy(), "t": uniform(d, n)}, None,
                 black_scholes, BS_NE, 2e-4 if s == "f32" else 1e-11),
        ]
    out += [
        Case("a*b + k i32", "c = a*b + k", lambda n: {k: integers("int32", n) for k in "abk"}, fused3, lambda x: x["a"] * x["b"] + x["k"], "a*b + k"),
        Case("a + b i8", "c = a + b", lambda n: {k: integers("int8", n) for k in "ab"}, lambda x, o: np.add(x["a"], x["b"], out=o),
             lambda x: x["a"] + x["b"]),
        Case("a + b f16", "c = a + b", pair(normal, "float16"), lambda x, o: np.add(x["a"], x["b"], out=o), lambda x: x["a"] + x["b"], None, 1e-3),
        Case("sum(a) i32", "c = sum(a)", one(integers, "int32"), None, lambda x: np.sum(x["a"]), "sum(a)"),
        Case("a // 7 i32", "c = a // 7", one(integers, "int32"), lambda x, o: np.floor_divide(x["a"], 7, out=o), lambda x: x["a"] // 7),
        Case("a % b f64", "c = a % b", pair(uniform, f8), lambda x, o: np.remainder(x["a"], x["b"], out=o), lambda x: x["a"] % x["b"], None, 1e-12),
        Case("f64(a) i32", "c = f64(a)", one(integers, "int32"), None, lambda x: x["a"].astype(f8)),
    ]
    return out


def verify(case, x, got):
    want = np.asarray(case.plain(x))
    if want.shape != got.shape:
        raise RuntimeError("%s: shape %s, NumPy has %s" % (case.name, got.shape, want.shape))
    if not np.allclose(want.astype("f8"), got.astype("f8"), rtol=case.tolerance, atol=case.tolerance):
        raise RuntimeError("%s: differs from NumPy by up to %g" % (case.name, np.abs(want.astype("f8") - got.astype("f8")).max()))


def contestants(case, engine, x, ne):
    outputs = {}
    gx = engine.program(case.text, {k: v for k, v in x.items() if k[0] != "_"}, outputs)
    gx()
    verify(case, x, outputs["c"])
    calls = {"gx": gx}
    if case.into:
        out = np.empty(np.asarray(case.plain(x)).shape, np.asarray(case.plain(x)).dtype)
        calls["np_out"] = lambda: case.into(x, out)
    calls["np"] = lambda: case.plain(x)
    if ne and case.numexpr:
        want = ne.evaluate(case.numexpr, local_dict=x)
        there = {"out": np.empty_like(want)} if want.ndim else {}
        ne.evaluate(case.numexpr, local_dict=x, **there)
        calls["ne"] = lambda: ne.re_evaluate(local_dict=x)
    return calls


def measure(calls, rounds, budget):
    """Median seconds of one call for each contestant."""
    times, repeat = {k: [] for k in calls}, {}
    for k, f in calls.items():
        f()
        t = time.perf_counter()
        f()
        t = time.perf_counter() - t
        repeat[k] = max(1, min(2000, int(budget / max(t, 1e-9))))
    names = list(calls)
    for r in range(rounds):
        for k in names[r % len(names):] + names[:r % len(names)]:
            f, n = calls[k], repeat[k]
            t = time.perf_counter()
            for _ in range(n):
                f()
            times[k].append((time.perf_counter() - t) / n)
    return {k: statistics.median(v) for k, v in times.items()}


def cpu_model():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def span(seconds):
    return "%8.2f ms" % (seconds * 1e3) if seconds >= 1e-3 else "%8.2f us" % (seconds * 1e6)


def markdown(rows):
    """Ratios to NumPy with out=, NumPy without and numexpr, in the columns of one size after the other."""
    sizes = sorted({r["n"] for r in rows})
    lines = ["| formula | " + " | ".join("%.0e: `out=` | NumPy | numexpr" % n for n in sizes) + " |", "|---" * (1 + 3 * len(sizes)) + "|"]
    for name in dict.fromkeys(r["name"] for r in rows):
        cells = []
        for n in sizes:
            m = next(r["seconds"] for r in rows if (r["name"], r["n"]) == (name, n))
            cells += ["%.2f" % (m[k] / m["gx"]) if k in m else "" for k in ("np_out", "np", "ne")]
        formula, dtype = name.rsplit(" ", 1)
        lines.append("| %s %s | %s |" % ("`%s`" % formula if set(formula) & set("*+/%(>[") else formula, dtype, " | ".join(cells)))
    return "\n".join(lines)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--sizes", default="1e3,1e4,1e6,1e7")
    p.add_argument("--only", default="")
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--budget", type=float, default=2e-3, help="seconds that a contestant runs in one round, at least one call")
    p.add_argument("--no-numexpr", action="store_true")
    p.add_argument("--json")
    p.add_argument("--markdown", action="store_true", help="at the end the ratios as a table, a row a formula")
    o = p.parse_args()
    ne = None
    if not o.no_numexpr:
        try:
            import numexpr as ne
            ne.set_num_threads(o.threads)
        except ImportError:
            pass
    engine = Engine(o.threads)
    print("# %s; %s; NumPy %s; numexpr %s (%d threads); load %.1f" % (cpu_model(), engine.note, np.__version__, ne.__version__ if ne else "-",
          o.threads, os.getloadavg()[0]))
    print("%-20s %9s %11s  %9s %9s %9s" % ("formula", "n", "gpuexpr", "np out=", "numpy", "numexpr"))
    rows, slower = [], 0
    for case in cases():
        if o.only and not any(w in case.name for w in o.only.split(",")):
            continue
        for n in [int(float(s)) for s in o.sizes.split(",")]:
            m = measure(contestants(case, engine, case.build(n), ne), o.rounds, o.budget)
            ratio = {k: m[k] / m["gx"] for k in m if k != "gx"}
            rows.append({"name": case.name, "n": n, "seconds": m})
            slower += min(ratio.values()) < 1
            print("%-20s %9.0e %s  %s %s" % (case.name, n, span(m["gx"]), " ".join("%9s" % ("%.2f" % ratio[k] if k in ratio else "-")
                  for k in ("np_out", "np", "ne")), "" if min(ratio.values()) >= 1 else "  slower"), flush=True)
    print("# %d rows, %d of them slower than a rival" % (len(rows), slower))
    if o.markdown:
        print(markdown(rows))
    if o.json:
        json.dump({"cpu": cpu_model(), "engine": engine.note, "threads": o.threads, "rows": rows}, open(o.json, "w"))


if __name__ == "__main__":
    sys.exit(main())
