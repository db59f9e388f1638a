"""Optimizers of modules, learning-rate schedules, and their records.

    optim = AdamConfig().init()                                     a rule and the states of a model's parameters
    scheduler = CosineAnnealingLrSchedulerConfig(1e-3, 1000).init()
    grads = GradientsParams.from_grads(loss.backward(), model)
    model = optim.step(scheduler.step(), model, grads)              values, not references: rebind
    optim.into_record().save("optim-1"); scheduler.into_record().save("scheduler-1")

A new optimizer is one class, a rule for one tensor: see simple.py.
"""

from minburn.optim.adafactor import Adafactor, AdafactorConfig, AdafactorState
from minburn.optim.adagrad import AdaGrad, AdaGradConfig, AdaGradState
from minburn.optim.adam import Adam, AdamConfig, AdamState
from minburn.optim.adamw import AdamW, AdamWConfig, AdamWState
from minburn.optim.adan import Adan, AdanConfig, AdanState
from minburn.optim.adaptor import OptimizerAdaptor
from minburn.optim.clipping import GradientClippingConfig
from minburn.optim.decay import WeightDecayConfig
from minburn.optim.elementwise import ElementwiseOptimizer, Plan
from minburn.optim.error import OptimizerError, RecordWarning
from minburn.optim.grads import GradientsAccumulator, GradientsParams
from minburn.optim.lamb import Lamb, LambConfig, LambState
from minburn.optim.lion import Lion, LionConfig, LionState
from minburn.optim.moments import AdaptiveMomentumState
from minburn.optim.momentum import MomentumConfig, MomentumState
from minburn.optim.muon import AdjustLrFn, Muon, MuonConfig, MuonState
from minburn.optim.record import LrSchedulerRecord, OptimizerRecord, StateEntry
from minburn.optim.rmsprop import RmsProp, RmsPropConfig, RmsPropState
from minburn.optim.schedule import (
    ComposedLrScheduler,
    ComposedLrSchedulerConfig,
    ConstantLr,
    ConstantLrConfig,
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
    SchedulerReduction,
    SequentialLrScheduler,
    SequentialLrSchedulerConfig,
    StepLrScheduler,
    StepLrSchedulerConfig,
)
from minburn.optim.sgd import Sgd, SgdConfig, SgdState
from minburn.optim.simple import SimpleOptimizer

__all__ = [
    "AdaGrad",
    "AdaGradConfig",
    "AdaGradState",
    "Adafactor",
    "AdafactorConfig",
    "AdafactorState",
    "Adam",
    "AdamConfig",
    "AdamState",
    "AdamW",
    "AdamWConfig",
    "AdamWState",
    "Adan",
    "AdanConfig",
    "AdanState",
    "AdaptiveMomentumState",
    "AdjustLrFn",
    "ComposedLrScheduler",
    "ComposedLrSchedulerConfig",
    "ConstantLr",
    "ConstantLrConfig",
    "CosineAnnealingLrScheduler",
    "CosineAnnealingLrSchedulerConfig",
    "ElementwiseOptimizer",
    "ExponentialLrScheduler",
    "ExponentialLrSchedulerConfig",
    "GradientClippingConfig",
    "GradientsAccumulator",
    "GradientsParams",
    "Lamb",
    "LambConfig",
    "LambState",
    "LinearLrScheduler",
    "LinearLrSchedulerConfig",
    "Lion",
    "LionConfig",
    "LionState",
    "LrScheduler",
    "LrSchedulerConfig",
    "LrSchedulerRecord",
    "ModuleLrScheduler",
    "MomentumConfig",
    "MomentumState",
    "Muon",
    "MuonConfig",
    "MuonState",
    "NoamLrScheduler",
    "NoamLrSchedulerConfig",
    "OptimizerAdaptor",
    "OptimizerError",
    "OptimizerRecord",
    "Plan",
    "RecordWarning",
    "RmsProp",
    "RmsPropConfig",
    "RmsPropState",
    "SchedulerReduction",
    "SequentialLrScheduler",
    "SequentialLrSchedulerConfig",
    "Sgd",
    "SgdConfig",
    "SgdState",
    "SimpleOptimizer",
    "StateEntry",
    "StepLrScheduler",
    "StepLrSchedulerConfig",
    "WeightDecayConfig",
]
