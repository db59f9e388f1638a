"""Learning-rate schedules, one file each; see base.py for what they share.

All are loaded together: a composed schedule reads any of them from JSON.
"""

from minburn.optim.schedule.base import LrScheduler, LrSchedulerConfig, ModuleLrScheduler
from minburn.optim.schedule.composed import ComposedLrScheduler, ComposedLrSchedulerConfig, SchedulerReduction
from minburn.optim.schedule.constant import ConstantLr, ConstantLrConfig
from minburn.optim.schedule.cosine import CosineAnnealingLrScheduler, CosineAnnealingLrSchedulerConfig
from minburn.optim.schedule.exponential import ExponentialLrScheduler, ExponentialLrSchedulerConfig
from minburn.optim.schedule.linear import LinearLrScheduler, LinearLrSchedulerConfig
from minburn.optim.schedule.module import LrSchedulerGroupConfig, ModuleLrSchedulerConfig
from minburn.optim.schedule.noam import NoamLrScheduler, NoamLrSchedulerConfig
from minburn.optim.schedule.sequential import SequentialLrScheduler, SequentialLrSchedulerConfig
from minburn.optim.schedule.step import StepLrScheduler, StepLrSchedulerConfig

__all__ = [
    "ComposedLrScheduler",
    "ComposedLrSchedulerConfig",
    "ConstantLr",
    "ConstantLrConfig",
    "CosineAnnealingLrScheduler",
    "CosineAnnealingLrSchedulerConfig",
    "ExponentialLrScheduler",
    "ExponentialLrSchedulerConfig",
    "LinearLrScheduler",
    "LinearLrSchedulerConfig",
    "LrScheduler",
    "LrSchedulerConfig",
    "LrSchedulerGroupConfig",
    "ModuleLrScheduler",
    "ModuleLrSchedulerConfig",
    "NoamLrScheduler",
    "NoamLrSchedulerConfig",
    "SchedulerReduction",
    "SequentialLrScheduler",
    "SequentialLrSchedulerConfig",
    "StepLrScheduler",
    "StepLrSchedulerConfig",
]
