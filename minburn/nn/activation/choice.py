"""Which activation a layer is to have, as part of its config.

    ActivationConfig.Relu()                            in JSON `"Relu"`
    ActivationConfig.LeakyRelu(LeakyReluConfig(0.2))   in JSON `{"LeakyRelu": {"negative_slope": 0.2}}`

In a record the choice is a part of the path where it has parameters: `activation.PRelu.alpha`.

Burn: `crates/burn-nn/src/activation/activation_wrapper.rs`.
"""

from __future__ import annotations

from typing import ClassVar

from minburn.backends import Backend
from minburn.module import Config
from minburn.nn.activation import functions, settings
from minburn.nn.activation.base import Activation
from minburn.nn.activation.learned import PRelu, PReluConfig, SwiGlu, SwiGluConfig
from minburn.tensor import FloatTensor

__all__ = ["ActivationConfig", "Identity"]


class Identity(Activation):
    """x."""

    def forward(self, x: FloatTensor) -> FloatTensor:
        return x


class PReluActivation(Activation, PRelu, variant="PRelu"):
    """A PRelu as one of the activations. Burn: `Activation::PRelu`."""

    forward = PRelu.forward
    display_attributes = PRelu.display_attributes


class SwiGluActivation(Activation, SwiGlu, variant="SwiGlu"):
    """A SwiGlu as one of the activations. Burn: `Activation::SwiGlu`."""

    forward = SwiGlu.forward
    display_attributes = SwiGlu.display_attributes


class ActivationConfig(Config):
    """One of its variants."""

    Identity: ClassVar[type[IdentityChoice]]
    Gelu: ClassVar[type[GeluChoice]]
    GeluApproximate: ClassVar[type[GeluApproximateChoice]]
    PRelu: ClassVar[type[PReluChoice]]
    Relu: ClassVar[type[ReluChoice]]
    LeakyRelu: ClassVar[type[LeakyReluChoice]]
    SwiGlu: ClassVar[type[SwiGluChoice]]
    Selu: ClassVar[type[SeluChoice]]
    Sigmoid: ClassVar[type[SigmoidChoice]]
    Tanh: ClassVar[type[TanhChoice]]
    HardSigmoid: ClassVar[type[HardSigmoidChoice]]
    HardSwish: ClassVar[type[HardSwishChoice]]
    Softplus: ClassVar[type[SoftplusChoice]]
    Softsign: ClassVar[type[SoftsignChoice]]
    Elu: ClassVar[type[EluChoice]]
    Celu: ClassVar[type[CeluChoice]]
    ThresholdedRelu: ClassVar[type[ThresholdedReluChoice]]
    HardShrink: ClassVar[type[HardShrinkChoice]]
    SoftShrink: ClassVar[type[SoftShrinkChoice]]
    Shrink: ClassVar[type[ShrinkChoice]]

    def init(self, backend: Backend) -> Activation:
        raise TypeError(f"{type(self).__name__} is not one of the activations: use ActivationConfig.Gelu() or another.")


class IdentityChoice(ActivationConfig, variant="Identity"):
    def init(self, backend: Backend) -> Activation:
        return Identity()


class GeluChoice(ActivationConfig, variant="Gelu"):
    def init(self, backend: Backend) -> Activation:
        return functions.Gelu()


class GeluApproximateChoice(ActivationConfig, variant="GeluApproximate"):
    def init(self, backend: Backend) -> Activation:
        return functions.Gelu(approximate=True)


class PReluChoice(ActivationConfig, variant="PRelu", tuple_variant=True):
    config: PReluConfig

    def init(self, backend: Backend) -> Activation:
        return PReluActivation(**self.config.init(backend).__dict__)


class ReluChoice(ActivationConfig, variant="Relu"):
    def init(self, backend: Backend) -> Activation:
        return functions.Relu()


