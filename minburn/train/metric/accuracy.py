"""How many predictions are right. Burn: `crates/burn-train/src/metric/acc.rs`."""

from __future__ import annotations

import math
from typing import Any

from minburn.train.metric.base import MeanMetric, MetricMetadata, Reading
from minburn.train.metric.reading import classes_of, counted


class AccuracyMetric(MeanMetric):
    """100 · (argmax of `item.output` [N, C] over C equals `item.targets` [N]) / n, in percent, weighted by n.

    pad_token: targets with this value count neither as right nor in n. A batch of nothing else is NaN and weighs 0.
    """

    name = "Accuracy"
    unit = "%"
    higher_is_better = True

    def __init__(self, pad_token: int | None = None) -> None:
        super().__init__()
        self.pad_token = pad_token

    def measure(self, item: Any, metadata: MetricMetadata) -> tuple[Reading, ...]:
        output, targets = classes_of(item, self.name)
        right = output.argmax(1).reshape(-1).equal(targets)
        return counted(right, targets, self.pad_token)

    def score(self, *readings: Any) -> tuple[float, float]:
        right, count = readings
        return (100.0 * right / count if count else math.nan), count

    def __repr__(self) -> str:
        return f"AccuracyMetric(pad_token={self.pad_token})"
