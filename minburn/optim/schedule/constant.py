"""lr(k) = lr. Burn: `crates/burn-optim/src/lr_scheduler/constant.rs`."""

from __future__ import annotations

from minburn.optim.record import LrSchedulerRecord
from minburn.optim.schedule.base import ModuleLrScheduler


class ConstantLr:
    """The same rate at every step; nothing is recorded."""

    def __init__(self, lr: float) -> None:
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
