"""Hinge loss of several classes. Burn: `crates/burn-nn/src/loss/multi_margin.rs`."""

from __future__ import annotations

from minburn.module import Config, ConfigError, Module
from minburn.nn.loss.check import check_setting
from minburn.nn.loss.reduction import Reduction, reduce
from minburn.tensor import FloatTensor, IntTensor, KindError, ShapeError, activation

__all__ = ["MultiMarginLoss", "MultiMarginLossConfig"]


class MultiMarginLoss(Module):
    """Σ over the classes j ≠ t of max(0, margin - x[t] + x[j])^p / C, for each sample.

    x [N, C]: scores. t [N]: class numbers, ints. p: 1 or 2.
    """

    margin: float
    p: int

    def check_fields(self) -> None:
        check_setting("MultiMarginLoss", "margin", self.margin)
        if self.p not in (1, 2):
            raise ConfigError(f"MultiMarginLoss: p must be 1 or 2, but got {self.p}.")

    def forward(self, input: FloatTensor, target: IntTensor, reduction: Reduction = Reduction.Mean) -> FloatTensor:
        """The reduced loss, shape [1].

        Errors: ShapeError for sizes that do not fit, KindError for other kinds; a target outside [0, C) is refused.
        """
        return reduce("MultiMarginLoss", self.forward_no_reduction(input, target), reduction)

    def forward_no_reduction(self, input: FloatTensor, target: IntTensor) -> FloatTensor:
        """A loss for each sample, [N]."""
        if not isinstance(input, FloatTensor):
            raise KindError(f"MultiMarginLoss: input must be a float tensor, but got {type(input).__name__}.")
        if not isinstance(target, IntTensor):
            raise KindError(f"MultiMarginLoss: target must be an int tensor, but got {type(target).__name__}.")
        if input.rank != 2 or target.shape != input.shape[:1]:
            raise ShapeError(
                f"MultiMarginLoss: scores [N, C] need targets [N], but have shapes {list(input.shape)} and "
                f"{list(target.shape)}."
            )
        classes = input.shape[1]
        short = activation.relu(input - input.gather(1, target.unsqueeze_dim(1)) + self.margin)
        if self.p == 2:
            short = short.square()
        return short.mask_fill(target.one_hot(classes).bool(), 0.0).sum_dim(1).squeeze_dim(1) / classes

    def display_attributes(self) -> dict[str, object]:
        return {"margin": self.margin, "p": self.p}


class MultiMarginLossConfig(Config):
    margin: float = 1.0
    p: int = 1

    def init(self) -> MultiMarginLoss:
        """ConfigError unless margin ≥ 0 is finite and p is 1 or 2."""
        return MultiMarginLoss(margin=self.margin, p=self.p)
