"""One schedule after another: the next one begins, at its own first value, when the step counter is at its milestone.

Burn: `crates/burn-optim/src/lr_scheduler/sequential.rs`.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Sequence

from minburn.optim.record import LrSchedulerRecord
from minburn.optim.schedule.base import LrScheduler, LrSchedulerConfig, check, recorded
from minburn.optim.schedule.composed import load_into, record_of
from minburn.pack import Scalar

__all__ = ["SequentialLrScheduler", "SequentialLrSchedulerConfig"]


class SequentialLrScheduler:
    """lr(k) of child i, where i is the number of milestones ≤ k. Only that child is stepped."""

    def __init__(self, schedulers: Sequence[LrScheduler], milestones: Sequence[int]) -> None:
        check(len(schedulers) > 0, "At least one scheduler is required")
        check(
            len(milestones) == len(schedulers) - 1,
            "The number of milestones must be one less than the number of schedulers",
        )
        check(
            all(before < after for before, after in itertools.pairwise([0, *milestones])),
            "Milestones must be greater than zero and strictly increasing",
        )
        self.schedulers = list(schedulers)
        self.milestones = list(milestones)
        self.counter = 0

    def step(self) -> float:
        active = self.schedulers[bisect_right(self.milestones, self.counter)]
        self.counter += 1
        return active.step()

    def into_record(self) -> LrSchedulerRecord:
        return record_of(self.schedulers, LrSchedulerRecord({"step": Scalar.uint(self.counter)}))

    def load_record(self, record: LrSchedulerRecord) -> SequentialLrScheduler:
        counter = recorded(record, "step", Scalar.as_uint)
        if counter is not None:
            self.counter = counter
        load_into(self.schedulers, record)
        return self


class SequentialLrSchedulerConfig(LrSchedulerConfig, tag="Sequential"):
    """schedulers: their configs, one or more. milestones: at which step the second, the third … begins.

    Burn: `LrSchedulerConfig::Sequential` in `crates/burn-optim/src/lr_scheduler/base.rs`.
    """

    schedulers: list[LrSchedulerConfig]
    milestones: list[int]

    def build(self) -> SequentialLrScheduler:
        return SequentialLrScheduler([config.build() for config in self.schedulers], self.milestones)
