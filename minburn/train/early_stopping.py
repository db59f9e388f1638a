"""Ending a run when a metric no longer improves.

Burn: `crates/burn-train/src/learner/early_stopping.rs`. Its state is not saved there; here a resumed run stops in the
epoch in which it would have stopped anyway.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from minburn.train.checkpoint.strategy import metric_name
from minburn.train.error import TrainingError
from minburn.train.history import History
from minburn.train.metric import Metric
from minburn.train.vocabulary import Direction, Split


class EarlyStoppingStrategy(ABC):
    """Asked once at the end of every epoch."""

    @abstractmethod
    def should_stop(self, epoch: int, history: History) -> bool: ...

    @abstractmethod
    def into_state(self) -> dict[str, Any]:
        """Plain values from which `load_state` goes on."""

    @abstractmethod
    def load_state(self, state: Mapping[str, Any]) -> None: ...


class MetricEarlyStoppingStrategy(EarlyStoppingStrategy):
    """Stops when `epoch - best epoch ≥ no_improvement_since`, unless epoch ≤ warmup_epochs.

    metric: a metric or its name. direction, split: as for a checkpointing strategy, "lowest" and "valid" for a loss.
    Better means strictly better; NaN never is. Improvements during the warm-up count. An epoch without the metric
    changes nothing.

    Burn: `StoppingCondition`.
    """

    def __init__(
        self,
        metric: Metric | str,
        direction: Direction | str = Direction.Lowest,
        split: Split | str = Split.Valid,
        *,
        no_improvement_since: int,
        warmup_epochs: int | None = None,
    ) -> None:
        self.metric = metric_name("MetricEarlyStoppingStrategy", metric)
        self.direction, self.split = Direction(direction), Split(split)
        for name, count, least in (
            ("no_improvement_since", no_improvement_since, 1),
            ("warmup_epochs", warmup_epochs or 0, 0),
        ):
            if isinstance(count, bool) or not isinstance(count, int) or count < least:
                raise TrainingError(
                    f"MetricEarlyStoppingStrategy: {name} must be an int, at least {least} epoch, but got {count!r}."
                )
        self.no_improvement_since = no_improvement_since
        self.warmup_epochs = warmup_epochs or 0
        self._best_epoch = 1
        self._best_value = math.inf if self.direction is Direction.Lowest else -math.inf

    def should_stop(self, epoch: int, history: History) -> bool:
        value = history.value(self.split, self.metric, epoch)
        if value is None:
            return False
        if self.direction.is_better(value, self._best_value):
            self._best_epoch, self._best_value = epoch, value
            return False
        return epoch > self.warmup_epochs and epoch - self._best_epoch >= self.no_improvement_since

    def into_state(self) -> dict[str, Any]:
        return {"kind": repr(self), "best_epoch": self._best_epoch, "best_value": self._best_value}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Goes on from there, if it is a strategy for the same metric; the patience may have changed."""
        self._best_epoch, self._best_value = int(state["best_epoch"]), float(state["best_value"])

    def __repr__(self) -> str:
        return f"MetricEarlyStoppingStrategy({self.metric!r}, {self.direction.name}, {self.split.name})"
