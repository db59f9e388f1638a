"""Nearer to one than to another. Burn: `crates/burn-nn/src/loss/triplet_margin.rs`."""

from __future__ import annotations

from minburn.module import Config, Module
from minburn.nn.activation.base import check_finite
from minburn.nn.loss.check import check_pair, check_setting, power
from minburn.nn.loss.reduction import Reduction, reduce
from minburn.tensor import FloatTensor, ShapeError

__all__ = ["TripletMarginLoss", "TripletMarginLossConfig"]


class TripletMarginLoss(Module):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d(x, y) = (Σ |x - y|^p)^(1/p). Schroff et al. 2015.

    All three [N, D] → a loss for each row, [N]. The gradient of a distance of 0 is 0.
    """

    margin: float
    p: float

    def check_fields(self) -> None:
        check_finite("TripletMarginLoss", margin=self.margin)
        check_setting("TripletMarginLoss", "p", self.p, above_zero=True)

    def forward(
        self,
        anchor: FloatTensor,
        positive: FloatTensor,
        negative: FloatTensor,
        reduction: Reduction = Reduction.Mean,
    ) -> FloatTensor:
        """The reduced loss, shape [1].

        Errors: ShapeError unless all three have one shape [N, D].
        """
        return reduce("TripletMarginLoss", self.forward_no_reduction(anchor, positive, negative), reduction)

    def forward_no_reduction(self, anchor: FloatTensor, positive: FloatTensor, negative: FloatTensor) -> FloatTensor:
        check_pair("TripletMarginLoss", anchor, positive)
        check_pair("TripletMarginLoss", anchor, negative)
        if anchor.rank != 2 or not anchor.shape == positive.shape == negative.shape:
            raise ShapeError(
                "TripletMarginLoss: anchor, positive and negative must have one shape [N, D], but have "
                f"{list(anchor.shape)}, {list(positive.shape)} and {list(negative.shape)}."
            )
        further = self._distance(anchor - positive) - self._distance(anchor - negative) + self.margin
        return further.clamp_min(0.0).squeeze_dim(1)

    def _distance(self, difference: FloatTensor) -> FloatTensor:
        sizes = difference.square() if self.p == 2.0 else power(difference.abs(), self.p)
        return power(sizes.sum_dim(1), 1.0 / self.p)

    def display_attributes(self) -> dict[str, object]:
        return {"margin": self.margin, "p": self.p}


class TripletMarginLossConfig(Config):
    margin: float = 1.0
    p: float = 2.0

    def init(self) -> TripletMarginLoss:
        """ConfigError unless the margin is finite and p > 0."""
        return TripletMarginLoss(margin=self.margin, p=self.p)
