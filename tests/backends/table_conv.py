"""The rows of convolutions, against loops over their definition."""

from __future__ import annotations

from typing import Any

import numpy as np
from rows import Rows, f

from minburn.backends.conv_options import ConvOptions, ConvTransposeOptions, DeformConvOptions

ROWS = Rows("modules")
row = ROWS.add


def meetings(x: Any, weight: Any, places: Any, o: ConvOptions) -> Any:
    """(image, output channel, place, input channel, input position, weight index) of every product of a convolution."""
    channels, group_inputs, *kernel = weight.shape
    for n, c, *at in np.ndindex(len(x), channels, *places):
        for i, *element in np.ndindex(group_inputs, *kernel):
            source = [
                p * s + e * d - b
                for p, s, e, d, (b, _) in zip(at, o.stride, element, o.dilation, o.padding, strict=True)
            ]
            if all(0 <= v < size for v, size in zip(source, x.shape[2:], strict=True)):
                group = c // (channels // o.groups)
                yield n, c, at, group * group_inputs + i, source, (c, i, *element)


def conv(x: Any, weight: Any, bias: Any, o: ConvOptions) -> Any:
    places = o.output_size(x.shape[2:], weight.shape[2:])
    out = np.zeros((len(x), len(weight), *places))
    for n, c, at, i, source, w in meetings(x, weight, places, o):
        out[n, c, *at] += x[n, i, *source] * weight[w]
    return out if bias is None else out + bias.reshape(-1, *[1] * len(places))


def conv_x(weight: Any, grad: Any, size: Any, o: ConvOptions) -> Any:
    out = np.zeros((len(grad), weight.shape[1] * o.groups, *size))
    for n, c, at, i, source, w in meetings(out, weight, grad.shape[2:], o):
        out[n, i, *source] += grad[n, c, *at] * weight[w]
    return out


