"""Distances that should be small or large. Burn: `crates/burn-nn/src/loss/hinge_embedding.rs`."""

from __future__ import annotations

from minburn.module import Config, Module
from minburn.nn.activation.base import check_finite
from minburn.nn.loss.check import check_pair
from minburn.nn.loss.reduction import Reduction, reduce
from minburn.tensor import FloatTensor, activation

__all__ = ["HingeEmbeddingLoss", "HingeEmbeddingLossConfig"]


class HingeEmbeddingLoss(Module):
    """The input (a distance) where the target is 1, else max(0, margin - input). The target is usually 1 or -1."""

    margin: float

    def check_fields(self) -> None:
        check_finite("HingeEmbeddingLoss", margin=self.margin)

    def forward(self, input: FloatTensor, target: FloatTensor, reduction: Reduction = Reduction.Mean) -> FloatTensor:
        """The reduced loss, shape [1]."""
        return reduce("HingeEmbeddingLoss", self.forward_no_reduction(input, target), reduction)

    def forward_no_reduction(self, input: FloatTensor, target: FloatTensor) -> FloatTensor:
        check_pair("HingeEmbeddingLoss", input, target)
        return activation.relu(self.margin - input).mask_where(target.equal_scalar(1.0), input)

    def display_attributes(self) -> dict[str, object]:
        return {"margin": self.margin}


class HingeEmbeddingLossConfig(Config):
    margin: float = 1.0

    def init(self) -> HingeEmbeddingLoss:
        """ConfigError unless the margin is finite."""
        return HingeEmbeddingLoss(margin=self.margin)
