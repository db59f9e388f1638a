"""Precision, recall and F-scores: ratios of how often a class was found, missed, and found where it is not.

    predicted   output > threshold, or among the top_k largest of its row
    TP, FP, FN  predicted and true, predicted and not true, true and not predicted, counted per class

The counts are summed over an epoch, and the ratio is taken of the sums. Macro is the mean of the classes' ratios, Micro
the ratio of all classes' counts together. Ratios are computed in float32, as Burn does.

Burn: `crates/burn-train/src/metric/{precision,recall,fbetascore,confusion_stats,classification}.rs`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from minburn.tensor import BoolTensor, FloatTensor, Tensor
from minburn.train.error import TrainingError
from minburn.train.metric.base import Metric, MetricMetadata, MetricState, Reading, Several
from minburn.train.metric.format import shortest
from minburn.train.metric.reading import marks_of

Counts = NDArray[np.floating[Any]]
S = TypeVar("S", bound="ConfusionMetric")


class ClassReduction(Enum):
    """How the classes become one number: Macro, the mean of their ratios, or Micro, the ratio of all counts."""

    Macro = "Macro"
    Micro = "Micro"


class ConfusionMetric(Metric):
    """A ratio of TP, FP and FN, in percent, of `item.output` [N, C] and `item.targets` [N] or [N, C].

    top_k: the k largest of a row are predicted, or else, what is above the threshold (0.5 if neither is given). A
    threshold is for probabilities; logits of classes that exclude each other need top_k=1, `.multiclass()`.
    TrainingError if both are given, or top_k is less than 1.

    Burn: `ConfusionStatsState` in `crates/burn-train/src/metric/state.rs`.
    """

    unit = "%"
    higher_is_better = True

    _counts: NDArray[np.float64] | None  # of the last batch
    _sums: NDArray[np.float64] | None  # of the epoch so far

    def __init__(
        self,
        *,
        threshold: float | None = None,
        top_k: int | None = None,
        class_reduction: ClassReduction = ClassReduction.Macro,
    ) -> None:
        if top_k is not None and (threshold is not None or top_k < 1):
            raise TrainingError(
                f"{type(self).__name__}: give a threshold, or a top_k of at least 1; "
                f"got threshold={threshold}, top_k={top_k}."
            )
        self.threshold = 0.5 if threshold is None else float(threshold)
        self.top_k = top_k
        self.class_reduction = ClassReduction(class_reduction)
        rule = f"Threshold({self.threshold})" if top_k is None else f"TopK({top_k})"
        self.name = f"{self.title()} @ {rule} [{self.class_reduction.name}]"
        self.clear()

    @abstractmethod
    def title(self) -> str:
        """The first words of its name."""

    @abstractmethod
    def ratio(self, tp: Counts, fp: Counts, fn: Counts) -> Counts:
        """Of each class. NaN where there is none: such a class is left out of the mean."""

    def measure(self, item: Any, metadata: MetricMetadata) -> tuple[Reading, ...]:
        output, true = marks_of(item, self.name)
        predicted = self._predicted(output)
        counts = [predicted & true, predicted & true.bool_not(), predicted.bool_not() & true]
        return (output.shape[0], Several(Tensor.cat([count.int().sum_dim(0) for count in counts], 0)))

    def _predicted(self, output: FloatTensor) -> BoolTensor:
        if self.top_k is None:
            return output.greater_scalar(self.threshold)
        if self.top_k > output.shape[1]:
            raise TrainingError(f"metric {self.name}: there are only {output.shape[1]} classes.")
        best = output.argsort_descending(1).narrow(1, 0, self.top_k)
        return output.zeros_like().scatter(1, best, output.ones_like().narrow(1, 0, self.top_k), "add").bool()

    def record(self, *readings: Any) -> None:
        count, counts = readings
        self._value_count = int(count)
        batch = np.array(counts, dtype=np.float64).reshape(3, -1)
        if self._sums is not None and self._sums.shape != batch.shape:
            raise TrainingError(
                f"metric {self.name}: a batch of {batch.shape[1]} classes after batches of {self._sums.shape[1]}."
            )
        self._counts, self._sums = batch, batch if self._sums is None else self._sums + batch

    def value(self) -> float:
        return self._of(self._counts)

    def running_value(self) -> float:
        return self._of(self._sums)

    def _of(self, counts: NDArray[np.float64] | None) -> float:
        if counts is None:
            return math.nan
        if self.class_reduction is ClassReduction.Micro:
            counts = counts.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = self.ratio(*counts.astype(np.float32)) * np.float32(100.0)
        known = ratios[~np.isnan(ratios)]
        return float(known.mean()) if known.size else math.nan

    def clear(self) -> None:
        self._value_count = 0
        self._counts = self._sums = None

    def serialized(self) -> str:
        return f"{shortest(self.value())},{self._value_count}"

    def into_state(self) -> MetricState:
        lists = [[] if counts is None else counts.ravel().tolist() for counts in (self._counts, self._sums)]
        return {"value_count": self._value_count, "counts": lists[0], "sums": lists[1]}

    def load_state(self, state: Mapping[str, Any]) -> None:
        try:
            self._value_count = int(state["value_count"])
            counts, sums = (np.array(state[name], dtype=np.float64).reshape(3, -1) for name in ("counts", "sums"))
        except (KeyError, TypeError, ValueError, OverflowError):
            raise TrainingError(f"{self!r}: {state!r} is not the state of such a metric.") from None
        self._counts, self._sums = (counts, sums) if counts.size else (None, None)

    def __repr__(self) -> str:
        rule = f"threshold={self.threshold}" if self.top_k is None else f"top_k={self.top_k}"
        return f"{type(self).__name__}({rule}, class_reduction={self.class_reduction.name})"


class _OfRules(ConfusionMetric):
    """Burn's three constructors, for the metrics that have no other settings."""

    @classmethod
    def binary(cls: type[S], threshold: float = 0.5) -> S:
        """Of one column of scores."""
        return cls(threshold=threshold)

    @classmethod
    def multiclass(cls: type[S], top_k: int = 1, class_reduction: ClassReduction = ClassReduction.Macro) -> S:
        """Of classes that exclude each other: the k best are predicted."""
        return cls(top_k=top_k, class_reduction=class_reduction)

    @classmethod
    def multilabel(cls: type[S], threshold: float = 0.5, class_reduction: ClassReduction = ClassReduction.Macro) -> S:
        """Of labels that may be true together."""
        return cls(threshold=threshold, class_reduction=class_reduction)


