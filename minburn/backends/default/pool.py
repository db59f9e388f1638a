"""Pooling of any rank, composed from `floats`.

The maximum is that of all elements of the windows side by side, [N, C, …, elements of the kernel]; means and all
gradients go tap by tap (see `pool_options.py`). max_pool1d and max_pool2d are one method under two names: the rank is
that of the arrays.

Burn: `crates/burn-backend/src/backend/ops/modules/pool.rs`; NaN as in its flex backend.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minburn.backends.base import Shape
from minburn.backends.default.composed import Composed
from minburn.backends.default.windows import add_to_elements, window_elements
from minburn.backends.pool_options import PoolOptions, adaptive_windows
from minburn.dtype import DType


class DefaultPool(Composed):
    def _max_pool(self, x: Any, options: PoolOptions) -> Any:
        ops = self.floats
        windows = window_elements(ops, x, options, -math.inf)
        last = len(ops.shape(windows)) - 1
        return ops.reshape(ops.max_dim(windows, last), ops.shape(windows)[:-1])

    def _max_pool_backward(self, x: Any, output: Any, grad: Any, options: PoolOptions) -> Any:
        _, indices = self._max_pool_with_indices(self.floats.detach(x), options, self.ints.dtype)
        return self._max_pool_with_indices_backward(grad, indices, self.floats.shape(x)[2:])

    def _max_pool_with_indices(self, x: Any, options: PoolOptions, indices_dtype: DType) -> tuple[Any, Any]:
        ops, ints = self.floats, self.ints
        size = ops.shape(x)[2:]
        windows = window_elements(ops, x, options, -math.inf)
        *outer, places = ops.shape(windows)
        dim = len(outer)
        maximum = ops.max_dim(windows, dim)
        # The place of the maximum: its first, unless it is a NaN: then the last NaN, by a mark that grows.
        ramp = ops.expand(ops.from_data(np.arange(1.0, places + 1)), (*outer, places))
        marks = ops.mask_where(ops.zeros((*outer, places)), ops.is_nan(windows), ramp)
        winner = ints.mask_where(
            ops.argmax(windows, dim, ints.dtype), ops.is_nan(maximum), ops.argmax(marks, dim, ints.dtype)
        )
        positions = ints.from_data(options.positions(size))  # [windows, places]
        row_starts = ints.arange(0, math.prod(outer[2:]) * places, places)
        at = ints.add(ints.reshape(winner, tuple(outer)), ints.reshape(row_starts, (1, 1, *outer[2:])))
        flat = ints.select(ints.reshape(positions, (-1,)), ints.reshape(at, (math.prod(outer),)), 0)
        indices = ints.cast(ints.reshape(flat, tuple(outer)), indices_dtype)
        return ops.reshape(maximum, tuple(outer)), indices

    def _max_pool_with_indices_backward(self, grad: Any, indices: Any, size: Shape) -> Any:
        ops = self.floats
        batch, channels, *windows = ops.shape(grad)
        rows = (batch * channels, math.prod(windows))
        zeros = ops.zeros((batch * channels, math.prod(size)))
        added = ops.scatter(zeros, self.ints.reshape(indices, rows), ops.reshape(grad, rows), 1, "add")
        return ops.reshape(added, (batch, channels, *size))

    def _avg_pool(self, x: Any, options: PoolOptions, count_include_pad: bool) -> Any:
        ops = self.floats
        windows = window_elements(ops, x, options, 0.0)
        *outer, places = ops.shape(windows)
        mean = ops.reshape(ops.mean_dim(windows, len(outer)), tuple(outer))
        return ops.mul(mean, self._per_window(places / options.counts(ops.shape(x)[2:], count_include_pad)))

    def _avg_pool_backward(self, grad: Any, size: Shape, options: PoolOptions, count_include_pad: bool) -> Any:
        ops = self.floats
        share = ops.mul(grad, self._per_window(1.0 / options.counts(size, count_include_pad)))
        return add_to_elements(ops, [share] * math.prod(options.kernel_size), size, options)

    def _adaptive_avg_pool(self, x: Any, output_size: Shape) -> Any:
        """One dimension after another."""
        ops = self.floats
        for dim, count in enumerate(output_size, start=2):
            shape = ops.shape(x)
            parts = []
            for start, end in adaptive_windows(shape[dim], count):
                window = ops.slice(x, tuple((start, end, 1) if d == dim else (0, n, 1) for d, n in enumerate(shape)))
                parts.append(ops.mean_dim(window, dim))
            x = ops.cat(parts, dim)
        return x

    def _adaptive_avg_pool_backward(self, grad: Any, size: Shape) -> Any:
        """Dimension by dimension: the windows of all of them are read by the first elements, then by the second …"""
        ops = self.floats
        for dim, length in enumerate(size, start=2):
            shape = ops.shape(grad)
            windows = adaptive_windows(length, shape[dim])
            total = zeros = ops.zeros((*shape[:dim], length, *shape[dim + 1 :]))
            for index, (start, end) in enumerate(windows):
                one = ops.slice(
                    grad, tuple((index, index + 1, 1) if d == dim else (0, n, 1) for d, n in enumerate(shape))
                )
                share = ops.expand(
                    ops.mul_scalar(one, 1.0 / (end - start)), (*shape[:dim], end - start, *shape[dim + 1 :])
                )
                where = tuple((start, end, 1) if d == dim else (0, n, 1) for d, n in enumerate(shape))
                total = ops.add(total, ops.slice_assign(zeros, share, where))
            grad = total
        return grad

    def _per_window(self, values: Any) -> Any:
        """Constants [1, 1, windows…]."""
        return self.floats.from_data(values[None, None])

    max_pool1d = max_pool2d = _max_pool
    max_pool1d_backward = max_pool2d_backward = _max_pool_backward
    max_pool1d_with_indices = max_pool2d_with_indices = _max_pool_with_indices
    max_pool1d_with_indices_backward = max_pool2d_with_indices_backward = _max_pool_with_indices_backward
    avg_pool1d = avg_pool2d = _avg_pool
    avg_pool1d_backward = avg_pool2d_backward = _avg_pool_backward
    adaptive_avg_pool1d = adaptive_avg_pool2d = adaptive_avg_pool3d = _adaptive_avg_pool
    adaptive_avg_pool1d_backward = adaptive_avg_pool2d_backward = _adaptive_avg_pool_backward
    adaptive_avg_pool3d_backward = _adaptive_avg_pool_backward
