"""Resizing, unfolding and folding, composed from `floats`.

Resizing goes one dimension after another: a weighted sum of elements picked by index. Its adjoint adds what each output
has to the elements it was made of.

Burn: `crates/burn-backend/src/backend/ops/modules/{base,unfold}.rs`, `crates/burn-flex/src/ops/interpolate.rs`.
"""

from __future__ import annotations

import math
from typing import Any

from minburn.backends.base import Shape
from minburn.backends.default.composed import Composed
from minburn.backends.default.windows import add_to_elements, window_elements
from minburn.backends.interpolate_options import InterpolateOptions
from minburn.backends.pool_options import PoolOptions


class DefaultResample(Composed):
    def interpolate(self, x: Any, output_size: Shape, options: InterpolateOptions) -> Any:
        ops = self.floats
        for dim, m in enumerate(output_size, start=2):
            n = ops.shape(x)[dim]
            parts = [
                ops.mul(ops.select(x, self.ints.from_data(indices), dim), self._along_dim(weights, x, dim))
                for indices, weights in options.sources(n, m)
            ]
            x = parts[0]
            for part in parts[1:]:
                x = ops.add(x, part)
        return x

    def interpolate_backward(self, grad: Any, size: Shape, options: InterpolateOptions) -> Any:
        ops = self.floats
        for dim, n in reversed(list(enumerate(size, start=2))):
            shape = ops.shape(grad)
            total = ops.zeros((*shape[:dim], n, *shape[dim + 1 :]))
            for indices, weights in options.sources(n, shape[dim]):
                share = ops.mul(grad, self._along_dim(weights, grad, dim))
                total = ops.select_assign(total, self.ints.from_data(indices), share, dim, "add")
            grad = total
        return grad

    def unfold4d(self, x: Any, options: PoolOptions) -> Any:
        ops = self.floats
        windows = window_elements(ops, x, options, 0.0)
        batch, channels, height, width, places = ops.shape(windows)
        columns = ops.permute(windows, (0, 1, 4, 2, 3))
        return ops.reshape(columns, (batch, channels * places, height * width))

    def fold4d(self, columns: Any, size: Shape, options: PoolOptions) -> Any:
        ops = self.floats
        batch, rows, _ = ops.shape(columns)
        places, counts = math.prod(options.kernel_size), options.output_size(size)
        channels = rows // places
        by_place = ops.reshape(columns, (batch, channels, places, math.prod(counts)))
        every = ((0, batch, 1), (0, channels, 1))
        parts = [
            ops.reshape(
                ops.slice(by_place, (*every, (place, place + 1, 1), (0, math.prod(counts), 1))),
                (batch, channels, *counts),
            )
            for place in range(places)
        ]
        return add_to_elements(ops, parts, size, options)

    def _along_dim(self, weights: Any, x: Any, dim: int) -> Any:
        """Constants along one dimension of x."""
        ops = self.floats
        shape = tuple(len(weights) if d == dim else 1 for d in range(len(ops.shape(x))))
        return ops.from_data(weights.reshape(shape))
