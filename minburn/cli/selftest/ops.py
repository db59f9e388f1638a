"""Ops through the tensor API, each beside what it means in NumPy and float64.

A row is a name, host arrays, a function of tensors and one of arrays. They are small and hurt a little: rows that
broadcast, sizes of 1 and primes, negative numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from minburn.backends import Backend, Distribution, NumPy
from minburn.dtype import DType
from minburn.tensor import BoolTensor, IntTensor, Tensor, activation, functional

Array = np.ndarray[Any, Any]
RTOL = {DType.F32: 2e-6, DType.F16: 2e-3, DType.F64: 1e-12}
"""Of the largest number of a result."""


class Row(NamedTuple):
    name: str
    arrays: tuple[Array, ...]
    ours: Callable[..., Any]
    theirs: Callable[..., Any]


class Outcome(NamedTuple):
    """error: the largest difference, in units of what is tolerated; what went wrong, if it raised."""

    name: str
    error: float
    why: str

    @property
    def ok(self) -> bool:
        return self.error <= 1.0 and not self.why


def floats(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def positive(*shape: int) -> Array:
    return np.abs(floats(*shape)) + 0.5


def ints(high: int, *shape: int) -> Array:
    return np.random.default_rng([high, *shape]).integers(0, high, shape)


A, B, ROW, COLUMN, CUBE = floats(5, 7), floats(5, 7, seed=1), floats(1, 7), floats(5, 1), floats(2, 3, 5)
IMAGES, KERNEL = floats(2, 4, 9, 7), floats(6, 2, 3, 3)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    result: Array = e / e.sum(-1, keepdims=True)
    return result


def erf(x: Array) -> Array:
    result: Array = np.vectorize(math.erf)(x)
    return result


def conv2d(x: Array, weight: Array, groups: int, stride: int, padding: int) -> Array:
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    parts = zip(np.split(x, groups, 1), np.split(weight, groups, 0), strict=True)
    return np.concatenate(
        [np.einsum("nchwkl,ockl->nohw", windows(one, weight.shape[2:], stride), w) for one, w in parts], 1
    )


def windows(x: Array, size: tuple[int, ...], stride: int) -> Array:
    return sliding_window_view(x, size, axis=(2, 3))[:, :, ::stride, ::stride]


def layer_norm(x: Array) -> Array:
    result: Array = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return result


def attention(q: Array, k: Array, v: Array) -> Array:
    result: Array = softmax(q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])) @ v
    return result


def picked(x: Array) -> Array:
    return x[:, [3, 0, 3]]


UNARY: dict[str, tuple[Callable[[Array], Any], Array]] = {
    "exp": (np.exp, A),
    "log": (np.log, positive(5, 7)),
    "log1p": (np.log1p, positive(5, 7)),
    "sqrt": (np.sqrt, positive(5, 7)),
    "recip": (np.reciprocal, positive(5, 7)),
    "abs": (np.abs, A),
    "sign": (np.sign, A),
    "neg": (np.negative, A),
    "sin": (np.sin, A),
    "cos": (np.cos, A),
    "tanh": (np.tanh, A),
    "erf": (erf, A),
    "floor": (np.floor, A * 3),
    "ceil": (np.ceil, A * 3),
    "round": (np.round, A * 3),
    "square": (np.square, A),
}
ACTIVATIONS: dict[str, Callable[[Array], Any]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))),
    "gelu_approximate": lambda x: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "log_sigmoid": lambda x: -np.log1p(np.exp(-x)),
    "leaky_relu": lambda x: np.where(x < 0, 0.01 * x, x),
    "hard_sigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "elu": lambda x: np.where(x > 0, x, np.exp(x) - 1),
}

ROWS: list[Row] = [
    *[Row(name, (x,), lambda t, name=name: getattr(t, name)(), f) for name, (f, x) in UNARY.items()],
    *[Row(name, (A,), getattr(activation, name), f) for name, f in ACTIVATIONS.items()],
    Row("add, broadcast", (A, ROW), lambda a, b: a + b, lambda a, b: a + b),
    Row("sub, broadcast", (A, COLUMN), lambda a, b: a - b, lambda a, b: a - b),
    Row("mul, both broadcast", (ROW, COLUMN), lambda a, b: a * b, lambda a, b: a * b),
    Row("div", (A, positive(5, 7)), lambda a, b: a / b, lambda a, b: a / b),
    Row("scalars", (A,), lambda a: (a * 2.5 - 1.0) / 3.0, lambda a: (a * 2.5 - 1.0) / 3.0),
    Row("powf_scalar", (positive(5, 7),), lambda a: a.powf_scalar(1.5), lambda a: a**1.5),
    Row("powi_scalar", (A,), lambda a: a.powi_scalar(3), lambda a: a**3),
    Row("clamp", (A,), lambda a: a.clamp(-0.5, 0.5), lambda a: a.clip(-0.5, 0.5)),
    Row("sum", (A,), lambda a: a.sum(), lambda a: a.sum().reshape(1)),
    Row("mean", (A,), lambda a: a.mean(), lambda a: a.mean().reshape(1)),
    Row("sum_dim 0", (A,), lambda a: a.sum_dim(0), lambda a: a.sum(0, keepdims=True)),
    Row("mean_dim 1 of 3", (CUBE,), lambda a: a.mean_dim(1), lambda a: a.mean(1, keepdims=True)),
    Row("var", (CUBE,), lambda a: a.var(2), lambda a: a.var(2, ddof=1, keepdims=True)),
    Row("max_dim", (A,), lambda a: a.max_dim(1), lambda a: a.max(1, keepdims=True)),
    Row("min_dim", (A,), lambda a: a.min_dim(0), lambda a: a.min(0, keepdims=True)),
    Row("argmax", (A,), lambda a: a.argmax(1), lambda a: a.argmax(1)[:, None]),
    Row("sum of 1e5", (floats(100_003),), lambda a: a.sum(), lambda a: a.sum().reshape(1)),
    Row("matmul", (A, floats(7, 3)), lambda a, b: a.matmul(b), lambda a, b: a @ b),
    Row("matmul, batches", (CUBE, floats(2, 5, 4)), lambda a, b: a.matmul(b), lambda a, b: a @ b),
    Row("matmul, transposed", (A, B), lambda a, b: a.matmul(b.transpose()), lambda a, b: a @ b.T),
    Row("reshape", (A,), lambda a: a.reshape([7, 5]), lambda a: a.reshape(7, 5)),
    Row("permute", (CUBE,), lambda a: a.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    Row(
        "reshape of permuted",
        (CUBE,),
        lambda a: a.permute(2, 0, 1).flatten(1),
        lambda a: a.transpose(2, 0, 1).reshape(5, 6),
    ),
    Row("flip", (CUBE,), lambda a: a.flip(0, 2), lambda a: a[::-1, :, ::-1]),
    Row("slice", (A,), lambda a: a[1:4, 2:], lambda a: a[1:4, 2:]),
    Row("cat", (A, B), lambda a, b: Tensor.cat([a, b], 1), lambda a, b: np.concatenate([a, b], 1)),
    Row("expand", (COLUMN,), lambda a: a.expand(5, 3), lambda a: np.broadcast_to(a, (5, 3))),
    Row("select", (A,), lambda a: a.select(1, IntTensor.from_ints([3, 0, 3], a.backend)), picked),
    Row(
        "gather",
        (A, ints(7, 5, 2)),
        lambda a, i: a.gather(1, i),
        lambda a, i: np.take_along_axis(a, i.astype(np.int64), 1),
    ),
    Row("mask_fill", (A,), lambda a: a.mask_fill(a > 0.0, 7.0), lambda a: np.where(a > 0, 7.0, a)),
    Row("mask_where", (A, B), lambda a, b: a.mask_where(a < b, b), np.maximum),
    Row("greater", (A, B), lambda a, b: (a > b).int(), lambda a, b: a > b),
    Row("triu", (A,), lambda a: a.triu(1), lambda a: np.triu(a, 1)),
    Row("pad", (A,), lambda a: a.pad([(1, 2), (0, 3)]), lambda a: np.pad(a, [(1, 2), (0, 3)])),
    Row("one_hot", (ints(4, 6),), lambda a: a.one_hot(4), lambda a: np.eye(4)[a]),
    Row("int division", (ints(9, 6) - 4,), lambda a: a / 2, lambda a: np.trunc(a / 2)),
    Row("int remainder", (ints(9, 6) - 4,), lambda a: a % 3, lambda a: a % 3),
    Row("bool ops", (A,), lambda a: ((a > 0.0) & ~(a > 1.0)).int(), lambda a: (a > 0) & ~(a > 1)),
    Row(
        "tril_mask",
        (A,),
        lambda a: BoolTensor.tril_mask([4, 4], 0, a.backend).int(),
        lambda a: np.triu(np.ones((4, 4)), 1),
    ),
    Row("softmax", (CUBE * 20,), lambda a: activation.softmax(a, 2), softmax),
    Row("log_softmax", (CUBE,), lambda a: activation.log_softmax(a, 2), lambda a: np.log(softmax(a))),
    Row("linear", (CUBE, floats(5, 4), floats(4)), functional.linear, lambda x, w, b: x @ w + b),
    Row("embedding", (floats(9, 4), ints(9, 2, 3)), functional.embedding, lambda w, i: w[i]),
    Row(
        "layer_norm",
        (floats(3, 37), np.ones(37), np.zeros(37)),
        lambda x, g, b: functional.layer_norm(x, g, b, 1e-5),
        lambda x, g, b: layer_norm(x),
    ),
    Row(
        "conv2d, groups, stride, padding",
        (IMAGES, KERNEL),
        lambda x, w: functional.conv2d(x, w, None, functional.ConvOptions((2, 2), ((1, 1), (1, 1)), (1, 1), 2)),
        lambda x, w: conv2d(x, w, 2, 2, 1),
    ),
    Row(
        "max_pool2d",
        (IMAGES,),
        lambda x: functional.max_pool2d(x, (3, 2), (2, 2)),
        lambda x: windows(x, (3, 2), 2).max((4, 5)),
    ),
    Row(
        "avg_pool2d",
        (IMAGES,),
        lambda x: functional.avg_pool2d(x, (3, 2), (2, 2)),
        lambda x: windows(x, (3, 2), 2).mean((4, 5)),
    ),
    Row(
        "attention",
        (floats(2, 2, 5, 4), floats(2, 2, 6, 4), floats(2, 2, 6, 3)),
        lambda q, k, v: functional.attention(q, k, v),
        attention,
    ),
]


def check(backend: Backend) -> list[Outcome]:
    """Every row on a backend, and that it draws the same numbers as NumPy."""
    return [*(outcome(row, backend) for row in ROWS), draws(backend)]


def outcome(row: Row, backend: Backend) -> Outcome:
    try:
        tensors = [Tensor.from_data(array, backend) for array in row.arrays]
        found = row.ours(*tensors).numpy().astype(np.float64)
        rounded = [tensor.numpy().astype(array.dtype) for tensor, array in zip(tensors, row.arrays, strict=True)]
        wanted = np.asarray(row.theirs(*rounded), np.float64)
    except Exception as error:  # whatever an op does on this machine is the result
        return Outcome(row.name, math.inf, f"{type(error).__name__}: {error}".splitlines()[0])
    if found.shape != wanted.shape:
        return Outcome(row.name, math.inf, f"shape {list(found.shape)}, expected {list(wanted.shape)}")
    tolerance = RTOL.get(backend.float_dtype, 1e-2) * max(1.0, float(np.abs(wanted).max(initial=0.0)))
    tolerance *= max(1.0, math.sqrt(max(array.size for array in row.arrays)) / 8)
    apart = float(np.abs(found - wanted).max(initial=0.0)) / tolerance
    return Outcome(row.name, math.inf if math.isnan(apart) else apart, "")


def draws(backend: Backend) -> Outcome:
    """The same bits as on NumPy, for the same seed."""
    name = "random bits"
    try:
        here = Tensor.random([1001], with_seed(backend), Distribution.Uniform(-1.0, 1.0)).numpy()
        there = Tensor.random([1001], NumPy(seed=7), Distribution.Uniform(-1.0, 1.0)).numpy()
    except Exception as error:
        return Outcome(name, math.inf, f"{type(error).__name__}: {error}".splitlines()[0])
    same = backend.float_dtype != DType.F32 or here.tobytes() == there.tobytes()
    return Outcome(name, 0.0 if same else math.inf, "" if same else "they differ from NumPy's")


def with_seed(backend: Any, seed: int = 7) -> Backend:
    """The same backend on the same device, its streams at their beginning."""
    where = {"device": backend.device.index} if backend.device.kind == "cuda" else {}
    return type(backend)(seed=seed, **where)  # type: ignore[no-any-return]
