"""Convolutions of any rank over `xp`: images lie channels first and batch last (see `array/layout.py`).

What the kernel meets is a strided *view* [C, k…, places…, N] of the padded input. It is copied into columns a few
places at a time: a block of columns is still in the cache when the matrix product reads it, and no more than a block is
held in memory.

    for each block of places:   columns [C·k, block·N] = view       out[:, block] = weight [O, C·k] · columns

Copies run over W·N contiguous elements. Halves are computed in single precision.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

from minburn.backends.array.basic import Array
from minburn.backends.array.floats import ArrayFloats
from minburn.backends.array.layout import batch_first, batch_last, copy_batch_last
from minburn.backends.base import Shape
from minburn.backends.conv_options import ConvOptions, ConvTransposeOptions
from minburn.backends.default.conv import DefaultConv
from minburn.dtype import DType

BLOCK = 1 << 15
"""Elements of a block of columns, if one row of places is not more. Measured: smaller and larger ones are slower."""


def in_single_precision(op: Callable[..., Any]) -> Callable[..., Any]:
    """Computes an op of halves on F32 arrays and narrows the result."""

    @functools.wraps(op)
    def run(self: ArrayConv, *args: Any) -> Any:
        table = self.floats
        if not table.is_half:
            return op(self, *args)
        single = type(self)(type(table)(table.xp, table.device, DType.F32), self.ints)
        wide = [table.cast(arg, DType.F32) if hasattr(arg, "dtype") else arg for arg in args]
        return table.narrow(op(single, *wide))

    return run


class ArrayConv(DefaultConv):
    floats: ArrayFloats

    @in_single_precision
    def _conv(self, x: Array, weight: Array, bias: Array | None, options: ConvOptions) -> Array:
        return self._gather(x, weight, bias, options.output_size(x.shape[2:], weight.shape[2:]), options)

    @in_single_precision
    def _conv_x_backward(self, weight: Array, grad: Array, size: Shape, options: ConvOptions) -> Array:
        return self._adjoint(weight, grad, None, size, options)

    @in_single_precision
    def _conv_weight_backward(self, x: Array, grad: Array, kernel: Shape, options: ConvOptions) -> Array:
        table, xp, groups = self.floats, self.floats.xp, options.groups
        channels, places = grad.shape[1], grad.shape[2:]
        rows = self._rows(grad, groups)
        group_inputs = x.shape[1] // groups
        # The transpose of what is wanted, as that product is the faster one.
        total = table.zeros((groups, group_inputs * math.prod(kernel), channels // groups))
        for block, columns in self._column_blocks(x, kernel, places, options):
            xp.add(total, xp.matmul(columns, rows[:, :, block].swapaxes(1, 2)), total)
        out = table.empty((groups, channels // groups, total.shape[1]))
        out[...] = total.swapaxes(1, 2)
        return out.reshape(channels, group_inputs, *kernel)

    @in_single_precision
    def _conv_bias_backward(self, grad: Array) -> Array:
        rows = self._rows(grad, 1)[0]
        return self.floats.xp.dot(rows, self.floats.ones((rows.shape[1],)))  # faster than a sum of each row

    @in_single_precision
    def _conv_transpose(self, x: Array, weight: Array, bias: Array | None, options: ConvTransposeOptions) -> Array:
        size = options.output_size(x.shape[2:], weight.shape[2:])
        return self._adjoint(weight, x, bias, size, options.convolution())

    @in_single_precision
    def _conv_transpose_x_backward(self, weight: Array, grad: Array, options: ConvTransposeOptions) -> Array:
        size = options.input_size(grad.shape[2:], weight.shape[2:])
        return self._gather(grad, weight, None, size, options.convolution())

    def _conv_transpose_weight_backward(
        self, x: Array, grad: Array, kernel: Shape, options: ConvTransposeOptions
    ) -> Array:
        return self._conv_weight_backward(grad, x, kernel, options.convolution())

    def _gather(self, x: Array, weight: Array, bias: Array | None, places: Shape, options: ConvOptions) -> Array:
        """weight · columns(x), at the first `places` of the kernel in each dimension."""
        table, xp, groups = self.floats, self.floats.xp, options.groups
        channels = weight.shape[0]
        rows = weight.reshape(groups, channels // groups, -1)
        out = table.empty((groups, channels // groups, math.prod(places) * x.shape[0]))
        for block, columns in self._column_blocks(x, weight.shape[2:], places, options):
            xp.matmul(rows, columns, out[:, :, block])
        return self._with_bias(out.reshape(channels, *places, x.shape[0]), bias)

    def _adjoint(self, weight: Array, values: Array, bias: Array | None, size: Shape, options: ConvOptions) -> Array:
        """weightᵀ · values [N, O, places…]: each element is added where its column came from, [N, C, *size]."""
        mirrored = _mirrored(options, weight.shape[2:], values.shape[2:], size)
        # Columns of O channels are copied there, columns of C channels added up here, which costs twice as much.
        if mirrored is not None and weight.shape[0] <= 2 * weight.shape[1] * options.groups:
            return self._gather(values, _turned(weight, options.groups), bias, size, mirrored)
        return self._spread(weight, values, bias, size, options)

    def _spread(self, weight: Array, values: Array, bias: Array | None, size: Shape, options: ConvOptions) -> Array:
        table, xp, groups = self.floats, self.floats.xp, options.groups
        kernel, places, batch = weight.shape[2:], values.shape[2:], values.shape[0]
        channels = groups * weight.shape[1]
        rows = self._rows(values, groups)
        transposed = weight.reshape(groups, weight.shape[0] // groups, -1).swapaxes(1, 2)
        padded = tuple(n + begin + end for n, (begin, end) in zip(size, options.padding, strict=True))
        total = self._zeros((channels, *padded, batch))
        run = math.prod(places[1:]) * batch
        columns = None
        for start, end in _blocks(places[0], channels * math.prod(kernel) * run):
            if columns is None or columns.shape[2] != (end - start) * run:
                columns = table.empty((*transposed.shape[:2], (end - start) * run))
            xp.matmul(transposed, rows[:, :, start * run : end * run], columns)
            parts = columns.reshape(channels, *kernel, end - start, *places[1:], batch)
            for element in itertools.product(*map(range, kernel)):
                target = total[_met(element, start, (end - start, *places[1:]), options)]
                xp.add(target, parts[(slice(None), *element)], target)
        inner = tuple(slice(begin, begin + n) for n, (begin, _) in zip(size, options.padding, strict=True))
        return self._with_bias(total[(slice(None), *inner)], bias)

    def _with_bias(self, out: Array, bias: Array | None) -> Array:
        """out [C, …, N] as [N, C, …], after the bias was added in place."""
        if bias is not None:
            self.floats.xp.add(out, bias.reshape(-1, *(1 for _ in out.shape[1:])), out)
        return batch_first(out)

    def _rows(self, values: Array, groups: int) -> Array:
        """[N, C, …] as [groups, C/groups, …·N]: what belongs to a channel is one row."""
        channels = values.shape[1]
        return batch_last(self.floats, values).reshape(
            groups, channels // groups, math.prod(values.shape[2:]) * len(values)
        )

    def _column_blocks(
        self, x: Array, kernel: Shape, places: Shape, options: ConvOptions
    ) -> Iterator[tuple[slice, Array]]:
        """The columns of x, a block at a time, each [groups, C/groups · elements of the kernel, block], and its range.

        The memory of a block is that of the one before.
        """
        table, xp = self.floats, self.floats.xp
        images = self._padded(x, options)
        channels, batch, groups = x.shape[1], x.shape[0], options.groups
        of_channel, *of_space, of_batch = images.strides
        jumps = [step * s for step, s in zip(of_space, options.stride, strict=True)]
        view = xp.lib.stride_tricks.as_strided(
            images,
            (channels, *kernel, *places, batch),
            (of_channel, *(step * d for step, d in zip(of_space, options.dilation, strict=True)), *jumps, of_batch),
        )
        height = channels * math.prod(kernel)
        run = math.prod(places[1:]) * batch
        if view.flags.c_contiguous:  # a kernel of one element over all places: nothing to copy
            yield slice(None), view.reshape(groups, height // groups, places[0] * run)
            return
        axis = (slice(None),) * (1 + len(kernel))
        memory = None
        for start, end in _blocks(places[0], height * run):
            part = view[(*axis, slice(start, end))]
            if memory is None or memory.shape != part.shape:
                memory = table.empty(part.shape)
            memory[...] = part
            yield slice(start * run, end * run), memory.reshape(groups, height // groups, (end - start) * run)

    def _padded(self, x: Array, options: ConvOptions) -> Array:
        """x as [C, padded sizes, N]."""
        padding = options.padding
        if not any(side for pair in padding for side in pair):
            return batch_last(self.floats, x)
        shape = tuple(n + begin + end for n, (begin, end) in zip(x.shape[2:], padding, strict=True))
        images = self._zeros((x.shape[1], *shape, len(x)))
        inner = tuple(slice(begin, begin + n) for n, (begin, _) in zip(x.shape[2:], padding, strict=True))
        copy_batch_last(images[(slice(None), *inner)], x)
        return images

    def _zeros(self, shape: Shape) -> Array:
        """From the pool: fresh pages would cost more than filling them."""
        out = self.floats.empty(shape)
        out.fill(0)
        return out

    conv1d = conv2d = conv3d = _conv
    conv1d_x_backward = conv2d_x_backward = conv3d_x_backward = _conv_x_backward
    conv1d_weight_backward = conv2d_weight_backward = conv3d_weight_backward = _conv_weight_backward
    conv1d_bias_backward = conv2d_bias_backward = conv3d_bias_backward = _conv_bias_backward
    conv_transpose1d = conv_transpose2d = conv_transpose3d = _conv_transpose
    conv_transpose1d_x_backward = conv_transpose2d_x_backward = _conv_transpose_x_backward
    conv_transpose3d_x_backward = _conv_transpose_x_backward
    conv_transpose1d_weight_backward = conv_transpose2d_weight_backward = _conv_transpose_weight_backward
    conv_transpose3d_weight_backward = _conv_transpose_weight_backward
    conv_transpose1d_bias_backward = conv_transpose2d_bias_backward = _conv_bias_backward
    conv_transpose3d_bias_backward = _conv_bias_backward


def _met(element: Shape, start: int, places: Shape, options: ConvOptions) -> tuple[slice, ...]:
    """What an element of the kernel meets of the padded input [C, …, N]: `places`, from row `start` on."""
    at = [slice(None)]
    for e, count, s, d in zip(element, places, options.stride, options.dilation, strict=True):
        first = d * e + (start * s if len(at) == 1 else 0)
        at.append(slice(first, first + (count - 1) * s + 1, s))
    return tuple(at)


def _mirrored(options: ConvOptions, kernel: Shape, places: Shape, size: Shape) -> ConvOptions | None:
    """The convolution with the turned kernel that is the adjoint of one with stride 1; None if there is none."""
    padding = []
    for k, d, (begin, _), n, to in zip(kernel, options.dilation, options.padding, places, size, strict=True):
        before = d * (k - 1) - begin
        padding.append((before, to + d * (k - 1) - n - before))
    if any(s != 1 for s in options.stride) or any(side < 0 for pair in padding for side in pair):
        return None
    return ConvOptions(options.stride, tuple(padding), options.dilation, options.groups)


def _turned(weight: Array, groups: int) -> Array:
    """[O, C/groups, k…] as [C, O/groups, k…], the kernel turned round."""
    channels, group_inputs, *kernel = weight.shape
    turned = weight.reshape(groups, channels // groups, group_inputs, *kernel).swapaxes(1, 2)
    turned = turned[(..., *(slice(None, None, -1) for _ in kernel))]
    return turned.reshape(groups * group_inputs, channels // groups, *kernel)


def _blocks(places: int, elements: int) -> Iterator[tuple[int, int]]:
    """Ranges of places of the first dimension, whose columns have `elements` elements each."""
    step = max(1, BLOCK // max(1, elements))
    return ((start, min(start + step, places)) for start in range(0, places, step))
