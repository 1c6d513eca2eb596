"""Arrays that are made or rearranged, and indexing, against NumPy: type, shape and every value, on several memory orders.

shift and chained views have no NumPy function of their own; their references are written out here.
"""
import numpy as np

from gx import TYPES, Refused, Typed
from values import noise, same


def f64(a):
    return Typed("f64", np.asarray(a, "f8"))


def shifted(a, k, axis=0, edge="clamp", fill=0):
    """Element i is a[i + k]; beyond the ends: the last element, the other end, the mirror image, or fill."""
    n = a.shape[axis]
    i = np.arange(n) + k
    if edge == "clamp":
        return np.take(a, np.clip(i, 0, n - 1), axis)
    if edge == "wrap":
        return np.take(a, i % n, axis)
    if edge == "reflect":
        i = np.abs(i) % (2 * n - 2) if n > 1 else i * 0
        return np.take(a, np.where(i >= n, 2 * n - 2 - i, i), axis)
    inside = ((i >= 0) & (i < n)).reshape([-1 if d == axis else 1 for d in range(a.ndim)])
    return np.where(inside, np.take(a, np.clip(i, 0, n - 1), axis), np.array(fill, a.dtype))


# Of an array x of shape (4, 5, 6): expression and what NumPy makes of it.
VIEWS = {
    "transpose": {"transpose(x)": lambda a: a.T, "x.T": lambda a: a.T, "transpose(x, 1, 0, 2)": lambda a: a.transpose(1, 0, 2),
                  "transpose(transpose(x, 2, 0, 1), 0, 2, 1)": lambda a: a.transpose(2, 0, 1).transpose(0, 2, 1)},
    "reshape": {"reshape(x, 20, 6)": lambda a: a.reshape(20, 6), "reshape(x, -1)": lambda a: a.reshape(-1),
                "reshape(x.T, 5, -1, 2)": lambda a: a.T.reshape(5, -1, 2), "reshape(x[::-1, ::2], 12, 6)": lambda a: a[::-1, ::2].reshape(12, 6)},
    "flip": {"flip(x)": np.flip, "flip(x, axis=1)": lambda a: np.flip(a, 1), "flip(x, axis=(0, -1))": lambda a: np.flip(a, (0, -1))},
    "squeeze": {"squeeze(x[:1, :, 2:3])": lambda a: np.squeeze(a[:1, :, 2:3]), "squeeze(x[:1, :, 2:3], axis=0)": lambda a: a[:1, :, 2:3].squeeze(0)},
    "shift": {f"shift(x, {k}, axis={d}, edge={e})": lambda a, k=k, d=d, e=e: shifted(a, k, d, e)
              for k in (1, -2, 0, 3, 9, -17) for d in (0, 2) for e in ("clamp", "wrap", "reflect", "fill")},
    "size": {"size(x) + zeros()": lambda a: np.float64(a.size)}, "shape": {"shape(x, -1) + zeros()": lambda a: np.float64(a.shape[-1])},
    "indexing": {f"x[{i}]": lambda a, i=i: eval(f"a[{i}]") for i in (
        "1", "-1", "1:3", "::-1", "::2, 1:, ::-2", "..., 0", "..., None", "None, 1, :, None", "1:1", "-3:-1, 4:1:-1", "3:100", "0, 0, 0", "-9:2",
        "::3, ..., ::-5", "2, None, ..., 1:2")},
}
MAKES = dict(VIEWS)
MAKES["arange"] = {"arange(7)": lambda: Typed("i64", np.arange(7)), "arange(-3, 4)": lambda: Typed("i64", np.arange(-3, 4)),
                   "arange(10, -5, -4)": lambda: Typed("i64", np.arange(10, -5, -4)), "arange(0)": lambda: Typed("i64", np.arange(0)),
                   "arange(0.5, 4)": lambda: f64(np.arange(0.5, 4)), "arange(0, 1, 0.1)": lambda: f64(np.arange(0, 1, 0.1)),
                   "arange(5, 1)": lambda: Typed("i64", np.arange(5, 1)), "arange(1.0)": lambda: f64(np.arange(1.0))}
MAKES["linspace"] = {f"linspace({a}, {b}, {n})": lambda a=a, b=b, n=n: f64(np.linspace(a, b, n))
                     for a, b, n in ((0, 1, 5), (-1, 1, 11), (0, 1, 1), (2, 2, 3), (1, 0, 4), (0, 0.3, 7), (0, 1, 0), (-5, 7, 1000))}
MAKES["zeros"] = {"zeros(2, 3)": lambda: f64(np.zeros((2, 3))), "zeros(0)": lambda: f64(np.zeros(0))}
MAKES["ones"] = {"ones(3)": lambda: f64(np.ones(3)), "ones(1, 0, 2)": lambda: f64(np.ones((1, 0, 2)))}
MAKES["full"] = {"full(2.5, 3)": lambda: f64(np.full(3, 2.5)), "full(7, 2, 2)": lambda: Typed("i64", np.full((2, 2), 7)),
                 "full(true, 2)": lambda: Typed("b8", np.full(2, True)), "full(f32(0.1), 2)": lambda: Typed("f32", np.full(2, np.float32(0.1)))}


def result(s, name, text, inputs, want):
    if not s.only.search(name):
        return
    try:
        s.check(name, same(s.lib.run(f"r = {text}", inputs)[0], want()))
    except Refused as e:
        s.check(name, f"{e.status}: {e}")


def run(s):
    for name, cases in MAKES.items():
        if name not in VIEWS:
            for text, want in cases.items():
                result(s, text, text, {}, want)
    for t in TYPES:
        a = noise(t, 120, 21).reshape(4, 5, 6)
        for order, x in (("C", a), ("F", np.asfortranarray(a)), ("reversed", np.ascontiguousarray(a[:, ::-1])[:, ::-1])):
            for name, cases in VIEWS.items():
                for text, view in cases.items():
                    numbers = name in ("size", "shape")
                    result(s, f"{text} of {t} {order}", text, {"x": Typed(t, x)},
                           lambda: f64(view(x)) if numbers else Typed(t, np.ascontiguousarray(view(x)).reshape(np.shape(view(x)))))
        index = Typed("i32", np.array([[0, -1, 3], [2, -4, 1]], "i4"))
        result(s, f"gather of {t}", "x[i]", {"x": Typed(t, a), "i": index}, lambda: Typed(t, a[index.a]))
        result(s, f"gather of {t} with a slice", "x[i, 1:4]", {"x": Typed(t, a), "i": index}, lambda: Typed(t, a[index.a, 1:4]))
        twice = Typed("u8", np.array([4, 0, 1], "u1"))
        result(s, f"gather of {t} by two arrays", "x[i, j]", {"x": Typed(t, a), "i": index, "j": twice}, lambda: Typed(t, a[index.a, twice.a]))
