"""The rows of pooling, against loops over windows."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from rows import Rows, f

from minburn.backends.pool_options import PoolOptions
from minburn.dtype import DType

ROWS = Rows("modules")
row = ROWS.add


def windows(shape: Any, o: PoolOptions) -> Any:
    """(window, the elements of the plane that it reads, in order, how many places it has in the padded plane)."""
    space = shape[2:]
    for at in np.ndindex(*o.output_size(space)):
        inside, counted = [], 0
        for place in np.ndindex(*o.kernel_size):
            spot = [
                w * s + p * d - b for w, s, p, d, (b, _) in zip(at, o.stride, place, o.dilation, o.padding, strict=True)
            ]
            if all(0 <= v < n for v, n in zip(spot, space, strict=True)):
                inside.append(tuple(spot))
            counted += all(-b <= v < n + a for v, n, (b, a) in zip(spot, space, o.padding, strict=True))
        yield at, inside, counted


def planes(shape: Any) -> Any:
    return np.ndindex(*shape[:2])


def max_pool_with_indices(x: Any, o: PoolOptions, dtype: Any) -> Any:
    size = (*x.shape[:2], *o.output_size(x.shape[2:]))
    out, indices = np.zeros(size), np.zeros(size, int)
    for (n, c), (at, inside, _) in itertools.product(planes(x.shape), windows(x.shape, o)):
        best = inside[0]
        for spot in inside:
            if x[n, c, *spot] > x[n, c, *best] or math.isnan(x[n, c, *spot]):
                best = spot
        out[n, c, *at] = x[n, c, *best]
        indices[n, c, *at] = np.ravel_multi_index(best, x.shape[2:])
    return out, indices


def max_pool(x: Any, o: PoolOptions) -> Any:
    return max_pool_with_indices(x, o, None)[0]


def scattered(grad: Any, indices: Any, size: Any) -> Any:
    out = np.zeros((*grad.shape[:2], math.prod(size)))
    for n, c, *at in np.ndindex(*grad.shape):
        out[n, c, indices[n, c, *at]] += grad[n, c, *at]
    return out.reshape(*grad.shape[:2], *size)


def max_pool_backward(x: Any, output: Any, grad: Any, o: PoolOptions) -> Any:
    return scattered(grad, max_pool_with_indices(x, o, None)[1], x.shape[2:])


def avg_pool(x: Any, o: PoolOptions, include_pad: bool) -> Any:
    out = np.zeros((*x.shape[:2], *o.output_size(x.shape[2:])))
    for (n, c), (at, inside, counted) in itertools.product(planes(x.shape), windows(x.shape, o)):
        total = sum(x[n, c, *spot] for spot in inside)
        out[n, c, *at] = total / max(1, counted if include_pad else len(inside))
    return out


def avg_pool_backward(grad: Any, size: Any, o: PoolOptions, include_pad: bool) -> Any:
    out = np.zeros((*grad.shape[:2], *size))
    for (n, c), (at, inside, counted) in itertools.product(planes(out.shape), windows(out.shape, o)):
        for spot in inside:
            out[n, c, *spot] += grad[n, c, *at] / max(1, counted if include_pad else len(inside))
    return out


def adaptive_slices(size: Any, count: Any) -> Any:
    for at in np.ndindex(*count):
        bounds = [(math.floor(i * n / m), math.ceil((i + 1) * n / m)) for i, n, m in zip(at, size, count, strict=True)]
        yield at, tuple(slice(*bound) for bound in bounds)


def adaptive(x: Any, count: Any) -> Any:
    out = np.zeros((*x.shape[:2], *count))
    for at, where in adaptive_slices(x.shape[2:], count):
        out[(..., *at)] = x[(..., *where)].mean(axis=tuple(range(2, x.ndim)))
    return out


def adaptive_backward(grad: Any, size: Any) -> Any:
    out = np.zeros((*grad.shape[:2], *size))
    for at, where in adaptive_slices(size, grad.shape[2:]):
        part = out[(..., *where)]
        part += grad[(..., *at)].reshape(*grad.shape[:2], *[1] * len(size)) / math.prod(part.shape[2:])
    return out


def distinct(*shape: int) -> Any:
    """No two alike, far enough apart for finite differences."""
    n = math.prod(shape)
    return np.random.default_rng(n).permutation(np.linspace(-2, 2, n) if n else np.zeros(0)).reshape(shape)


def plain(*kernel: int) -> PoolOptions:
    return PoolOptions(kernel, kernel, ((0, 0),) * len(kernel), (1,) * len(kernel))


MAX: dict[int, list[tuple[tuple[int, ...], PoolOptions]]] = {
    1: [
        ((2, 2, 7), plain(3)),
        ((2, 2, 7), PoolOptions((3,), (2,), ((1, 1),), (1,))),
        ((1, 2, 8), PoolOptions((2,), (2,), ((0, 0),), (2,), True)),
        ((1, 2, 5), PoolOptions((3,), (1,), ((0, 2),), (1,))),
        ((1, 1, 4), PoolOptions((2,), (3,), ((1, 0),), (1,), True)),
        ((0, 2, 4), plain(2)),
        ((1, 1, 1), plain(1)),
    ],
    2: [
        ((2, 2, 4, 6), plain(2, 2)),
        ((2, 1, 5, 3), plain(2, 2)),  # a row and a column are in no window
        ((1, 2, 5, 3), PoolOptions((2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1), True)),
        ((1, 2, 5, 6), PoolOptions((3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1))),
        ((1, 1, 5, 6), PoolOptions((2, 3), (1, 2), ((0, 0), (0, 0)), (2, 1))),
        ((1, 1, 4, 5), PoolOptions((2, 2), (1, 1), ((0, 1), (1, 0)), (1, 1))),
        ((1, 1, 4, 6), PoolOptions((3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1), True)),
        ((1, 1, 3, 4), PoolOptions((1, 1), (2, 3), ((0, 0), (0, 0)), (1, 1))),  # windows with gaps between them
        ((0, 2, 4, 4), plain(2, 2)),
        ((2, 0, 4, 4), plain(2, 2)),
        ((1, 1, 1, 1), plain(1, 1)),
    ],
}  # fmt: skip
MEAN: dict[int, list[tuple[tuple[int, ...], PoolOptions]]] = {
    1: [*MAX[1], ((1, 1, 2), PoolOptions((2,), (1,), ((3, 0),), (1,)))],  # windows without an element
    2: [*MAX[2], ((1, 1, 1, 1), PoolOptions((2, 2), (1, 1), ((2, 0), (0, 1)), (1, 1)))],
}  # fmt: skip
ADAPTIVE: dict[int, list[tuple[tuple[int, ...], tuple[int, ...]]]] = {
    1: [((2, 2, 4), (6,)), ((1, 2, 5), (1,)), ((1, 2, 6), (3,)), ((0, 2, 5), (2,)), ((1, 1, 1), (1,))],
    2: [((2, 1, 5, 7), (2, 3)), ((1, 2, 4, 6), (2, 2)), ((1, 1, 3, 3), (4, 5)), ((2, 2, 4, 3), (1, 1)),
        ((1, 2, 4, 5), (2, 3)), ((0, 2, 4, 4), (2, 1))],
    3: [((1, 2, 3, 4, 5), (2, 3, 5)), ((2, 1, 2, 2, 3), (1, 1, 1))],
}  # fmt: skip


def max_rows(rank: int) -> None:
    name = f"max_pool{rank}d"
    forward, backward, indexed, scatter = [], [], [], []
    for shape, o in MAX[rank]:
        x = distinct(*shape)
        output, indices = max_pool_with_indices(x, o, None)
        forward.append((x, o))
        backward.append((x, output, f(*output.shape), o))
        indexed.append((x, o, DType.I32))
        scatter.append((f(*output.shape), indices, shape[2:]))
    row(name, forward, max_pool, kinked=True)
    row(f"{name}_backward", backward, max_pool_backward, kinked=True)
    row(f"{name}_with_indices", indexed, max_pool_with_indices, kinked=True)
    row(f"{name}_with_indices_backward", scatter, scattered)


def avg_rows(rank: int) -> None:
    cases = [(shape, o, include_pad) for shape, o in MEAN[rank] for include_pad in (True, False)]
    row(f"avg_pool{rank}d", [(f(*shape), o, include) for shape, o, include in cases], avg_pool)
    backward = [(f(*shape[:2], *o.output_size(shape[2:])), shape[2:], o, include) for shape, o, include in cases]
    row(f"avg_pool{rank}d_backward", backward, avg_pool_backward)


def adaptive_rows(rank: int) -> None:
    row(f"adaptive_avg_pool{rank}d", [(f(*shape), count) for shape, count in ADAPTIVE[rank]], adaptive)
    backward = [(f(*shape[:2], *count), shape[2:]) for shape, count in ADAPTIVE[rank]]
    row(f"adaptive_avg_pool{rank}d_backward", backward, adaptive_backward)


for rank in (1, 2):
    max_rows(rank)
    avg_rows(rank)
for rank in (1, 2, 3):
    adaptive_rows(rank)
