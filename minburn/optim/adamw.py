"""AdamW: Adam whose weight decay shrinks the parameter instead of joining the gradient.

    m̂ = m / (1 - β₁ᵗ)    v̂ = v / (1 - β₂ᵗ)        θ ← θ · (1 - lr · wd) - lr · m̂ / (√v̂ + ε)

Cautious decay spares the elements whose sign differs from that of m: there the gradient is already pulling them to 0.

Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization"; Liang et al., "Cautious Optimizers", for the
cautious form. Burn: `crates/burn-optim/src/optim/adamw.rs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minburn.module import Config
from minburn.optim.adaptor import OptimizerAdaptor
from minburn.optim.clipping import GradientClippingConfig
from minburn.optim.elementwise import ElementwiseOptimizer, Plan, Value, Variant
from minburn.optim.moments import AdaptiveMomentum, AdaptiveMomentumState
from minburn.optim.numbers import as_single
from minburn.tensor import FloatTensor

__all__ = ["AdamW", "AdamWConfig", "AdamWState"]


@dataclass(frozen=True)
class AdamWState:
    momentum: AdaptiveMomentumState


class AdamW(ElementwiseOptimizer[AdamWState]):
    """The rule for one tensor."""

    def __init__(self, config: AdamWConfig) -> None:
        super().__init__()
        self.momentum = AdaptiveMomentum(config.beta_1, config.beta_2, config.amsgrad)
        self.epsilon = as_single(config.epsilon)
        self.weight_decay = as_single(config.weight_decay)
        self.cautious = config.cautious_weight_decay

    def plan(self, state: AdamWState | None) -> Plan:
        return self.momentum.plan(None if state is None else state.momentum)

    def numbers(self, lr: float, time: int) -> tuple[float, ...]:
        """lr, the corrections as f32, and what decay multiplies θ with (cautious: what it takes off)."""
        correction_1, correction_2 = self.momentum.corrections(time)
        decay = lr * self.weight_decay
        return lr, float(correction_1), float(correction_2), decay if self.cautious else 1.0 - decay

    def update(
        self, variant: Variant, tensor: Value, grad: Value, kept: Sequence[Value], numbers: Sequence[Value]
    ) -> tuple[Value, ...]:
        lr, correction_1, correction_2, decay = numbers
        first, second, remembered = self.momentum.update(variant, grad, kept)
        delta = first / correction_1 / ((second / correction_2).sqrt() + self.epsilon)
        if self.weight_decay != 0.0:
            if self.cautious:
                agree = at_least_zero(tensor) * at_least_zero(first)  # 1 or -1
                tensor = tensor - tensor * decay * ((agree + 1.0) * 0.5)  # all of the decay, or nothing
            else:
                tensor = tensor * decay
        return tensor - delta * lr, *remembered

    def remember(self, time: int, kept: Sequence[FloatTensor]) -> AdamWState:
        return AdamWState(AdaptiveMomentumState(time, *kept))


def at_least_zero(x: Value) -> Value:
    """1 where x ≥ 0, else -1."""
    return (x.sign() + 0.5).sign()


class AdamWConfig(Config):
    """As AdamConfig. weight_decay: the share of θ taken off in a step, times lr. cautious_weight_decay: see above."""

    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-5
    weight_decay: float = 1e-4
    cautious_weight_decay: bool = False
    amsgrad: bool = False
    grad_clipping: GradientClippingConfig | None = None

    def build(self) -> AdamW:
        """The bare rule; the clipping belongs to `init()`."""
        return AdamW(self)

    def init(self) -> OptimizerAdaptor:
        """The optimizer of a module."""
        return OptimizerAdaptor(self.build(), self.grad_clipping)
