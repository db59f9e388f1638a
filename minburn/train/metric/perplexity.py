"""How many tokens a model hesitates between. Burn: `crates/burn-train/src/metric/perplexity.rs`."""

from __future__ import annotations

import math
from typing import Any

from minburn.tensor import activation
from minburn.train.metric.base import MeanMetric, MetricMetadata, Reading
from minburn.train.metric.format import shortest
from minburn.train.metric.reading import classes_of


class PerplexityMetric(MeanMetric):
    """exp(-Σ log p(target) / tokens), p the softmax of `item.output` [..., C] at `item.targets` [...].

    Over an epoch it is the exponential of the mean over all tokens, not a mean of exponentials. pad_token: targets with
    this value are no tokens. Of no tokens it is infinite.
    """

    name = "Perplexity"
    higher_is_better = False

    def __init__(self, pad_token: int | None = None) -> None:
        super().__init__()
        self.pad_token = pad_token

    def measure(self, item: Any, metadata: MetricMetadata) -> tuple[Reading, ...]:
        output, targets = classes_of(item, self.name)
        logs = activation.log_softmax(output, 1).gather(1, targets.unsqueeze_dim(1)).squeeze_dim(1)
        if self.pad_token is None:
            return (logs.sum(), targets.shape[0])
        padded = targets.equal_scalar(self.pad_token)
        return (logs.mask_fill(padded, 0.0).sum(), padded.bool_not().int().sum())

    def score(self, *readings: Any) -> tuple[float, float]:
        """The mean of -log p; `value` and `running_value` make a perplexity of it."""
        logs, count = readings
        return (-logs / count if count else math.inf), count

    def value(self) -> float:
        return exponential(super().value())

    def running_value(self) -> float:
        return exponential(super().running_value()) if self._count else math.inf

    def serialized(self) -> str:
        return f"{shortest(self.value())},{self._value_count}"

    def __repr__(self) -> str:
        return f"PerplexityMetric(pad_token={self.pad_token})"


def exponential(value: float) -> float:
    """e^value; infinite where that is too large for a float."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
