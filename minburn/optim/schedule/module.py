"""The settings of a schedule for every group of parameters.

    ModuleLrSchedulerConfig(base=CosineAnnealingLrSchedulerConfig(1e-3, num_iters=1000))
        .with_group(ParamGroup.from_predicate("head"), StepLrSchedulerConfig(1e-2, step_size=100))

Burn: `ModuleLrSchedulerConfig` in `crates/burn-optim/src/lr_scheduler/module_lr_scheduler.rs`.
"""

from __future__ import annotations

from minburn.module import Config, ParamGroup
from minburn.module.group import check_group
from minburn.optim.error import OptimizerError
from minburn.optim.schedule.base import LrSchedulerConfig, ModuleLrScheduler
from minburn.optim.schedule.constant import ConstantLrConfig

__all__ = ["LrSchedulerGroupConfig", "ModuleLrSchedulerConfig"]


class LrSchedulerGroupConfig(Config):
    """The parameters of a group, and their schedule."""

    group: ParamGroup
    scheduler: LrSchedulerConfig


class ModuleLrSchedulerConfig(Config):
    """base: for the parameters that are in no group. Of several groups the last that matches counts."""

    base: LrSchedulerConfig
    scheduler_groups: tuple[LrSchedulerGroupConfig, ...] = ()

    def with_group(self, group: ParamGroup, scheduler: LrSchedulerConfig | float) -> ModuleLrSchedulerConfig:
        """The config with one more group; a number is a constant rate."""
        config = ConstantLrConfig(scheduler) if isinstance(scheduler, (int, float)) else scheduler
        if not isinstance(config, LrSchedulerConfig):
            raise OptimizerError(
                f"with_group: expected a schedule's config or a number, but got {type(scheduler).__name__}. "
                "ModuleLrScheduler.with_group takes schedules that are built."
            )
        added = LrSchedulerGroupConfig(check_group("with_group", group), config)
        return self.replace(scheduler_groups=(*self.scheduler_groups, added))

    def init(self) -> ModuleLrScheduler:
        """The schedule as a training loop holds it. Errors: OptimizerError for settings out of range."""
        scheduler = ModuleLrScheduler(self.base.build())
        for entry in self.scheduler_groups:
            scheduler.with_group(entry.group, entry.scheduler.build())
        return scheduler
