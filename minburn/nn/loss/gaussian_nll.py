"""Likelihood under normal distributions. Burn: `crates/burn-nn/src/loss/gaussian_nll.rs`."""

from __future__ import annotations

import math

from minburn.module import Config, Module
from minburn.nn.loss.check import check_pair, check_setting
from minburn.nn.loss.reduction import Reduction, reduce
from minburn.tensor import FloatTensor, KindError

__all__ = ["GaussianNLLLoss", "GaussianNLLLossConfig"]


class GaussianNLLLoss(Module):
    """(log v + (input - target)² / v) / 2 per element, v = max(variance, eps). Nix and Weigend 1994.

    full: log(2π) / 2 is added, which makes it the negative logarithm of the density.
    """

    eps: float
    full: bool

    def check_fields(self) -> None:
        check_setting("GaussianNLLLoss", "eps", self.eps)

    def forward(
        self, input: FloatTensor, target: FloatTensor, variance: FloatTensor, reduction: Reduction = Reduction.Mean
    ) -> FloatTensor:
        """The reduced loss, shape [1]. input is the predicted mean, variance the predicted variance."""
        return reduce("GaussianNLLLoss", self.forward_no_reduction(input, target, variance), reduction)

    def forward_no_reduction(self, input: FloatTensor, target: FloatTensor, variance: FloatTensor) -> FloatTensor:
        check_pair("GaussianNLLLoss", input, target)
        if not isinstance(variance, FloatTensor):
            raise KindError(f"GaussianNLLLoss: variance must be a float tensor, but got {type(variance).__name__}.")
        held = variance.clamp_min(self.eps)
        loss = (held.log() + (input - target).square() / held) * 0.5
        return loss + 0.5 * math.log(2.0 * math.pi) if self.full else loss

    def display_attributes(self) -> dict[str, object]:
        return {"eps": self.eps, "full": self.full}


class GaussianNLLLossConfig(Config):
    eps: float = 1e-6
    full: bool = False

    def init(self) -> GaussianNLLLoss:
        """ConfigError unless eps ≥ 0 is finite."""
        return GaussianNLLLoss(eps=self.eps, full=self.full)
