"""The loss. Burn: `crates/burn-train/src/metric/loss.rs`."""

from __future__ import annotations

from typing import Any

from minburn.tensor import FloatTensor
from minburn.train.error import TrainingError
from minburn.train.metric.base import MeanMetric, MetricMetadata, Reading, field_of


class LossMetric(MeanMetric):
    """The mean of `item.loss`, weighted by its length.

    A usual loss has shape [1]: then every batch weighs the same, however small the last one is (Burn's rule).
    """

    name = "Loss"
    higher_is_better = False

    def measure(self, item: Any, metadata: MetricMetadata) -> tuple[Reading, ...]:
        loss = field_of(item, self.name, "loss")
        if not isinstance(loss, FloatTensor):
            raise TrainingError(f"metric Loss: .loss must be a float tensor, not {type(loss).__name__}.")
        count = loss.num_elements()
        return (loss if count == 1 else loss.mean(), count)
