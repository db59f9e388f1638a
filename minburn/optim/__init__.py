"""Optimizers of modules, learning-rate schedules, and their records.

    optim = AdamConfig().init()                                     a rule and the states of a model's parameters
    scheduler = CosineAnnealingLrSchedulerConfig(1e-3, 1000).init()
    grads = GradientsParams.from_grads(loss.backward(), model)
    model = optim.step(scheduler.step(), model, grads)              values, not references: rebind
    optim.into_record().save("optim-1"); scheduler.into_record().save("scheduler-1")

A new optimizer is one class, a rule for one tensor: see simple.py.
"""

from minburn.optim.adam import Adam, AdamConfig, AdamState
from minburn.optim.adamw import AdamW, AdamWConfig, AdamWState
from minburn.optim.adaptor import OptimizerAdaptor
from minburn.optim.clipping import GradientClippingConfig
from minburn.optim.decay import WeightDecayConfig
from minburn.optim.elementwise import ElementwiseOptimizer, Plan
from minburn.optim.error import OptimizerError, RecordWarning
from minburn.optim.grads import GradientsAccumulator, GradientsParams
from minburn.optim.moments import AdaptiveMomentumState
from minburn.optim.momentum import MomentumConfig, MomentumState
from minburn.optim.record import LrSchedulerRecord, OptimizerRecord, StateEntry
from minburn.optim.schedule import (
    ConstantLr,
    CosineAnnealingLrScheduler,
    CosineAnnealingLrSchedulerConfig,
    ExponentialLrScheduler,
    ExponentialLrSchedulerConfig,
    LinearLrScheduler,
    LinearLrSchedulerConfig,
    LrScheduler,
    LrSchedulerConfig,
    ModuleLrScheduler,
    NoamLrScheduler,
    NoamLrSchedulerConfig,
    StepLrScheduler,
    StepLrSchedulerConfig,
)
from minburn.optim.sgd import Sgd, SgdConfig, SgdState
from minburn.optim.simple import SimpleOptimizer

__all__ = [
    "Adam",
    "AdamConfig",
    "AdamState",
    "AdamW",
    "AdamWConfig",
    "AdamWState",
    "AdaptiveMomentumState",
    "ConstantLr",
    "CosineAnnealingLrScheduler",
    "CosineAnnealingLrSchedulerConfig",
    "ElementwiseOptimizer",
    "ExponentialLrScheduler",
    "ExponentialLrSchedulerConfig",
    "GradientClippingConfig",
    "GradientsAccumulator",
    "GradientsParams",
    "LinearLrScheduler",
    "LinearLrSchedulerConfig",
    "LrScheduler",
    "LrSchedulerConfig",
    "LrSchedulerRecord",
    "ModuleLrScheduler",
    "MomentumConfig",
    "MomentumState",
    "NoamLrScheduler",
    "NoamLrSchedulerConfig",
    "OptimizerAdaptor",
    "OptimizerError",
    "OptimizerRecord",
    "Plan",
    "RecordWarning",
    "Sgd",
    "SgdConfig",
    "SgdState",
    "SimpleOptimizer",
    "StateEntry",
    "StepLrScheduler",
    "StepLrSchedulerConfig",
    "WeightDecayConfig",
]
