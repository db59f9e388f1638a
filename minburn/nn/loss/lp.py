"""A power of the absolute error. Burn: `crates/burn-nn/src/loss/lp_loss.rs`."""

from __future__ import annotations

from collections.abc import Iterable

from minburn.module import Config, Module
from minburn.nn.loss.check import check_pair, check_setting, power
from minburn.nn.loss.reduction import Reduction, reduce
from minburn.tensor import FloatTensor

__all__ = ["LpLoss", "LpLossConfig"]


class LpLoss(Module):
    """|input - target|^p per element: no root is taken. The gradient at no error is 0 for every p."""

    p: float

    def check_fields(self) -> None:
        check_setting("LpLoss", "p", self.p, above_zero=True)

    def forward(self, input: FloatTensor, target: FloatTensor, reduction: Reduction = Reduction.Mean) -> FloatTensor:
        """The reduced loss, shape [1]."""
        return reduce("LpLoss", self.forward_no_reduction(input, target), reduction)

    def forward_no_reduction(self, input: FloatTensor, target: FloatTensor) -> FloatTensor:
        check_pair("LpLoss", input, target)
        error = input - target
        return error.square() if self.p == 2.0 else power(error.abs(), self.p)

    def forward_reduce_dims(self, input: FloatTensor, target: FloatTensor, dims: Iterable[int]) -> FloatTensor:
        """The mean over these dimensions, which become 1: with [1, 2, 3] one loss for each image of [N, C, H, W]."""
        return self.forward_no_reduction(input, target).mean_dims(dims)

    def display_attributes(self) -> dict[str, object]:
        return {"p": self.p}


class LpLossConfig(Config):
    """p 1 is the mean absolute error, p 2 the mean squared error."""

    p: float

    def init(self) -> LpLoss:
        """ConfigError unless p > 0 is finite."""
        return LpLoss(p=self.p)

    @staticmethod
    def l1() -> LpLoss:
        return LpLoss(p=1.0)

    @staticmethod
    def l2() -> LpLoss:
        return LpLoss(p=2.0)
