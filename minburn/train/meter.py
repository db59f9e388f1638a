"""The metrics of one split: readings go in with every batch, numbers come out at the pace of the display.

    push(item)     after a batch: readings stay on the device
    drain()        fetches all of them at once, records them in order, writes the log lines, looks for a NaN loss
    finish()       the end of the split: the epoch's values

So a training step never waits for the device, and a loss is looked at some batches later, but always before a save.
Burn overlaps this work in a thread (`crates/burn-train/src/metric/processor/`).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from minburn.tensor import FloatTensor
from minburn.train.log import MetricLog
from minburn.train.metric import Metric, MetricEntry, MetricMetadata, Reading
from minburn.train.metric.base import fetch_groups
from minburn.train.vocabulary import Split

Measure = Callable[[Any, MetricMetadata], tuple[Reading, ...]]

MAX_PENDING = 256
"""Batches whose readings may wait. Bounds the memory if the display is never due."""


class NanLoss(Exception):
    """The loss of a batch was NaN."""

    def __init__(self, iteration: int) -> None:
        super().__init__(f"the loss is NaN at batch {iteration}")
        self.iteration = iteration


class SplitMeter:
    """Copies of the metrics, for one split."""

    def __init__(self, split: Split, metrics: Iterable[Metric], log: MetricLog) -> None:
        self.split = split
        self.metrics = [copy.deepcopy(metric) for metric in metrics if split is Split.Train or not metric.train_only]
        self.measures: dict[str, Measure] = {"": _loss if split is Split.Train else _nothing}
        """What `push` asks of an item, by the name of the metric, in its order; "" is the loss that may be NaN."""
        self.measures |= {metric.name: metric.measure for metric in self.metrics}
        self._log = log
        self._epoch = 0
        self._pending: list[tuple[int, list[tuple[Reading, ...]]]] = []

    def begin(self, epoch: int, state: Mapping[str, Any] | None = None) -> None:
        """A new epoch, or the rest of one whose metrics left `state`."""
        self._epoch = epoch
        self._pending.clear()
        for metric in self.metrics:
            metric.clear()
            if state and metric.name in state:
                metric.load_state(state[metric.name])

    def push(self, item: Any, metadata: MetricMetadata, readings: list[tuple[Reading, ...]] | None = None) -> None:
        """The readings of one batch, if they are not given. TrainingError if the item lacks what a metric reads.

        Burn: `EventProcessorTraining::process_train` and `EventProcessorTraining::process_valid`.
        """
        if readings is None:
            readings = [measure(item, metadata) for measure in self.measures.values()]
        self._pending.append((metadata.iteration, readings))
        if len(self._pending) >= MAX_PENDING:
            self.drain()

    def drain(self) -> None:
        """Record what was pushed. NanLoss after the first batch whose loss is NaN."""
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        fetched = fetch_groups([groups for _, groups in pending])
        for (iteration, _), (loss, *values) in zip(pending, fetched, strict=True):
            for metric, readings in zip(self.metrics, values, strict=True):
                metric.record(*readings)
                line = metric.serialized()
                if line:
                    self._log.write(self.split, self._epoch, metric.name, line)
            if loss and math.isnan(loss[0]):
                raise NanLoss(iteration)
        self._log.flush()

    def entries(self) -> dict[str, MetricEntry]:
        """The texts of the last batch recorded."""
        return {metric.name: metric.entry() for metric in self.metrics}

    def state(self) -> dict[str, Any]:
        """What `begin` needs to go on here."""
        return {metric.name: metric.into_state() for metric in self.metrics}

    def finish(self) -> tuple[dict[str, float], dict[str, MetricEntry]]:
        """The epoch's values and texts, written to the logs as their last lines."""
        self.drain()
        values = {metric.name: metric.final_value() for metric in self.metrics}
        entries = {metric.name: metric.compute() for metric in self.metrics}
        for name, entry in entries.items():
            if entry.serialized:
                self._log.write(self.split, self._epoch, name, entry.serialized)
        self._log.close()
        return values, entries


def _nothing(item: Any, metadata: MetricMetadata) -> tuple[Reading, ...]:
    return ()


def _loss(item: Any, metadata: MetricMetadata) -> tuple[Reading, ...]:
    loss = getattr(item, "loss", None)
    if not isinstance(loss, FloatTensor):
        return ()
    loss = loss.inner()
    return (loss if loss.num_elements() == 1 else loss.mean(),)
