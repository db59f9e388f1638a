"""Recorded steps: what no comparison of two steps could find, and what must not end a run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from capture_models import Batches, Net, net, start, train, weights
from device import EMULATED

from minburn import FloatTensor
from minburn.optim import (
    AdamConfig,
    ConstantLrConfig,
    LrSchedulerRecord,
    SequentialLrSchedulerConfig,
    SgdConfig,
)
from minburn.train import CaptureWarning, Learner, LossMetric, TrainOutput


def both(folder: Path, learner: Any, loader: Any = None, **options: Any) -> list[str]:
    """The warnings of a recorded run, which ends as an ordinary one does. learner: makes one, given `capture`."""
    ends, told = [], []
    for capture in (False, True):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            made = learner(capture)
            batches = None if loader is None else loader(made.backend)
            ends.append(weights(train(folder / str(capture), made, batches, **options).model))
        told = [
            str(one.message).rpartition("cannot be recorded: ")[2] for one in found if one.category is CaptureWarning
        ]
    for one, two in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, two)
    return told


class WeightNet(Net):
    def train_step(self, batch: Any) -> TrainOutput:
        output = super().train_step(batch)
        output.item["weight"] = self.last.weight.value
        return output


class WeightWatch(LossMetric):
    seen: ClassVar[list[Any]] = []  # of the class: a launch copies its metrics

    def measure(self, item: Any, metadata: Any) -> Any:
        if "weight" in item:
            self.seen.append((metadata.iteration, item["weight"].inner().numpy().tolist()))
        return (0.0, 1)


def test_an_item_has_the_parameters_of_before_the_step(tmp_path: Path) -> None:
    """Even if the recorded step changes none, as its rate is 0."""
    found = []

    def learner(capture: bool) -> Learner[Any]:
        found.append(WeightWatch.seen[:])
        WeightWatch.seen.clear()
        rates = [ConstantLrConfig(0.0), ConstantLrConfig(0.1)]
        schedule = SequentialLrSchedulerConfig(rates, [5]).init()
        return Learner(WeightNet(**vars(net(start()))), AdamConfig().init(), schedule, capture=capture)

    assert both(tmp_path, learner, metrics=[WeightWatch()]) == []
    assert WeightWatch.seen[-6:] == found[1][-6:]
    assert found[1][-1] != found[1][-2]


class OwnRates:
    """Cannot be copied."""

    def __init__(self) -> None:
        self.rates = (0.1 for _ in range(100))

    def step(self) -> float:
        return next(self.rates)

    def into_record(self) -> LrSchedulerRecord:
        return LrSchedulerRecord()

    def load_record(self, record: LrSchedulerRecord) -> OwnRates:
        return self


def test_a_schedule_that_cannot_be_copied(tmp_path: Path) -> None:
    [text] = both(tmp_path, lambda capture: Learner(net(start()), SgdConfig().init(), OwnRates(), capture=capture))
    assert text == "its schedule cannot be copied (TypeError: cannot pickle 'generator' object)."


@pytest.mark.skipif(not EMULATED, reason="how much memory there is is known on the emulated device only")
def test_no_memory_for_a_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minburn.backends.cupy_ops.capture._room", lambda array: 1 << 40)
    [text] = both(tmp_path, lambda capture: Learner(net(start()), SgdConfig().init(), 0.1, capture=capture))
    assert text.startswith("there is no memory for it: copies: cuda:0 is out of memory: ")
    assert text.endswith("BalancedCheckpointing.")


class Factor(tuple[Any, ...]):
    factor = 1.0


class FactorNet(Net):
    def train_step(self, batch: Any) -> TrainOutput:
        inputs, targets = batch
        return super().train_step((inputs * batch.factor, targets))


class Factors(Batches):
    def iter_epoch(self, epoch: int, start_batch: int = 0) -> Iterator[Any]:
        for number, batch in enumerate(super().iter_epoch(epoch, start_batch)):
            made = Factor(batch)
            made.factor = 1.0 if number < 5 else 2.0
            yield made


def test_a_batch_with_attributes_runs_as_usual(tmp_path: Path) -> None:
    def learner(capture: bool) -> Learner[Any]:
        return Learner(FactorNet(**vars(net(start()))), SgdConfig().init(), 0.1, capture=capture)

    assert both(tmp_path, learner, Factors) == ["it has a Factor with attributes."]


def test_an_item_that_contains_itself(tmp_path: Path) -> None:
    around: dict[str, Any] = {}
    around["around"] = around
    [text] = both(
        tmp_path, lambda capture: Learner(net(start(), lambda _: around), SgdConfig().init(), 0.1, capture=capture)
    )
    assert text == "it has a dict that contains itself."


class Host:
    """What a metric may read beside the item."""

    number = 0
    kept: ClassVar[list[Any]] = []


class HostMetric(LossMetric):
    name = "Host"

    def measure(self, item: Any, metadata: Any) -> Any:
        return (float(Host.number), 1)


class KeepingMetric(LossMetric):
    name = "Keeping"

    def measure(self, item: Any, metadata: Any) -> Any:
        Host.kept.append(item)
        return (0.0, 1)


class Counting(Batches):
    def iter_epoch(self, epoch: int, start_batch: int = 0) -> Iterator[Any]:
        for number, batch in enumerate(super().iter_epoch(epoch, start_batch)):
            Host.number = number // 5
            yield batch


def test_a_metric_that_reads_the_host_is_asked_every_time(tmp_path: Path) -> None:
    def learner(capture: bool) -> Learner[Any]:
        return Learner(net(start()), SgdConfig().init(), 0.1, capture=capture)

    assert both(tmp_path, learner, Counting, metrics=[HostMetric()]) == []
    logs = [(tmp_path / str(capture) / "train" / "epoch-1" / "Host.log").read_text() for capture in (False, True)]
    assert logs[0] == logs[1]
    assert "1" in logs[0]


def test_a_metric_that_keeps_items_has_those_of_all_steps(tmp_path: Path) -> None:
    losses = []

    def learner(capture: bool) -> Learner[Any]:
        losses.append(kept())
        return Learner(net(start()), SgdConfig().init(), 0.1, capture=capture)

    def kept() -> list[Any]:
        found = [item["loss"].numpy().tolist() for item in Host.kept if isinstance(item, dict)]
        Host.kept.clear()
        return found

    assert both(tmp_path, learner, metrics=[KeepingMetric()]) == []
    assert kept()[-6:] == losses[1][-6:]


class CachingNet(Net):
    @cached_property
    def size(self) -> FloatTensor:
        weight = self.last.weight.value
        return weight.inner().abs().sum().autodiff(weight.backend)

    def train_step(self, batch: Any) -> TrainOutput:
        inputs, targets = batch
        return super().train_step((inputs * self.size.reshape([1, 1]), targets))


def test_what_a_model_caches_of_its_parameters_is_computed_in_every_step(tmp_path: Path) -> None:
    def learner(capture: bool) -> Learner[Any]:
        return Learner(CachingNet(**vars(net(start()))), SgdConfig().init(), 0.1, capture=capture)

    assert both(tmp_path, learner) == []
