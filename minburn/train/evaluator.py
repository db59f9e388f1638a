"""What metrics say of a model on data that it was not trained on.

    evaluator = Evaluator(result.model, [LossMetric(), AccuracyMetric()])
    evaluator.eval(test_loader).values["Accuracy"]
    evaluator.eval_all({"digits": digits_loader, "letters": letters_loader})

Each set is an epoch of its own: metrics start anew, and their final values are those of the set. (Burn's evaluator
never computes them: running values go on from one set to the next, and AUROC has none.)

Burn: `crates/burn-train/src/evaluator/{base,builder}.rs`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minburn.module import Module
from minburn.train.error import TrainingError
from minburn.train.interrupt import Interrupter
from minburn.train.meter import MAX_PENDING
from minburn.train.metric import Metric, MetricEntry, MetricMetadata
from minburn.train.metric.base import fetch_groups
from minburn.train.options import Loader, check_metrics, open_batches


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """A set's values by the names of the metrics, and their texts. interrupted: the reason, if not all was seen."""

    values: dict[str, float]
    entries: dict[str, MetricEntry]
    interrupted: str | None = None

    def __getitem__(self, metric: str) -> float:
        """`values[metric]`."""
        return self.values[metric]

    def __str__(self) -> str:
        """`Loss 0.1711, Accuracy 96.38`."""
        return ", ".join(f"{name} {value:.4g}" for name, value in self.values.items())

    def __repr__(self) -> str:
        return f"EvaluationResult({self}{'' if self.interrupted is None else f', interrupted: {self.interrupted}'})"


class Evaluator:
    """A model with `inference_step(batch) -> item`, as it is in use (`valid()`), and the metrics that read the items.

    metrics: one object each; every set gets copies. interrupter: to stop from elsewhere, between two batches.
    TrainingError for a model without the step, or metrics that are none or share a name.

    Burn: `EvaluatorBuilder`, `EvaluatorBuilder::build`.
    """

    def __init__(self, model: Module, metrics: Sequence[Metric], interrupter: Interrupter | None = None) -> None:
        if not isinstance(model, Module) or not callable(getattr(model, "inference_step", None)):
            raise TrainingError(
                f"Evaluator: {type(model).__name__} has no inference_step. Define inference_step(batch), which returns "
                "the item that the metrics read."
            )
        check_metrics(metrics, "Evaluator")
        self.model: Any = model.valid()
        self.metrics = tuple(metrics)
        self.interrupter = interrupter or Interrupter()

    def eval(self, loader: Loader | Iterable[Any]) -> EvaluationResult:
        """The values of the metrics over the batches of a loader's first epoch, or of any iterable."""
        metrics = [copy.deepcopy(metric) for metric in self.metrics]
        for metric in metrics:
            metric.clear()
        with open_batches(loader) as batches:
            waiting: list[Any] = []
            for number, batch in enumerate(batches, start=1):
                item = self.model.inference_step(batch)
                waiting.append([metric.measure(item, MetricMetadata(number)) for metric in metrics])
                if len(waiting) >= MAX_PENDING:
                    record(metrics, waiting)
                if self.interrupter.should_stop():
                    break
            record(metrics, waiting)
        entries = {metric.name: metric.compute() for metric in metrics}
        values = {metric.name: metric.final_value() for metric in metrics}
        return EvaluationResult(values, entries, self.interrupter.reason if self.interrupter.should_stop() else None)

    def eval_all(self, loaders: Mapping[str, Loader | Iterable[Any]]) -> dict[str, EvaluationResult]:
        """The results of several sets by their names; those after an interruption are missing."""
        results: dict[str, EvaluationResult] = {}
        for name, loader in loaders.items():
            if self.interrupter.should_stop():
                break
            results[name] = self.eval(loader)
        return results

    def __repr__(self) -> str:
        return f"Evaluator({type(self.model).__name__}, {list(self.metrics)!r})"


def record(metrics: Sequence[Metric], waiting: list[Any]) -> None:
    """Fetch what the batches left to be read, all at once, and record it in order."""
    for groups in fetch_groups(waiting):
        for metric, values in zip(metrics, groups, strict=True):
            metric.record(*values)
    waiting.clear()
