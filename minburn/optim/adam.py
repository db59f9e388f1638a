"""Adam: a step of about lr for every element, whatever the size of its gradient.

    s = √(1 - β₂ᵗ)        θ ← θ - lr · m · s / (1 - β₁ᵗ) / (√v + ε · s)

which is lr · m̂ / (√v̂ + ε) with the bias-corrected m̂ and v̂ (see moments.py), arranged so that the corrections are
numbers. Weight decay is L2, added to the gradient. The default ε is Burn's 1e-5.

Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization". Burn: `crates/burn-optim/src/optim/adam.rs`.
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
from minburn.optim.moments import AdaptiveMomentum, AdaptiveMomentumState
from minburn.optim.numbers import as_single, single
from minburn.tensor import FloatTensor

__all__ = ["Adam", "AdamConfig", "AdamState"]


@dataclass(frozen=True)
class AdamState:
    momentum: AdaptiveMomentumState


class Adam(ElementwiseOptimizer[AdamState]):
    """The rule for one tensor."""

    def __init__(self, config: AdamConfig) -> None:
        super().__init__()
        self.momentum = AdaptiveMomentum(config.beta_1, config.beta_2, config.amsgrad)
        self.epsilon = single(config.epsilon)
        self.penalty = None if config.weight_decay is None else as_single(config.weight_decay.penalty)

    def plan(self, state: AdamState | None) -> Plan:
        return self.momentum.plan(None if state is None else state.momentum)

    def numbers(self, lr: float, time: int) -> tuple[float, ...]:
        """lr, s / (1 - β₁ᵗ) and ε · s; the last two as f32."""
        correction_1, correction_2 = self.momentum.corrections(time)
        s = single(math.sqrt(correction_2))  # rounded once, as np.sqrt is, in a quarter of the time
        return lr, float(s / correction_1), float(self.epsilon * s)

    def update(
        self, variant: Variant, tensor: Value, grad: Value, kept: Sequence[Value], numbers: Sequence[Value]
    ) -> tuple[Value, ...]:
        lr, scale, epsilon = numbers
        if self.penalty is not None:
            grad = tensor * self.penalty + grad
        first, second, remembered = self.momentum.update(variant, grad, kept)
        delta = first * scale / (second.sqrt() + epsilon)
        return tensor - delta * lr, *remembered

    def remember(self, time: int, kept: Sequence[FloatTensor]) -> AdamState:
        return AdamState(AdaptiveMomentumState(time, *kept))


class AdamConfig(Config):
    """beta_1, beta_2: how slowly the means of the gradient and its square move. epsilon: added to the root.
    amsgrad: divide by the largest mean square so far. weight_decay: L2. grad_clipping: of each parameter's gradient."""

    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-5
    amsgrad: bool = False
    weight_decay: WeightDecayConfig | None = None
    grad_clipping: GradientClippingConfig | None = None

    def build(self) -> Adam:
        """The bare rule; the clipping belongs to `init()`."""
        return Adam(self)

    def init(self) -> OptimizerAdaptor:
        """The optimizer of a module."""
        return OptimizerAdaptor(self.build(), self.grad_clipping)
