"""Losses that a backend may fuse. Burn: `crates/burn-tensor/src/tensor/loss/mod.rs`."""

from __future__ import annotations

from minburn.tensor import activation
from minburn.tensor.check import KindError, ShapeError, show
from minburn.tensor.indexing import check_indices
from minburn.tensor.kinds import FloatTensor, IntTensor


def cross_entropy_with_logits(logits: FloatTensor, targets: FloatTensor | IntTensor) -> FloatTensor:
    """-mean over rows of Σ_c log_softmax(logits)[c] · target[c], shape [1].

    logits [N, C]; targets are class numbers [N] (ints) or probabilities [N, C] (floats).

    Errors: ShapeError for sizes that do not fit; a class outside [0, C) is refused.
    """
    activation.check_float("cross_entropy_with_logits", logits)
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
