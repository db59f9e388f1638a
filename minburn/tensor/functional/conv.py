"""Convolutions, transposed ones too. Burn: `crates/burn-tensor/src/tensor/module.rs`."""

from __future__ import annotations

from minburn.backends.conv_options import ConvOptions, ConvTransposeOptions
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
