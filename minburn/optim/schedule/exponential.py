"""A constant factor at every step. Burn: `crates/burn-optim/src/lr_scheduler/exponential.rs`."""

from __future__ import annotations

from minburn.optim.record import LrSchedulerRecord
from minburn.optim.schedule.base import LrSchedulerConfig, check, recorded
from minburn.pack import Scalar

__all__ = ["ExponentialLrScheduler", "ExponentialLrSchedulerConfig"]


class ExponentialLrScheduler:
    """lr(k) = initial · gammaᵏ, as a running product. The rate itself is what is recorded."""

    def __init__(self, initial_lr: float, gamma: float) -> None:
        check(not (initial_lr <= 0.0 or initial_lr > 1.0), "Initial learning rate must be greater than 0 and at most 1")
        check(not (gamma <= 0.0 or gamma > 1.0), "Gamma must be greater than 0 and at most 1")
        self.gamma = gamma
        self.previous_lr = initial_lr / gamma

    def step(self) -> float:
        self.previous_lr *= self.gamma
        return self.previous_lr

    def into_record(self) -> LrSchedulerRecord:
        return LrSchedulerRecord({"previous_lr": Scalar.float(self.previous_lr)})

    def load_record(self, record: LrSchedulerRecord) -> ExponentialLrScheduler:
        previous_lr = recorded(record, "previous_lr", Scalar.as_float)
        if previous_lr is not None:
            self.previous_lr = previous_lr
        return self


class ExponentialLrSchedulerConfig(LrSchedulerConfig, tag="Exponential"):
    """initial_lr in (0, 1], gamma in (0, 1].

    Burn: `LrSchedulerConfig::Exponential` in `crates/burn-optim/src/lr_scheduler/base.rs`.
    """

    initial_lr: float
    gamma: float

    def build(self) -> ExponentialLrScheduler:
        return ExponentialLrScheduler(self.initial_lr, self.gamma)