class PrecisionMetric(_OfRules):
    """100 · TP / (TP + FP): how much of what was predicted is true. 0 where nothing was.

    Of logits of several classes: `PrecisionMetric.multiclass()`. Without arguments `output` is compared with 0.5.
    """

    def title(self) -> str:
        return "Precision"

    def ratio(self, tp: Counts, fp: Counts, fn: Counts) -> Counts:
        return share(tp, tp + fp)


class RecallMetric(_OfRules):
    """100 · TP / (TP + FN): how much of what is true was predicted. 0 where nothing is."""

    def title(self) -> str:
        return "Recall"

    def ratio(self, tp: Counts, fp: Counts, fn: Counts) -> Counts:
        return share(tp, tp + fn)


class FBetaScoreMetric(ConfusionMetric):
    """100 · (1 + β²) TP / ((1 + β²) TP + β² FN + FP): precision and recall in one, recall β times as important.

    A class that is neither true nor predicted has none. TrainingError unless β is finite and greater than 0.
    """

    def __init__(
        self,
        beta: float = 1.0,
        *,
        threshold: float | None = None,
        top_k: int | None = None,
        class_reduction: ClassReduction = ClassReduction.Macro,
    ) -> None:
        if not (math.isfinite(beta) and beta > 0):
            raise TrainingError(f"FBetaScoreMetric: beta must be finite and greater than 0, but got {beta}.")
        self.beta = float(beta)
        super().__init__(threshold=threshold, top_k=top_k, class_reduction=class_reduction)

    @staticmethod
    def binary(beta: float = 1.0, threshold: float = 0.5) -> FBetaScoreMetric:
        """Of one column of scores."""
        return FBetaScoreMetric(beta, threshold=threshold)

    @staticmethod
    def multiclass(
        beta: float = 1.0, top_k: int = 1, class_reduction: ClassReduction = ClassReduction.Macro
    ) -> FBetaScoreMetric:
        """Of classes that exclude each other: the k best are predicted."""
        return FBetaScoreMetric(beta, top_k=top_k, class_reduction=class_reduction)

    @staticmethod
    def multilabel(
        beta: float = 1.0, threshold: float = 0.5, class_reduction: ClassReduction = ClassReduction.Macro
    ) -> FBetaScoreMetric:
        """Of labels that may be true together."""
        return FBetaScoreMetric(beta, threshold=threshold, class_reduction=class_reduction)

    def title(self) -> str:
        return f"FBetaScore ({shortest(self.beta)})"

    def ratio(self, tp: Counts, fp: Counts, fn: Counts) -> Counts:
        square = np.float32(self.beta**2)
        scaled = tp * np.float32(1.0 + self.beta**2)
        return scaled / (scaled + fn * square + fp)

    def __repr__(self) -> str:
        return super().__repr__().replace("(", f"(beta={self.beta}, ", 1)


def share(part: Counts, whole: Counts) -> Counts:
    """part / whole, 0 of nothing."""
    return part / np.maximum(whole, np.float32(1.0))
