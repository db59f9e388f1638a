"""Half a cosine from one rate down to another. Burn: `crates/burn-optim/src/lr_scheduler/cosine.rs`."""

from __future__ import annotations

import math

from minburn.optim.record import LrSchedulerRecord
from minburn.optim.schedule.base import LrSchedulerConfig, check, recorded
from minburn.pack import Scalar

__all__ = ["CosineAnnealingLrScheduler", "CosineAnnealingLrSchedulerConfig"]

BEFORE_THE_FIRST = (1 << 64) - 1
"""An unsigned counter that wraps around to 0 at the first step, so this is what an unused schedule records."""


class CosineAnnealingLrScheduler:
    """lr(k) = min + (initial - min) · (1 + cos(π k / n)) / 2. After n steps it rises again: there is no restart."""

    def __init__(self, initial_lr: float, min_lr: float, num_iters: int) -> None:
        check(not (initial_lr <= 0.0 or initial_lr > 1.0), "Initial learning rate must be greater than 0 and at most 1")
        check(
            not (min_lr < 0.0 or min_lr > initial_lr),
            "Minimum learning rate must be at least 0 and at most equal to the initial learning rate",
        )
        check(num_iters >= 1, "Number of iterations must be at least 1")
        self.min_lr = min_lr
        self.max_lr = initial_lr
        self.num_iters = num_iters
        self.current_iter = BEFORE_THE_FIRST

    def step(self) -> float:
        self.current_iter = 0 if self.current_iter == BEFORE_THE_FIRST else self.current_iter + 1
        turn = math.pi * self.current_iter / self.num_iters
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * (1.0 + math.cos(turn))

    def into_record(self) -> LrSchedulerRecord:
        return LrSchedulerRecord({"current_iter": Scalar.uint(self.current_iter)})

    def load_record(self, record: LrSchedulerRecord) -> CosineAnnealingLrScheduler:
        current_iter = recorded(record, "current_iter", Scalar.as_uint)
        if current_iter is not None:
            self.current_iter = current_iter
        return self


class CosineAnnealingLrSchedulerConfig(LrSchedulerConfig, tag="Cosine"):
    """initial_lr in (0, 1], min_lr in [0, initial_lr], num_iters ≥ 1.

    Burn: `LrSchedulerConfig::Cosine` in `crates/burn-optim/src/lr_scheduler/base.rs`.
    """

    initial_lr: float
    num_iters: int
    min_lr: float = 0.0

    def build(self) -> CosineAnnealingLrScheduler:
        return CosineAnnealingLrScheduler(self.initial_lr, self.min_lr, self.num_iters)
