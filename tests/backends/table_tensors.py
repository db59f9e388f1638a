"""The rows of float, int and bool tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rows import Rows, b, binary, by_dim, each, erf, f, i, nonzero, positive, unary

from minburn.backends.elementwise import trace
from minburn.backends.rng import Distribution
from minburn.dtype import DType

ROWS = Rows("floats")
row = ROWS.add


def span(start: int, end: int, step: int) -> slice:
    """The Python slice of a resolved (start, end, step)."""
    if step > 0:
        return slice(start, end, step)
    return slice(end - 1, start - 1 if start else None, step) if end > start else slice(0, 0)


def assigned(x: Any, value: Any, slices: Any) -> Any:
    out = x.copy()
    out[tuple(span(*s) for s in slices)] = value
    return out


def scattered(x: Any, indices: Any, value: Any, dim: int, update: str) -> Any:
    """One place after the other, in Python."""
    out = x.copy()
    for place in np.ndindex(indices.shape):
        target = (*place[:dim], indices[place], *place[dim + 1 :])
        old, new = out[target], value[place]
        out[target] = {"assign": new, "add": old + new, "mul": old * new, "min": min(old, new), "max": max(old, new)}[
            update
        ]
    return out


def selected(x: Any, indices: Any, value: Any, dim: int, update: str) -> Any:
    shape = [1] * x.ndim
    shape[dim] = len(indices)
    return scattered(x, np.broadcast_to(indices.reshape(shape), value.shape), value, dim, update)


def full_dims(function: Any) -> Any:
    return lambda x, dim: function(x, axis=dim, keepdims=True)


def every(function: Any) -> Any:
    return lambda x: np.asarray(function(x)).reshape(1)


SLICES = ((0, 3, 2), (1, 4, 1))
BACKWARDS = ((0, 3, -2), (1, 4, -1))


def basic(table: str, make: Any, to_number: Callable[[float], Any]) -> None:
    """Rows of what every kind does."""

    def add(op: str, cases: Any, expected: Any = None) -> None:
        row(op, cases, expected, table)

    one, zero = to_number(1), to_number(0)
    add("from_data", (), None)
    add("take_from", (), None)
    add("into_data", unary(make), lambda x: x)
    add("shape", unary(make), lambda x: x.shape)
    add("zeros", [((2, 3),), ((0,),)], lambda shape: np.full(shape, zero))
    add("ones", [((2, 3),), ((0,),)], lambda shape: np.full(shape, one))
    add("reshape", [(make(2, 3), (3, 2)), (make(3, 2).T, (6,)), (make(0, 3), (3, 0))], lambda x, s: x.reshape(s))
    add("swap_dims", [(make(2, 3, 4), 0, 2), (make(3, 2).T, 0, 1)], np.swapaxes)
    add("permute", [(make(2, 3, 4), (2, 0, 1)), (make(0, 3), (1, 0))], np.transpose)
    add("flip", [(make(2, 3), (1,)), (make(3, 2).T, (0, 1)), (make(0, 3), (0,))], np.flip)
    add("expand", [(make(1, 3), (2, 3)), (make(3), (2, 2, 3)), (make(2, 1), (4, 2, 3))], np.broadcast_to)
    add(
        "repeat_dim",
        [(make(2, 3), 1, 3), (make(2, 3), 0, 2), (make(1, 1), 0, 1), (make(2, 3), 1, 0)],
        lambda x, dim, n: np.concatenate([x] * n, dim) if n else x[:, :0],
    )
    add(
        "slice",
        [(make(3, 4), SLICES), (make(4, 3).T, SLICES), (make(3, 4), BACKWARDS), (make(3, 4), ((1, 1, 1), (0, 4, 1)))],
        lambda x, slices: x[tuple(span(*s) for s in slices)],
    )
    add(
        "slice_assign",
        [(make(3, 4), make(2, 3), SLICES), (make(4, 3).T, make(2, 3), BACKWARDS)],
        assigned,
    )
    add(
        "cat",
        [([make(2, 3), make(2, 1), make(2, 0)], 1), ([make(3, 2).T, make(1, 3)], 0), ([make(1, 1)], 0)],
        np.concatenate,
    )
    indices = np.array([[0, 2, 2], [1, 0, 1]])
    add(
        "gather",
        [
            (make(2, 3), indices, 1),
            (make(3, 3), indices, 0),
            (make(3, 2).T, indices, 1),
            (make(2, 3), indices[:, :0], 1),
        ],
        np.take_along_axis,
    )
    some = np.array([2, 0, 2])
    add(
        "select",
        [(make(3, 2), some, 0), (make(3, 2).T, some, 1), (make(2, 3), some[:0], 1), (make(1, 1), some[1:2], 0)],
        lambda x, at, dim: np.take(x, at, axis=dim),
    )
    unique = np.array([[0, 2], [1, 0]])
    repeated = np.array([[0, 2, 2], [1, 1, 1]])
    how = ("assign", "add", "mul", "min", "max")
    add(
        "scatter",
        [
            *((make(2, 3), unique, make(2, 2), 1, update) for update in how),
            (make(2, 3), repeated, make(2, 3), 1, "add"),
            (make(3, 2).T, unique, make(2, 2), 1, "add"),
            (make(2, 3), unique[:, :0], make(2, 0), 1, "add"),
        ],
        scattered,
    )
    add(
        "select_assign",
        [
            *((make(3, 2), np.array([2, 0]), make(2, 2), 0, update) for update in how),
            (make(2, 3), np.array([1, 1, 0]), make(2, 3), 1, "add"),
        ],
        selected,
    )
    add(
        "mask_where",
        [(make(2, 3), b(2, 3), make(2, 3)), (make(3, 2).T, b(2, 3), make(2, 3)), (make(0, 3), b(0, 3), make(0, 3))],
        lambda x, mask, value: np.where(mask, value, x),
    )
    add("mask_fill", [(make(2, 3), b(2, 3), one), (make(0, 3), b(0, 3), one)], lambda x, m, v: np.where(m, v, x))
    small = (lambda *s: i(*s, low=0, high=2)) if table == "ints" else (lambda *s: i(*s, low=0, high=2) * 1.0)
    bits = b if table == "bools" else small
    add("equal", binary(bits, bits), np.equal)
    add("not_equal", binary(bits, bits), np.not_equal)
    add("equal_elem", each(bits, one), np.equal)
    add("not_equal_elem", each(bits, one), np.not_equal)
    add("any", unary(bits), every(np.any))
    add("any_dim", by_dim(bits), full_dims(np.any))
    add("all", unary(bits), every(np.all))
    add("all_dim", by_dim(bits), full_dims(np.all))


def numeric(table: str, make: Any, divisor: Any, to_number: Callable[[float], Any]) -> None:
    """Rows of what floats and ints do."""
    is_int = table == "ints"
    two, three = to_number(2), to_number(3)

    def add(op: str, cases: Any, expected: Any = None, kinked: bool = False) -> None:
        row(op, cases, expected, table, kinked)

    def quotient(x: Any, y: Any) -> Any:
        return np.trunc(x / y) if is_int else x / y

    def average(x: Any) -> Any:
        return np.trunc(x) if is_int else x

    filled = lambda case: case[0].size > 0  # noqa: E731
    add("full", [((2, 3), three)], lambda shape, value: np.full(shape, value))
    add("random", [((2, 3), Distribution.Uniform(0, 9), 5, 0), ((0,), Distribution.Default, 5, 0)])
    add("add", binary(make, make), np.add)
    add("add_scalar", each(make, two), np.add)
    add("sub", binary(make, make), np.subtract)
    add("sub_scalar", each(make, two), np.subtract)
    add("mul", binary(make, make), np.multiply)
    add("mul_scalar", each(make, three), np.multiply)
    add("div", binary(make, divisor), quotient)
    add("div_scalar", each(make, three), quotient)
    add("remainder", binary(make, divisor), np.mod, kinked=True)
    add("remainder_scalar", each(make, three), np.mod, kinked=True)
    add("neg", unary(make), np.negative)
    add("abs", unary(make), np.abs, kinked=True)
    add("sign", unary(make), np.sign, kinked=True)
    exponents = (0, 1, 2, 3, 5) if is_int else (0, 1, 2, 3, 5, -1, -2, -3)
    add("powi_scalar", [(divisor(2, 3), n) for n in exponents], lambda x, n: np.power(x, n))
    products = [((2, 3), (3, 4)), ((2, 2, 3), (1, 3, 4)), ((2, 2, 3), (2, 3, 1)), ((1, 1), (1, 1)), ((0, 3), (3, 2))]
    add("matmul", [*((make(*a), make(*c)) for a, c in products), (make(3, 2).T, make(4, 3).T)], np.matmul)
    add("clamp", each(make, -to_number(1), to_number(1)), np.clip, kinked=True)
    add("clamp_min", each(make, to_number(0)), np.maximum, kinked=True)
    add("clamp_max", each(make, to_number(0)), np.minimum, kinked=True)
    add("sum", unary(make), every(np.sum))
    add("sum_dim", by_dim(make), full_dims(np.sum))
    add("sum_dims", [(make(2, 3, 4), (0, 2)), (make(3, 2).T, (0, 1))], full_dims(np.sum))
    add("mean", filter(filled, unary(make)), every(lambda x: average(np.mean(x))))
    add("mean_dim", by_dim(make), lambda x, dim: average(x.mean(axis=dim, keepdims=True)))
    add("prod", unary(make), every(np.prod))
    add("prod_dim", by_dim(make), full_dims(np.prod))
    for name, function in (("max", np.max), ("min", np.min)):
        add(name, filter(filled, unary(make)), every(function), kinked=True)
        add(f"{name}_dim", by_dim(make), full_dims(function), kinked=True)
    for name, function in (("argmax", np.argmax), ("argmin", np.argmin)):
        add(name, by_dim(make, DType.I64), lambda x, dim, _, find=function: find(x, axis=dim, keepdims=True))
    order = {"greater": np.greater, "greater_equal": np.greater_equal, "lower": np.less, "lower_equal": np.less_equal}
    for name, function in order.items():
        add(name, binary(make, make), function)
        add(f"{name}_elem", each(make, to_number(0)), function)
    orders = [(x, dim, descending, DType.I64) for x, dim in by_dim(make) for descending in (False, True)]
    add("argsort", orders, lambda x, dim, down, _: np.argsort(-x if down else x, axis=dim, kind="stable"))
    add("cumsum", by_dim(make), np.cumsum)
    add("cumprod", by_dim(make), np.cumprod)
    add("cummax", by_dim(make), np.maximum.accumulate, kinked=True)
    add("cummin", by_dim(make), np.minimum.accumulate, kinked=True)
    around = ((1, 2), (0, 1))
    pads = [
        (make(2, 3), around, "constant", two),
        (make(3, 4), around, "reflect", two),
        (make(2, 3), around, "edge", two),
    ]
    add(
        "pad",
        [*pads, (make(1, 1), around, "edge", two), (make(3, 2).T, around, "constant", two)],
        lambda x, around, mode, v: np.pad(x, around, mode, **({"constant_values": v} if mode == "constant" else {})),
    )


def _step(x: Any, y: Any, rate: Any) -> tuple[Any, Any]:
    moved = x - y * rate
    return moved, (moved * moved + 1.0).sqrt()


STEP = trace(_step, inputs=2, scalars=1)

basic("floats", f, float)
numeric("floats", f, lambda *s: f(*s, low=0.5, high=3.0), float)
row("into_int", [(f(2, 3), DType.I32), (np.array([-1e30, 1e30, np.nan, -1.9, 1.9]), DType.I8)],
    lambda x, d: np.nan_to_num(np.trunc(x), nan=0.0).clip(-128, 127))  # fmt: skip
row("cast", each(f, DType.F64), lambda x, _: x)
row("fmod", binary(f, lambda *s: f(*s, low=0.5, high=3.0)), np.fmod, kinked=True)
row("exp", unary(f), np.exp)
row("log", unary(positive), np.log)
row("log1p", unary(positive), np.log1p)
row("sqrt", unary(positive), np.sqrt)
row("recip", unary(positive), np.reciprocal)
row("powf", binary(positive, f), np.power)
row("powf_scalar", [(positive(2, 3), e) for e in (0.0, 0.5, 1.0, 2.0, -1.5, 3.7)], np.power)
for _name, _function in {"cos": np.cos, "sin": np.sin, "cosh": np.cosh, "sinh": np.sinh, "tanh": np.tanh,
                         "atan": np.arctan, "asinh": np.arcsinh, "erf": erf}.items():  # fmt: skip
    row(_name, unary(f), _function)
for _name, _function in {"tan": np.tan, "acos": np.arccos, "asin": np.arcsin, "atanh": np.arctanh}.items():
    row(_name, unary(f, low=-0.8, high=0.8) if _name != "tan" else unary(f, low=-1.2, high=1.2), _function)
row("acosh", unary(f, low=1.3, high=3.0), np.arccosh)
row("tanh_backward", [(f(2, 3), f(2, 3)), (f(3, 2).T, f(2, 3)), (f(0, 2), f(0, 2))], lambda o, g: g * (1 - o * o))
row("atan2", binary(f, positive), np.arctan2)
row("hypot", binary(f, positive), np.hypot)
for _name, _function in {"round": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}.items():
    row(_name, unary(f), _function, kinked=True)
row(
    "var_dim",
    [*by_dim(f, 0), *by_dim(f, 1)[:3]],
    lambda x, dim, correction: x.var(axis=dim, keepdims=True, ddof=correction),
)
row("is_nan", [(np.array([1.0, np.nan, np.inf]),)], np.isnan)
row("is_inf", [(np.array([1.0, np.nan, -np.inf]),)], np.isinf)
row("detach", unary(f), lambda x: x)
row("run_elementwise", [([[f(2, 3), f(4)], [f(2, 3), f(4)]], STEP, (0.1,))])

basic("ints", i, int)
numeric("ints", i, nonzero, int)
row("into_float", each(i, DType.F32), lambda x, _: x.astype(float), "ints")
row("cast", each(i, DType.I8), lambda x, _: x, "ints")
row("arange", [(0, 5, 1), (1, 8, 3), (3, 3, 1)], np.arange, "ints")
row("powi", binary(i, lambda *s: i(*s, low=-2, high=5)),
    lambda x, n: np.where((n >= 0) | (np.abs(x) == 1), np.power(x, np.abs(n)), 0), "ints")  # fmt: skip
row("bitwise_and", binary(i, i), np.bitwise_and, "ints")
row("bitwise_or", binary(i, i), np.bitwise_or, "ints")
row("bitwise_xor", binary(i, i), np.bitwise_xor, "ints")
row("bitwise_not", unary(i), np.invert, "ints")
row("bitwise_left_shift", binary(i, lambda *s: i(*s, low=0, high=8)), np.left_shift, "ints")
row("bitwise_right_shift", binary(i, lambda *s: i(*s, low=0, high=8)), np.right_shift, "ints")

basic("bools", b, bool)
row("into_int", each(b, DType.I32), lambda x, _: x.astype(int), "bools")
row("into_float", each(b, DType.F32), lambda x, _: x.astype(float), "bools")
row("not_", unary(b), np.logical_not, "bools")
row("and_", binary(b, b), np.logical_and, "bools")
row("or_", binary(b, b), np.logical_or, "bools")
row("xor", binary(b, b), np.logical_xor, "bools")
row("argwhere", [(b(2, 3), DType.I64), (b(3, 2).T, DType.I64), (b(0, 3), DType.I64)],
    lambda x, _: np.argwhere(x), "bools")  # fmt: skip
