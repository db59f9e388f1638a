"""Learning-rate schedules, one file each; see base.py for what they share."""

from minburn.optim.schedule.base import LrScheduler, LrSchedulerConfig, ModuleLrScheduler
from minburn.optim.schedule.constant import ConstantLr
from minburn.optim.schedule.cosine import CosineAnnealingLrScheduler, CosineAnnealingLrSchedulerConfig
from minburn.optim.schedule.exponential import ExponentialLrScheduler, ExponentialLrSchedulerConfig
from minburn.optim.schedule.linear import LinearLrScheduler, LinearLrSchedulerConfig
from minburn.optim.schedule.noam import NoamLrScheduler, NoamLrSchedulerConfig
from minburn.optim.schedule.step import StepLrScheduler, StepLrSchedulerConfig

__all__ = [
    "ConstantLr",
    "CosineAnnealingLrScheduler",
    "CosineAnnealingLrSchedulerConfig",
    "ExponentialLrScheduler",
    "ExponentialLrSchedulerConfig",
    "LinearLrScheduler",
    "LinearLrSchedulerConfig",
    "LrScheduler",
    "LrSchedulerConfig",
    "ModuleLrScheduler",
    "NoamLrScheduler",
    "NoamLrSchedulerConfig",
    "StepLrScheduler",
    "StepLrSchedulerConfig",
]
