"""Deformable convolution, composed from `floats`. Dai et al. 2017; with a mask Zhu et al. 2018.

Every element of the kernel looks where it usually looks plus an offset of its own at each place of the output. Between
pixels the four around are mixed by their distances (bilinear); outside of the image there are zeros.

    columns[c, k, place] = mask[k, place] · x[c, place · s - p + k · d + offset[k, place]]       out = weight · columns

Burn: `crates/burn-backend/src/backend/ops/modules/base.rs`.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from minburn.backends.conv_options import DeformConvOptions
from minburn.backends.default.composed import Composed


class DefaultDeform(Composed):
    def deform_conv2d(
        self, x: Any, offset: Any, weight: Any, mask: Any | None, bias: Any | None, options: DeformConvOptions
    ) -> Any:
        ops = self.floats
        batch = ops.shape(x)[0]
        out_channels, group_inputs, *kernel = ops.shape(weight)
        high, wide = ops.shape(offset)[2:]
        groups, places = options.weight_groups, high * wide
        columns = self._sampled(x, offset, mask, (kernel[0], kernel[1]), options)
        columns = ops.reshape(columns, (batch, groups, group_inputs * math.prod(kernel), places))
        rows = ops.reshape(weight, (1, groups, out_channels // groups, group_inputs * math.prod(kernel)))
        out = ops.reshape(ops.matmul(rows, columns), (batch, out_channels, high, wide))
        return out if bias is None else ops.add(out, ops.reshape(bias, (1, out_channels, 1, 1)))

    def _sampled(
        self, x: Any, offset: Any, mask: Any | None, kernel: tuple[int, int], options: DeformConvOptions
    ) -> Any:
        """What the elements of the kernel see: [N, offset groups, C / offset groups, elements · places]."""
        ops = self.floats
        batch, channels, *size = ops.shape(x)
        high, wide = ops.shape(offset)[2:]
        groups, seen = options.offset_groups, math.prod(kernel) * high * wide
        moved = ops.reshape(offset, (batch, groups, math.prod(kernel), 2, high, wide))
        usual = usual_places(kernel, (high, wide), options)
        places = ops.add(moved, ops.from_data(usual[None, None]))
        pixels = ops.reshape(x, (batch, groups, channels // groups, math.prod(size)))
        axes = [self._beside(self._axis(places, axis, (batch, groups, 1, seen)), size[axis]) for axis in range(2)]
        total: Any = None
        for (row, share_y), (column, share_x) in itertools.product(*axes):
            at = self.ints.add(self.ints.mul_scalar(row, size[1]), column)
            at = self.ints.expand(at, (batch, groups, channels // groups, seen))
            part = ops.mul(ops.gather(pixels, at, 3), ops.mul(share_y, share_x))
            total = part if total is None else ops.add(total, part)
        return total if mask is None else ops.mul(total, ops.reshape(mask, (batch, groups, 1, seen)))

    def _axis(self, places: Any, axis: int, shape: tuple[int, ...]) -> Any:
        """The y (0) or x (1) of all places."""
        sizes = self.floats.shape(places)
        slices = tuple((axis, axis + 1, 1) if dim == 3 else (0, n, 1) for dim, n in enumerate(sizes))
        return self.floats.reshape(self.floats.slice(places, slices), shape)

    def _beside(self, place: Any, size: int) -> list[tuple[Any, Any]]:
        """The pixels before and after a place, as (index, share); outside of the image the share is 0."""
        ops, ints = self.floats, self.ints
        place = ops.clamp(place, -2.0, size + 1.0)  # as far out as anything; a NaN stays one
        before = ops.floor(place)
        share = ops.sub(place, before)
        found = []
        for pixel, part in ((before, ops.add_scalar(ops.neg(share), 1.0)), (ops.add_scalar(before, 1.0), share)):
            part = ops.mask_fill(part, ops.lower_elem(pixel, 0.0), 0.0)
            part = ops.mask_fill(part, ops.greater_elem(pixel, size - 1.0), 0.0)
            found.append((ints.clamp(ops.into_int(pixel, ints.dtype), 0, size - 1), part))
        return found


def usual_places(
    kernel: tuple[int, int], places: tuple[int, int], options: DeformConvOptions
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Where a convolution looks, [elements of the kernel, 2, H', W']."""
    axes = [
        np.arange(k)[:, None] * d + np.arange(n)[None] * s - p
        for k, n, s, p, d in zip(kernel, places, options.stride, options.padding, options.dilation, strict=True)
    ]
    out = np.empty((*kernel, 2, *places))
    out[:, :, 0] = axes[0][:, None, :, None]
    out[:, :, 1] = axes[1][None, :, None, :]
    return out.reshape(math.prod(kernel), 2, *places)
