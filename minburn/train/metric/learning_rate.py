"""The learning rate. Burn: `crates/burn-train/src/metric/learning_rate.rs`."""

from __future__ import annotations

from typing import Any

from minburn.train.metric.base import MeanMetric, MetricMetadata, Reading


class LearningRateMetric(MeanMetric):
    """The rate of the latest optimizer step, 0 before the first. Only for training: validation has none."""

    name = "Learning Rate"
    higher_is_better = False
    train_only = True

    def measure(self, item: Any, metadata: MetricMetadata) -> tuple[Reading, ...]:
        return (metadata.lr, 1)
