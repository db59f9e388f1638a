"""Logistic loss of signs. Burn: `crates/burn-nn/src/loss/soft_margin.rs`."""

from __future__ import annotations

from minburn.module import Module
from minburn.nn.loss.check import check_pair
from minburn.nn.loss.reduction import Reduction, reduce
from minburn.tensor import FloatTensor, activation

__all__ = ["SoftMarginLoss"]


class SoftMarginLoss(Module):
    """log(1 + e^(-target · input)) per element; the target is usually 1 or -1."""

    def forward(self, input: FloatTensor, target: FloatTensor, reduction: Reduction = Reduction.Mean) -> FloatTensor:
        """The reduced loss, shape [1]."""
        return reduce("SoftMarginLoss", self.forward_no_reduction(input, target), reduction)

    def forward_no_reduction(self, input: FloatTensor, target: FloatTensor) -> FloatTensor:
        check_pair("SoftMarginLoss", input, target)
        return activation.softplus(-(target * input))
