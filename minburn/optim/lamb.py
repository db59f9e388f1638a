"""LAMB: Adam's direction, scaled so that every parameter moves by lr times its own size.

    u = m̂ / (√v̂ + ε) + wd · θ        r = ‖θ‖ / ‖u‖, 1 unless both are positive        θ ← θ - lr · r · u

m̂ and v̂ are the bias-corrected means (see moments.py); the norms are those of this whole parameter, θ before the step.

Source: You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes".
Burn: `crates/burn-optim/src/optim/lamb.rs`.
"""

from __future__ import annotations

from dataclasses import dataclass

from minburn.module import Config
from minburn.optim.adaptor import OptimizerAdaptor
from minburn.optim.clipping import GradientClippingConfig
from minburn.optim.moments import AdaptiveMomentum
from minburn.optim.numbers import as_single
from minburn.optim.simple import SimpleOptimizer
from minburn.optim.sizes import check_sizes
from minburn.tensor import FloatTensor

__all__ = ["Lamb", "LambConfig", "LambState"]


@dataclass(frozen=True)
class LambState:
    time: int
    moment_1: FloatTensor
    moment_2: FloatTensor


class Lamb(SimpleOptimizer[LambState]):
    """The rule for one tensor. The norms need all of it, so parameters cannot run together."""

    def __init__(self, config: LambConfig) -> None:
        self.momentum = AdaptiveMomentum(config.beta_1, config.beta_2, amsgrad=False)
        self.epsilon = as_single(config.epsilon)
        self.weight_decay = as_single(config.weight_decay)
        self.use_trust_ratio = config.use_trust_ratio

    def step(
        self, lr: float, tensor: FloatTensor, grad: FloatTensor, state: LambState | None
    ) -> tuple[FloatTensor, LambState]:
        time = 1 if state is None else state.time + 1
        kept = () if state is None else (state.moment_1, state.moment_2)
        first, second, _ = self.momentum.update((state is None, False), grad, kept)
        correction_1, correction_2 = self.momentum.corrections(time)
        update = first / float(correction_1) / ((second / float(correction_2)).sqrt() + self.epsilon)
        if self.weight_decay != 0.0:
            update = update + tensor * self.weight_decay
        if self.use_trust_ratio:
            update = update * trust_ratio(tensor, update)
        return tensor - update * lr, LambState(time, first, second)

    def check_state(self, tensor: FloatTensor, state: LambState) -> str | None:
        return check_sizes(tensor, {"moment_1": state.moment_1, "moment_2": state.moment_2})


def trust_ratio(tensor: FloatTensor, update: FloatTensor) -> FloatTensor:
    """‖θ‖ / ‖u‖ with one element in the rank of θ, computed where the tensors are; 1 unless both norms are positive."""
    norm, size = tensor.square().sum().sqrt(), update.square().sum().sqrt()
    both = norm.greater_scalar(0.0).bool_and(size.greater_scalar(0.0))
    ratio = norm.ones_like().mask_where(both, norm / size)
    return ratio.reshape([1] * tensor.rank) if tensor.rank != 1 else ratio


class LambConfig(Config):
    """As AdamConfig. weight_decay: the share of θ in the direction. use_trust_ratio: without it, plain Adam steps."""

    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-6
    weight_decay: float = 0.0
    use_trust_ratio: bool = True
    grad_clipping: GradientClippingConfig | None = None

    def build(self) -> Lamb:
        """The bare rule; the clipping belongs to `init()`."""
        return Lamb(self)

    def init(self) -> OptimizerAdaptor:
        """The optimizer of a module."""
        return OptimizerAdaptor(self.build(), self.grad_clipping)
