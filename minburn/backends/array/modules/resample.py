"""Resizing, unfolding and folding over `xp`.

Images are resized channels first and batch last (see `array/layout.py`): picked rows are long contiguous runs.
"""

from __future__ import annotations

import math

from minburn.backends.array.basic import Array
from minburn.backends.array.floats import ArrayFloats
from minburn.backends.array.layout import batch_first, batch_last
from minburn.backends.array.modules.conv import in_single_precision
from minburn.backends.base import Shape
from minburn.backends.default.resample import DefaultResample
from minburn.backends.interpolate_options import InterpolateOptions
from minburn.backends.pool_options import PoolOptions


class ArrayResample(DefaultResample):
    floats: ArrayFloats

    @in_single_precision
    def interpolate(self, x: Array, output_size: Shape, options: InterpolateOptions) -> Array:
        table, xp = self.floats, self.floats.xp
        image = batch_last(table, x)
        for dim, m in enumerate(output_size, start=1):
            shape = (*image.shape[:dim], m, *image.shape[dim + 1 :])
            total = None
            for indices, weights in options.sources(image.shape[dim], m):
                part = table.take_known(image, indices, dim, shape)
                if not options.is_nearest:
                    factors = table.from_data(weights.reshape(-1, *[1] * (image.ndim - dim - 1)))
                    xp.multiply(part, factors, out=part)
                total = part if total is None else xp.add(total, part, out=total)
            image = total
        return batch_first(image)

    @in_single_precision
    def interpolate_backward(self, grad: Array, size: Shape, options: InterpolateOptions) -> Array:
        table, xp = self.floats, self.floats.xp
        image = batch_last(table, grad)
        for dim, n in reversed(list(enumerate(size, start=1))):
            every, m = (slice(None),) * dim, image.shape[dim]
            out = table.empty((*image.shape[:dim], n, *image.shape[dim + 1 :]))
            out.fill(0)
            for indices, weights in options.sources(n, m):
                # Row by row: an indexed sum of whole rows is many times slower.
                for row, (index, weight) in enumerate(zip(indices.tolist(), weights.tolist(), strict=True)):
                    target = out[(*every, index)]
                    xp.add(target, image[(*every, row)] * weight, out=target)
            image = out
        return batch_first(image)

    def unfold4d(self, x: Array, options: PoolOptions) -> Array:
        table = self.floats
        batch, channels, *size = x.shape
        counts, places = options.output_size(tuple(size)), math.prod(options.kernel_size)
        out = table.empty((batch, channels, places, *counts))
        for place, (windows, elements) in enumerate(options.taps_of_planes(tuple(size))):
            target, source = out[:, :, place], x[(..., *elements)]
            if source.shape != target.shape:  # the rest is padding
                target[...] = 0
            target[(..., *windows)] = source
        return out.reshape(batch, channels * places, math.prod(counts))

    @in_single_precision
    def fold4d(self, columns: Array, size: Shape, options: PoolOptions) -> Array:
        table, xp = self.floats, self.floats.xp
        batch, rows, _ = columns.shape
        places = math.prod(options.kernel_size)
        parts = columns.reshape(batch, rows // places, places, *options.output_size(size))
        out = table.empty((batch, rows // places, *size))
        out.fill(0)
        for place, (windows, elements) in enumerate(options.taps_of_planes(size)):
            target = out[(..., *elements)]
            xp.add(target, parts[(slice(None), slice(None), place, *windows)], out=target)
        return out
