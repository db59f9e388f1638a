"""Functions of several tensors that a backend may fuse.

Burn: `crates/burn-tensor/src/tensor/module.rs`, `tensor/loss/mod.rs`.
"""

from __future__ import annotations

from minburn.tensor import activation
from minburn.tensor.check import KindError, ShapeError, show
from minburn.tensor.indexing import check_indices
from minburn.tensor.kinds import FloatTensor, IntTensor
from minburn.tensor.lift import one_table


def linear(x: FloatTensor, weight: FloatTensor, bias: FloatTensor | None = None) -> FloatTensor:
    """x[…, d_in] · weight[d_in, d_out] + bias[d_out].

    Errors: ShapeError for sizes that do not fit, DTypeError and DeviceError for tensors that do not match.
    """
    if x.ops is not weight.ops or (bias is not None and bias.ops is not weight.ops):
        if bias is None:
            x, weight = one_table("linear", [x, weight])
        else:
            x, weight, bias = one_table("linear", [x, weight, bias])
    left, right = x.primitive, weight.primitive
    added = None if bias is None else bias.primitive
    if (
        left.ndim < 2
        or right.ndim != 2
        or left.shape[-1] != right.shape[0]
        or (added is not None and added.shape != right.shape[1:])
    ):
        return _linear_of_row(x, weight, bias)
    return FloatTensor(weight.backend.modules.linear(left, right, added), weight.ops, weight.backend)


def _linear_of_row(x: FloatTensor, weight: FloatTensor, bias: FloatTensor | None) -> FloatTensor:
    """A lone row [d_in], or the reason why the shapes do not fit."""
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
    return linear(x.unsqueeze(), weight, bias).squeeze_dim(0)


def cross_entropy_with_logits(logits: FloatTensor, targets: FloatTensor | IntTensor) -> FloatTensor:
    """-mean over rows of Σ_c log_softmax(logits)[c] · target[c], shape [1].

    logits [N, C]; targets are class numbers [N] (ints) or probabilities [N, C] (floats).

    Errors: ShapeError for sizes that do not fit; a class outside [0, C) is refused.
    """
    if logits.rank != 2:
        raise ShapeError(
            f"cross_entropy_with_logits: logits must have shape [N, C], but have {show(logits.shape)}. "
            "Use reshape([-1, C]) to make rows of them."
        )
    if isinstance(targets, FloatTensor):
        if targets.shape != logits.shape:
            raise ShapeError(
                f"cross_entropy_with_logits: logits have shape {show(logits.shape)}, target probabilities "
                f"{show(targets.shape)}. They must be equal; class numbers are an int tensor."
            )
        return -(activation.log_softmax(logits, 1) * targets).sum_dim(1).mean()
    if not isinstance(targets, IntTensor):
        raise KindError(
            "cross_entropy_with_logits: targets must be an int tensor (class numbers) or a float tensor "
            f"(probabilities), but got {type(targets).__name__}."
        )
    check_indices("cross_entropy_with_logits", logits, targets)
    if targets.shape != logits.shape[:1]:
        raise ShapeError(
            f"cross_entropy_with_logits: logits have shape {show(logits.shape)}, so targets must have shape "
            f"[{logits.shape[0]}], but have {show(targets.shape)}."
        )
    loss, _ = logits.backend.modules.cross_entropy(logits.primitive, targets.primitive)
    return FloatTensor(loss, logits.ops, logits.backend)
