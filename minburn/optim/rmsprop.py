"""RMSProp: the gradient divided by the root of its recent mean square.

    q ← α q + (1 - α) g²    centered: a ← α a + (1 - α) g, w = q - a²;  else w = q
    u = g / (√w + ε)        with momentum: b ← momentum · b + u, u = b        θ ← θ - lr · u

At a parameter's first step the means are their second terms, and b is u.

Source: Tieleman and Hinton, "Lecture 6.5: RMSProp", COURSERA, 2012; Graves, "Generating Sequences With Recurrent Neural
Networks", for the centered form. Burn: `crates/burn-optim/src/optim/rmsprop.rs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minburn.module import Config
from minburn.optim.adaptor import OptimizerAdaptor
from minburn.optim.clipping import GradientClippingConfig
from minburn.optim.decay import WeightDecayConfig
from minburn.optim.elementwise import ElementwiseOptimizer, Plan, Value, Variant
from minburn.optim.numbers import as_single, single
from minburn.tensor import FloatTensor

__all__ = ["RmsProp", "RmsPropConfig", "RmsPropState"]


@dataclass(frozen=True)
class SquareAvgState:
    square_avg: FloatTensor


@dataclass(frozen=True)
class CenteredState:
    """avg: what was divided by, before the root. grad_avg: of the centered form only."""

    grad_avg: FloatTensor | None
    avg: FloatTensor


@dataclass(frozen=True)
class RmsPropMomentumState:
    buf: FloatTensor


@dataclass(frozen=True)
class RmsPropState:
    square_avg: SquareAvgState
    centered: CenteredState
    momentum: RmsPropMomentumState | None = None


class RmsProp(ElementwiseOptimizer[RmsPropState]):
    """The rule for one tensor."""

    def __init__(self, config: RmsPropConfig) -> None:
        super().__init__()
        self.alpha = as_single(config.alpha)
        self.rest = float(single(1) - single(config.alpha))
        self.momentum = as_single(config.momentum)
        self.epsilon = as_single(config.epsilon)
        self.centered = config.centered
        self.penalty = None if config.weight_decay is None else as_single(config.weight_decay.penalty)

    def plan(self, state: RmsPropState | None) -> Plan:
        """variant: which of the means and the buffer there are. The state's tensors are those, in this order."""
        if state is None:
            return Plan((False, False, False), ())
        mean = state.centered.grad_avg if self.centered else None
        buffer = state.momentum.buf if state.momentum is not None and self.momentum > 0.0 else None
        there = [tensor for tensor in (state.square_avg.square_avg, mean, buffer) if tensor is not None]
        return Plan((True, mean is not None, buffer is not None), tuple(there))

    def update(
        self, variant: Variant, tensor: Value, grad: Value, kept: Sequence[Value], numbers: Sequence[Value]
    ) -> tuple[Value, ...]:
        has_square, has_mean, has_buffer = variant
        (lr,) = numbers
        before = list(kept)
        if self.penalty is not None:
            grad = tensor * self.penalty + grad
        square = grad * grad * self.rest
        if has_square:
            square = before.pop(0) * self.alpha + square
        remembered, spread = [square], square
        if self.centered:
            mean = grad * self.rest
            if has_mean:
                mean = before.pop(0) * self.alpha + mean
            spread = square - mean * mean
            remembered.append(mean)
        delta = grad / (spread.sqrt() + self.epsilon)
        if self.momentum > 0.0:
            delta = before.pop(0) * self.momentum + delta if has_buffer else delta
            remembered.append(delta)
        return tensor - delta * lr, *remembered

    def remember(self, time: int, kept: Sequence[FloatTensor]) -> RmsPropState:
        square = kept[0]
        mean = kept[1] if self.centered else None
        spread = square if mean is None else square - mean * mean
        buffer = RmsPropMomentumState(kept[-1]) if self.momentum > 0.0 else None
        return RmsPropState(SquareAvgState(square), CenteredState(mean, spread), buffer)


class RmsPropConfig(Config):
    """alpha: how slowly the mean square moves. momentum: 0 for none. epsilon: added to the root. weight_decay: L2."""

    alpha: float = 0.99
    momentum: float = 0.9
    epsilon: float = 1e-5
    centered: bool = False
    weight_decay: WeightDecayConfig | None = None
    grad_clipping: GradientClippingConfig | None = None

    def build(self) -> RmsProp:
        """The bare rule; the clipping belongs to `init()`."""
        return RmsProp(self)

    def init(self) -> OptimizerAdaptor:
        """The optimizer of a module."""
        return OptimizerAdaptor(self.build(), self.grad_clipping)
