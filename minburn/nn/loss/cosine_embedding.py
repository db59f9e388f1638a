"""Angles between pairs. Burn: `crates/burn-nn/src/loss/cosine_embedding.rs`."""

from __future__ import annotations

from minburn.module import Config, Module
from minburn.nn.activation.base import check_finite
from minburn.nn.distance import CosineSimilarity
from minburn.nn.loss.check import SMALLEST_NORMAL, check_pair
from minburn.nn.loss.reduction import Reduction, reduce
from minburn.tensor import FloatTensor, IntTensor, KindError, ShapeError, activation

__all__ = ["CosineEmbeddingLoss", "CosineEmbeddingLossConfig"]


class CosineEmbeddingLoss(Module):
    """1 - cos(x1, x2) where the target is 1, max(0, cos - margin) where it is -1, else 0.

    x1, x2 [N, D] are pulled together or pushed apart; target [N], ints.
    """

    margin: float
    reduction: Reduction

    def check_fields(self) -> None:
        check_finite("CosineEmbeddingLoss", margin=self.margin)

    def forward(self, input1: FloatTensor, input2: FloatTensor, target: IntTensor) -> FloatTensor:
        """The loss, reduced as the config says, shape [1].

        Errors: ShapeError for sizes that do not fit, KindError for other kinds.
        """
        return reduce("CosineEmbeddingLoss", self.forward_no_reduction(input1, input2, target), self.reduction)

    def forward_no_reduction(self, input1: FloatTensor, input2: FloatTensor, target: IntTensor) -> FloatTensor:
        if not isinstance(target, IntTensor):
            raise KindError(f"CosineEmbeddingLoss: target must be an int tensor, but got {type(target).__name__}.")
        check_pair("CosineEmbeddingLoss", input1, input2)
        similarity = CosineSimilarity(dim=1, eps=SMALLEST_NORMAL[input1.dtype.name])(input1, input2)
        if target.shape != similarity.shape:
            raise ShapeError(
                f"CosineEmbeddingLoss: inputs of shape {list(input1.shape)} need a target of shape "
                f"{list(similarity.shape)}, but it has {list(target.shape)}."
            )
        apart = activation.relu(similarity - self.margin).mask_fill(target.not_equal_scalar(-1), 0.0)
        return apart.mask_where(target.equal_scalar(1), 1.0 - similarity)

    def display_attributes(self) -> dict[str, object]:
        return {"margin": self.margin, "reduction": self.reduction.name}


class CosineEmbeddingLossConfig(Config):
    margin: float = 0.0
    reduction: Reduction = Reduction.Mean

    def init(self) -> CosineEmbeddingLoss:
        """ConfigError unless the margin is finite."""
        return CosineEmbeddingLoss(margin=self.margin, reduction=self.reduction)
