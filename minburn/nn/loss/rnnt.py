"""Labels written while frames are read. Burn: `crates/burn-nn/src/loss/rnnt.rs`."""

from __future__ import annotations

from minburn.module import Config, Module
from minburn.nn.loss.check import check_blank
from minburn.nn.loss.reduction import Reduction, reduce
from minburn.tensor import FloatTensor, IntTensor, ShapeError, activation, functional

__all__ = ["RNNTLoss", "RNNTLossConfig"]


class RNNTLoss(Module):
    """-log of the probability of the targets, over all ways through frames and labels. Graves 2012.

    logits [N, T, U + 1, V]: in frame t, after u labels; with `logits=False` they are log-probabilities. targets [N, U],
    ints; of these the first logit_lengths[n] frames and target_lengths[n] labels count.
    """

    blank: int
    logits: bool

    def check_fields(self) -> None:
        check_blank("RNNTLoss", self.blank)

    def forward(
        self, logits: FloatTensor, targets: IntTensor, logit_lengths: IntTensor, target_lengths: IntTensor
    ) -> FloatTensor:
        """A loss for each sequence, [N].

        Errors: ShapeError for sizes or lengths that do not fit, IndexOutOfBounds for labels or a blank beyond the
        classes, KindError for other kinds.
        """
        activation.check_float("RNNTLoss", logits)
        if logits.rank != 4:
            raise ShapeError(f"RNNTLoss: logits must have shape [N, T, U + 1, V], but have {list(logits.shape)}.")
        log_probs = activation.log_softmax(logits, 3) if self.logits else logits
        return functional.rnnt_loss(log_probs, targets, logit_lengths, target_lengths, self.blank)

    def forward_with_reduction(
        self,
        logits: FloatTensor,
        targets: IntTensor,
        logit_lengths: IntTensor,
        target_lengths: IntTensor,
        reduction: Reduction = Reduction.Mean,
    ) -> FloatTensor:
        """The reduced loss, shape [1]."""
        return reduce("RNNTLoss", self.forward(logits, targets, logit_lengths, target_lengths), reduction)

    def display_attributes(self) -> dict[str, object]:
        return {"blank": self.blank, "logits": self.logits}


class RNNTLossConfig(Config):
    blank: int = 0
    logits: bool = True

    def init(self) -> RNNTLoss:
        """ConfigError unless blank ≥ 0."""
        return RNNTLoss(blank=self.blank, logits=self.logits)
