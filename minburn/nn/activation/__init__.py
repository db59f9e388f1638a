"""Activations as modules, to be fields of a model. Burn: `crates/burn-nn/src/activation/`."""

from typing import TYPE_CHECKING

from minburn.lazy import lazy_names

if TYPE_CHECKING:
    from minburn.nn.activation.base import *
    from minburn.nn.activation.choice import *
    from minburn.nn.activation.functions import *
    from minburn.nn.activation.learned import *
    from minburn.nn.activation.settings import *
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "base": ("Activation",),
            "choice": ("ActivationConfig", "Identity"),
            "functions": (
                "Gelu",
                "HardSwish",
                "LogSigmoid",
                "Mish",
                "Relu",
                "Relu6",
                "Selu",
                "SiLU",
                "Sigmoid",
                "Softsign",
                "Tanh",
                "Tanhshrink",
            ),
            "learned": ("PRelu", "PReluConfig", "RRelu", "RReluConfig", "SwiGlu", "SwiGluConfig"),
            "settings": (
                "Celu",
                "CeluConfig",
                "Elu",
                "EluConfig",
                "GLU",
                "HardShrink",
                "HardShrinkConfig",
                "HardSigmoid",
                "HardSigmoidConfig",
                "Hardtanh",
                "HardtanhConfig",
                "LeakyRelu",
                "LeakyReluConfig",
                "Shrink",
                "ShrinkConfig",
                "SoftShrink",
                "SoftShrinkConfig",
                "Softplus",
                "SoftplusConfig",
                "Threshold",
                "ThresholdConfig",
                "ThresholdedRelu",
                "ThresholdedReluConfig",
            ),
        },
    )
