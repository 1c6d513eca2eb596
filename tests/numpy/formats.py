"""Files against NumPy: what np.save, savez, savetxt write is read, what is written has np.save's bytes, texts are NumPy's repr.

    .venv/bin/python tests/numpy/formats.py BUILD/tests/unit/formats

The program is tests/unit/formats.c as a driver: `copy SPEC OUT` and `text TYPE`. Ends with the line of counts; exit 1 on a failure.
"""
import io
import os
import subprocess
import sys
import tempfile

import numpy as np

driver = os.path.abspath(sys.argv[1])
count = {"ok": 0, "FAIL": 0}


def check(good, name, why=""):
    word = "ok" if good else "FAIL"
    count[word] += 1
    print(f"{word} {name}" + ("" if good else f": {why}"))


def copy(spec, out):
    return subprocess.run([driver, "copy", spec, out], capture_output=True, text=True)


def saved(a):
    b = io.BytesIO()
    np.save(b, a)
    return b.getvalue()


def same_file(name, spec, want):
    """copy SPEC and compare the bytes with np.save(want)."""
    r = copy(spec, "out.npy")
    if r.returncode:
        return check(False, name, r.stderr.strip())
    got = open("out.npy", "rb").read()
    check(got == saved(want), name, f"{got[:140]!r} instead of {saved(want)[:140]!r}")


TYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
SHAPES = [(), (1,), (5,), (0,), (0, 3), (2, 3), (3, 0, 2), (4, 3, 2), (1000000,), (1,) * 8, (12345, 1), (2, 1, 3, 1, 2)]


def values(shape, t, rng):
    n = int(np.prod(shape))
    a = rng.integers(0, 256, n * np.dtype(t).itemsize, dtype=np.uint8).view(t)
    a = (rng.integers(0, 2, n).astype("?") if t == "?" else a).reshape(shape)
    return a


def npy():
    rng = np.random.default_rng(1)
    for t in TYPES:
        for shape in SHAPES:
            a = values(shape, t, rng)
            np.save("a.npy", a)
            same_file(f"npy {t} {shape}", "a.npy", a)
    for shape in [(2, 3), (4, 3, 2), (300, 700)]:
        a = values(shape, "f8", rng)
        np.save("a.npy", np.asfortranarray(a))
        same_file(f"npy fortran {shape}", "a.npy", a)
        np.save("a.npy", a.astype(">f8"))
        same_file(f"npy big-endian {shape}", "a.npy", a)
        np.save("a.npy", np.asfortranarray(a).astype(">f8", order="K"))
        same_file(f"npy big-endian fortran {shape}", "a.npy", a)
    a = np.arange(6.0).reshape(2, 3)
    for version in [(1, 0), (2, 0), (3, 0)]:
        with open("a.npy", "wb") as f:
            np.lib.format.write_array(f, a, version)
        same_file(f"npy version {version}", "a.npy", a)


def npz():
    rng = np.random.default_rng(2)
    arrays = {"a": values((3, 4), "f8", rng), "big": np.arange(700000, dtype="i4").reshape(700, 1000), "s": np.float32(2.5),
              "e": np.zeros((0, 2)), "ä b:c": np.arange(3)}
    for name, save in [("stored", np.savez), ("deflated", np.savez_compressed)]:
        save("z.npz", **arrays)
        for key, a in arrays.items():
            same_file(f"npz {name} {key}", f"z.npz:{key}", np.asarray(a))


