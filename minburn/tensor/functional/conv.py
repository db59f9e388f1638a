"""Convolutions, transposed ones too. Burn: `crates/burn-tensor/src/tensor/module.rs`."""

from __future__ import annotations

import math

from minburn.backends.conv_options import ConvOptions, ConvTransposeOptions, DeformConvOptions
from minburn.tensor import activation
from minburn.tensor.check import KindError, ShapeError, as_shape, show
from minburn.tensor.kinds import FloatTensor
from minburn.tensor.lift import one_table

Options = ConvOptions | ConvTransposeOptions
SPACE = {1: "L", 2: "H, W", 3: "D, H, W"}
"""The names of the spatial dimensions."""


def conv1d(x: FloatTensor, weight: FloatTensor, bias: FloatTensor | None, options: ConvOptions) -> FloatTensor:
    """x [N, C, L], weight [O, C/groups, k], bias [O] → [N, O, L']: see `conv2d`."""
    x, weight, bias = _checked("conv1d", 1, x, weight, bias, options)
    return x._with(x.backend.modules.conv1d(x.primitive, weight.primitive, _primitive(bias), options))


def conv2d(x: FloatTensor, weight: FloatTensor, bias: FloatTensor | None, options: ConvOptions) -> FloatTensor:
    """out[n, o, y, z] = bias[o] + Σ weight[o, c, i, j] · x[n, c, y·s + i·d - p, z·s + j·d - p], zeros outside of x.

    x [N, C, H, W], weight [O, C/groups, kh, kw], bias [O] → [N, O, H', W'], H' = ⌊(H + p + p' - d(kh - 1) - 1)/s⌋ + 1.
    With groups, output channel o sees the input channels of its group only.

    Errors: ShapeError for sizes that do not fit and for a kernel larger than the padded input; KindError, DTypeError
    and DeviceError for tensors that do not match.
    """
    x, weight, bias = _checked("conv2d", 2, x, weight, bias, options)
    return x._with(x.backend.modules.conv2d(x.primitive, weight.primitive, _primitive(bias), options))


def conv3d(x: FloatTensor, weight: FloatTensor, bias: FloatTensor | None, options: ConvOptions) -> FloatTensor:
    """x [N, C, D, H, W], weight [O, C/groups, kd, kh, kw], bias [O] → [N, O, D', H', W']: see `conv2d`."""
    x, weight, bias = _checked("conv3d", 3, x, weight, bias, options)
    return x._with(x.backend.modules.conv3d(x.primitive, weight.primitive, _primitive(bias), options))


def conv_transpose1d(
    x: FloatTensor, weight: FloatTensor, bias: FloatTensor | None, options: ConvTransposeOptions
) -> FloatTensor:
    """x [N, C, L], weight [C, O/groups, k], bias [O] → [N, O, L']: see `conv_transpose2d`."""
    x, weight, bias = _checked("conv_transpose1d", 1, x, weight, bias, options)
    return x._with(x.backend.modules.conv_transpose1d(x.primitive, weight.primitive, _primitive(bias), options))


def conv_transpose2d(
    x: FloatTensor, weight: FloatTensor, bias: FloatTensor | None, options: ConvTransposeOptions
) -> FloatTensor:
    """The adjoint of a convolution: out[n, o, y·s + i·d - p, z·s + j·d - p] += x[n, c, y, z] · weight[c, o, i, j].

    x [N, C, H, W], weight [C, O/groups, kh, kw], bias [O] → [N, O, H', W'],
    H' = (H - 1)s - 2p + d(kh - 1) + padding_out + 1.

    Errors: as `conv2d`, where an output without elements is what is refused.
    """
    x, weight, bias = _checked("conv_transpose2d", 2, x, weight, bias, options)
    return x._with(x.backend.modules.conv_transpose2d(x.primitive, weight.primitive, _primitive(bias), options))


def conv_transpose3d(
    x: FloatTensor, weight: FloatTensor, bias: FloatTensor | None, options: ConvTransposeOptions
) -> FloatTensor:
    """x [N, C, D, H, W], weight [C, O/groups, kd, kh, kw], bias [O] → [N, O, D', H', W']: see `conv_transpose2d`."""
    x, weight, bias = _checked("conv_transpose3d", 3, x, weight, bias, options)
    return x._with(x.backend.modules.conv_transpose3d(x.primitive, weight.primitive, _primitive(bias), options))


