"""Optimizers of modules, learning-rate schedules, and their records.

    optim = AdamConfig().init()                                     a rule and the states of a model's parameters
    scheduler = CosineAnnealingLrSchedulerConfig(1e-3, 1000).init()
    grads = GradientsParams.from_grads(loss.backward(), model)
    model = optim.step(scheduler.step(), model, grads)              values, not references: rebind
    optim.into_record().save("optim-1"); scheduler.into_record().save("scheduler-1")

A new optimizer is one class, a rule for one tensor: see simple.py.
"""

from typing import TYPE_CHECKING

from minburn.lazy import lazy_names

if TYPE_CHECKING:
    from minburn.optim.adafactor import *
    from minburn.optim.adagrad import *
    from minburn.optim.adam import *
    from minburn.optim.adamw import *
    from minburn.optim.adan import *
    from minburn.optim.adaptor import *
    from minburn.optim.clipping import *
    from minburn.optim.decay import *
    from minburn.optim.elementwise import *
    from minburn.optim.error import *
    from minburn.optim.grads import *
    from minburn.optim.lamb import *
    from minburn.optim.lbfgs import *
    from minburn.optim.learning_rate import *
    from minburn.optim.lion import *
    from minburn.optim.moments import *
    from minburn.optim.momentum import *
    from minburn.optim.muon import *
    from minburn.optim.record import *
    from minburn.optim.rmsprop import *
    from minburn.optim.schedule import *
    from minburn.optim.sgd import *
    from minburn.optim.simple import *
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "adafactor": ("Adafactor", "AdafactorConfig", "AdafactorState"),
            "adagrad": ("AdaGrad", "AdaGradConfig", "AdaGradState"),
            "adam": ("Adam", "AdamConfig", "AdamState"),
            "adamw": ("AdamW", "AdamWConfig", "AdamWState"),
            "adan": ("Adan", "AdanConfig", "AdanState"),
            "adaptor": ("OptimizerAdaptor",),
            "clipping": ("GradientClippingConfig",),
            "decay": ("WeightDecayConfig",),
            "elementwise": ("ElementwiseOptimizer", "Plan"),
            "error": ("OptimizerError", "RecordWarning"),
            "grads": ("GradientsAccumulator", "GradientsParams"),
            "lamb": ("Lamb", "LambConfig", "LambState"),
            "lbfgs": ("LBFGS", "LBFGSConfig", "LBFGSState", "LineSearchFn"),
            "learning_rate": ("ModuleLearningRate",),
            "lion": ("Lion", "LionConfig", "LionState"),
            "moments": ("AdaptiveMomentumState",),
            "momentum": ("MomentumConfig", "MomentumState"),
            "muon": ("AdjustLrFn", "Muon", "MuonConfig", "MuonState"),
            "record": ("LrSchedulerRecord", "OptimizerRecord", "StateEntry"),
            "rmsprop": ("RmsProp", "RmsPropConfig", "RmsPropState"),
            "schedule": (
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
            ),
            "sgd": ("Sgd", "SgdConfig", "SgdState"),
            "simple": ("SimpleOptimizer",),
        },
    )
