"""Adafactor: Adam's second moment of a matrix kept as the means of its rows and columns only.

    Q = g² + ε₁    w = tᵈᵉᶜᵃʸ⁻ʳᵃᵗᵉ
    matrices: R ← (1 - w) R + w · mean(Q, columns), C likewise over rows;  U = g / √(R / mean(R)) / √C
    else:     V ← (1 - w) V + w · Q;                                       U = g / √V
    U ← U / max(1, RMS(U) / clip_threshold)
    θ ← θ · (1 - lr · wd) - ρ · f · U    ρ = min(lr, 1/√t), f = max(ε₂, RMS(θ)); lr and 1 where they are switched off

Half floats are computed in F32, and so is their state. Leading dimensions of a tensor of higher rank are a batch of
matrices.

Source: Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost".
Burn: `crates/burn-optim/src/optim/adafactor.rs`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from minburn.dtype import DType
from minburn.module import Config
from minburn.optim.adaptor import OptimizerAdaptor
from minburn.optim.clipping import GradientClippingConfig
from minburn.optim.error import OptimizerError
from minburn.optim.numbers import as_single
from minburn.optim.simple import SimpleOptimizer
from minburn.optim.sizes import check_sizes
from minburn.tensor import FloatTensor

__all__ = ["Adafactor", "AdafactorConfig", "AdafactorState"]

HALVES = (DType.F16, DType.BF16)


@dataclass(frozen=True)
class AdafactorState:
    """second_moment: of a matrix the means of its rows [..., rows, 1], else of every element. column_second_moment:
    [..., 1, cols], of matrices only."""

    time: int
    second_moment: FloatTensor
    column_second_moment: FloatTensor | None = None


class Adafactor(SimpleOptimizer[AdafactorState]):
    """The rule for one tensor."""

    def __init__(self, config: AdafactorConfig) -> None:
        for name in ("epsilon_1", "epsilon_2", "clip_threshold"):
            check(getattr(config, name) > 0.0, config, name, "positive")
        check(config.decay_rate < 0.0, config, "decay_rate", "negative")
        check(config.weight_decay >= 0.0, config, "weight_decay", "nonnegative")
        self.epsilon_1 = as_single(config.epsilon_1)
        self.epsilon_2 = as_single(config.epsilon_2)
        self.clip_threshold = as_single(config.clip_threshold)
        self.decay_rate = config.decay_rate
        self.relative_step = config.relative_step
        self.scale_parameter = config.scale_parameter
        self.weight_decay = as_single(config.weight_decay)

    def step(
        self, lr: float, tensor: FloatTensor, grad: FloatTensor, state: AdafactorState | None
    ) -> tuple[FloatTensor, AdafactorState]:
        dtype = tensor.dtype
        if dtype in HALVES:
            tensor, grad = tensor.cast(DType.F32), grad.cast(DType.F32)
        time = 1 if state is None else state.time + 1
        update, second, column = self._direction(grad, state, float(time) ** self.decay_rate)
        root = root_mean_square(update)
        update = update / (root / self.clip_threshold).clamp_min(1.0)
        rate = min(lr, 1.0 / math.sqrt(time)) if self.relative_step else lr
        update = update * rate
        if self.scale_parameter:
            update = update * root_mean_square(tensor).clamp_min(self.epsilon_2)
        if self.weight_decay != 0.0:
            tensor = tensor * (1.0 - lr * self.weight_decay)
        updated: FloatTensor = tensor - update
        if dtype in HALVES:
            updated = updated.cast(dtype)
        return updated, AdafactorState(time, second, column)

    def _direction(
        self, grad: FloatTensor, state: AdafactorState | None, weight: float
    ) -> tuple[FloatTensor, FloatTensor, FloatTensor | None]:
        """U, and the second moments it was divided by the roots of."""
        square = grad.square() + self.epsilon_1
        if grad.rank < 2:
            second = averaged(None if state is None else state.second_moment, square, weight)
            return grad / second.sqrt(), second, None
        row = averaged(None if state is None else state.second_moment, square.mean_dim(-1), weight)
        column = averaged(None if state is None else state.column_second_moment, square.mean_dim(-2), weight)
        return grad / (row / row.mean_dim(-2)).sqrt() / column.sqrt(), row, column

    def check_state(self, tensor: FloatTensor, state: AdafactorState) -> str | None:
        if tensor.dtype in HALVES:
            tensor = tensor.cast(DType.F32)
        shape = tensor.shape
        if tensor.rank < 2:
            return check_sizes(tensor, {"second_moment": state.second_moment})
        if state.column_second_moment is None:
            return "it has no column_second_moment, which that of a matrix has"
        kept = {"second_moment": state.second_moment, "column_second_moment": state.column_second_moment}
        shapes = {"second_moment": (*shape[:-1], 1), "column_second_moment": (*shape[:-2], 1, shape[-1])}
        return check_sizes(tensor, kept, shapes)


def averaged(before: FloatTensor | None, new: FloatTensor, weight: float) -> FloatTensor:
    """(1 - w) · before + w · new; the new one alone at a first step."""
    return new if before is None else before * (1.0 - weight) + new * weight


def root_mean_square(x: FloatTensor) -> FloatTensor:
    """√(mean x²) of the whole tensor, with one element in its rank."""
    root = x.square().mean().sqrt()
    return root.reshape([1] * x.rank) if x.rank != 1 else root


def check(holds: bool, config: AdafactorConfig, name: str, what: str) -> None:
    value = getattr(config, name)
    if not (holds and math.isfinite(value)):
        raise OptimizerError(f"Adafactor {name} must be {what} and finite, but is {value}.")


class AdafactorConfig(Config):
    """epsilon_1: added to the squares. epsilon_2: the least size of a parameter. clip_threshold: the largest RMS of an
    update. decay_rate: of the weight of the newest square. relative_step: a rate that falls by itself, lr being its
    most. scale_parameter: steps relative to a parameter's size.

    Errors: OptimizerError in `build` for what is out of range.
    """

    epsilon_1: float = 1e-30
    epsilon_2: float = 1e-3
    clip_threshold: float = 1.0
    decay_rate: float = -0.8
    relative_step: bool = True
    scale_parameter: bool = True
    weight_decay: float = 0.0
    grad_clipping: GradientClippingConfig | None = None

    def build(self) -> Adafactor:
        """The bare rule; the clipping belongs to `init()`."""
        return Adafactor(self)

    def init(self) -> OptimizerAdaptor:
        """The optimizer of a module."""
        return OptimizerAdaptor(self.build(), self.grad_clipping)
