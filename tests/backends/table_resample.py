"""The rows of resizing, unfolding and folding: sums over elements, written out."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from rows import Rows, f

from minburn.backends.interpolate_options import InterpolateOptions
from minburn.backends.pool_options import PoolOptions

ROWS = Rows("modules")
row = ROWS.add


def cubic(d: float) -> float:
    a, d = -0.75, abs(d)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


def lanczos(d: float) -> float:
    if d == 0:
        return 1.0
    return 3 * math.sin(math.pi * d) * math.sin(math.pi * d / 3) / (math.pi * d) ** 2 if abs(d) < 3 else 0.0


def made_of(o: int, n: int, m: int, options: InterpolateOptions) -> dict[int, float]:
    """The weight of each of n elements in output o of m."""
    if options.mode == "Nearest":
        return {o * n // m: 1.0}
    if options.mode == "NearestExact":
        return {math.floor((o + 0.5) * n / m): 1.0}
    at = (o + 0.5) * n / m - 0.5
    if options.align_corners:
        at = o * (n - 1) / (m - 1) if m > 1 else 0.0
    low = math.floor(at)
    if options.mode == "Linear":
        at = min(max(at, 0.0), n - 1.0)
        return {i: 1 - abs(at - i) for i in range(n) if abs(at - i) < 1}
    if options.mode == "Lanczos":
        found = {i: lanczos(at - i) for i in range(low - 2, low + 4) if 0 <= i < n}
        return {i: w / sum(found.values()) for i, w in found.items()}
    weights = dict.fromkeys(range(n), 0.0)
    for i in range(low - 1, low + 3):
        weights[min(max(i, 0), n - 1)] += cubic(at - i)
    return weights


def matrix(n: int, m: int, options: InterpolateOptions) -> Any:
    out = np.zeros((n, m))
    for o in range(m):
        for i, weight in made_of(o, n, m, options).items():
            out[i, o] += weight
    return out


def resized(x: Any, size: Any, options: InterpolateOptions) -> Any:
    for dim, m in enumerate(size, start=2):
        x = np.moveaxis(np.moveaxis(x, dim, -1) @ matrix(x.shape[dim], m, options), -1, dim)
    return x


def resized_backward(grad: Any, size: Any, options: InterpolateOptions) -> Any:
    for dim, n in enumerate(size, start=2):
        grad = np.moveaxis(np.moveaxis(grad, dim, -1) @ matrix(n, grad.shape[dim], options).T, -1, dim)
    return grad


def places(x_shape: Any, o: PoolOptions) -> Any:
    """(row of a channel's columns, window, element) of every element that a window reads."""
    counts = o.output_size(x_shape[2:])
    for (r, at), (w, window) in itertools.product(
        enumerate(np.ndindex(*o.kernel_size)), enumerate(np.ndindex(*counts))
    ):
        spot = [
            v * s + p * d - b for v, s, p, d, (b, _) in zip(window, o.stride, at, o.dilation, o.padding, strict=True)
        ]
        if all(0 <= v < n for v, n in zip(spot, x_shape[2:], strict=True)):
            yield r, w, tuple(spot)


def unfolded(x: Any, o: PoolOptions) -> Any:
    volume = math.prod(o.kernel_size)
    out = np.zeros((*x.shape[:2], volume, math.prod(o.output_size(x.shape[2:]))))
    for r, w, spot in places(x.shape, o):
        out[:, :, r, w] = x[(..., *spot)]
    return out.reshape(len(x), x.shape[1] * volume, out.shape[3])


def folded(columns: Any, size: Any, o: PoolOptions) -> Any:
    volume = math.prod(o.kernel_size)
    out = np.zeros((len(columns), columns.shape[1] // volume, *size))
    by_place = columns.reshape(len(columns), out.shape[1], volume, columns.shape[2])
    for r, w, spot in places(out.shape, o):
        out[(..., *spot)] += by_place[:, :, r, w]
    return out


RESIZED = [
    ((1, 2, 3, 4), (5, 7)),
    ((2, 1, 5, 4), (2, 3)),
    ((1, 2, 5), (8,)),
    ((1, 1, 1, 3), (4, 1)),
    ((0, 2, 2, 2), (3, 1)),
]
OPTIONS = [
    InterpolateOptions(mode, align)
    for mode in ("Nearest", "NearestExact", "Linear", "Cubic", "Lanczos")
    for align in (True, False)
]  # fmt: skip
WINDOWS = [
    ((2, 2, 4, 5), PoolOptions((2, 3), (2, 1), ((1, 1), (1, 1)), (1, 2))),
    ((1, 2, 3, 4), PoolOptions((2, 2), (1, 1), ((0, 0), (0, 0)), (1, 1))),
    ((1, 1, 2, 2), PoolOptions((1, 2), (2, 2), ((0, 3), (1, 0)), (1, 1))),  # windows of padding only
    ((1, 1, 1, 1), PoolOptions((1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1))),
    ((0, 2, 3, 3), PoolOptions((2, 2), (1, 1), ((0, 0), (0, 0)), (1, 1))),
]
row("interpolate", [(f(*shape), size, o) for shape, size in RESIZED for o in OPTIONS], resized)
row("interpolate_backward", [(f(*shape[:2], *size), shape[2:], o) for shape, size in RESIZED for o in OPTIONS],
    resized_backward)  # fmt: skip
row("unfold4d", [(f(*shape), o) for shape, o in WINDOWS], unfolded)
row("fold4d", [(unfolded(f(*shape), o), shape[2:], o) for shape, o in WINDOWS], folded)
