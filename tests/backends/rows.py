"""What rows of the test table are made of: how arguments are drawn, and how they become primitives.

An argument that is an array becomes a primitive of its kind (float, int, bool); everything else is passed as it is.
Float arrays are what gradients are checked for. A transposed array becomes a non-contiguous primitive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

Case = tuple[Any, ...]


@dataclass(frozen=True)
class Row:
    """table.op, the argument lists to call it with, and NumPy's answer.

    kinked: piecewise constant or linear in its inputs, or with jumps: no second derivative is checked.
    """

    table: str
    op: str
    cases: tuple[Case, ...]
    expected: Callable[..., Any] | None
    kinked: bool

    @property
    def name(self) -> str:
        return f"{self.table}.{self.op}"


_rng = np.random.default_rng(20)


def f(*shape: int, low: float = -2.0, high: float = 2.0) -> Any:
    return _rng.uniform(low, high, shape)


def i(*shape: int, low: int = -9, high: int = 10) -> Any:
    return _rng.integers(low, high, shape)


def b(*shape: int) -> Any:
    return _rng.random(shape) < 0.5


def nonzero(*shape: int) -> Any:
    """Integers without 0."""
    return i(*shape, low=1, high=9) * _rng.choice([-1, 1], shape)


def unary(make: Any, **bounds: Any) -> tuple[Case, ...]:
    """Plain, size-1, empty and non-contiguous inputs."""
    return tuple((x,) for x in (make(2, 3, **bounds), make(1, 1, **bounds), make(0, 3), make(3, 2, **bounds).T))


def binary(left: Any, right: Any) -> tuple[Case, ...]:
    """Equal shapes, broadcasting either way and both ways, size 1, empty, non-contiguous."""
    shapes = [((2, 3), (2, 3)), ((2, 3), (1, 3)), ((1, 1), (2, 3)), ((2, 1), (1, 3)), ((1,), (1,)), ((0, 3), (1, 3))]
    return (*((left(*a), right(*c)) for a, c in shapes), (left(3, 2).T, right(3, 2).T))


def each(make: Any, *more: Any) -> tuple[Case, ...]:
    return tuple((*case, *more) for case in unary(make))


def by_dim(make: Any, *more: Any, empty: bool = True) -> tuple[Case, ...]:
    cases = [(make(2, 3), 0, *more), (make(2, 3), 1, *more), (make(3, 2).T, 1, *more), (make(1, 4, 2), 1, *more)]
    return (*cases, (make(0, 3), 1, *more)) if empty else tuple(cases)


class Rows(list[Row]):
    """The rows of one file; `add` is written once a row."""

    def __init__(self, table: str) -> None:
        super().__init__()
        self.table = table

    def add(self, op: str, cases: Iterable[Case], expected: Any = None, table: str = "", kinked: bool = False) -> None:
        self.append(Row(table or self.table, op, tuple(cases), expected, kinked))


def positive(*shape: int) -> Any:
    return f(*shape, low=0.3, high=2.0)


def erf(x: Any) -> Any:
    return np.reshape([math.erf(v) for v in np.ravel(x)], np.shape(x))


def softmax(x: Any, dim: int) -> Any:
    e = np.exp(x - x.max(axis=dim, keepdims=True)) if x.size else x
    return e / e.sum(axis=dim, keepdims=True) if x.size else x


def primitive(backend: Any, argument: Any) -> Any:
    """The argument as this backend's primitive; a transposed array stays non-contiguous."""
    if isinstance(argument, list):
        return [primitive(backend, item) for item in argument]
    if not isinstance(argument, np.ndarray):
        return argument
    table = {"f": backend.floats, "i": backend.ints, "b": backend.bools}[argument.dtype.kind]
    if argument.ndim > 1 and not argument.flags.c_contiguous:
        axes = np.argsort([-stride for stride in argument.strides], kind="stable")
        return table.permute(table.from_data(argument.transpose(axes)), tuple(np.argsort(axes).tolist()))
    return table.from_data(argument)
