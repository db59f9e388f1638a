"""How often the truth is among the best. Burn: `crates/burn-train/src/metric/top_k_acc.rs`."""

from __future__ import annotations

import math
from typing import Any

from minburn.train.error import TrainingError
from minburn.train.metric.base import MeanMetric, MetricMetadata, Reading
from minburn.train.metric.reading import classes_of, counted


class TopKAccuracyMetric(MeanMetric):
    """100 · (`item.targets` [N] is among the k largest of `item.output` [N, C]) / n, in percent, weighted by n.

    pad_token: as for AccuracyMetric. TrainingError for k < 1, or more than there are classes.
    """

    unit = "%"
    higher_is_better = True

    def __init__(self, k: int = 1, pad_token: int | None = None) -> None:
        super().__init__()
        if k < 1:
            raise TrainingError(f"TopKAccuracyMetric: k must be at least 1, but got {k}.")
        self.k, self.pad_token = k, pad_token
        self.name = f"Top-K Accuracy @ TopK({k})"

    def measure(self, item: Any, metadata: MetricMetadata) -> tuple[Reading, ...]:
        output, targets = classes_of(item, self.name)
        if self.k > output.shape[1]:
            raise TrainingError(f"metric {self.name}: there are only {output.shape[1]} classes.")
        best = output.argsort_descending(1).narrow(1, 0, self.k)
        right = best.equal(targets.unsqueeze_dim(1).expand(best.shape)).any_dim(1).squeeze_dim(1)
        return counted(right, targets, self.pad_token)

    def score(self, *readings: Any) -> tuple[float, float]:
        right, count = readings
        return (100.0 * (right / count) if count else math.nan), count

    def __repr__(self) -> str:
        return f"TopKAccuracyMetric(k={self.k}, pad_token={self.pad_token})"
