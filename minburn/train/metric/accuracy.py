"""How many predictions are right. Burn: `crates/burn-train/src/metric/acc.rs`."""

from __future__ import annotations

import math
from typing import Any

from minburn.tensor import NumericTensor
from minburn.train.error import TrainingError
from minburn.train.metric.base import MeanMetric, MetricMetadata, Reading, field_of


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
        output, targets = field_of(item, self.name, "output"), field_of(item, self.name, "targets")
        if not isinstance(output, NumericTensor):
            raise TrainingError(f"metric Accuracy: .output must be a tensor of numbers, not {type(output).__name__}.")
        if output.rank != 2 or targets.rank != 1 or output.shape[0] != targets.shape[0]:
            raise TrainingError(
                f"metric Accuracy: output must be [N, C] and targets [N], "
                f"but they are {list(output.shape)} and {list(targets.shape)}."
            )
        right = output.argmax(1).reshape(-1).equal(targets)
        if self.pad_token is None:
            return (right.int().sum(), targets.shape[0])
        counted = targets.not_equal(self.pad_token)
        return ((right & counted).int().sum(), counted.int().sum())

    def score(self, *readings: float) -> tuple[float, float]:
        right, count = readings
        return (100.0 * right / count if count else math.nan), count

    def __repr__(self) -> str:
        return f"AccuracyMetric(pad_token={self.pad_token})"
