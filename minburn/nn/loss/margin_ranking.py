"""Which of two should be larger. Burn: `crates/burn-nn/src/loss/margin_ranking.rs`."""

from __future__ import annotations

from minburn.module import Config, Module
from minburn.nn.loss.check import check_pair, check_setting
from minburn.nn.loss.reduction import Reduction, reduce
from minburn.tensor import FloatTensor, activation

__all__ = ["MarginRankingLoss", "MarginRankingLossConfig"]


class MarginRankingLoss(Module):
    """max(0, -target · (first - second) + margin): target 1 asks for first ≥ second + margin, -1 for the reverse."""

    margin: float

    def check_fields(self) -> None:
        check_setting("MarginRankingLoss", "margin", self.margin)

    def forward(
        self, first: FloatTensor, second: FloatTensor, target: FloatTensor, reduction: Reduction = Reduction.Mean
    ) -> FloatTensor:
        """The reduced loss, shape [1]."""
        return reduce("MarginRankingLoss", self.forward_no_reduction(first, second, target), reduction)

    def forward_no_reduction(self, first: FloatTensor, second: FloatTensor, target: FloatTensor) -> FloatTensor:
        check_pair("MarginRankingLoss", first, second)
        check_pair("MarginRankingLoss", first, target)
        return activation.relu((second - first) * target + self.margin)

    def display_attributes(self) -> dict[str, object]:
        return {"margin": self.margin}


class MarginRankingLossConfig(Config):
    margin: float = 0.0

    def init(self) -> MarginRankingLoss:
        """ConfigError unless margin ≥ 0 is finite."""
        return MarginRankingLoss(margin=self.margin)
