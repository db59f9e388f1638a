"""How far rows lie apart. Burn: `crates/burn-nn/src/modules/{pairwise_distance,cosine_similarity}.rs`."""

from __future__ import annotations

import math

from minburn.module import Config, ConfigError, Module
from minburn.tensor import FloatTensor, ShapeError
from minburn.tensor.activation import check_float
from minburn.tensor.functional.norm import narrowed, widened

__all__ = ["CosineSimilarity", "CosineSimilarityConfig", "PairwiseDistance", "PairwiseDistanceConfig"]

SMALLEST = 1.2e-38
"""A square that an F32 has without losing digits."""


class PairwiseDistance(Module):
    """(Σ |x - y + eps|^p)^(1/p) over the columns: [N, D], [N, D] → [N]."""

    p: float
    eps: float

    def check_fields(self) -> None:
        check_settings("PairwiseDistance", self.eps, self.p)

    def forward(self, x1: FloatTensor, x2: FloatTensor) -> FloatTensor:
        check_pair("PairwiseDistance", x1, x2)
        size = (x1 - x2 + self.eps).abs()
        if self.p == 1.0:
            return size.sum_dim(1).squeeze_dim(1)
        if self.p == 2.0:
            return (size * size).sum_dim(1).sqrt().squeeze_dim(1)
        return size.powf_scalar(self.p).sum_dim(1).powf_scalar(1.0 / self.p).squeeze_dim(1)

    def display_attributes(self) -> dict[str, object]:
        return {"p": self.p, "eps": self.eps}


class PairwiseDistanceConfig(Config):
    p: float = 2.0
    eps: float = 1e-6

    def init(self) -> PairwiseDistance:
        """ConfigError unless p > 0 and eps ≥ 0, both finite."""
        return PairwiseDistance(p=self.p, eps=self.eps)


class CosineSimilarity(Module):
    """Σ x/max(‖x‖, eps) · y/max(‖y‖, eps) along dim: [N, D], [N, D] → [N] for dim 1, [D] for dim 0.

    Each side is normalized first: the product of two small norms would underflow. Half floats are widened to F32.
    """

    dim: int
    eps: float

    def check_fields(self) -> None:
        check_settings("CosineSimilarity", self.eps)

    def forward(self, x1: FloatTensor, x2: FloatTensor) -> FloatTensor:
        check_pair("CosineSimilarity", x1, x2)
        product = self._normalized(widened(x1)) * self._normalized(widened(x2))
        return narrowed(product.sum_dim(self.dim).squeeze_dim(self.dim), x1)

    def _normalized(self, x: FloatTensor) -> FloatTensor:
        # Clamped before the root, whose slope at 0 is infinite.
        return x / (x * x).sum_dim(self.dim).clamp_min(max(self.eps**2, SMALLEST)).sqrt()

    def display_attributes(self) -> dict[str, object]:
        return {"dim": self.dim, "eps": self.eps}


class CosineSimilarityConfig(Config):
    dim: int = 1
    eps: float = 1e-8

    def init(self) -> CosineSimilarity:
        """ConfigError unless eps ≥ 0 is finite."""
        return CosineSimilarity(dim=self.dim, eps=self.eps)


def check_settings(layer: str, eps: float, p: float = 1.0) -> None:
    if not (math.isfinite(p) and p > 0):
        raise ConfigError(f"{layer}: p must be finite and greater than 0, but got {p}.")
    if not (math.isfinite(eps) and eps >= 0):
        raise ConfigError(f"{layer}: eps must be finite and not negative, but got {eps}.")


def check_pair(layer: str, x1: FloatTensor, x2: FloatTensor) -> None:
    check_float(layer, x1)
    check_float(layer, x2)
    if x1.rank != 2 or x1.shape != x2.shape:
        raise ShapeError(
            f"{layer}: both inputs must have one shape [N, D], but have {list(x1.shape)} and {list(x2.shape)}."
        )
