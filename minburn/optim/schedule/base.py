"""What a learning-rate schedule is, and the one an optimizer loop holds.

    scheduler = CosineAnnealingLrSchedulerConfig(initial_lr=1e-3, num_iters=1000).init()
    lr = scheduler.step()                  once before every optimizer step; the first call returns the initial value
    model = optim.step(lr, model, grads)
    scheduler.with_group(ParamGroup.from_predicate("head"), 1e-2)        the head at a constant rate of its own
    scheduler.into_record().save("scheduler-3")
    scheduler.load_record(LrSchedulerRecord.load("scheduler-3"))

A schedule is its settings and one counter. Only the counter is recorded: the settings come from the config again, so a
run may go on under changed ones. A config's `build()` makes the bare schedule, whose steps are numbers; `init()` puts
it into a `ModuleLrScheduler`, whose steps are the rates of all groups of parameters, and whose record keys carry the
number of the group: `0.current_iter`.

Burn: `crates/burn-optim/src/lr_scheduler/{base,module_lr_scheduler}.rs`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Protocol, Self, TypeVar, final, runtime_checkable

import numpy as np

from minburn.module import Config, ParamGroup
from minburn.module.group import check_group
from minburn.optim.error import OptimizerError, RecordWarning
from minburn.optim.learning_rate import Membership, ModuleLearningRate
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

    def into_record(self) -> LrSchedulerRecord:
        """Burn: `LrScheduler::to_record`."""

    def load_record(self, record: LrSchedulerRecord) -> Self:
        """Goes on from the recorded counter. What the record lacks stays as it is, with a RecordWarning."""
        ...


@final
class ModuleLrScheduler:
    """The schedules of a module's parameters: one for all of them, and those of groups. They are recorded under `0`,
    `1` and so on."""

    def __init__(self, base: LrScheduler | float) -> None:
        self.base = bare("ModuleLrScheduler", base)
        self.groups: list[tuple[ParamGroup, LrScheduler]] = []
        self._membership = Membership()

    def with_group(self, group: ParamGroup, scheduler: LrScheduler | float) -> ModuleLrScheduler:
        """From now on the parameters of the group have a rate of their own; returns this schedule. Groups that are
        added later win."""
        self.groups.append((check_group("with_group", group), bare("with_group", scheduler)))
        self._membership = Membership([group for group, _ in self.groups])
        return self

    def rename_ids(self, ids: Mapping[int, int]) -> None:
        """As `OptimizerAdaptor.rename_ids`."""
        self.groups = [(group.with_ids(ids), scheduler) for group, scheduler in self.groups]
        self._membership = Membership([group for group, _ in self.groups])

    @staticmethod
    def of(scheduler: ModuleLrScheduler | LrScheduler | float) -> ModuleLrScheduler:
        """A schedule, or a number for a constant rate, as a module's schedule."""
        return scheduler if isinstance(scheduler, ModuleLrScheduler) else ModuleLrScheduler(scheduler)

    def step(self) -> ModuleLearningRate:
        """The rates for the optimizer step about to be made. All schedules advance."""
        return ModuleLearningRate.of(self._membership, [scheduler.step() for scheduler in self._schedulers()])

    def _schedulers(self) -> list[LrScheduler]:
        return [self.base, *(scheduler for _, scheduler in self.groups)]

    def into_record(self) -> LrSchedulerRecord:
        """Burn: `ModuleLrScheduler::to_record`."""
        record = LrSchedulerRecord()
        for number, scheduler in enumerate(self._schedulers()):
            record = record.with_record(str(number), scheduler.into_record())
        return record

    def load_record(self, record: LrSchedulerRecord) -> ModuleLrScheduler:
        if not isinstance(record, LrSchedulerRecord):
            raise OptimizerError(
                f"load_record: expected an LrSchedulerRecord, but got {type(record).__name__}. "
                "LrSchedulerRecord.load(path) reads one."
            )
        for number, scheduler in enumerate(self._schedulers()):
            scheduler.load_record(record.record(str(number)))
        return self

    def __repr__(self) -> str:
        groups = "".join(f", {group!r}: {scheduler!r}" for group, scheduler in self.groups)
        return f"ModuleLrScheduler({self.base!r}{groups})"


class LrSchedulerConfig(Config):
    """The settings of a schedule."""

    def build(self) -> LrScheduler:
        """The bare schedule. Errors: OptimizerError for settings out of range."""
        raise NotImplementedError(f"{type(self).__name__} does not say how its schedule is built.")

    def init(self) -> ModuleLrScheduler:
        """The schedule as a training loop holds it. Errors: OptimizerError for settings out of range."""
        return ModuleLrScheduler(self.build())


def bare(owner: str, scheduler: LrScheduler | float) -> LrScheduler:
    """The schedule itself, or the constant one of a number. Errors: OptimizerError for what is neither."""
    if isinstance(scheduler, (int, float, np.integer, np.floating)):
        from minburn.optim.schedule.constant import ConstantLr

        return ConstantLr(scheduler)
    if isinstance(scheduler, ModuleLrScheduler) or not isinstance(scheduler, LrScheduler):
        raise OptimizerError(
            f"{owner}: {type(scheduler).__name__} is not a bare schedule: it needs step(), into_record() and "
            "load_record(). config.build() makes one, and a number is a constant rate."
        )
    return scheduler


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
