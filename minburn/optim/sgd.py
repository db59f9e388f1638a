"""Stochastic gradient descent: θ ← θ - lr · g, with L2 decay and momentum if asked for.

Burn: `crates/burn-optim/src/optim/sgd.rs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minburn.module import Config
from minburn.optim.adaptor import OptimizerAdaptor
from minburn.optim.clipping import GradientClippingConfig
from minburn.optim.decay import WeightDecayConfig
from minburn.optim.elementwise import ElementwiseOptimizer, Plan, Value, Variant
from minburn.optim.momentum import MomentumConfig, MomentumState
from minburn.optim.numbers import as_single
from minburn.tensor import FloatTensor

__all__ = ["Sgd", "SgdConfig", "SgdState"]


@dataclass(frozen=True)
class SgdState:
    momentum: MomentumState | None = None


class Sgd(ElementwiseOptimizer[SgdState]):
    """The rule for one tensor."""

    def __init__(self, config: SgdConfig) -> None:
        super().__init__()
        self.penalty = None if config.weight_decay is None else as_single(config.weight_decay.penalty)
        self.momentum = config.momentum

    def plan(self, state: SgdState | None) -> Plan:
        velocity = None if state is None else state.momentum
        if self.momentum is None or velocity is None:
            return Plan((True,), ())
        return Plan((False,), (velocity.velocity,))

    def update(
        self, variant: Variant, tensor: Value, grad: Value, kept: Sequence[Value], numbers: Sequence[Value]
    ) -> tuple[Value, ...]:
        (first,), (lr,) = variant, numbers
        if self.penalty is not None:
            grad = tensor * self.penalty + grad
        if self.momentum is None:
            return (tensor - grad * lr,)
        momentum = as_single(self.momentum.momentum)
        velocity = grad if first else grad * (1.0 - self.momentum.dampening) + kept[0] * momentum
        delta = velocity * momentum + grad if self.momentum.nesterov else velocity
        return tensor - delta * lr, velocity

    def remember(self, time: int, kept: Sequence[FloatTensor]) -> SgdState:
        return SgdState(MomentumState(kept[0]) if kept else None)


class SgdConfig(Config):
    """weight_decay: L2, added to the gradient. gradient_clipping: of each parameter's gradient, before everything."""

    weight_decay: WeightDecayConfig | None = None
    momentum: MomentumConfig | None = None
    gradient_clipping: GradientClippingConfig | None = None

    def build(self) -> Sgd:
        """The bare rule; the clipping belongs to `init()`."""
        return Sgd(self)

    def init(self) -> OptimizerAdaptor:
        """The optimizer of a module."""
        return OptimizerAdaptor(self.build(), self.gradient_clipping)
