"""Metrics: what they read and refuse, numbers in Burn's style, early stopping. Burn's results: the golden test."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.pack import Reader
from minburn.tensor import Tensor
from minburn.train import (
    AccuracyMetric,
    AucPrMetric,
    AurocMetric,
    BleuScore,
    CharErrorRate,
    ClassificationOutput,
    Direction,
    FBetaScoreMetric,
    HammingScore,
    History,
    LearningRateMetric,
    MeanMetric,
    Metric,
    MetricEarlyStoppingStrategy,
    MetricMetadata,
    PerplexityMetric,
    PrecisionMetric,
    RecallMetric,
    RougeLScore,
    SequenceOutput,
    Several,
    Split,
    TopKAccuracyMetric,
    TrainingError,
    WordErrorRate,
)
from minburn.train.checkpoint.state_codec import decode_state, encode_state
from minburn.train.metric.base import fetch
from minburn.train.metric.format import rounded, shortest
from minburn.train.metric.sequence import common_length, edit_distance

BACKEND = NumPy()


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
    two = Tensor.from_data([[1.0], [2.0]], BACKEND)
    assert fetch([Several(two), readings[2], Several(Tensor.from_data([True, False], BACKEND)), readings[0]]) == [
        *([1.0, 2.0], 3, [True, False], 1.5)
    ]
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
    assert (
        history.find_epoch("Loss", Direction.Lowest, Split.Valid) == history.find_epoch("Loss", "lowest", "valid") == 2
    )
    assert history.find_epoch("Loss", Direction.Lowest, Split.Train) is None


def test_tokens_and_their_logits_are_one_item() -> None:
    logits = Tensor.random([2, 3, 5], BACKEND)
    best = logits.argmax(2).squeeze_dim(2)
    item = SequenceOutput(logits.sum(), logits, targets=best)
    for metric in (AccuracyMetric(), TopKAccuracyMetric(), RougeLScore(), BleuScore(3)):
        assert metric.update(item).formatted.startswith("epoch 100.00 %"), metric
    assert WordErrorRate().update(item).serialized == "0,6"
    other = SequenceOutput(logits.sum(), logits, targets=best, predictions=best + 5)  # nowhere equal, however shifted
    assert CharErrorRate().update(other).serialized == "100,6"
    metric = PerplexityMetric()
    metric.update(SequenceOutput(logits.sum(), logits.zeros_like(), targets=best))
    assert metric.value() == pytest.approx(5.0)


TOKENS = st.lists(st.integers(0, 3), max_size=7)


@given(TOKENS, TOKENS, TOKENS)
def test_the_edit_distance_is_a_distance(a: list[int], b: list[int], c: list[int]) -> None:
    assert edit_distance(a, b) == edit_distance(b, a)
    assert (edit_distance(a, b) == 0) == (a == b)
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)
    assert edit_distance(a, []) == len(a)
    assert len(a) + len(b) - 2 * common_length(a, b) >= edit_distance(a, b)
    assert common_length(a, a + b) == len(a)


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=12))
def test_areas_are_those_of_their_definitions(samples: list[tuple[int, bool]]) -> None:
    scores, true = np.array([float(score) for score, _ in samples]), np.array([mark for _, mark in samples])
    pairs = [(p, n) for p in scores[true] for n in scores[~true]]
    roc, precision = AurocMetric().area(scores, true), AucPrMetric().area(scores, true)
    if pairs:
        assert roc == pytest.approx(sum((p > n) + 0.5 * (p == n) for p, n in pairs) / len(pairs))
    else:
        assert math.isnan(roc)
    if true.any():
        assert precision == pytest.approx(np.mean([true[scores >= score].mean() for score in scores[true]]))
    else:
        assert math.isnan(precision)


def test_an_area_that_is_not_defined_is_a_half_and_nan_wins_nothing() -> None:
    output = Tensor.from_data([[0.5], [0.7]], BACKEND)
    metric = AurocMetric()
    metric.update(SimpleNamespace(output=output, targets=Tensor.from_data([1, 1], BACKEND)))
    assert metric.final_value() == 50.0
    scores = Tensor.from_data([[np.nan], [0.7]], BACKEND)
    metric.clear()
    metric.update(SimpleNamespace(output=scores, targets=Tensor.from_data([1, 0], BACKEND)))
    assert metric.final_value() == 0.0


def test_states_of_long_lists_survive_a_file() -> None:
    metric = AucPrMetric()
    output = Tensor.random([20, 3], BACKEND)
    metric.update(SimpleNamespace(output=output, targets=output.greater_scalar(0.4).int()))
    with Reader.from_bytes(encode_state({"metrics": {metric.name: metric.into_state()}}).into_bytes()) as reader:
        state = decode_state(reader, "here")["metrics"][metric.name]
    value = metric.final_value()
    metric.clear()
    metric.load_state(state)
    assert metric.final_value() == value


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: TopKAccuracyMetric(0), "k must be at least 1, but got 0"),
        (lambda: BleuScore(0), "max_n must be at least 1, but got 0"),
        (lambda: BleuScore(smoothing="none"), "a number, 'exponential' or None, but got 'none'"),
        (lambda: PrecisionMetric(threshold=0.5, top_k=1), "give a threshold, or a top_k of at least 1"),
        (lambda: RecallMetric.multiclass(0), "got threshold=None, top_k=0"),
        (lambda: FBetaScoreMetric(0.0), "beta must be finite and greater than 0, but got 0.0"),
    ],
)
def test_wrong_settings_are_refused(call: Any, says: str) -> None:
    with pytest.raises(TrainingError, match=says):
        call()


@pytest.mark.parametrize(
    ("metric", "says"),
    [
        (TopKAccuracyMetric(3), "there are only 2 classes"),
        (PrecisionMetric.multiclass(3), "there are only 2 classes"),
        (HammingScore(), r"output must be floats \[N, C\] and targets ints \[N\] or \[N, C\], but they are \[2, 2\]"),
        (AurocMetric(), r"but they are \[2, 2\] and \[2, 1\]"),
        (WordErrorRate(), r"predictions and targets must be ints \[B, T\], but they are \[2\] and \[2, 1\]"),
    ],
)
def test_items_that_do_not_fit_are_explained(metric: Metric, says: str) -> None:
    targets = Tensor.from_data([0, 1] if "classes" in says else [[0], [1]], BACKEND)
    with pytest.raises(TrainingError, match=says):
        metric.update(SimpleNamespace(output=Tensor.zeros([2, 2], BACKEND), targets=targets))


def test_batches_of_other_classes_are_refused() -> None:
    for metric in (RecallMetric(), AurocMetric()):
        for columns in (2, 3):
            item = SimpleNamespace(
                output=Tensor.zeros([1, columns], BACKEND), targets=Tensor.zeros([1], BACKEND, DType.I32)
            )
            if columns == 2:
                metric.update(item)
            else:
                with pytest.raises(TrainingError, match="a batch of 3 classes after batches of 2"):
                    metric.update(item)
