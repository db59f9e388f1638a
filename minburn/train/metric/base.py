"""What a metric is: a reading of every batch, and a number for every epoch.

    measure(item, metadata)   on the device: one-element tensors, numbers, or `Several`; waits for nothing
    record(*readings)         on the host, later: the batch's value enters the running one
    compute()                 the end of a split: the epoch's value
    clear()

The two halves of an update are apart so that a training step never waits for the device: a loop collects the readings
of many batches, fetches them at once, then records them in order (`SplitMeter`). `update` does both, for use by hand.

A metric is one file. Most are weighted means of a number per batch: those derive from `MeanMetric` and define `name`,
`higher_is_better` and `measure`.

Burn: `crates/burn-train/src/metric/{base,state}.rs`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from minburn.tensor import Tensor
from minburn.train.error import TrainingError
from minburn.train.metric.format import rounded, shortest

Reading: TypeAlias = "Tensor | Several | float"
MetricState: TypeAlias = "dict[str, Any]"


class Several(NamedTuple):
    """A reading of all elements of a tensor: `record` gets them as a list, row after row."""

    tensor: Tensor


class MetricMetadata(NamedTuple):
    """Where in the run a batch was: its number in the epoch, from 1, and the learning rate of the last optimizer step
    (0 before the first one)."""

    iteration: int
    lr: float = 0.0


@dataclass(frozen=True, slots=True)
class MetricEntry:
    """A metric's texts: for people, and as a line of its log file (None: no line).

    Burn: `SerializedEntry` in `crates/burn-train/src/metric/base.rs`.
    """

    name: str
    formatted: str
    serialized: str | None


class Metric(ABC):
    """The base of every metric with a number per epoch. Burn: `Numeric` in `crates/burn-train/src/metric/base.rs`."""

    name: str
    unit: str | None = None
    train_only: bool = False  # has nothing to say of a validation
    higher_is_better: bool

    @abstractmethod
    def measure(self, item: Any, metadata: MetricMetadata) -> tuple[Reading, ...]:
        """What `record` will need of a step's output: tensors of one element, `Several`, numbers. Fetches nothing, and
        keeps nothing: where steps are recorded (`Learner(capture=True)`), what it gives to the device is, too."""

    @abstractmethod
    def record(self, *readings: Any) -> None:
        """The fetched readings of one batch: numbers, and lists for `Several`."""

    @abstractmethod
    def value(self) -> float:
        """Of the last batch; NaN before the first."""

    @abstractmethod
    def running_value(self) -> float:
        """Of all batches since `clear()`; NaN if there are none."""

    def final_value(self) -> float:
        """Of the epoch."""
        return self.running_value()

    @abstractmethod
    def clear(self) -> None:
        """Start over: a new epoch. Burn: `NumericMetricState::reset`."""

    @abstractmethod
    def serialized(self) -> str | None:
        """The log line of the last batch, or None for no line."""

    @abstractmethod
    def into_state(self) -> MetricState:
        """Numbers, and lists of them, from which `load_state` goes on in the middle of an epoch."""

    @abstractmethod
    def load_state(self, state: Mapping[str, Any]) -> None: ...

    def formatted(self) -> str:
        """`epoch 1.42 % - batch 0.25 %`."""
        unit = f" {self.unit}" if self.unit else ""
        return f"epoch {rounded(self.running_value())}{unit} - batch {rounded(self.value())}{unit}"

    def entry(self) -> MetricEntry:
        return MetricEntry(self.name, self.formatted(), self.serialized())

    def update(self, item: Any, metadata: MetricMetadata | None = None) -> MetricEntry:
        """`measure`, fetch and `record` in one."""
        self.record(*fetch(self.measure(item, metadata or MetricMetadata(1))))
        return self.entry()

    def compute(self) -> MetricEntry:
        """The end of a split: the line `mean,final`."""
        return MetricEntry(self.name, self.formatted(), f"{shortest(self.final_value())},final")

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class MeanMetric(Metric):
    """Σ value·count / Σ count over the batches. A batch of count 0 leaves the mean alone, whatever its value.

    `measure` returns (value, count), or what `score` makes them of.

    Burn: `NumericMetricState` in `crates/burn-train/src/metric/state.rs`.
    """

    def __init__(self) -> None:
        self.clear()

    def score(self, *readings: Any) -> tuple[float, float]:
        """(value, count) of the fetched readings. Runs on the host in float64."""
        value, count = readings
        return value, count

    def record(self, *readings: Any) -> None:
        """Burn: `NumericMetricState::update`."""
        value, count = self.score(*readings)
        self._value, self._value_count = value, int(count)
        if count > 0:
            self._sum += value * count
            self._count += int(count)

    def value(self) -> float:
        return self._value

    def running_value(self) -> float:
        return self._sum / self._count if self._count else math.nan

    def clear(self) -> None:
        self._value, self._value_count, self._sum, self._count = math.nan, 0, 0.0, 0

    def serialized(self) -> str:
        return f"{shortest(self._value)},{self._value_count}"

    def into_state(self) -> MetricState:
        return {"value": self._value, "value_count": self._value_count, "sum": self._sum, "count": self._count}

    def load_state(self, state: Mapping[str, Any]) -> None:
        try:
            value, value_count = float(state["value"]), int(state["value_count"])
            total, count = float(state["sum"]), int(state["count"])
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            raise TrainingError(f"{self!r}: {state!r} is not the state of such a metric.") from None
        self._value, self._value_count, self._sum, self._count = value, value_count, total, count


def fetch(readings: Sequence[Reading]) -> list[Any]:
    """The numbers behind the readings, in their order, with one transfer per dtype and device; lists for `Several`."""
    numbers: list[Any] = [0.0] * len(readings)
    tables: dict[Any, list[tuple[int, Any]]] = {}
    for place, reading in enumerate(readings):
        tensor = reading.tensor if isinstance(reading, Several) else reading
        if isinstance(tensor, Tensor):
            tables.setdefault(tensor.ops, []).append((place, tensor))
        else:
            numbers[place] = tensor
    for tensors in tables.values():
        joined = Tensor.cat([tensor if tensor.rank == 1 else tensor.reshape(-1) for _, tensor in tensors], 0)
        values, end = joined.numpy().tolist(), 0
        for place, tensor in tensors:
            start, end = end, end + tensor.num_elements()
            if isinstance(readings[place], Several):
                numbers[place] = values[start:end]
            elif end == start + 1:
                numbers[place] = values[start]
            else:
                shapes = ", ".join(str(list(tensor.shape)) for _, tensor in tensors)
                raise TrainingError(f"a metric's readings must have one element each, but their shapes are {shapes}.")
    return numbers


def fetch_groups(batches: Sequence[Sequence[tuple[Reading, ...]]]) -> list[list[list[Any]]]:
    """The numbers of what several batches left to be read, in the same groups: one for each metric."""
    numbers = iter(fetch([reading for groups in batches for group in groups for reading in group]))
    return [[[next(numbers) for _ in group] for group in groups] for groups in batches]


def field_of(item: Any, metric: str, name: str) -> Any:
    """`item.name` without its graph; TrainingError if the step returned something that has no such field.

    Burn: `Adaptor` and `Adaptor::adapt` in `crates/burn-train/src/metric/base.rs`.
    """
    try:
        tensor = getattr(item, name)
    except AttributeError:
        raise TrainingError(
            f"metric {metric}: it reads .{name} of what a step returns, but {type(item).__name__} has none. "
            f"Return a ClassificationOutput, or any object with .{name}."
        ) from None
    if not isinstance(tensor, Tensor):
        raise TrainingError(
            f"metric {metric}: .{name} of what a step returns must be a tensor, not {type(tensor).__name__}."
        )
    return tensor.inner()
