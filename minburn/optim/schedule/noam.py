"""Linear warm-up, then the inverse square root. Source: Vaswani et al., "Attention Is All You Need", §5.3.

Burn: `crates/burn-optim/src/lr_scheduler/noam.rs`.
"""

from __future__ import annotations

from minburn.optim.record import LrSchedulerRecord
from minburn.optim.schedule.base import LrSchedulerConfig, check, recorded
from minburn.pack import Scalar

__all__ = ["NoamLrScheduler", "NoamLrSchedulerConfig"]


class NoamLrScheduler:
    """With s = k + 1: lr(k) = factor · model_size^-½ · min(s^-½, s · warmup_steps^-1½)."""

    def __init__(self, factor: float, warmup_steps: int, model_size: int) -> None:
        check(warmup_steps >= 1, "Number of steps before exponential decay starts must be greater than 0")
        check(model_size >= 1, "Model size must be greater than 0")
        self.factor = factor
        self.warmup_steps = float(warmup_steps)
        self.embedding_size = float(model_size)
        self.count = 0.0

    def step(self) -> float:
        self.count += 1.0
        warm = self.count * self.warmup_steps**-1.5
        return float(self.factor * (self.embedding_size**-0.5 * min(self.count**-0.5, warm)))

    def into_record(self) -> LrSchedulerRecord:
        return LrSchedulerRecord({"step": Scalar.float(self.count)})

    def load_record(self, record: LrSchedulerRecord) -> NoamLrScheduler:
        count = recorded(record, "step", Scalar.as_float)
        if count is not None:
            self.count = count
        return self


class NoamLrSchedulerConfig(LrSchedulerConfig, tag="Noam"):
    """warmup_steps ≥ 1, model_size ≥ 1 (the transformer's d_model).

    Burn: `LrSchedulerConfig::Noam` in `crates/burn-optim/src/lr_scheduler/base.rs`.
    """

    factor: float
    warmup_steps: int = 4000
    model_size: int = 512

    def build(self) -> NoamLrScheduler:
        return NoamLrScheduler(self.factor, self.warmup_steps, self.model_size)
