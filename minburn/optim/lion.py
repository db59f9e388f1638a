"""Lion: a step of exactly lr for every element, in the direction of the sign of a mixed momentum.

    c = sign(β₁ m + (1 - β₁) g)    m ← β₂ m + (1 - β₂) g        θ ← θ · (1 - lr · wd) - lr · c

m is 0 at a parameter's first step, and sign(0) is 0.

Source: Chen et al., "Symbolic Discovery of Optimization Algorithms". Burn: `crates/burn-optim/src/optim/lion.rs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minburn.module import Config
from minburn.optim.adaptor import OptimizerAdaptor
from minburn.optim.clipping import GradientClippingConfig
from minburn.optim.elementwise import ElementwiseOptimizer, Plan, Value, Variant
from minburn.optim.numbers import as_single, single
from minburn.tensor import FloatTensor

__all__ = ["Lion", "LionConfig", "LionState"]


@dataclass(frozen=True)
class LionState:
    momentum: FloatTensor


class Lion(ElementwiseOptimizer[LionState]):
    """The rule for one tensor."""

    def __init__(self, config: LionConfig) -> None:
        super().__init__()
        self.beta_1, self.beta_2 = as_single(config.beta_1), as_single(config.beta_2)
        self.rest_1 = float(single(1) - single(config.beta_1))
        self.rest_2 = float(single(1) - single(config.beta_2))
        self.weight_decay = as_single(config.weight_decay)

    def plan(self, state: LionState | None) -> Plan:
        return Plan((True,), ()) if state is None else Plan((False,), (state.momentum,))

    def numbers(self, lr: float, time: int) -> tuple[float, ...]:
        return lr, 1.0 - lr * self.weight_decay

    def update(
        self, variant: Variant, tensor: Value, grad: Value, kept: Sequence[Value], numbers: Sequence[Value]
    ) -> tuple[Value, ...]:
        (first,), (lr, decay) = variant, numbers
        mixed, momentum = grad * self.rest_1, grad * self.rest_2
        if not first:
            mixed = kept[0] * self.beta_1 + mixed
            momentum = kept[0] * self.beta_2 + momentum
        if self.weight_decay != 0.0:
            tensor = tensor * decay
        return tensor - mixed.sign() * lr, momentum

    def remember(self, time: int, kept: Sequence[FloatTensor]) -> LionState:
        return LionState(kept[0])


class LionConfig(Config):
    """beta_1: of the direction. beta_2: of what is remembered. weight_decay: the share of θ taken off, times lr."""

    beta_1: float = 0.9
    beta_2: float = 0.99
    weight_decay: float = 0.0
    grad_clipping: GradientClippingConfig | None = None

    def build(self) -> Lion:
        """The bare rule; the clipping belongs to `init()`."""
        return Lion(self)

    def init(self) -> OptimizerAdaptor:
        """The optimizer of a module."""
        return OptimizerAdaptor(self.build(), self.grad_clipping)
