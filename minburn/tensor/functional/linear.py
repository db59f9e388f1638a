"""The affine map. Burn: `crates/burn-tensor/src/tensor/module.rs`."""

from __future__ import annotations

from minburn.tensor import activation
from minburn.tensor.check import ShapeError, show
from minburn.tensor.kinds import FloatTensor
from minburn.tensor.lift import one_table


def linear(x: FloatTensor, weight: FloatTensor, bias: FloatTensor | None = None) -> FloatTensor:
    """x[…, d_in] · weight[d_in, d_out] + bias[d_out].

    Errors: ShapeError for sizes that do not fit, DTypeError and DeviceError for tensors that do not match.
    """
    floats = isinstance(x, FloatTensor) and isinstance(weight, FloatTensor)
    if not floats or (bias is not None and not isinstance(bias, FloatTensor)):
        for tensor in (x, weight, bias):
            activation.check_float("linear", tensor)
    if x.ops is not weight.ops or (bias is not None and bias.ops is not weight.ops):
        if bias is None:
            x, weight = one_table("linear", [x, weight])
        else:
            x, weight, bias = one_table("linear", [x, weight, bias])
    left, right = x.primitive, weight.primitive
    sizes = right.shape
    added = None if bias is None else bias.primitive
    if len(sizes) != 2 or left.ndim < 2 or (added is not None and added.shape != sizes[1:]):
        return _linear_of_row(x, weight, bias)
    try:
        return weight._with(weight.backend.modules.linear(left, right, added))
    except ValueError:
        _check_linear(x, weight, bias)
        raise


def _linear_of_row(x: FloatTensor, weight: FloatTensor, bias: FloatTensor | None) -> FloatTensor:
    """linear of a lone row [d_in]."""
    _check_linear(x, weight, bias)
    return linear(x.unsqueeze(), weight, bias).squeeze_dim(0)


def _check_linear(x: FloatTensor, weight: FloatTensor, bias: FloatTensor | None) -> None:
    if weight.rank != 2:
        raise ShapeError(f"linear: weight must have shape [d_in, d_out], but has {show(weight.shape)}.")
    d_in, d_out = weight.shape
    if x.rank == 0 or x.shape[-1] != d_in:
        raise ShapeError(
            f"linear: the input has shape {show(x.shape)}, but weight {show(weight.shape)} takes {d_in} in the last "
            "dimension. Check the layer's d_input, or flatten() the input."
        )
    if bias is not None and bias.shape != (d_out,):
        raise ShapeError(
            f"linear: bias must have shape [{d_out}], as weight has {show(weight.shape)}, but has {show(bias.shape)}."
        )
