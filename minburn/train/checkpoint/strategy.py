"""Which epochs' checkpoints are worth keeping.

At the end of every epoch a strategy is asked once, and answers with actions: save this one, delete that one. Two plain
ones, the last N and the best, and one that joins others: an epoch goes when all of them have let it go.

    valid losses 3 1 2 4 5 with the default (last 2, and the lowest):
    epoch  1       2       3                  4       5
           save 1  save 2  save 3, delete 1   save 4  save 5, delete 3      on disk: 2 4 5

A strategy remembers what it asked for. Burn keeps that in memory only, so a resumed run no longer cleans up; here it
is saved with the run (`into_state`, `load_state`).

Burn: `crates/burn-train/src/checkpoint/strategy/`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from minburn.train.checkpoint.error import CheckpointError
from minburn.train.vocabulary import Direction, Split


@dataclass(frozen=True, slots=True)
class Save:
    """Save this epoch. Burn: `CheckpointingAction::Save`."""


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete what was saved in `epoch`. Burn: `CheckpointingAction::Delete`."""

    epoch: int


Action = Save | Delete
"""Burn: `CheckpointingAction` in `crates/burn-train/src/checkpoint/strategy/base.rs`."""


class EpochHistory(Protocol):
    """What a strategy asks of a run's history."""

    def find_epoch(self, metric: str, direction: Direction, split: Split) -> int | None:
        """The epoch with the best value so far; None if there is no number."""


class Named(Protocol):
    """A metric, for its name."""

    @property
    def name(self) -> str: ...


class CheckpointingStrategy(ABC):
    """One decision an epoch."""

    @abstractmethod
    def checkpointing(self, epoch: int, history: EpochHistory) -> list[Action]:
        """What to do at the end of `epoch`; called once for every epoch, in order."""

    def into_state(self) -> Any:
        """What it remembers, as dicts, lists and numbers."""
        return None

    def load_state(self, state: Any) -> None:
        """Remember it again. CheckpointError for what another kind of strategy left."""
        if state is not None:
            raise _stranger(self, state)


class KeepLastNCheckpoints(CheckpointingStrategy):
    """Saves every epoch and keeps the last `num_keep`."""

    def __init__(self, num_keep: int) -> None:
        if isinstance(num_keep, bool) or not isinstance(num_keep, int) or num_keep < 1:
            raise CheckpointError(f"KeepLastNCheckpoints: num_keep must be an int of at least 1, but got {num_keep!r}.")
        self.num_keep = num_keep

    def checkpointing(self, epoch: int, history: EpochHistory) -> list[Action]:
        old = epoch - self.num_keep
        return [Save(), Delete(old)] if old > 0 else [Save()]

    def __repr__(self) -> str:
        return f"KeepLastNCheckpoints({self.num_keep})"


class MetricCheckpointingStrategy(CheckpointingStrategy):
    """Keeps the one epoch in which a metric was best; without a number of that metric, the latest.

    metric: a metric or its name, as "Loss". direction: which end is best. split: measured on which data.
    """

    def __init__(self, metric: str | Named, direction: Direction, split: Split) -> None:
        self.metric = metric_name("MetricCheckpointingStrategy", metric)
        self.direction = Direction(direction)
        self.split = Split(split)
        self._best: int | None = None

    def checkpointing(self, epoch: int, history: EpochHistory) -> list[Action]:
        best = history.find_epoch(self.metric, self.direction, self.split)
        best = epoch if best is None else best
        actions: list[Action] = []
        if self._best is not None and self._best != best:
            actions.append(Delete(self._best))
        if best == epoch:
            actions.append(Save())
        self._best = best
        return actions

    def into_state(self) -> dict[str, Any]:
        return {"best": self._best}

    def load_state(self, state: Any) -> None:
        if not isinstance(state, Mapping) or set(state) != {"best"} or not isinstance(state["best"], int | None):
            raise _stranger(self, state)
        self._best = state["best"]

    def __repr__(self) -> str:
        return f"MetricCheckpointingStrategy({self.metric!r}, {self.direction.name}, {self.split.name})"


class ComposedCheckpointingStrategy(CheckpointingStrategy):
    """Saves what any of its strategies wants saved; deletes an epoch when none of them holds on to it.

    A strategy lets an epoch go by asking for its deletion, or by having nothing to say when that epoch ends.
    """

    def __init__(self, strategies: Sequence[CheckpointingStrategy]) -> None:
        if not isinstance(strategies, Sequence) or not all(isinstance(s, CheckpointingStrategy) for s in strategies):
            raise CheckpointError(
                f"ComposedCheckpointingStrategy: expected a list of strategies, but got {strategies!r}."
            )
        if not strategies:
            raise CheckpointError("ComposedCheckpointingStrategy: it needs at least one strategy.")
        self.strategies = tuple(strategies)
        self._released: list[set[int]] = [set() for _ in self.strategies]

    def checkpointing(self, epoch: int, history: EpochHistory) -> list[Action]:
        save = False
        asked: list[int] = []
        for strategy, released in zip(self.strategies, self._released, strict=True):
            actions = strategy.checkpointing(epoch, history)
            if not actions:
                released.add(epoch)
            for action in actions:
                if isinstance(action, Delete):
                    released.add(action.epoch)
                    asked.append(action.epoch)
                else:
                    save = True
        deletes = [old for old in dict.fromkeys(asked) if all(old in released for released in self._released)]
        for released in self._released:
            released.difference_update(deletes)
        return [*([Save()] if save else []), *map(Delete, deletes)]

    def into_state(self) -> dict[str, Any]:
        return {
            "released": [sorted(released) for released in self._released],
            "strategies": [strategy.into_state() for strategy in self.strategies],
        }

    def load_state(self, state: Any) -> None:
        count = len(self.strategies)
        if not isinstance(state, Mapping) or set(state) != {"released", "strategies"}:
            raise _stranger(self, state)
        if not len(state["released"]) == len(state["strategies"]) == count:
            raise _stranger(self, state)
        for strategy, child in zip(self.strategies, state["strategies"], strict=True):
            strategy.load_state(child)
        self._released = [set(map(int, released)) for released in state["released"]]

    def __repr__(self) -> str:
        return f"ComposedCheckpointingStrategy([{', '.join(map(repr, self.strategies))}])"


def metric_name(owner: str, metric: str | Named) -> str:
    """The name by which a history knows the metric."""
    name = metric if isinstance(metric, str) else getattr(metric, "name", None)
    if not isinstance(name, str) or not name:
        raise CheckpointError(f'{owner}: metric must be a metric or its name, as "Loss", but got {metric!r}.')
    return name


def default_strategy() -> CheckpointingStrategy:
    """The last two epochs, and the one with the lowest validation loss."""
    return ComposedCheckpointingStrategy(
        [KeepLastNCheckpoints(2), MetricCheckpointingStrategy("Loss", Direction.Lowest, Split.Valid)]
    )


def best_epoch(values: Mapping[int, float], direction: Direction) -> int | None:
    """The first epoch with the best value; NaN is never best; None if there is no number."""
    best: int | None = None
    for epoch in sorted(values):
        if not math.isnan(values[epoch]) and (best is None or direction.is_better(values[epoch], values[best])):
            best = epoch
    return best


def _stranger(strategy: CheckpointingStrategy, state: Any) -> CheckpointError:
    return CheckpointError(
        f"{strategy!r}: the saved state {state!r} is another strategy's. "
        "Resume with the strategy that the run began with."
    )
