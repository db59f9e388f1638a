"""The affine map. Burn: `crates/burn-tensor/src/tensor/module.rs`."""

from __future__ import annotations

from collections.abc import Sequence

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


def linears(x: FloatTensor, weights: Sequence[FloatTensor], biases: Sequence[FloatTensor | None]) -> list[FloatTensor]:
    """linear(x, weight, bias) for each weight and its bias: projections of one input.

    Where starting an op costs more than what it does, as on a GPU, equal ones are one op, and one in the backward pass.

    Errors: those of linear; ValueError unless there are as many biases as weights.
    """
    first = weights[0]
    if not first.backend.modules.joins_linears or not _are_alike(x, weights, biases):
        return [linear(x, weight, bias) for weight, bias in zip(weights, biases, strict=True)]
    added = [bias.primitive for bias in biases if bias is not None]
    whole = first.backend.modules.linears(x.primitive, [weight.primitive for weight in weights], added or None)
    pieces: list[FloatTensor] = first._with(whole).split(1, 0)
    return [piece.squeeze_dim(0) for piece in pieces]


def _are_alike(x: FloatTensor, weights: Sequence[FloatTensor], biases: Sequence[FloatTensor | None]) -> bool:
    """Whether the maps can be one op: equal sizes that fit, of one table, all with a bias or none."""
    added = [bias for bias in biases if bias is not None]
    first = weights[0]
    if any(not isinstance(tensor, FloatTensor) or tensor.ops is not first.ops for tensor in (x, *weights, *added)):
        return False
    return (
        len(weights) == len(biases) > 1
        and len(added) in (0, len(biases))
        and x.rank > 1
        and {weight.shape for weight in weights} == {(x.shape[-1], first.shape[-1])}
        and {bias.shape for bias in added} <= {first.shape[1:]}
    )


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