def tables():
    rng = np.random.default_rng(3)
    a = rng.standard_normal((50, 4)) * 10.0 ** rng.integers(-300, 300, (50, 4))
    np.savetxt("a.csv", a, delimiter=",", header="w,x,y,z", fmt="%.17g")
    same_file("csv of savetxt", "a.csv", a)
    np.savetxt("a.txt", a, fmt="%.17g")
    same_file("txt of savetxt", "a.txt", a)
    np.savetxt("a.tsv", a, delimiter="\t", fmt="%.17g", newline="\r\n")
    same_file("tsv of savetxt", "a.tsv", a)
    b = rng.integers(-2**63, 2**63 - 1, (30, 3), dtype="i8")
    np.savetxt("b.csv", b, delimiter=",", fmt="%d")
    same_file("csv of integers", "b.csv", b)
    for t in ["f2", "f4", "f8", "i8", "u1"]:
        a = values((40, 3), t, rng)
        np.save("a.npy", a)
        r = copy("a.npy", "o.csv")
        got = np.genfromtxt("o.csv", delimiter=",", dtype="f8" if t[0] == "f" else "i8")
        check(r.returncode == 0 and np.array_equal(got.astype(t), a, equal_nan=t[0] == "f"), f"csv of {t} reads back in NumPy", r.stderr)
        if t in ("f8", "i8"):
            r = copy("o.csv", "p.npy")
            check(np.array_equal(np.load("p.npy"), a, equal_nan=t == "f8"), f"csv of {t} reads back here", r.stderr)
    a = values((7, 3), "f4", rng)
    a.tofile("a.raw")
    same_file("raw of tofile", "a.raw:f32:7x3", a)


def text(t, a):
    r = subprocess.run([driver, "text", t], input=a.tobytes(), capture_output=True)
    return r.stdout.decode().split("\n")[:-1]


def compare_texts(name, t, a, want):
    got = text(t, a)
    bad = [(g, w) for g, w in zip(got, want) if g != w]
    check(len(got) == len(want) and not bad, f"{name} ({len(want)} values)", f"{len(bad)} differ: {bad[:5]}")


def repr_of(v):
    """As Python writes a float: NumPy's digits, the exponent from 1e16 and 1e-5 on (str of a float16 changes earlier)."""
    s = np.format_float_scientific(v, unique=True, trim="-")
    if "e" not in s:
        return s
    digits, exponent = s.split("e")
    exponent = int(exponent)
    if exponent < -4 or exponent >= 16:
        return f"{digits}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    s = np.format_float_positional(v, unique=True, trim="0")
    return s


def texts():
    rng = np.random.default_rng(4)
    f8 = rng.integers(0, 2**64, 40000, dtype="u8").view("f8")
    f8 = np.concatenate([f8, 2.0 ** np.arange(-1074, 1024), -(2.0 ** np.arange(-1074, 1024)), 10.0 ** np.arange(-320, 309),
                         np.arange(0, 3000) / 1000, np.nextafter(2.0 ** np.arange(-1000, 1024), 0), rng.integers(0, 2000, 3000).astype("u8").view("f8"),
                         np.arange(-2000, 2000) * 1.0, [np.nan, np.inf, -np.inf, -0.0]])
    compare_texts("float64 as Python's repr", "f64", f8, [repr(float(v)) for v in f8])
    f4 = rng.integers(0, 2**32, 40000, dtype="u4").view("f4")
    f4 = np.concatenate([f4, np.float32(2.0) ** np.arange(-149, 128, dtype="f4"), np.arange(0, 3000, dtype="f4") / np.float32(1000)]).astype("f4")
    compare_texts("float32 digits", "f32", f4, [repr_of(v) for v in f4])
    f2 = np.arange(65536, dtype="u2").view("f2")
    compare_texts("float16 digits", "f16", f2, [repr_of(v) for v in f2])
    back = np.array([np.float16(s) for s in text("f16", f2)])
    check(np.array_equal(back, f2, equal_nan=True), "float16 reads back", "differs")
    bits = np.arange(65536, dtype="u2")
    wide = (bits.astype("u4") << 16).view("f4")
    back = np.array([np.float32(s) for s in text("bf16", bits)]).astype("f4").view("u4").astype("u8")
    near = (((back + 0x7fff + (back >> 16 & 1)) >> 16) & 0xffff).astype("u2")
    check(np.array_equal(near[~np.isnan(wide)], bits[~np.isnan(wide)]), "bfloat16 reads back", "differs")


with tempfile.TemporaryDirectory() as home:
    os.chdir(home)
    npy()
    npz()
    tables()
    texts()
    os.chdir("/")
print(f"{count['ok']} passed, {count['FAIL']} failed, 0 skipped")
sys.exit(count["FAIL"] != 0)
