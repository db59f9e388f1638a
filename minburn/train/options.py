"""The settings of a run, checked before anything is read or written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from minburn.train.checkpoint import CheckpointingStrategy, ComposedCheckpointingStrategy, MetricCheckpointingStrategy
from minburn.train.early_stopping import EarlyStoppingStrategy, MetricEarlyStoppingStrategy
from minburn.train.error import TrainingError
from minburn.train.interrupt import Interrupter
from minburn.train.metric import Metric
from minburn.train.render import Renderer
from minburn.train.vocabulary import Direction, Split

Resume = int | Literal["auto"] | None
OWNER = "SupervisedTraining"


@runtime_checkable
class Loader(Protocol):
    """What a run needs of its loaders; a DataLoader has it. `fingerprint()`, if there is one, guards a resume."""

    def __len__(self) -> int:
        """Batches per epoch."""
        ...

    def iter_epoch(self, epoch: int, start_batch: int = 0) -> Iterator[Any]:
        """The batches of that epoch (from 1), from batch `start_batch` (from 0) on: a function of both."""
        ...


@contextlib.contextmanager
def open_batches(loader: Loader | Iterable[Any], epoch: int = 1, start: int = 0) -> Iterator[Iterator[Any]]:
    """The batches of a loader's epoch, or of any iterable. Their iterator is closed at the end if it can be: it may
    have threads."""
    batches = loader.iter_epoch(epoch, start) if isinstance(loader, Loader) else iter(loader)
    if not isinstance(batches, Iterable):
        raise TrainingError(
            f"{type(loader).__name__}.iter_epoch must return an iterator of batches, but returned "
            f"{type(batches).__name__}."
        )
    try:
        yield iter(batches)
    finally:
        close = getattr(batches, "close", None)
        if callable(close):
            close()


@dataclass(frozen=True, kw_only=True)
class Options:
    """The arguments of SupervisedTraining, each checked. TrainingError names the first that makes no sense.

    Burn: `TrainingComponents` in `crates/burn-train/src/learner/supervised/strategies/base.rs`.
    """

    run_dir: Path
    train_loader: Loader
    valid_loader: Loader
    num_epochs: int
    metrics: tuple[Metric, ...]
    resume: Resume
    checkpoints: bool
    checkpoint_every_steps: int | None
    strategy: CheckpointingStrategy | None
    early_stopping: EarlyStoppingStrategy | None
    grads_accumulation: int | None
    renderer: Renderer | None
    interrupter: Interrupter | None
    summary: bool
    label: str
    overwrite: bool

    def __post_init__(self) -> None:
        for name in ("train_loader", "valid_loader"):
            check_loader(name, getattr(self, name))
        check_count("num_epochs", self.num_epochs)
        if self.checkpoint_every_steps is not None:
            check_count("checkpoint_every_steps", self.checkpoint_every_steps)
        if self.grads_accumulation is not None:
            check_count("grads_accumulation", self.grads_accumulation)
        check_metrics(self.metrics)
        for name in ("checkpoints", "summary", "overwrite"):
            if not isinstance(getattr(self, name), bool):
                raise TrainingError(f"{OWNER}: {name} must be True or False, but got {describe(getattr(self, name))}.")
        if self.resume is not None and not (isinstance(self.resume, str) and self.resume == "auto"):
            check_count('resume, if it is not "auto" or None,', self.resume)
        if not self.checkpoints and (self.resume is not None or self.checkpoint_every_steps is not None):
            wanted = "resume" if self.resume is not None else "checkpoint_every_steps"
            raise TrainingError(f"{OWNER}: {wanted} needs checkpoints, but checkpoints=False. Leave one of them out.")
        for name, kind in (
            ("strategy", CheckpointingStrategy),
            ("early_stopping", EarlyStoppingStrategy),
            ("renderer", Renderer),
            ("interrupter", Interrupter),
        ):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise TrainingError(f"{OWNER}: {name} must be of type {kind.__name__}, but got {describe(value)}.")
        check_watched("early_stopping", self.early_stopping, self.metrics)
        check_watched("strategy", self.strategy, self.metrics)


def check_loader(name: str, loader: object) -> None:
    if not isinstance(loader, Loader):
        raise TrainingError(
            f"{OWNER}: {name} must be a DataLoader, or have len() and iter_epoch(epoch, start_batch), "
            f"but got {describe(loader)}. DataLoader(dataset, batcher, batch_size=…) makes one."
        )
    if len(loader) == 0:
        raise TrainingError(f"{OWNER}: {name} is empty: its dataset has no items, so there is nothing to learn from.")


def check_watched(name: str, watcher: object, metrics: Sequence[Metric]) -> None:
    """Refuses to wait for a metric that is not measured, or for the worse end of one: it would wait in silence."""
    for part in watcher.strategies if isinstance(watcher, ComposedCheckpointingStrategy) else [watcher]:
        if not isinstance(part, MetricEarlyStoppingStrategy | MetricCheckpointingStrategy):
            continue
        measured = {metric.name: metric for metric in metrics if part.split is not Split.Valid or not metric.train_only}
        found = measured.get(part.metric)
        if found is None:
            raise TrainingError(
                f"{OWNER}: {name} watches {part.metric!r} of the {part.split.value} split, which has "
                f"{', '.join(map(repr, measured)) or 'no metrics'}. Use one of these names, or add it to metrics=[…]."
            )
        early = isinstance(part, MetricEarlyStoppingStrategy)
        if early and found.higher_is_better and part.direction is Direction.Lowest:
            raise TrainingError(
                f"{OWNER}: {name} waits for the lowest {part.metric}, of which more is better. Say "
                f'MetricEarlyStoppingStrategy({part.metric!r}, "highest", …).'
            )


def check_metrics(metrics: object, owner: str = OWNER) -> None:
    if isinstance(metrics, str) or not isinstance(metrics, Sequence):
        raise TrainingError(f"{owner}: metrics must be a list of metrics, but got {describe(metrics)}.")
    names: list[str] = []
    for metric in metrics:
        if not isinstance(metric, Metric):
            hint = f" Did you mean {metric.__name__}()?" if isinstance(metric, type) else ""
            raise TrainingError(f"{owner}: metrics must be Metric objects, but got {describe(metric)}.{hint}")
        if metric.name in names:
            raise TrainingError(f"{owner}: two metrics are called {metric.name!r}; their logs would be one file.")
        names.append(metric.name)


def check_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise TrainingError(f"{OWNER}: {name} must be an int of at least 1, but got {value!r}.")


def describe(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"{type(value).__name__} {value!r}"[:100]
