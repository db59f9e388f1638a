"""Mean squared error. Burn: `crates/burn-nn/src/loss/mse.rs`."""

from __future__ import annotations

from minburn.module import Module
from minburn.nn.loss.reduction import Reduction, reduce
from minburn.tensor import FloatTensor

__all__ = ["MseLoss"]


class MseLoss(Module):
    """(input - target)² per element, reduced. Both of any shape, broadcasting over sizes of 1."""

    def forward(self, input: FloatTensor, target: FloatTensor, reduction: Reduction = Reduction.Mean) -> FloatTensor:
        """The reduced loss, shape [1]."""
        return reduce("MseLoss", self.forward_no_reduction(input, target), reduction)

    def forward_no_reduction(self, input: FloatTensor, target: FloatTensor) -> FloatTensor:
        return (input - target).square()
