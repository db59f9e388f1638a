"""Smooth L1 loss. Burn: `crates/burn-nn/src/loss/smooth_l1.rs`."""

from __future__ import annotations

from collections.abc import Iterable

from minburn.module import Config, Module
from minburn.nn.loss.check import check_pair, check_setting
from minburn.nn.loss.huber import huber
from minburn.nn.loss.reduction import Reduction, reduce
from minburn.tensor import FloatTensor

__all__ = ["SmoothL1Loss", "SmoothL1LossConfig"]


class SmoothL1Loss(Module):
    """e² / (2 · beta) where |e| < beta, else |e| - beta/2, of the error e = input - target. Girshick 2015.

    beta 0 is the L1 loss. Unlike the other losses, `forward` does not reduce.
    """

    beta: float

    def check_fields(self) -> None:
        check_setting("SmoothL1Loss", "beta", self.beta)

    def forward(self, input: FloatTensor, target: FloatTensor) -> FloatTensor:
        check_pair("SmoothL1Loss", input, target)
        error = input - target
        return error.abs() if self.beta == 0 else huber(error, self.beta) / self.beta

    def forward_with_reduction(
        self, input: FloatTensor, target: FloatTensor, reduction: Reduction = Reduction.Mean
    ) -> FloatTensor:
        """The reduced loss, shape [1]."""
        return reduce("SmoothL1Loss", self.forward(input, target), reduction)

    def forward_reduce_dims(self, input: FloatTensor, target: FloatTensor, dims: Iterable[int]) -> FloatTensor:
        """The mean over some dimensions, which are kept with size 1."""
        return self.forward(input, target).mean_dims(dims)

    def display_attributes(self) -> dict[str, object]:
        return {"beta": self.beta}


class SmoothL1LossConfig(Config):
    beta: float = 1.0

    def init(self) -> SmoothL1Loss:
        """ConfigError unless beta ≥ 0 is finite."""
        return SmoothL1Loss(beta=self.beta)
