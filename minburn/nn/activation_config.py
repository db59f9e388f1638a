"""Which activation a layer is to have, as part of its config: `ActivationConfig.Relu()`, in JSON `"Relu"`.

Burn: `crates/burn-nn/src/activation/activation_wrapper.rs`.
"""

from __future__ import annotations

from typing import ClassVar

from minburn.module import Config
from minburn.nn.activation import Gelu, Relu, Sigmoid, Tanh

Activation = Gelu | Relu | Sigmoid | Tanh


class ActivationConfig(Config):
    """One of its variants."""

    Gelu: ClassVar[type[GeluActivation]]
    Relu: ClassVar[type[ReluActivation]]
    Sigmoid: ClassVar[type[SigmoidActivation]]
    Tanh: ClassVar[type[TanhActivation]]

    def init(self) -> Activation:
        raise TypeError(f"{type(self).__name__} is not one of the activations: use ActivationConfig.Gelu() or another.")


class GeluActivation(ActivationConfig, variant="Gelu"):
    def init(self) -> Activation:
        return Gelu()


class ReluActivation(ActivationConfig, variant="Relu"):
    def init(self) -> Activation:
        return Relu()


class SigmoidActivation(ActivationConfig, variant="Sigmoid"):
    def init(self) -> Activation:
        return Sigmoid()


class TanhActivation(ActivationConfig, variant="Tanh"):
    def init(self) -> Activation:
        return Tanh()


ActivationConfig.Gelu = GeluActivation
ActivationConfig.Relu = ReluActivation
ActivationConfig.Sigmoid = SigmoidActivation
ActivationConfig.Tanh = TanhActivation
