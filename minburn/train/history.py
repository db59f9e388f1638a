"""The numbers of a run: for each split and metric, one per finished epoch. No time of day, no duration: two runs of one
program have equal histories.

    history["valid"]["Accuracy"][-1]        the last epoch's
    history["train"]["Loss"][0]             epoch 1's

Burn reads these back from the log files (`crates/burn-train/src/metric/store/`); here they are saved with a checkpoint,
and read from logs only for a run that Burn started.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from minburn.train.checkpoint import best_epoch
from minburn.train.error import TrainingError
from minburn.train.vocabulary import Direction, Split, epochs_text


class History(Mapping[str, Mapping[str, list[float]]]):
    """`{split: {metric: [value of epoch 1, value of epoch 2, …]}}`; NaN where an epoch has no value.

    Burn: `EventStore` and `EventStoreClient` in `crates/burn-train/src/metric/store`.
    """

    def __init__(self, values: Mapping[str, Mapping[str, list[float]]] | None = None) -> None:
        self._values: dict[str, dict[str, list[float]]] = {split.value: {} for split in Split}
        for split, metrics in _mapping({} if values is None else values).items():
            self._values[Split(split).value] = {
                name: [float(value) for value in column] for name, column in _mapping(metrics).items()
            }

    def __getitem__(self, split: str) -> Mapping[str, list[float]]:
        try:
            return self._values[split]
        except (KeyError, TypeError):  # TypeError: it cannot be a key at all
            raise KeyError(f"History has no split {split!r}. It has {', '.join(self._values)}.") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def epochs(self) -> int:
        """How many epochs are finished."""
        return max((len(column) for metrics in self._values.values() for column in metrics.values()), default=0)

    def add_epoch(self, epoch: int, values: Mapping[Any, Mapping[str, float]]) -> None:
        """Enter `{split: {metric: value}}` of an epoch; epochs before it that have no value get NaN.

        Burn: `EventStore::add_event`.
        """
        check_count("epoch", epoch)
        for split, metrics in _mapping(values).items():
            for name, value in _mapping(metrics).items():
                column = self._values[Split(split).value].setdefault(name, [])
                del column[epoch - 1 :]
                column.extend([math.nan] * (epoch - 1 - len(column)))
                column.append(float(value))

    def value(self, split: str, metric: str, epoch: int) -> float | None:
        """The value of that epoch, or None if there is none.

        Burn: `EventStore::find_metric` and `EventStoreClient::find_metric`.
        """
        check_count("epoch", epoch)
        column = self._values[Split(split)].get(str(metric), [])
        return column[epoch - 1] if 1 <= epoch <= len(column) else None

    def find_epoch(self, metric: str, direction: Direction | str, split: Split | str) -> int | None:
        """The first epoch with the best value; None if there is no number."""
        column = self._values[Split(split)].get(str(metric), [])
        return best_epoch(dict(enumerate(column, start=1)), Direction(direction))

    def in_order(self, metrics: Iterable[str]) -> History:
        """The same numbers, these metrics first and in this order: a file may have another one."""
        first = list(metrics)
        return History(
            {
                split: {name: columns[name] for name in [*first, *columns] if name in columns}
                for split, columns in self._values.items()
            }
        )

    def into_dict(self) -> dict[str, dict[str, list[float]]]:
        """A copy of plain values, ready for JSON."""
        return {split: {name: list(column) for name, column in metrics.items()} for split, metrics in self.items()}

    def __eq__(self, other: object) -> bool:
        """Equal numbers, NaN being equal to NaN."""
        if not isinstance(other, History):
            return NotImplemented
        return _ordered(self) == _ordered(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Of each metric the first epoch's value and the last one's; all values are in the mapping."""
        told = [
            f"{split} " + ", ".join(f"{name} {trend(column)}" for name, column in metrics.items() if column)
            for split, metrics in self._values.items()
            if metrics
        ]
        return f"History({'; '.join([epochs_text(self.epochs), *told])})"


def trend(column: list[float]) -> str:
    return " → ".join(f"{value:.4g}" for value in (column if len(column) == 1 else (column[0], column[-1])))


def check_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise TrainingError(f"History: {name} must be an int of at least 1, but got {value!r}.")


def _mapping(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise TrainingError(
            f"History: expected {{split: {{metric: numbers}}}}, but got {type(value).__name__} {value!r}."
        )
    return value


def _ordered(history: History) -> list[tuple[str, str, str]]:
    return sorted((split, name, repr(column)) for split, metrics in history.items() for name, column in metrics.items())
