"""What a learning-rate schedule is, and the one an optimizer loop holds.

    scheduler = CosineAnnealingLrSchedulerConfig(initial_lr=1e-3, num_iters=1000).init()
    lr = scheduler.step()                  once before every optimizer step; the first call returns the initial value
    scheduler.into_record().save("scheduler-3")
    scheduler.load_record(LrSchedulerRecord.load("scheduler-3"))

A schedule is its settings and one counter. Only the counter is recorded: the settings come from the config again, so a
run may go on under changed ones. A config's `build()` makes the bare schedule; `init()` puts it into a
`ModuleLrScheduler`, whose record keys carry the number of the parameter group: `0.current_iter`.

Burn: `crates/burn-optim/src/lr_scheduler/{base,module}.rs`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Protocol, Self, TypeVar, final, runtime_checkable

import numpy as np

from minburn.module import Config
from minburn.optim.error import OptimizerError, RecordWarning
from minburn.optim.record import LrSchedulerRecord
from minburn.pack import Scalar

__all__ = ["LrScheduler", "LrSchedulerConfig", "ModuleLrScheduler"]

V = TypeVar("V", int, float)


@runtime_checkable
class LrScheduler(Protocol):
    """Anything with these three methods."""

    def step(self) -> float:
        """The rate for the optimizer step about to be made; the first call gives the initial one."""
        ...

    def into_record(self) -> LrSchedulerRecord: ...

    def load_record(self, record: LrSchedulerRecord) -> Self:
        """Goes on from the recorded counter. What the record lacks stays as it is, with a RecordWarning."""
        ...


@final
class ModuleLrScheduler:
    """The schedule of a module's parameters: one for all of them, recorded under the prefix `0`."""

    def __init__(self, base: LrScheduler | float) -> None:
        if isinstance(base, (int, float, np.integer, np.floating)):
            from minburn.optim.schedule.constant import ConstantLr

            base = ConstantLr(base)
        if isinstance(base, ModuleLrScheduler) or not isinstance(base, LrScheduler):
            raise OptimizerError(
                f"ModuleLrScheduler: {type(base).__name__} is not a bare schedule: it needs step(), into_record() and "
                "load_record(). config.build() makes one, and a number is a constant rate."
            )
        self.base = base

    @staticmethod
    def of(scheduler: ModuleLrScheduler | LrScheduler | float) -> ModuleLrScheduler:
        """A schedule, or a number for a constant rate, as a module's schedule."""
        return scheduler if isinstance(scheduler, ModuleLrScheduler) else ModuleLrScheduler(scheduler)

    def step(self) -> float:
        return self.base.step()

    def into_record(self) -> LrSchedulerRecord:
        return LrSchedulerRecord().with_record("0", self.base.into_record())

    def load_record(self, record: LrSchedulerRecord) -> ModuleLrScheduler:
        if not isinstance(record, LrSchedulerRecord):
            raise OptimizerError(
                f"load_record: expected an LrSchedulerRecord, but got {type(record).__name__}. "
                "LrSchedulerRecord.load(path) reads one."
            )
        self.base.load_record(record.record("0"))
        return self

    def __repr__(self) -> str:
        return f"ModuleLrScheduler({self.base!r})"


class LrSchedulerConfig(Config):
    """The settings of a schedule."""

    def build(self) -> LrScheduler:
        """The bare schedule. Errors: OptimizerError for settings out of range."""
        raise NotImplementedError(f"{type(self).__name__} does not say how its schedule is built.")

    def init(self) -> ModuleLrScheduler:
        """The schedule as a training loop holds it. Errors: OptimizerError for settings out of range."""
        return ModuleLrScheduler(self.build())


def check(holds: bool, otherwise: str) -> None:
    """Burn writes the checks so that NaN passes; so are these."""
    if not holds:
        raise OptimizerError(otherwise)


def recorded(record: LrSchedulerRecord, key: str, convert: Callable[[Scalar], V | None], least: float = 0) -> V | None:
    """The recorded counter, or None, with a warning, if there is none that fits."""
    scalar = record.get(key)
    value = None if scalar is None else convert(scalar)
    if value is None or not value >= least:
        has = ", ".join(record.keys()) or "nothing"
        warnings.warn(
            f"load_record: no usable {key!r} in the record (it has {has}), so the schedule starts from the beginning. "
            "Was the record made by another kind of schedule?",
            RecordWarning,
            stacklevel=4,
        )
        return None
    return value
