"""Labels read off frames that nobody aligned. Burn: `crates/burn-nn/src/loss/ctc.rs`."""

from __future__ import annotations

from minburn.module import Config, Module
from minburn.nn.loss.check import check_blank
from minburn.nn.loss.reduction import Reduction, reduce
from minburn.tensor import FloatTensor, IntTensor, functional

__all__ = ["CTCLoss", "CTCLossConfig"]


class CTCLoss(Module):
    """-log of the probability that the frames say the targets, over all alignments. Graves et al. 2006.

    log_probs [T, N, C], targets [N, S], ints; of these the first input_lengths[n] frames and target_lengths[n] labels
    count. Too few frames for the labels: infinite, with gradient 0; `zero_infinity` makes it 0.
    """

    blank: int
    zero_infinity: bool

    def check_fields(self) -> None:
        check_blank("CTCLoss", self.blank)

    def forward(
        self, log_probs: FloatTensor, targets: IntTensor, input_lengths: IntTensor, target_lengths: IntTensor
    ) -> FloatTensor:
        """A loss for each sequence, [N].

        Errors: ShapeError for sizes or lengths that do not fit, IndexOutOfBounds for labels or a blank beyond the
        classes, KindError for other kinds.
        """
        loss = functional.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank)
        return loss.mask_fill(loss.is_inf(), 0.0) if self.zero_infinity else loss

    def forward_with_reduction(
        self,
        log_probs: FloatTensor,
        targets: IntTensor,
        input_lengths: IntTensor,
        target_lengths: IntTensor,
        reduction: Reduction = Reduction.Mean,
    ) -> FloatTensor:
        """The reduced loss, shape [1]. The mean is that of loss over number of labels (or 1, if there are none)."""
        loss = self.forward(log_probs, targets, input_lengths, target_lengths)
        if reduction is Reduction.Mean or reduction is Reduction.Auto:
            loss = loss / target_lengths.clamp_min(1).float().cast(loss.dtype)
        return reduce("CTCLoss", loss, reduction)

    def display_attributes(self) -> dict[str, object]:
        return {"blank": self.blank, "zero_infinity": self.zero_infinity}


class CTCLossConfig(Config):
    blank: int = 0
    zero_infinity: bool = False

    def init(self) -> CTCLoss:
        """ConfigError unless blank ≥ 0."""
        return CTCLoss(blank=self.blank, zero_infinity=self.zero_infinity)