def deform_conv2d(
    x: FloatTensor,
    offset: FloatTensor,
    weight: FloatTensor,
    mask: FloatTensor | None,
    bias: FloatTensor | None,
    options: DeformConvOptions,
) -> FloatTensor:
    """A conv2d whose kernel element k, at place p, sees mask[k, p] · x at its usual place plus offset[k, p].

    Between pixels the four around are mixed by their distances; outside of x there are zeros. offset [N, 2 · og · kh ·
    kw, H', W']: y and x of each kernel element, for each of og groups of the channels of x. mask, without the 2, is 1
    if it is left out. Dai et al. 2017; the mask: Zhu et al. 2018.

    Errors: as `conv2d`.
    """
    name = "deform_conv2d"
    if not isinstance(options, DeformConvOptions):
        raise KindError(f"{name}: options must be DeformConvOptions, but got {type(options).__name__}.")
    x, weight, bias = _checked(name, 2, x, weight, bias, options.convolution())
    groups, kernel = options.offset_groups, weight.shape[2:]
    if x.shape[1] % groups:
        raise ShapeError(f"{name}: {x.shape[1]} input channels cannot be cut into {groups} offset groups.")
    places = options.convolution().output_size(x.shape[2:], kernel)
    steers = [(offset, "offset", 2), *([] if mask is None else [(mask, "mask", 1)])]
    for steer, what, count in steers:
        activation.check_float(name, steer)
        expected = (x.shape[0], count * groups * math.prod(kernel), *places)
        if steer.shape != expected:
            raise ShapeError(f"{name}: the {what} must have shape {show(expected)}, but has {show(steer.shape)}.")
    present = [tensor for tensor in (x, offset, weight, mask, bias) if tensor is not None]
    lifted = iter(one_table(name, present))
    x, offset, weight = next(lifted), next(lifted), next(lifted)
    of_mask, of_bias = (None if tensor is None else next(lifted).primitive for tensor in (mask, bias))
    ops = x.backend.modules
    return x._with(ops.deform_conv2d(x.primitive, offset.primitive, weight.primitive, of_mask, of_bias, options))


def check_images(name: str, rank: int, x: FloatTensor) -> None:
    """x [N, C, …] with `rank` spatial dimensions."""
    activation.check_float(name, x)
    if x.rank != rank + 2:
        raise ShapeError(
            f"{name}: the input must have shape [N, C, {SPACE[rank]}], but has {show(x.shape)}. "
            "Use unsqueeze_dim() to add a dimension of channels, unsqueeze() for one of images."
        )


def _primitive(bias: FloatTensor | None) -> object:
    return None if bias is None else bias.primitive


def _checked(
    name: str, rank: int, x: FloatTensor, weight: FloatTensor, bias: FloatTensor | None, options: Options
) -> tuple[FloatTensor, FloatTensor, FloatTensor | None]:
    """The tensors on one table, of shapes that fit."""
    check_images(name, rank, x)
    activation.check_float(name, weight)
    expected = ConvTransposeOptions if name.startswith("conv_transpose") else ConvOptions
    if not isinstance(options, expected):
        raise KindError(f"{name}: options must be {expected.__name__}, but got {type(options).__name__}.")
    settings = [options.stride, options.padding, options.dilation]
    if isinstance(options, ConvTransposeOptions):
        settings.append(options.padding_out)
    if any(len(setting) != rank for setting in settings):
        raise ShapeError(f"{name}: its options have one entry per spatial dimension, {rank}, but are {options}.")
    _check_weight(name, rank, x, weight, options)
    _check_output(name, x, weight, options)
    if bias is None:
        x, weight = one_table(name, [x, weight])
        return x, weight, None
    activation.check_float(name, bias)
    channels = weight.shape[1] * options.groups if isinstance(options, ConvTransposeOptions) else weight.shape[0]
    if bias.shape != (channels,):
        raise ShapeError(
            f"{name}: bias must have shape [{channels}], one per output channel, but has {show(bias.shape)}."
        )
    x, weight, bias = one_table(name, [x, weight, bias])
    return x, weight, bias


def _check_weight(name: str, rank: int, x: FloatTensor, weight: FloatTensor, options: Options) -> None:
    transposed = isinstance(options, ConvTransposeOptions)
    shape = weight.shape
    if len(shape) != rank + 2 or 0 in shape:
        form = "[C, O/groups, kernel sizes]" if transposed else "[O, C/groups, kernel sizes]"
        raise ShapeError(
            f"{name}: weight must have shape {form} of rank {rank + 2} with sizes of 1 or more, but has {show(shape)}."
        )
    if shape[0] % options.groups:
        raise ShapeError(
            f"{name}: weight has shape {show(shape)}, and {shape[0]} channels cannot be cut into {options.groups} "
            "groups."
        )
    channels = shape[0] if transposed else shape[1] * options.groups
    if x.shape[1] != channels:
        raise ShapeError(
            f"{name}: the input has shape {show(x.shape)}, with {x.shape[1]} channels, but weight {show(shape)} in "
            f"{options.groups} group(s) takes {channels}."
        )


def _check_output(name: str, x: FloatTensor, weight: FloatTensor, options: Options) -> None:
    size, kernel = x.shape[2:], weight.shape[2:]
    out = options.output_size(size, kernel)
    if min(out) >= 1 and min(size) >= 1:
        as_shape(name, (*x.shape[:2], *out))  # refuses what has no address
        return
    if isinstance(options, ConvTransposeOptions):
        raise ShapeError(
            f"{name}: an input of size {show(size)} gives an output of size {show(out)}: kernel {show(kernel)}, "
            f"stride {show(options.stride)}, padding {show(options.padding)}. Use less padding."
        )
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, options.dilation, strict=True)]
    raise ShapeError(
        f"{name}: kernel {show(kernel)} with dilation {show(options.dilation)} reaches over {reach} elements, but the "
        f"input has size {show(size)} and padding {list(options.padding)}. Use a smaller kernel or more padding."
    )
