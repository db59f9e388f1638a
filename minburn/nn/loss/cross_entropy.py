"""Cross entropy of class numbers. Burn: `crates/burn-nn/src/loss/cross_entropy.rs`."""

from __future__ import annotations

import math

from minburn.backends import Backend
from minburn.module import Config, Module
from minburn.nn.loss.check import SMALLEST_NORMAL, check_smoothing, check_weights, weights_of
from minburn.tensor import BoolTensor, FloatTensor, IntTensor, KindError, ShapeError, activation, functional

__all__ = ["CrossEntropyLoss", "CrossEntropyLossConfig"]


class CrossEntropyLoss(Module):
    """-Σ' r_n / N', with r_n = log p_n[t_n] and sums over the samples whose target is not in pad_tokens.

    logits [N, C]: p = softmax(logits); with `logits=False` they are the p, kept above √(smallest normal number).
    targets [N], ints in [0, C), also where they are pads.

    weights [C]: r_n is multiplied by w[t_n], and N' becomes Σ' w[t_n].
    smoothing α: r_n = Σ_c log p_n[c] · q_c (· w[c]), q = (1 - α) · onehot(t_n) + α / C.
    All targets padded: NaN, with gradient 0.
    """

    pad_tokens: tuple[int, ...] | None = None
    weights: FloatTensor | None = None
    smoothing: float | None = None
    logits: bool = True

    def check_fields(self) -> None:
        check_smoothing("Cross-entropy", self.smoothing)

    def forward(self, logits: FloatTensor, targets: IntTensor) -> FloatTensor:
        """The loss, shape [1].

        Errors: ShapeError for sizes that do not fit, KindError for other kinds; a target outside [0, C) is refused.
        """
        if self.logits and self.pad_tokens is None and self.weights is None and self.smoothing is None:
            return functional.cross_entropy_with_logits(logits, targets)
        check_shapes(logits, targets)
        log_probs = activation.log_softmax(logits, 1) if self.logits else safe_log(logits)
        classes = logits.shape[1]
        weights = None
        if self.weights is not None:
            check_weights("CrossEntropyLoss", self.weights, classes)
            weights = self.weights.reshape(1, classes)
            log_probs = log_probs * weights
        column = targets.unsqueeze_dim(1)
        terms = log_probs.gather(1, column)  # [N, 1]
        if self.smoothing is not None:
            uniform = log_probs.sum_dim(1) * (self.smoothing / classes)
            terms = terms * (1.0 - self.smoothing) + uniform
        pads = self._pads(column)
        if pads is None and weights is None:
            return -terms.mean()
        counted = terms.ones_like() if weights is None else weights.expand(*log_probs.shape).gather(1, column)
        if pads is not None:
            terms, counted = terms.mask_fill(pads, 0.0), counted.mask_fill(pads, 0.0)
        return -(terms.sum() / counted.sum())

    def _pads(self, targets: IntTensor) -> BoolTensor | None:
        """Which targets are pads."""
        pads: BoolTensor | None = None
        for token in self.pad_tokens or ():
            found = targets.equal_scalar(token)
            pads = found if pads is None else pads.bool_or(found)
        return pads

    def display_attributes(self) -> dict[str, object]:
        weights = None if self.weights is None else [round(weight, 6) for weight in self.weights.numpy().tolist()]
        return {
            "pad_tokens": None if self.pad_tokens is None else list(self.pad_tokens),
            "weights": weights,
            "smoothing": self.smoothing,
            "logits": self.logits,
        }


class CrossEntropyLossConfig(Config):
    pad_tokens: list[int] | None = None
    weights: list[float] | None = None
    smoothing: float | None = None
    logits: bool = True

    def init(self, backend: Backend) -> CrossEntropyLoss:
        """ValueError unless 0 ≤ smoothing ≤ 1 and all weights are positive."""
        return CrossEntropyLoss(
            pad_tokens=tuple(self.pad_tokens) if self.pad_tokens else None,
            weights=weights_of("cross-entropy", self.weights, backend),
            smoothing=self.smoothing,
            logits=self.logits,
        )


def check_shapes(logits: FloatTensor, targets: IntTensor) -> None:
    if not isinstance(targets, IntTensor):
        raise KindError(
            f"CrossEntropyLoss: targets must be an int tensor (class numbers), but got {type(targets).__name__}."
        )
    if logits.rank != 2 or targets.shape != logits.shape[:1]:
        raise ShapeError(
            f"CrossEntropyLoss: logits [N, C] need targets [N], but have shapes {list(logits.shape)} and "
            f"{list(targets.shape)}."
        )


def safe_log(probs: FloatTensor) -> FloatTensor:
    return probs.clamp_min(math.sqrt(SMALLEST_NORMAL[probs.dtype.name])).log()
