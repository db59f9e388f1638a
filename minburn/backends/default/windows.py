"""The elements of windows, and their adjoint, composed from `floats`: what pools and unfolding are made of."""

from __future__ import annotations

import itertools
from typing import Any

from minburn.backends.base import FloatTensorOps, Shape, Slices
from minburn.backends.pool_options import PoolOptions


def window_elements(ops: FloatTensorOps[Any, Any, Any], x: Any, options: PoolOptions, fill: float) -> Any:
    """x [N, C, …] → [N, C, windows…, elements of the kernel in row-major order]; padding reads as `fill`."""
    shape = ops.shape(x)
    counts = options.output_size(shape[2:])
    padding = [(0, 0), (0, 0)]
    spans: list[list[tuple[int, int, int]]] = []
    for dim, (size, count) in enumerate(zip(shape[2:], counts, strict=True)):
        stride, dilation, (before, after) = options.stride[dim], options.dilation[dim], options.padding[dim]
        reach = (count - 1) * stride + 1
        overhang = reach + options.extent(dim) - 1 - before - size
        padding.append((before, max(after, overhang)))
        spans.append([(p * dilation, p * dilation + reach, stride) for p in range(options.kernel_size[dim])])
    padded = ops.pad(x, tuple(padding), "constant", fill)
    every = ((0, shape[0], 1), (0, shape[1], 1))
    parts = [ops.slice(padded, (*every, *span)) for span in itertools.product(*spans)]
    return ops.cat([ops.reshape(part, (*shape[:2], *counts, 1)) for part in parts], len(shape))


def add_to_elements(ops: FloatTensorOps[Any, Any, Any], parts: list[Any], size: Shape, options: PoolOptions) -> Any:
    """[N, C, windows…] for each element of the kernel → [N, C, *size]: each is added to the element that it lies on."""
    batch, channels, *_ = ops.shape(parts[0])
    total = zeros = ops.zeros((batch, channels, *size))
    every = ((0, batch, 1), (0, channels, 1))
    for part, (windows, elements) in zip(parts, options.taps_of_planes(size), strict=True):
        met = ops.slice(part, (*every, *_resolved(windows)))
        total = ops.add(total, ops.slice_assign(zeros, met, (*every, *_resolved(elements))))
    return total


def _resolved(slices: tuple[slice, ...]) -> Slices:
    return tuple((s.start, s.stop, s.step) for s in slices)
