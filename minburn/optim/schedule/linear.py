"""From one rate to another in a straight line. Burn: `crates/burn-optim/src/lr_scheduler/linear.rs`."""

from __future__ import annotations

from minburn.optim.record import LrSchedulerRecord
from minburn.optim.schedule.base import LrSchedulerConfig, check, recorded
from minburn.pack import Scalar

__all__ = ["LinearLrScheduler", "LinearLrSchedulerConfig"]


class LinearLrScheduler:
    """lr(k) = final - (final - initial) / n · max(0, n - k): it stays at the final rate."""

    def __init__(self, initial_lr: float, final_lr: float, num_iters: int) -> None:
        check(not (initial_lr <= 0.0 or initial_lr > 1.0), "Initial learning rate must be greater than 0 and at most 1")
        check(not (final_lr < 0.0 or final_lr > 1.0), "Final learning rate must be at least 0 and at most 1")
        check(num_iters >= 1, "Number of iterations must be at least 1")
        self.final_lr = final_lr
        self.step_size = (final_lr - initial_lr) / num_iters
        self.remaining_iters = num_iters + 1

    def step(self) -> float:
        self.remaining_iters = max(0, self.remaining_iters - 1)
        return self.final_lr - self.step_size * self.remaining_iters

    def into_record(self) -> LrSchedulerRecord:
        return LrSchedulerRecord({"remaining_iters": Scalar.uint(self.remaining_iters)})

    def load_record(self, record: LrSchedulerRecord) -> LinearLrScheduler:
        remaining_iters = recorded(record, "remaining_iters", Scalar.as_uint)
        if remaining_iters is not None:
            self.remaining_iters = remaining_iters
        return self


class LinearLrSchedulerConfig(LrSchedulerConfig, tag="Linear"):
    """initial_lr in (0, 1], final_lr in [0, 1], num_iters ≥ 1.

    Burn: `LrSchedulerConfig::Linear` in `crates/burn-optim/src/lr_scheduler/base.rs`.
    """

    initial_lr: float
    final_lr: float
    num_iters: int

    def build(self) -> LinearLrScheduler:
        return LinearLrScheduler(self.initial_lr, self.final_lr, self.num_iters)
