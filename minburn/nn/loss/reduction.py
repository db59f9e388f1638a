"""How a loss per element becomes one number. Burn: `crates/burn-nn/src/loss/reduction.rs`."""

from __future__ import annotations

import enum

from minburn.tensor import FloatTensor

__all__ = ["Reduction"]


class Reduction(enum.Enum):
    """Mean over all elements, their Sum, BatchMean (only in losses that say so), or what is usual (Auto: Mean)."""

    Mean = "Mean"
    Sum = "Sum"
    BatchMean = "BatchMean"
    Auto = "Auto"


def reduce(name: str, loss: FloatTensor, reduction: Reduction) -> FloatTensor:
    """The reduced loss, shape [1]."""
    if reduction is Reduction.Mean or reduction is Reduction.Auto:
        return loss.mean()
    if reduction is Reduction.Sum:
        return loss.sum()
    raise ValueError(
        f"{name}: reduction {getattr(reduction, 'name', reduction)!s} is not supported. "
        "Use Reduction.Mean, Reduction.Sum or Reduction.Auto."
    )