def conv_weight(x: Any, grad: Any, kernel: Any, o: ConvOptions) -> Any:
    out = np.zeros((grad.shape[1], x.shape[1] // o.groups, *kernel))
    for n, c, at, i, source, w in meetings(x, out, grad.shape[2:], o):
        out[w] += grad[n, c, *at] * x[n, i, *source]
    return out


def bias_grad(grad: Any) -> Any:
    return grad.sum((0, *range(2, grad.ndim)))


def transpose(x: Any, weight: Any, bias: Any, o: ConvTransposeOptions) -> Any:
    out = conv_x(weight, x, o.output_size(x.shape[2:], weight.shape[2:]), o.convolution())
    return out if bias is None else out + bias.reshape(-1, *[1] * (x.ndim - 2))


def transpose_x(weight: Any, grad: Any, o: ConvTransposeOptions) -> Any:
    size = o.input_size(grad.shape[2:], weight.shape[2:])
    out = np.zeros((len(grad), len(weight), *size))
    for n, c, at, i, source, w in meetings(grad, weight, size, o.convolution()):
        out[n, c, *at] += grad[n, i, *source] * weight[w]
    return out


def transpose_weight(x: Any, grad: Any, kernel: Any, o: ConvTransposeOptions) -> Any:
    return conv_weight(grad, x, kernel, o.convolution())


def plain(rank: int) -> ConvOptions:
    return ConvOptions((1,) * rank, ((0, 0),) * rank, (1,) * rank)


# Per case: shape of x, of weight, with a bias, options.
CASES: dict[int, list[tuple[tuple[int, ...], tuple[int, ...], bool, ConvOptions]]] = {
    1: [
        ((2, 2, 7), (3, 2, 3), True, plain(1)),
        ((2, 4, 8), (2, 2, 3), False, ConvOptions((2,), ((2, 1),), (2,), 2)),
        ((0, 2, 7), (3, 2, 3), True, plain(1)),
        ((1, 1, 1), (1, 1, 1), True, plain(1)),
    ],
    2: [
        ((2, 2, 5, 4), (3, 2, 3, 2), True, plain(2)),
        ((2, 2, 4, 6), (2, 2, 2, 3), False, ConvOptions((2, 3), ((1, 2), (0, 1)), (1, 2))),  # strides do not divide
        ((1, 4, 5, 3), (4, 1, 3, 3), True, ConvOptions((1, 1), ((1, 1), (1, 1)), (1, 1), 4)),  # depthwise
        ((2, 4, 3, 5), (6, 2, 1, 2), True, ConvOptions((1, 2), ((0, 0), (3, 0)), (2, 1), 2)),
        ((2, 3, 3, 2), (2, 3, 1, 1), True, plain(2)),
        ((2, 1, 3, 3), (1, 1, 1, 1), False, ConvOptions((2, 2), ((0, 0), (1, 1)), (1, 1))),
        ((0, 2, 4, 4), (1, 2, 3, 3), True, plain(2)),
        ((1, 1, 1, 1), (1, 1, 1, 1), True, plain(2)),
    ],
    3: [
        ((2, 1, 3, 3, 4), (2, 1, 2, 1, 3), True, plain(3)),
        ((1, 2, 3, 4, 2), (2, 1, 2, 3, 1), False, ConvOptions((1, 2, 1), ((1, 0), (1, 1), (0, 1)), (2, 1, 1), 2)),
    ],
}  # fmt: skip
TRANSPOSED: dict[int, list[tuple[tuple[int, ...], tuple[int, ...], bool, ConvTransposeOptions]]] = {
    1: [
        ((2, 2, 4), (2, 3, 3), True, ConvTransposeOptions((1,), (0,), (0,), (1,))),
        ((2, 4, 3), (4, 1, 2), False, ConvTransposeOptions((2,), (1,), (1,), (2,), 2)),
        ((0, 1, 3), (1, 2, 2), True, ConvTransposeOptions((1,), (0,), (0,), (1,))),
    ],
    2: [
        ((1, 2, 3, 2), (2, 2, 3, 2), True, ConvTransposeOptions((1, 1), (0, 0), (0, 0), (1, 1))),
        ((2, 2, 2, 3), (2, 2, 2, 3), True, ConvTransposeOptions((2, 3), (1, 0), (1, 2), (1, 1))),
        ((2, 2, 3, 2), (2, 2, 2, 2), False, ConvTransposeOptions((1, 2), (1, 0), (3, 2), (2, 1), 2)),  # padding_out > s
    ],
    3: [
        ((1, 2, 2, 1, 3), (2, 2, 2, 2, 1), True, ConvTransposeOptions((2, 1, 2), (1, 0, 0), (0, 0, 1), (1, 2, 1))),
        ((2, 2, 1, 2, 2), (2, 1, 2, 1, 3), False, ConvTransposeOptions((1, 1, 1), (0, 0, 1), (0, 0, 0), (1, 1, 1), 2)),
    ],
}  # fmt: skip


def arguments(shape: Any, weight: Any, has_bias: bool, channels: int, o: Any) -> tuple[Any, ...]:
    return f(*shape), f(*weight), f(channels) if has_bias else None, o


def add_rows(rank: int) -> None:
    cases: dict[str, list[Any]] = {"": [], "_x_backward": [], "_weight_backward": [], "_bias_backward": []}
    for shape, weight, has_bias, o in CASES[rank]:
        size, kernel = shape[2:], weight[2:]
        grad = (shape[0], weight[0], *o.output_size(size, kernel))
        cases[""].append(arguments(shape, weight, has_bias, weight[0], o))
        cases["_x_backward"].append((f(*weight), f(*grad), size, o))
        cases["_weight_backward"].append((f(*shape), f(*grad), kernel, o))
        cases["_bias_backward"].append((f(*grad),))
    for (suffix, listed), reference in zip(cases.items(), (conv, conv_x, conv_weight, bias_grad), strict=True):
        row(f"conv{rank}d{suffix}", listed, reference)


def add_transposed_rows(rank: int) -> None:
    cases: dict[str, list[Any]] = {"": [], "_x_backward": [], "_weight_backward": [], "_bias_backward": []}
    for shape, weight, has_bias, o in TRANSPOSED[rank]:
        grad = (shape[0], weight[1] * o.groups, *o.output_size(shape[2:], weight[2:]))
        cases[""].append(arguments(shape, weight, has_bias, grad[1], o))
        cases["_x_backward"].append((f(*weight), f(*grad), o))
        cases["_weight_backward"].append((f(*shape), f(*grad), weight[2:], o))
        cases["_bias_backward"].append((f(*grad),))
    references = (transpose, transpose_x, transpose_weight, bias_grad)
    for (suffix, listed), reference in zip(cases.items(), references, strict=True):
        row(f"conv_transpose{rank}d{suffix}", listed, reference)


for rank in (1, 2, 3):
    add_rows(rank)
    add_transposed_rows(rank)


def seen(image: Any, y: float, x: float) -> float:
    """The pixels around a point, mixed by their distances."""
    total = 0.0
    for row, column in np.ndindex(image.shape):
        total += image[row, column] * max(0.0, 1.0 - abs(y - row)) * max(0.0, 1.0 - abs(x - column))
    return total


def deform(x: Any, offset: Any, weight: Any, mask: Any, bias: Any, o: DeformConvOptions) -> Any:
    channels, group_inputs, *kernel = weight.shape
    high, wide = offset.shape[2:]
    steps = offset.reshape(len(x), o.offset_groups, *kernel, 2, high, wide)
    kept = (
        np.ones((len(x), o.offset_groups, *kernel, high, wide))
        if mask is None
        else mask.reshape(len(x), o.offset_groups, *kernel, high, wide)
    )
    out = np.zeros((len(x), channels, high, wide))
    for n, c, py, px, inner, i, j in np.ndindex(len(x), channels, high, wide, group_inputs, *kernel):
        source = c // (channels // o.weight_groups) * group_inputs + inner
        group = source // (x.shape[1] // o.offset_groups)
        dy, dx = steps[n, group, i, j, :, py, px]
        y = py * o.stride[0] - o.padding[0] + i * o.dilation[0] + dy
        z = px * o.stride[1] - o.padding[1] + j * o.dilation[1] + dx
        out[n, c, py, px] += weight[c, inner, i, j] * kept[n, group, i, j, py, px] * seen(x[n, source], y, z)
    return out if bias is None else out + bias.reshape(-1, 1, 1)


row("deform_conv2d", [
    (f(1, 1, 4, 4), f(1, 8, 3, 3), f(2, 1, 2, 2), None, None, DeformConvOptions((1, 1), (0, 0), (1, 1))),
    (f(2, 4, 3, 5), f(2, 24, 2, 2), f(4, 2, 2, 3), f(2, 12, 2, 2), f(4),
     DeformConvOptions((2, 3), (1, 1), (2, 1), 2, 2)),
    (f(1, 2, 3, 3).swapaxes(2, 3), f(1, 2, 3, 3), f(1, 2, 1, 1), f(1, 1, 3, 3), None,
     DeformConvOptions((1, 1), (0, 0), (1, 1))),
    (f(1, 2, 1, 1), f(1, 36, 1, 1, low=-9, high=9), f(1, 2, 3, 3), f(1, 18, 1, 1), f(1),
     DeformConvOptions((1, 1), (1, 1), (1, 1), 1, 2)),
    (f(0, 1, 2, 2), f(0, 2, 2, 2), f(1, 1, 1, 1), None, f(1), DeformConvOptions((1, 1), (0, 0), (1, 1))),
], deform, kinked=True)  # fmt: skip
