"""Several schedules at once: the product, sum or mean of their rates.

All of them are stepped at every step. Without any, the product is 1 and the others are 0.

Burn: `crates/burn-optim/src/lr_scheduler/composed.rs`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

from minburn.optim.record import LrSchedulerRecord
from minburn.optim.schedule.base import LrScheduler, LrSchedulerConfig

__all__ = ["ComposedLrScheduler", "ComposedLrSchedulerConfig", "SchedulerReduction"]


class SchedulerReduction(enum.Enum):
    """What is made of the rates."""

    Avg = "Avg"
    Sum = "Sum"
    Prod = "Prod"


class ComposedLrScheduler:
    """lr(k) = the reduction of all children's k-th rates."""

    def __init__(self, schedulers: Sequence[LrScheduler], reduction: SchedulerReduction) -> None:
        self.schedulers = list(schedulers)
        self.reduction = reduction

    def step(self) -> float:
        rates = [scheduler.step() for scheduler in self.schedulers]
        if self.reduction is SchedulerReduction.Prod:
            return math.prod(rates)
        if self.reduction is SchedulerReduction.Sum:
            return float(sum(rates))
        return float(sum(rate / len(rates) for rate in rates))

    def into_record(self) -> LrSchedulerRecord:
        return record_of(self.schedulers)

    def load_record(self, record: LrSchedulerRecord) -> ComposedLrScheduler:
        load_into(self.schedulers, record)
        return self


class ComposedLrSchedulerConfig(LrSchedulerConfig, tag="Composed"):
    """schedulers: their configs; a constant rate is a ConstantLrConfig.

    Burn: `LrSchedulerConfig::Composed` in `crates/burn-optim/src/lr_scheduler/base.rs`.
    """

    schedulers: list[LrSchedulerConfig]
    reduction: SchedulerReduction = SchedulerReduction.Prod

    def build(self) -> ComposedLrScheduler:
        return ComposedLrScheduler([config.build() for config in self.schedulers], self.reduction)


def record_of(schedulers: Sequence[LrScheduler], own: LrSchedulerRecord | None = None) -> LrSchedulerRecord:
    """The children's records under `0.`, `1.`, … beside the schedule's own."""
    record = LrSchedulerRecord() if own is None else own
    for index, scheduler in enumerate(schedulers):
        record = record.with_record(str(index), scheduler.into_record())
    return record


def load_into(schedulers: Sequence[LrScheduler], record: LrSchedulerRecord) -> None:
    for index, scheduler in enumerate(schedulers):
        scheduler.load_record(record.record(str(index)))
