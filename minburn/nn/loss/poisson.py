"""Likelihood of counts. Burn: `crates/burn-nn/src/loss/poisson.rs`."""

from __future__ import annotations

import math

from minburn.module import Config, Module
from minburn.nn.loss.check import check_pair, check_setting
from minburn.nn.loss.reduction import Reduction, reduce
from minburn.tensor import FloatTensor, TensorError

__all__ = ["PoissonNllLoss", "PoissonNllLossConfig"]


class PoissonNllLoss(Module):
    """-log of the Poisson probability of a count t, up to log t!: eˣ - t · x, where x is the logarithm of the rate.

    log_input=False: x is the rate itself, and an element is x - t · log(x + eps).
    full: Stirling's t · log t - t + log(2πt)/2 for log t! is added where t > 1.
    """

    log_input: bool
    full: bool
    eps: float

    def check_fields(self) -> None:
        check_setting("PoissonNllLoss", "eps", self.eps, above_zero=True)

    def forward(self, input: FloatTensor, target: FloatTensor, reduction: Reduction = Reduction.Mean) -> FloatTensor:
        """The reduced loss, shape [1].

        Errors: TensorError for a negative target, or a negative rate.
        """
        return reduce("PoissonNllLoss", self.forward_no_reduction(input, target), reduction)

    def forward_no_reduction(self, input: FloatTensor, target: FloatTensor) -> FloatTensor:
        check_pair("PoissonNllLoss", input, target)
        check_not_negative("the target", target)
        if self.log_input:
            loss = input.exp() - target * input
        else:
            check_not_negative("the input (a rate, as log_input is off)", input)
            loss = input - target * (input + self.eps).log()
        return loss + stirling(target) if self.full else loss

    def display_attributes(self) -> dict[str, object]:
        return {"log_input": self.log_input, "full": self.full, "eps": self.eps}


class PoissonNllLossConfig(Config):
    log_input: bool = True
    full: bool = False
    eps: float = 1e-8

    def init(self) -> PoissonNllLoss:
        """ConfigError unless eps > 0 is finite."""
        return PoissonNllLoss(log_input=self.log_input, full=self.full, eps=self.eps)


def stirling(count: FloatTensor) -> FloatTensor:
    """About log count!, 0 up to 1."""
    small = count.lower_equal_scalar(1.0)
    large = count.mask_fill(small, 2.0)
    return (large * large.log() - large + (large * (2.0 * math.pi)).log() * 0.5).mask_fill(small, 0.0)


def check_not_negative(what: str, values: FloatTensor) -> None:
    if values.without_autodiff().lower_scalar(0.0).any().item():
        raise TensorError(f"PoissonNllLoss: {what} must not be negative, but has values down to {values.min().item()}.")
