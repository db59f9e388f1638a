"""Kullback-Leibler divergence. Burn: `crates/burn-nn/src/loss/kldiv.rs`."""

from __future__ import annotations

from minburn.module import Config, Module
from minburn.nn.loss.check import SMALLEST_NORMAL, check_pair
from minburn.nn.loss.reduction import Reduction, reduce
from minburn.tensor import FloatTensor

__all__ = ["KLDivLoss", "KLDivLossConfig"]


class KLDivLoss(Module):
    """t · (log t - input) per element: input holds log-probabilities, t probabilities.

    log_target: the target holds log-probabilities, too, and an element is eᵗ · (t - input).
    log t is taken of t between the smallest normal number and 1, so that t = 0 gives 0.
    """

    log_target: bool

    def forward(self, input: FloatTensor, target: FloatTensor, reduction: Reduction = Reduction.Auto) -> FloatTensor:
        """The reduced loss, shape [1]. BatchMean, which Auto is here, divides the sum by the size of dimension 0."""
        loss = self.forward_no_reduction(input, target)
        if reduction is Reduction.BatchMean or reduction is Reduction.Auto:
            return loss.sum() / loss.shape[0]
        return reduce("KLDivLoss", loss, reduction)

    def forward_no_reduction(self, input: FloatTensor, target: FloatTensor) -> FloatTensor:
        check_pair("KLDivLoss", input, target)
        if self.log_target:
            return target.exp() * (target - input)
        return target * (target.clamp(SMALLEST_NORMAL[target.dtype.name], 1.0).log() - input)

    def display_attributes(self) -> dict[str, object]:
        return {"log_target": self.log_target}


class KLDivLossConfig(Config):
    log_target: bool = False

    def init(self) -> KLDivLoss:
        return KLDivLoss(log_target=self.log_target)
