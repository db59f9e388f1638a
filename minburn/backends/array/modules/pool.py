"""Pooling of any rank over `xp`: strided slices instead of windows, in whatever memory order the input lies.

    2x2, stride 2:   maximum of x[:, :, 0::2, 0::2], x[:, :, 0::2, 1::2], x[:, :, 1::2, 0::2], x[:, :, 1::2, 1::2]

Maxima and sums over large windows go one dimension after another: k + k slices instead of k · k.

The gradient of a maximum keeps no indices: an element that equals its window's maximum, and is the first that does,
is where the maximum came from. Sums of halves are computed in single precision.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from minburn.backends.array.basic import Array
from minburn.backends.array.dtypes import to_numpy
from minburn.backends.array.floats import ArrayFloats
from minburn.backends.array.modules.conv import in_single_precision
from minburn.backends.base import Shape
from minburn.backends.default.pool import DefaultPool
from minburn.backends.pool_options import PoolOptions, adaptive_windows
from minburn.dtype import DType

ONE_PASS = 4
"""Elements of a kernel up to which one pass over all of them beats a pass per dimension. Measured."""


class ArrayPool(DefaultPool):
    floats: ArrayFloats

    def _max_pool(self, x: Array, options: PoolOptions) -> Array:
        return self._fold_windows(self.floats.xp.maximum, x, options, -self.floats.xp.inf)

    @in_single_precision
    def _max_pool_backward(self, x: Array, output: Array, grad: Array, options: PoolOptions) -> Array:
        table, xp = self.floats, self.floats.xp
        size, overlaps = x.shape[2:], options.overlaps
        if not table.surely_finite(grad):  # below, 0 · inf would not be 0
            return super()._max_pool_backward(x, output, grad, options)
        grad = self._in_order_of(output, grad)
        out = table.empty_like(x)
        if overlaps or not options.covers(size):
            out.fill(0)
        free = table.mask_like(output)  # windows whose maximum has not been met
        free.fill(True)
        scratch = table.mask_like(output)
        for windows, elements in options.taps_of_planes(size):
            at, source = (..., *windows), (..., *elements)
            found = xp.equal(x[source], output[at], out=scratch[at])
            xp.logical_and(found, free[at], out=found)
            xp.logical_xor(free[at], found, out=free[at])
            if overlaps:
                xp.add(out[source], xp.multiply(grad[at], found), out=out[source])
            else:
                xp.multiply(grad[at], found, out=out[source])
        if free.any():  # the maximum is a NaN, which equals nothing
            return super()._max_pool_backward(x, output, grad, options)
        return out

    def _max_pool_with_indices(self, x: Array, options: PoolOptions, indices_dtype: DType) -> tuple[Array, Array]:
        xp, size = self.floats.xp, x.shape[2:]
        output = self._max_pool(x, options)
        indices = xp.zeros_like(output, dtype=to_numpy(indices_dtype))
        positions = xp.arange(math.prod(size), dtype=indices.dtype).reshape(size)
        taps = [((..., *windows), (..., *elements)) for windows, elements in options.taps_of_planes(size)]
        for at, source in reversed(taps):  # so that the first of equal elements is written last
            xp.copyto(indices[at], positions[source], where=xp.equal(x[source], output[at]))
        if xp.isnan(output).any():
            for at, source in taps:
                xp.copyto(indices[at], positions[source], where=xp.isnan(x[source]))
        return output, indices

    @in_single_precision
    def _avg_pool(self, x: Array, options: PoolOptions, count_include_pad: bool) -> Array:
        sums = self._fold_windows(self.floats.xp.add, x, options, 0.0)
        return self.floats.xp.divide(sums, self._counts(x.shape[2:], options, count_include_pad), out=sums)

    @in_single_precision
    def _avg_pool_backward(self, grad: Array, size: Shape, options: PoolOptions, count_include_pad: bool) -> Array:
        table, xp = self.floats, self.floats.xp
        share = xp.divide(grad, self._counts(size, options, count_include_pad), out=table.empty_like(grad))
        for before, _, taps in reversed(_stages(options, size)):
            out = table.empty_like(share, (*share.shape[:2], *before))
            if options.overlaps or not options.covers(size):
                out.fill(0)
            for at, source in taps:
                if options.overlaps:
                    xp.add(out[source], share[at], out=out[source])
                else:
                    out[source] = share[at]
            share = out
        return share

    @in_single_precision
    def _adaptive_avg_pool(self, x: Array, output_size: Shape) -> Array:
        table, xp, size = self.floats, self.floats.xp, x.shape[2:]
        if math.prod(output_size) == 1:
            sums = xp.add.reduce(x, axis=tuple(range(2, x.ndim)), keepdims=True)
            return xp.divide(sums, math.prod(size), out=sums)
        equal = _equal_windows(size, output_size)
        if equal:
            return self._avg_pool(x, equal, True)
        for dim, count in enumerate(output_size, start=2):
            out = table.empty_like(x, (*x.shape[:dim], count, *x.shape[dim + 1 :]))
            for index, (start, end) in enumerate(adaptive_windows(x.shape[dim], count)):
                target = out[_along(dim, index)]
                xp.add.reduce(x[_along(dim, slice(start, end))], axis=dim, out=target)
                xp.divide(target, end - start, out=target)
            x = out
        return x

    @in_single_precision
    def _adaptive_avg_pool_backward(self, grad: Array, size: Shape) -> Array:
        table, xp = self.floats, self.floats.xp
        equal = _equal_windows(size, grad.shape[2:])
        if equal:
            return self._avg_pool_backward(grad, size, equal, True)
        for dim, n in enumerate(size, start=2):
            out = table.empty_like(grad, (*grad.shape[:dim], n, *grad.shape[dim + 1 :]))
            out.fill(0)
            for index, (start, end) in enumerate(adaptive_windows(n, grad.shape[dim])):
                share = xp.divide(grad[_along(dim, slice(index, index + 1))], end - start)
                target = out[_along(dim, slice(start, end))]
                xp.add(target, share, out=target)
            grad = out
        return grad

    def _fold_windows(self, ufunc: Any, x: Array, options: PoolOptions, initial: float) -> Array:
        """ufunc over the elements of each window, in memory of its own."""
        for _, after, taps in _stages(options, x.shape[2:]):
            out = self.floats.empty_like(x, (*x.shape[:2], *after))
            parts = [(out[at], x[source]) for at, source in taps]
            if len(parts) > 1 and all(target.shape == out.shape for target, _ in parts):
                ufunc(parts[0][1], parts[1][1], out=out)
                del parts[:2]
            else:  # padding: some windows miss some taps
                out.fill(initial)
            for target, source in parts:
                ufunc(target, source, out=target)
            x = out
        return x

    def _counts(self, size: Shape, options: PoolOptions, count_include_pad: bool) -> Any:
        """What to divide the sums of windows by: one number if it is the same for all."""
        counts = options.counts(size, count_include_pad)
        first = float(counts.flat[0])
        return first if (counts == first).all() else self.floats.from_data(counts)

    def _in_order_of(self, other: Array, x: Array) -> Array:
        """x, moved to the memory order of `other`: strides that differ slow down every pass."""
        if x.strides == other.strides:
            return x
        out = self.floats.empty_like(other)
        out[...] = x
        return out

    max_pool1d = max_pool2d = _max_pool
    max_pool1d_backward = max_pool2d_backward = _max_pool_backward
    max_pool1d_with_indices = max_pool2d_with_indices = _max_pool_with_indices
    avg_pool1d = avg_pool2d = _avg_pool
    avg_pool1d_backward = avg_pool2d_backward = _avg_pool_backward
    adaptive_avg_pool1d = adaptive_avg_pool2d = adaptive_avg_pool3d = _adaptive_avg_pool
    adaptive_avg_pool1d_backward = adaptive_avg_pool2d_backward = _adaptive_avg_pool_backward
    adaptive_avg_pool3d_backward = _adaptive_avg_pool_backward


Taps = tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...]


@functools.lru_cache(maxsize=512)
def _stages(options: PoolOptions, size: Shape) -> tuple[tuple[Shape, Shape, Taps], ...]:
    """(size before, size after, taps) of each pass: one for a small kernel, else one per dimension."""
    after = options.output_size(size)
    if math.prod(options.kernel_size) <= ONE_PASS:
        return ((size, after, tuple(((..., *at), (..., *source)) for at, source in options.taps_of_planes(size))),)
    stages = []
    for dim, taps in enumerate(options.taps(size)):
        here, there = (*after[:dim], *size[dim:]), (*after[: dim + 1], *size[dim + 1 :])
        stages.append((here, there, tuple((_along(dim + 2, at), _along(dim + 2, source)) for at, source in taps)))
    return tuple(stages)


def _equal_windows(size: Shape, output_size: Shape) -> PoolOptions | None:
    """The pool that an adaptive one is, if its windows are equal and side by side."""
    if any(n % count for n, count in zip(size, output_size, strict=True)):
        return None
    kernel = tuple(n // count for n, count in zip(size, output_size, strict=True))
    return PoolOptions(kernel, kernel, ((0, 0),) * len(size), (1,) * len(size))


def _along(dim: int, index: slice | int) -> tuple[slice | int, ...]:
    """The index that takes `index` along one dimension and all of the others."""
    return (*(slice(None),) * dim, index)
