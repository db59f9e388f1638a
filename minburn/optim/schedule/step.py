"""A constant factor every `step_size` steps. Burn: `crates/burn-optim/src/lr_scheduler/step.rs`."""

from __future__ import annotations

from minburn.optim.numbers import powi, squares
from minburn.optim.record import LrSchedulerRecord
from minburn.optim.schedule.base import LrSchedulerConfig, check, recorded
from minburn.pack import Scalar

__all__ = ["StepLrScheduler", "StepLrSchedulerConfig"]


class StepLrScheduler:
    """lr(k) = initial · gamma^⌊k / step_size⌋."""

    def __init__(self, initial_lr: float, step_size: int, gamma: float) -> None:
        check(step_size >= 1, "Step size must be greater than 0")
        self.initial_lr = initial_lr
        self.step_size = step_size
        self.powers = squares(gamma)
        self.iter_idx = -1

    def step(self) -> float:
        self.iter_idx += 1
        return self.initial_lr * float(powi(self.powers, self.iter_idx // self.step_size))

    def into_record(self) -> LrSchedulerRecord:
        return LrSchedulerRecord({"iter_idx": Scalar.int(self.iter_idx)})

    def load_record(self, record: LrSchedulerRecord) -> StepLrScheduler:
        iter_idx = recorded(record, "iter_idx", Scalar.as_int, least=-1)
        if iter_idx is not None:
            self.iter_idx = iter_idx
        return self


class StepLrSchedulerConfig(LrSchedulerConfig, tag="Step"):
    """step_size ≥ 1. Burn: `LrSchedulerConfig::Step` in `crates/burn-optim/src/lr_scheduler/base.rs`."""

    initial_lr: float
    step_size: int
    gamma: float = 0.1

    def build(self) -> StepLrScheduler:
        return StepLrScheduler(self.initial_lr, self.step_size, self.gamma)
