"""AdaGrad: every element's rate falls with the gradients it has seen.

    S ← S + g²    lr' = lr / (1 + (t - 1) · lr_decay)        θ ← θ - g / (√S + ε) · lr'

Source: Duchi, Hazan and Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization".
Burn: `crates/burn-optim/src/optim/adagrad.rs`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from minburn.module import Config
from minburn.optim.adaptor import OptimizerAdaptor
from minburn.optim.clipping import GradientClippingConfig
from minburn.optim.decay import WeightDecayConfig
from minburn.optim.elementwise import ElementwiseOptimizer, Plan, Value, Variant
from minburn.optim.error import OptimizerError
from minburn.optim.numbers import as_single
from minburn.tensor import FloatTensor

__all__ = ["AdaGrad", "AdaGradConfig", "AdaGradState"]


@dataclass(frozen=True)
class LrDecayState:
    time: int
    sum: FloatTensor


@dataclass(frozen=True)
class AdaGradState:
    lr_decay: LrDecayState


class AdaGrad(ElementwiseOptimizer[AdaGradState]):
    """The rule for one tensor."""

    def __init__(self, config: AdaGradConfig) -> None:
        super().__init__()
        if not 0.0 <= config.lr_decay < math.inf:
            raise OptimizerError(f"AdaGrad: lr_decay must be finite and at least 0, but is {config.lr_decay}.")
        self.lr_decay = config.lr_decay
        self.epsilon = as_single(config.epsilon)
        self.penalty = None if config.weight_decay is None else as_single(config.weight_decay.penalty)

    def plan(self, state: AdaGradState | None) -> Plan:
        if state is None:
            return Plan((True,), (), 1)
        return Plan((False,), (state.lr_decay.sum,), state.lr_decay.time + 1)

    def numbers(self, lr: float, time: int) -> tuple[float, ...]:
        return (lr / (1.0 + (time - 1) * self.lr_decay),)

    def update(
        self, variant: Variant, tensor: Value, grad: Value, kept: Sequence[Value], numbers: Sequence[Value]
    ) -> tuple[Value, ...]:
        (first,), (lr,) = variant, numbers
        if self.penalty is not None:
            grad = tensor * self.penalty + grad
        total = grad * grad if first else kept[0] + grad * grad
        return tensor - grad / (total.sqrt() + self.epsilon) * lr, total

    def remember(self, time: int, kept: Sequence[FloatTensor]) -> AdaGradState:
        return AdaGradState(LrDecayState(time, kept[0]))


class AdaGradConfig(Config):
    """lr_decay: how fast the rate itself falls. epsilon: added to the root. weight_decay: L2."""

    lr_decay: float = 0.0
    weight_decay: WeightDecayConfig | None = None
    epsilon: float = 1e-5
    grad_clipping: GradientClippingConfig | None = None

    def build(self) -> AdaGrad:
        """The bare rule; the clipping belongs to `init()`."""
        return AdaGrad(self)

    def init(self) -> OptimizerAdaptor:
        """The optimizer of a module."""
        return OptimizerAdaptor(self.build(), self.grad_clipping)
