"""Areas under curves: how well scores put what is true above what is not, whatever the threshold.

They are numbers of a whole epoch: all scores are kept until its end, and a batch has no value of its own.

Burn: `crates/burn-train/src/metric/{auroc,auc_pr}.rs`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minburn.train.error import TrainingError
from minburn.train.metric.base import Metric, MetricEntry, MetricMetadata, MetricState, Reading, Several
from minburn.train.metric.confusion import ClassReduction
from minburn.train.metric.format import rounded, shortest
from minburn.train.metric.reading import marks_of

Scores = NDArray[np.float64]
Marks = NDArray[np.bool_]


class AreaMetric(Metric):
    """A number in percent of all scores of an epoch, `item.output` [N, C] with `item.targets` [N] or [N, C].

    Macro is the mean over the classes for which it is defined, Micro takes all classes together; 50 if it is defined
    for none.

    Burn: `PredictionAccumulatorState` in `crates/burn-train/src/metric/state.rs`.
    """

    unit = "%"
    higher_is_better = True
    TITLE: str

    _columns: int  # 0 before the first batch
    _scores: list[float]
    _true: list[bool]

    def __init__(self, class_reduction: ClassReduction = ClassReduction.Macro) -> None:
        self.class_reduction = ClassReduction(class_reduction)
        self.name = f"{self.TITLE} [{self.class_reduction.name}]"
        self.clear()

    @abstractmethod
    def area(self, scores: Scores, true: Marks) -> float:
        """Of one class, between 0 and 1; NaN if it is not defined."""

    def measure(self, item: Any, metadata: MetricMetadata) -> tuple[Reading, ...]:
        output, true = marks_of(item, self.name)
        return (output.shape[1], Several(output), Several(true))

    def record(self, *readings: Any) -> None:
        columns, scores, true = readings
        if self._columns not in (0, columns):
            raise TrainingError(f"metric {self.name}: a batch of {columns} classes after batches of {self._columns}.")
        self._columns = int(columns)
        self._scores += scores
        self._true += true

    def value(self) -> float:
        """NaN: a batch has none."""
        return math.nan

    def running_value(self) -> float:
        """Of the epoch so far."""
        if not self._scores:
            return math.nan
        width = self._columns if self.class_reduction is ClassReduction.Macro else 1
        scores, true = np.array(self._scores).reshape(-1, width), np.array(self._true, dtype=bool).reshape(-1, width)
        areas = [self.area(*column) for column in zip(scores.T, true.T, strict=True)]
        known = [area for area in areas if not math.isnan(area)]
        return 100.0 * (sum(known) / len(known) if known else 0.5)

    def clear(self) -> None:
        self._columns, self._scores, self._true = 0, [], []

    def serialized(self) -> None:
        """No line for a batch."""

    def formatted(self) -> str:
        """Until the end of the epoch there is nothing to show: the number would be computed for every display."""
        return "epoch N/A % - batch N/A %"

    def compute(self) -> MetricEntry:
        """The end of a split: the line of the one value."""
        if not self._scores:
            return self.entry()
        value = self.final_value()
        return MetricEntry(self.name, f"epoch {rounded(value)} % - batch N/A %", shortest(value))

    def into_state(self) -> MetricState:
        return {"columns": self._columns, "scores": list(self._scores), "true": list(map(float, self._true))}

    def load_state(self, state: Mapping[str, Any]) -> None:
        try:
            columns = int(state["columns"])
            scores, true = [float(score) for score in state["scores"]], [bool(mark) for mark in state["true"]]
        except (KeyError, TypeError, ValueError, OverflowError):
            columns, scores, true = 0, [0.0], []
        if len(scores) != len(true) or (scores and (columns < 1 or len(scores) % columns)):
            raise TrainingError(f"{self!r}: what was saved is not the state of such a metric.")
        self._columns, self._scores, self._true = columns, scores, true

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.class_reduction.name})"


class AurocMetric(AreaMetric):
    """The share of pairs, one true and one not, in which the true one has the higher score; equal ones count half.

    A score that is NaN wins no pair.
    """

    TITLE = "AUROC"

    def area(self, scores: Scores, true: Marks) -> float:
        positives, negatives = int(true.sum()), int((~true).sum())
        if not positives or not negatives:
            return math.nan
        known = ~np.isnan(scores)
        wins, losers = scores[known & true], np.sort(scores[known & ~true])
        below, upto = np.searchsorted(losers, wins, "left"), np.searchsorted(losers, wins, "right")
        return int(below.sum() + upto.sum()) / (2 * positives * negatives)


class AucPrMetric(AreaMetric):
    """The mean precision at the scores of what is true: of all that score as high or higher, how much is true."""

    TITLE = "AUC-PR"

    def area(self, scores: Scores, true: Marks) -> float:
        positives = int(true.sum())
        if not positives:
            return math.nan
        order = np.argsort(-scores, kind="stable")
        scores, true = scores[order], true[order]
        ends = np.searchsorted(-scores, -scores, "right")  # equal scores enter together
        precision = np.cumsum(true)[ends - 1] / ends
        return float(precision[true].sum() / positives)
