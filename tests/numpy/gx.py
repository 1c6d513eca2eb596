"""libgpuexpr through ctypes, for tests: run(program, inputs) gives the results as (type name, NumPy array of the stored elements).

Types go by their short names (f32, i8, b8 ...); bf16 is stored as uint16. Inputs are borrowed as they lie in memory, strides and all;
a Python int or float is a weak scalar.
"""
import ctypes as C
import os

import numpy as np

TYPES = "b8 i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64".split()
STORE = dict(zip(TYPES, "? i1 i2 i4 i8 u1 u2 u4 u8 f2 u2 f4 f8".split()))
NAME = {"b8": "bool", "bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64",
        **{f"{k}{n}": f"{'u' * (k == 'u')}int{n}" for k in "iu" for n in (8, 16, 32, 64)}}
STATUS = {1: "ARG", 2: "SYNTAX", 3: "NAME", 4: "TYPE", 5: "SHAPE", 6: "LIMIT", 7: "UNSUPPORTED", 8: "INDEX", 9: "NOMEM", 10: "DEVICE", 11: "COMPILER"}
HOST, WEAK_INT, WEAK_FLOAT = 0, 2, 3


class Array(C.Structure):
    _fields_ = [("name", C.c_char_p), ("dtype", C.c_int), ("place", C.c_int), ("rank", C.c_int), ("shape", C.c_int64 * 8),
                ("stride", C.c_int64 * 8), ("data", C.c_void_p), ("integer", C.c_int64), ("real", C.c_double)]


class Error(C.Structure):
    _fields_ = [("status", C.c_int), ("line", C.c_int), ("column", C.c_int), ("message", C.c_char * 512), ("text", C.c_char * 2048)]


class Options(C.Structure):
    _fields_ = [("size", C.c_size_t), ("device", C.c_int), ("math", C.c_int), ("threads", C.c_int), ("no_cache", C.c_int),
                ("cache_dir", C.c_char_p), ("arch", C.c_char_p)]


class Refused(Exception):
    """A call that failed: .status as in the header, .args[0] the message."""

    def __init__(self, err):
        super().__init__(err.message.decode(errors="replace"))
        self.status = STATUS.get(err.status, str(err.status))


class Typed:
    """An array with the name of its element type."""

    def __init__(self, t, a):
        self.t, self.a = t, a
        assert a.dtype == STORE[t], (t, a.dtype)


class Library:
    def __init__(self, path, device="cpu"):
        self.lib = lib = C.CDLL(os.path.abspath(path))
        self.ctx = C.c_void_p()
        self.err = Error()
        for f in ("gx_formula_free", "gx_program_free"):
            getattr(lib, f).argtypes, getattr(lib, f).restype = [C.c_void_p], None
        opt = Options(size=C.sizeof(Options), device=-1 if device == "cpu" else 0, threads=0)
        self.check(lib.gx_open(C.byref(opt), C.byref(self.ctx), C.byref(self.err)))

    def check(self, status):
        if status:
            self.err.status = status
            raise Refused(self.err)

    def ops_table(self):
        text = C.c_char_p()
        self.check(self.lib.gx_ops_table(C.byref(text), C.byref(self.err)))
        return text.value.decode()

    @staticmethod
    def describe(name, x):
        d = Array(name=name.encode())
        if isinstance(x, Typed):
            d.dtype, d.place, d.rank, d.data = TYPES.index(x.t), HOST, x.a.ndim, x.a.ctypes.data
            for k in range(x.a.ndim):
                d.shape[k], d.stride[k] = x.a.shape[k], x.a.strides[k] // x.a.itemsize
        elif isinstance(x, int):
            d.place, d.integer = WEAK_INT, x
        else:
            d.place, d.real = WEAK_FLOAT, x
        return d

    def compile(self, text, inputs):
        """(program, input descriptions): free with gx_program_free."""
        lib, formula, program = self.lib, C.c_void_p(), C.c_void_p()
        raw = text.encode()
        n = len(inputs)
        array = (Array * (n + 1))(*[self.describe(k, v) for k, v in inputs.items()])
        self.check(lib.gx_parse(raw, C.c_size_t(len(raw)), None, C.byref(formula), C.byref(self.err)))
        status = lib.gx_compile(self.ctx, formula, array, n, C.byref(program), C.byref(self.err))
        lib.gx_formula_free(formula)
        self.check(status)
        return program, array

    def run(self, text, inputs):
        lib, n = self.lib, len(inputs)
        program, array = self.compile(text, inputs)
        out, results, d = [], [], Array()
        while lib.gx_program_output(program, len(out), C.byref(d)) == 0:
            t = TYPES[d.dtype]
            a = np.empty(d.shape[:d.rank], STORE[t])
            d.data = a.ctypes.data
            out.append(d)
            results.append(Typed(t, a))
            d = Array()
        status = lib.gx_run(self.ctx, program, array, n, (Array * (len(out) + 1))(*out), len(out), None, C.byref(self.err))
        lib.gx_program_free(program)
        self.check(status)
        return results

    def refusal(self, text, inputs):
        """The status that compiling gives, or "OK"."""
        try:
            program, _ = self.compile(text, inputs)
        except Refused as e:
            return e.status
        self.lib.gx_program_free(program)
        return "OK"
