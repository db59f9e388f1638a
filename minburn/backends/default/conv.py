"""Convolutions of any rank, composed from `floats`.

A convolution is a matrix product with *columns*: for each place of the kernel in the input, the column of what lies
under it. `_columns` takes them (a strided slice per element of the kernel), `_uncolumns` is its adjoint: it adds each
element of a column where it came from.

    convolution      out  = weight · columns(x)             transposed      out  = uncolumns(weightᵀ · x)
    its gradients    dx   = uncolumns(weightᵀ · grad)       its gradients   dx   = weight · columns(grad)
                     dw   = grad · columns(x)ᵀ                              dw   = x · columns(grad)ᵀ

So a transposed convolution is the x-gradient of a convolution, with the channels of weight [C, O/groups, k…] the other
way round. conv1d, conv2d and conv3d are one method under three names: the rank is that of the arrays.

Burn: `crates/burn-backend/src/backend/ops/modules/conv.rs`.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from minburn.backends.base import Shape, Slices
from minburn.backends.conv_options import ConvOptions, ConvTransposeOptions
from minburn.backends.default.composed import Composed


class DefaultConv(Composed):
    def _conv(self, x: Any, weight: Any, bias: Any | None, options: ConvOptions) -> Any:
        shape, kernel = self.floats.shape(x), self.floats.shape(weight)[2:]
        out = self._correlate(x, weight, options.output_size(shape[2:], kernel), options)
        return self._add_bias(out, bias)

    def _conv_x_backward(self, weight: Any, grad: Any, size: Shape, options: ConvOptions) -> Any:
        ops, groups = self.floats, options.groups
        batch, channels, *places = ops.shape(grad)
        _, group_inputs, *kernel = ops.shape(weight)
        rows = ops.reshape(weight, (1, groups, channels // groups, group_inputs * math.prod(kernel)))
        values = ops.reshape(grad, (batch, groups, channels // groups, math.prod(places)))
        columns = ops.matmul(ops.swap_dims(rows, 2, 3), values)
        columns = ops.reshape(columns, (batch, groups * group_inputs, math.prod(kernel), *places))
        return self._uncolumns(columns, size, tuple(kernel), options)

    def _conv_weight_backward(self, x: Any, grad: Any, kernel: Shape, options: ConvOptions) -> Any:
        ops, groups = self.floats, options.groups
        batch, channels, *places = ops.shape(grad)
        group_inputs = ops.shape(x)[1] // groups
        columns = self._columns(x, kernel, tuple(places), options)
        values = ops.reshape(grad, (batch, groups, channels // groups, math.prod(places)))
        products = ops.matmul(values, ops.swap_dims(columns, 2, 3))  # one per image
        return ops.reshape(ops.sum_dim(products, 0), (channels, group_inputs, *kernel))

    def _conv_bias_backward(self, grad: Any) -> Any:
        ops = self.floats
        shape = ops.shape(grad)
        return ops.reshape(ops.sum_dims(grad, (0, *range(2, len(shape)))), (shape[1],))

    def _conv_transpose(self, x: Any, weight: Any, bias: Any | None, options: ConvTransposeOptions) -> Any:
        size = options.output_size(self.floats.shape(x)[2:], self.floats.shape(weight)[2:])
        return self._add_bias(self._conv_x_backward(weight, x, size, options.convolution()), bias)

    def _conv_transpose_x_backward(self, weight: Any, grad: Any, options: ConvTransposeOptions) -> Any:
        size = options.input_size(self.floats.shape(grad)[2:], self.floats.shape(weight)[2:])
        return self._correlate(grad, weight, size, options.convolution())

    def _conv_transpose_weight_backward(self, x: Any, grad: Any, kernel: Shape, options: ConvTransposeOptions) -> Any:
        return self._conv_weight_backward(grad, x, kernel, options.convolution())

    def _correlate(self, x: Any, weight: Any, places: Shape, options: ConvOptions) -> Any:
        """The convolution without a bias, at the first `places` of the kernel in each dimension."""
        ops, groups = self.floats, options.groups
        batch = ops.shape(x)[0]
        channels, group_inputs, *kernel = ops.shape(weight)
        columns = self._columns(x, tuple(kernel), places, options)
        rows = ops.reshape(weight, (1, groups, channels // groups, group_inputs * math.prod(kernel)))
        return ops.reshape(ops.matmul(rows, columns), (batch, channels, *places))

    def _add_bias(self, out: Any, bias: Any | None) -> Any:
        ops = self.floats
        if bias is None:
            return out
        shape = ops.shape(out)
        return ops.add(out, ops.reshape(bias, (1, shape[1], *(1 for _ in shape[2:]))))

    def _columns(self, x: Any, kernel: Shape, places: Shape, options: ConvOptions) -> Any:
        """x [N, C, …] → [N, groups, C/groups · elements of the kernel, places]."""
        ops, groups = self.floats, options.groups
        padded = ops.pad(x, ((0, 0), (0, 0), *options.padding), "constant", 0.0)
        batch, channels, *_ = ops.shape(x)
        slices = _element_slices(batch, channels, kernel, places, options)
        parts = [ops.reshape(ops.slice(padded, at), (batch, channels, 1, math.prod(places))) for at in slices]
        rows = channels // groups * math.prod(kernel)
        return ops.reshape(ops.cat(parts, 2), (batch, groups, rows, math.prod(places)))

    def _uncolumns(self, columns: Any, size: Shape, kernel: Shape, options: ConvOptions) -> Any:
        """columns [N, C, elements of the kernel, places…] → [N, C, *size]."""
        ops = self.floats
        batch, channels, _, *places = ops.shape(columns)
        padded = tuple(n + begin + end for n, (begin, end) in zip(size, options.padding, strict=True))
        zeros = total = ops.zeros((batch, channels, *padded))
        every = ((0, batch, 1), (0, channels, 1))
        rest = tuple((0, n, 1) for n in places)
        for index, at in enumerate(_element_slices(batch, channels, kernel, tuple(places), options)):
            part = ops.slice(columns, (*every, (index, index + 1, 1), *rest))
            part = ops.reshape(part, (batch, channels, *places))
            total = ops.add(total, ops.slice_assign(zeros, part, at))
        inner = tuple((begin, begin + n, 1) for n, (begin, _) in zip(size, options.padding, strict=True))
        return ops.slice(total, (*every, *inner))

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


def _element_slices(batch: int, channels: int, kernel: Shape, places: Shape, options: ConvOptions) -> list[Slices]:
    """For each element of the kernel, in row-major order: the elements of the padded input that it meets."""
    spans = [
        [(d * element, d * element + (count - 1) * s + 1 if count else d * element, s) for element in range(k)]
        for k, count, s, d in zip(kernel, places, options.stride, options.dilation, strict=True)
    ]
    return [((0, batch, 1), (0, channels, 1), *span) for span in itertools.product(*spans)]