class SwiGluChoice(ActivationConfig, variant="SwiGlu", tuple_variant=True):
    config: SwiGluConfig

    def init(self, backend: Backend) -> Activation:
        return SwiGluActivation(**self.config.init(backend).__dict__)


class SeluChoice(ActivationConfig, variant="Selu"):
    def init(self, backend: Backend) -> Activation:
        return functions.Selu()


class SigmoidChoice(ActivationConfig, variant="Sigmoid"):
    def init(self, backend: Backend) -> Activation:
        return functions.Sigmoid()


class TanhChoice(ActivationConfig, variant="Tanh"):
    def init(self, backend: Backend) -> Activation:
        return functions.Tanh()


class HardSwishChoice(ActivationConfig, variant="HardSwish"):
    def init(self, backend: Backend) -> Activation:
        return functions.HardSwish()


class SoftsignChoice(ActivationConfig, variant="Softsign"):
    def init(self, backend: Backend) -> Activation:
        return functions.Softsign()


class LeakyReluChoice(ActivationConfig, variant="LeakyRelu", tuple_variant=True):
    config: settings.LeakyReluConfig

    def init(self, backend: Backend) -> Activation:
        return self.config.init()


class HardSigmoidChoice(ActivationConfig, variant="HardSigmoid", tuple_variant=True):
    config: settings.HardSigmoidConfig

    def init(self, backend: Backend) -> Activation:
        return self.config.init()


class SoftplusChoice(ActivationConfig, variant="Softplus", tuple_variant=True):
    config: settings.SoftplusConfig

    def init(self, backend: Backend) -> Activation:
        return self.config.init()


class EluChoice(ActivationConfig, variant="Elu", tuple_variant=True):
    config: settings.EluConfig

    def init(self, backend: Backend) -> Activation:
        return self.config.init()


class CeluChoice(ActivationConfig, variant="Celu", tuple_variant=True):
    config: settings.CeluConfig

    def init(self, backend: Backend) -> Activation:
        return self.config.init()


class ThresholdedReluChoice(ActivationConfig, variant="ThresholdedRelu", tuple_variant=True):
    config: settings.ThresholdedReluConfig

    def init(self, backend: Backend) -> Activation:
        return self.config.init()


class HardShrinkChoice(ActivationConfig, variant="HardShrink", tuple_variant=True):
    config: settings.HardShrinkConfig

    def init(self, backend: Backend) -> Activation:
        return self.config.init()


class SoftShrinkChoice(ActivationConfig, variant="SoftShrink", tuple_variant=True):
    config: settings.SoftShrinkConfig

    def init(self, backend: Backend) -> Activation:
        return self.config.init()


class ShrinkChoice(ActivationConfig, variant="Shrink", tuple_variant=True):
    config: settings.ShrinkConfig

    def init(self, backend: Backend) -> Activation:
        return self.config.init()


ActivationConfig.Identity = IdentityChoice
ActivationConfig.Gelu = GeluChoice
ActivationConfig.GeluApproximate = GeluApproximateChoice
ActivationConfig.PRelu = PReluChoice
ActivationConfig.Relu = ReluChoice
ActivationConfig.LeakyRelu = LeakyReluChoice
ActivationConfig.SwiGlu = SwiGluChoice
ActivationConfig.Selu = SeluChoice
ActivationConfig.Sigmoid = SigmoidChoice
ActivationConfig.Tanh = TanhChoice
ActivationConfig.HardSigmoid = HardSigmoidChoice
ActivationConfig.HardSwish = HardSwishChoice
ActivationConfig.Softplus = SoftplusChoice
ActivationConfig.Softsign = SoftsignChoice
ActivationConfig.Elu = EluChoice
ActivationConfig.Celu = CeluChoice
ActivationConfig.ThresholdedRelu = ThresholdedReluChoice
ActivationConfig.HardShrink = HardShrinkChoice
ActivationConfig.SoftShrink = SoftShrinkChoice
ActivationConfig.Shrink = ShrinkChoice
