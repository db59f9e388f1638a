"""Learning-rate schedules, one file each; see base.py for what they share."""

from typing import TYPE_CHECKING

from minburn.lazy import lazy_names

if TYPE_CHECKING:
    from minburn.optim.schedule.base import *
    from minburn.optim.schedule.composed import *
    from minburn.optim.schedule.constant import *
    from minburn.optim.schedule.cosine import *
    from minburn.optim.schedule.exponential import *
    from minburn.optim.schedule.linear import *
    from minburn.optim.schedule.noam import *
    from minburn.optim.schedule.sequential import *
    from minburn.optim.schedule.step import *
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "base": ("LrScheduler", "LrSchedulerConfig", "ModuleLrScheduler"),
            "composed": ("ComposedLrScheduler", "ComposedLrSchedulerConfig", "SchedulerReduction"),
            "constant": ("ConstantLr", "ConstantLrConfig"),
            "cosine": ("CosineAnnealingLrScheduler", "CosineAnnealingLrSchedulerConfig"),
            "exponential": ("ExponentialLrScheduler", "ExponentialLrSchedulerConfig"),
            "linear": ("LinearLrScheduler", "LinearLrSchedulerConfig"),
            "noam": ("NoamLrScheduler", "NoamLrSchedulerConfig"),
            "sequential": ("SequentialLrScheduler", "SequentialLrSchedulerConfig"),
            "step": ("StepLrScheduler", "StepLrSchedulerConfig"),
        },
    )
