"""Huber loss. Burn: `crates/burn-nn/src/loss/huber.rs`."""

from __future__ import annotations

from minburn.module import Config, Module
from minburn.nn.loss.check import check_pair, check_setting
from minburn.nn.loss.reduction import Reduction, reduce
from minburn.tensor import FloatTensor

__all__ = ["HuberLoss", "HuberLossConfig"]


class HuberLoss(Module):
    """r²/2 where |r| ≤ delta, else delta · |r| - delta²/2, of the error r = input - target. Huber 1964.

    A square near 0, a straight line beyond: outliers pull no harder than delta.
    """

    delta: float

    def check_fields(self) -> None:
        check_setting("HuberLoss", "delta", self.delta)

    def forward(self, input: FloatTensor, target: FloatTensor, reduction: Reduction = Reduction.Mean) -> FloatTensor:
        """The reduced loss, shape [1]."""
        return reduce("HuberLoss", self.forward_no_reduction(input, target), reduction)

    def forward_no_reduction(self, input: FloatTensor, target: FloatTensor) -> FloatTensor:
        check_pair("HuberLoss", input, target)
        return huber(input - target, self.delta)

    def display_attributes(self) -> dict[str, object]:
        return {"delta": self.delta}


class HuberLossConfig(Config):
    delta: float

    def init(self) -> HuberLoss:
        """ConfigError unless delta ≥ 0 is finite."""
        return HuberLoss(delta=self.delta)


def huber(error: FloatTensor, delta: float) -> FloatTensor:
    """Both branches in one: c · (r - c/2), c = clamp(r, ±delta), is r²/2 inside and delta · |r| - delta²/2 outside.

    Burn: `HuberLoss::forward_residuals`.
    """
    inside = error.clamp(-delta, delta)
    return inside * (error - inside * 0.5)
