"""Metrics: what Burn computed and printed, numbers in its style, and states that go on in the middle of an epoch."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.tensor import Tensor
from minburn.train import (
    AccuracyMetric,
    ClassificationOutput,
    Direction,
    History,
    LearningRateMetric,
    LossMetric,
    MeanMetric,
    Metric,
    MetricEarlyStoppingStrategy,
    MetricMetadata,
    Split,
    TrainingError,
)
from minburn.train.metric.base import fetch
from minburn.train.metric.format import rounded, shortest

GOLDEN = Path(__file__).parents[1] / "golden" / "train" / "metrics.json"
CASES = {case["name"]: case for case in json.loads(GOLDEN.read_text())["cases"]}
BACKEND = NumPy()


def tensor(data: dict[str, Any]) -> Any:
    values = Tensor.from_data(data["data"], BACKEND, DType.F32 if data["dtype"] == "F32" else DType.I32)
    return values.reshape(data["shape"])


def items_of(case: dict[str, Any]) -> list[Any]:
    if case["metric"] == "Loss":
        return [SimpleNamespace(loss=tensor(data)) for data in case["inputs"]]
    return [SimpleNamespace(output=tensor(pair["outputs"]), targets=tensor(pair["targets"])) for pair in case["inputs"]]


@pytest.mark.parametrize(
    ("name", "metric"),
    [("loss", LossMetric()), ("accuracy_pad0", AccuracyMetric(pad_token=0))],
    ids=["loss", "accuracy"],
)
def test_same_as_burn(name: str, metric: Metric) -> None:
    case = CASES[name]
    assert metric.name == case["metric"]
    unit = f'Some("{metric.unit}")' if metric.unit else "None"
    assert f"unit: {unit}, higher_is_better: {str(metric.higher_is_better).lower()}" in case["attributes"]
    for item, expected in zip(items_of(case), case["updates"], strict=True):
        entry = metric.update(item)
        assert (entry.formatted, entry.serialized) == (expected["formatted"], expected["serialized"])
    entry = metric.compute()
    assert (entry.formatted, entry.serialized) == (case["compute"]["formatted"], case["compute"]["serialized"])
    assert f"Final({metric.final_value()})" == case["final"]
    metric.clear()
    assert math.isnan(metric.running_value())


@pytest.mark.parametrize("name", CASES)
def test_state_goes_on_in_the_middle(name: str) -> None:
    def make() -> Metric:
        return LossMetric() if name == "loss" else AccuracyMetric(pad_token=0)

    whole, first, second = make(), make(), make()
    items = items_of(CASES[name])
    for item in items:
        whole.update(item)
    first.update(items[0])
    second.load_state(json.loads(json.dumps(first.into_state())))
    second.update(items[1])
    assert second.compute() == whole.compute()


def test_accuracy_without_padding_counts_all() -> None:
    output = Tensor.from_data([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]], Autodiff(BACKEND))
    targets = Tensor.from_data([1, 1, 1], Autodiff(BACKEND))
    entry = AccuracyMetric().update(ClassificationOutput(output.sum(), output, targets))
    assert entry.serialized == "66.66666666666667,3"


def test_learning_rate_is_of_the_batch() -> None:
    metric = LearningRateMetric()
    metric.update(None, MetricMetadata(1, 0.5))
    assert metric.update(None, MetricMetadata(2, 0.25)).serialized == "0.25,1"
    assert metric.compute().serialized == "0.375,final"


def test_readings_are_fetched_in_order() -> None:
    readings = [
        Tensor.from_data([1.5], BACKEND),
        2,
        Tensor.from_data([3], BACKEND),
        Tensor.from_data([[4.5]], BACKEND),
        Tensor.from_data([True], BACKEND),
    ]
    assert fetch(readings) == [1.5, 2, 3, 4.5, True]
    with pytest.raises(TrainingError, match=r"one element each, but their shapes are \[2\]"):
        fetch([Tensor.from_data([1.0, 2.0], BACKEND)])


def test_an_item_without_the_field_is_explained() -> None:
    with pytest.raises(TrainingError, match=r"metric Accuracy: it reads \.output of what a step returns, but dict has"):
        AccuracyMetric().update({"loss": 1})
    wrong = SimpleNamespace(output=Tensor.zeros([2, 3, 4], BACKEND), targets=Tensor.zeros([2], BACKEND, DType.I32))
    with pytest.raises(TrainingError, match=r"\[N, C\] and targets \[N\], but they are \[2, 3, 4\] and \[2\]"):
        AccuracyMetric().update(wrong)


def test_a_metric_of_ones_own_is_a_name_and_a_measure() -> None:
    class Confidence(MeanMetric):
        name = "Confidence"
        higher_is_better = True

        def measure(self, item: Any, metadata: MetricMetadata) -> tuple[Any, ...]:
            return item.output.max(), item.output.shape[0]

    assert Confidence().update(SimpleNamespace(output=Tensor.from_data([[0.5], [2.0]], BACKEND))).serialized == "2,2"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "-0"),
        (0.5, "0.5"),
        (1e-7, "0.0000001"),
        (1.5e21, "1500000000000000000000"),
        (5e-324, "0." + "0" * 323 + "5"),
        (math.nan, "NaN"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (1.1722831726074219, "1.1722831726074219"),
    ],
)
def test_shortest_decimals(value: float, text: str) -> None:
    assert shortest(value) == text


@given(st.floats(allow_nan=False))
def test_shortest_decimals_read_back(value: float) -> None:
    text = shortest(value)
    assert float(text) == value
    assert "e" not in text


@pytest.mark.parametrize(
    ("value", "text"),
    [(60.0, "60.00"), (0.1, "1.00e-1"), (0.101, "0.10"), (0.0, "0.00e0"), (-1.5, "-1.50e0"), (math.nan, "NaN")],
)
def test_rounded_decimals(value: float, text: str) -> None:
    assert rounded(value) == text


def test_early_stopping_follows_burns_rule() -> None:
    def stops(values: list[float], patience: int, warmup: int | None = None) -> int | None:
        strategy = MetricEarlyStoppingStrategy("Loss", no_improvement_since=patience, warmup_epochs=warmup)
        history = History()
        for epoch, value in enumerate(values, start=1):
            history.add_epoch(epoch, {"valid": {"Loss": value}})
            again = MetricEarlyStoppingStrategy("Loss", no_improvement_since=patience, warmup_epochs=warmup)
            again.load_state(strategy.into_state())  # as if resumed after every epoch
            strategy = again
            if strategy.should_stop(epoch, history):
                return epoch
        return None

    assert stops([3, 2, 2, 2], 2) == 4  # a tie is no improvement
    assert stops([3, 2, 2, 1, 2], 2) is None
    assert stops([3, 4, 4, 4, 2], 1, warmup=4) is None
    assert stops([3, 4, 4, 4, 5], 1, warmup=4) == 5
    assert stops([math.nan, math.nan], 1) == 2
    assert stops([1, math.nan, math.nan], 2) == 3
    missing = MetricEarlyStoppingStrategy("Other", no_improvement_since=1)
    assert not missing.should_stop(9, History())
    highest = MetricEarlyStoppingStrategy(AccuracyMetric(), Direction.Highest, Split.Train, no_improvement_since=1)
    history = History({"train": {"Accuracy": [50.0, 40.0]}})
    assert [highest.should_stop(epoch, history) for epoch in (1, 2)] == [False, True]
    with pytest.raises(TrainingError, match="at least 1 epoch, but got 0"):
        MetricEarlyStoppingStrategy("Loss", no_improvement_since=0)


def test_history_fills_and_compares() -> None:
    history = History()
    history.add_epoch(2, {"valid": {"Loss": 1.0}})
    assert math.isnan(history["valid"]["Loss"][0])
    assert history == History(history.into_dict())
    assert history != History({"valid": {"Loss": [1.0, 1.0]}})
    assert history.epochs == 2
    assert history.value("valid", "Loss", 2) == 1.0
    assert history.value("valid", "Loss", 3) is None
    assert history.find_epoch("Loss", Direction.Lowest, Split.Valid) == 2
    assert history.find_epoch("Loss", Direction.Lowest, Split.Train) is None
