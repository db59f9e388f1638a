"""lr(k) = lr. Burn: `crates/burn-optim/src/lr_scheduler/constant.rs`."""

from __future__ import annotations

from minburn.optim.error import OptimizerError
from minburn.optim.numbers import is_number
from minburn.optim.record import LrSchedulerRecord
from minburn.optim.schedule.base import LrSchedulerConfig, ModuleLrScheduler

__all__ = ["ConstantLr", "ConstantLrConfig"]


class ConstantLr:
    """The same rate at every step; nothing is recorded."""

    def __init__(self, lr: float) -> None:
        if not is_number(lr):
            raise OptimizerError(f"ConstantLr: the rate must be a finite number, but got {type(lr).__name__} {lr!r}.")
        self.lr = float(lr)

    def init(self) -> ModuleLrScheduler:
        return ModuleLrScheduler(self)

    def step(self) -> float:
        return self.lr

    def into_record(self) -> LrSchedulerRecord:
        return LrSchedulerRecord()

    def load_record(self, record: LrSchedulerRecord) -> ConstantLr:
        return self

    def __repr__(self) -> str:
        return f"ConstantLr({self.lr})"


class ConstantLrConfig(LrSchedulerConfig, tag="Constant", tuple_variant=True):
    """A constant rate among other configs; alone, a number or ConstantLr(lr) will do.

    Burn: `LrSchedulerConfig::Constant` in `crates/burn-optim/src/lr_scheduler/base.rs`.
    """

    lr: float

    def build(self) -> ConstantLr:
        return ConstantLr(self.lr)
