"""Adan: Adam with Nesterov's look-ahead, estimated from how the gradient changes.

    Δ = g - g of the step before (0 at the first)
    e ← β₁ e + (1 - β₁) g    d ← β₂ d + (1 - β₂) Δ    q ← β₃ q + (1 - β₃) (g + β₂ Δ)²
    u = e / (1 - β₁ᵗ) / den + β₂ d / (1 - β₂ᵗ) / den    den = √q / √(1 - β₃ᵗ) + ε
    θ ← (θ - lr · u) / (1 + lr · wd)        no_prox: θ ← θ · (1 - lr · wd) - lr · u

Source: Xie et al., "Adan: Adaptive Nesterov Momentum Algorithm for Faster Optimizing Deep Models".
Burn: `crates/burn-optim/src/optim/adan.rs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minburn.module import Config
from minburn.optim.adaptor import OptimizerAdaptor
from minburn.optim.clipping import GradientClippingConfig
from minburn.optim.elementwise import ElementwiseOptimizer, Plan, Value, Variant
from minburn.optim.numbers import SinglePowers, as_single, single
from minburn.tensor import FloatTensor

__all__ = ["Adan", "AdanConfig", "AdanState"]


@dataclass(frozen=True)
class AdaptiveNesterovState:
    """neg_pre_grad: the gradient of the step before, with the other sign.

    Burn: `AdaptiveNesterovMomentumState` in `crates/burn-optim/src/optim/adan.rs`.
    """

    time: int
    exp_avg: FloatTensor
    exp_avg_sq: FloatTensor
    exp_avg_diff: FloatTensor
    neg_pre_grad: FloatTensor


@dataclass(frozen=True)
class AdanState:
    momentum: AdaptiveNesterovState


class Adan(ElementwiseOptimizer[AdanState]):
    """The rule for one tensor."""

    def __init__(self, config: AdanConfig) -> None:
        super().__init__()
        betas = (config.beta_1, config.beta_2, config.beta_3)
        self.betas = tuple(map(as_single, betas))
        self.rests = tuple(float(single(1) - single(beta)) for beta in betas)
        self._powers = tuple(SinglePowers(beta) for beta in betas)
        self.epsilon = as_single(config.epsilon)
        self.weight_decay = as_single(config.weight_decay)
        self.no_prox = config.no_prox

    def plan(self, state: AdanState | None) -> Plan:
        if state is None:
            return Plan((True,), (), 1)
        kept = state.momentum
        return Plan((False,), (kept.exp_avg, kept.exp_avg_sq, kept.exp_avg_diff, kept.neg_pre_grad), kept.time + 1)

    def numbers(self, lr: float, time: int) -> tuple[float, ...]:
        """lr, the three corrections as f32 (of the third the root), and what decay does to θ."""
        first, second, third = (single(1) - powers[time] for powers in self._powers)
        decay = 1.0 - lr * self.weight_decay if self.no_prox else 1.0 + lr * self.weight_decay
        return lr, float(first), float(second), float(np.sqrt(third)), decay

    def update(
        self, variant: Variant, tensor: Value, grad: Value, kept: Sequence[Value], numbers: Sequence[Value]
    ) -> tuple[Value, ...]:
        (is_first,), (lr, correction_1, correction_2, root_3, decay) = variant, numbers
        (beta_1, beta_2, beta_3), (rest_1, rest_2, rest_3) = self.betas, self.rests
        average = grad * rest_1
        if is_first:
            square, difference = grad * grad * rest_3, grad * 0.0
        else:
            change = kept[3] + grad
            average = kept[0] * beta_1 + average
            difference = kept[2] * beta_2 + change * rest_2
            ahead = grad + change * beta_2
            square = kept[1] * beta_3 + ahead * ahead * rest_3
        below = square.sqrt() / root_3 + self.epsilon
        delta = average / correction_1 / below + difference * beta_2 / correction_2 / below
        if self.weight_decay == 0.0:
            updated = tensor - delta * lr
        elif self.no_prox:
            updated = tensor * decay - delta * lr
        else:
            updated = (tensor - delta * lr) / decay
        return updated, average, square, difference, -grad

    def remember(self, time: int, kept: Sequence[FloatTensor]) -> AdanState:
        return AdanState(AdaptiveNesterovState(time, *kept))


class AdanConfig(Config):
    """beta_1, beta_2, beta_3: how slowly the means of the gradient, of its change and of the square move.
    no_prox: decay before the step instead of after it."""

    beta_1: float = 0.98
    beta_2: float = 0.92
    beta_3: float = 0.99
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    no_prox: bool = False
    grad_clipping: GradientClippingConfig | None = None

    def build(self) -> Adan:
        """The bare rule; the clipping belongs to `init()`."""
        return Adan(self)

    def init(self) -> OptimizerAdaptor:
        """The optimizer of a module."""
        return OptimizerAdaptor(self.build(), self.grad_clipping)
