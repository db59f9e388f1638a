"""How many labels are right. Burn: `crates/burn-train/src/metric/hamming.rs`."""

from __future__ import annotations

from typing import Any

from minburn.tensor import activation
from minburn.train.metric.base import MeanMetric, MetricMetadata, Reading
from minburn.train.metric.format import shortest
from minburn.train.metric.reading import marks_of


class HammingScore(MeanMetric):
    """100 · mean(`item.output` > threshold equals `item.targets`) over all N samples and C labels, weighted by N.

    sigmoid: output are logits; the threshold is one of probabilities.
    """

    unit = "%"
    higher_is_better = True

    def __init__(self, threshold: float = 0.5, sigmoid: bool = False) -> None:
        super().__init__()
        self.threshold, self.sigmoid = float(threshold), sigmoid
        self.name = f"Hamming Score @ Threshold({shortest(self.threshold)})"

    def measure(self, item: Any, metadata: MetricMetadata) -> tuple[Reading, ...]:
        output, targets = marks_of(item, self.name)
        if self.sigmoid:
            output = activation.sigmoid(output)
        return (output.greater_scalar(self.threshold).equal(targets).float().mean(), output.shape[0])

    def score(self, *readings: Any) -> tuple[float, float]:
        share, count = readings
        return 100.0 * share, count

    def __repr__(self) -> str:
        return f"HammingScore(threshold={self.threshold}, sigmoid={self.sigmoid})"
