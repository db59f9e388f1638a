"""Muon: momentum whose matrix is replaced by the nearest one with equal singular values.

    X = momentum(g), transposed if it has more rows than columns        X ← X / max(‖X‖, ε)
    ns_steps times: A = X Xᵀ, X ← a X + (b A + c A A) X                 (Newton-Schulz)
    θ ← θ · (1 - lr · penalty) - lr · ratio · X

ratio: Original √max(1, rows / cols); MatchRmsAdamW 0.2 · √max(rows, cols). For matrices only: embeddings, biases and
norms are trained by another rule.

Source: Jordan et al., "Muon: An optimizer for hidden layers in neural networks". Burn:
`crates/burn-optim/src/optim/muon.rs`.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from minburn.module import Config
from minburn.optim.adaptor import OptimizerAdaptor
from minburn.optim.decay import WeightDecayConfig
from minburn.optim.error import OptimizerError
from minburn.optim.momentum import MomentumConfig, MomentumState
from minburn.optim.numbers import as_single
from minburn.optim.simple import SimpleOptimizer
from minburn.optim.sizes import check_sizes
from minburn.tensor import FloatTensor

__all__ = ["AdjustLrFn", "Muon", "MuonConfig", "MuonState"]


class AdjustLrFn(enum.Enum):
    """How the rate follows the shape of the matrix."""

    Original = "Original"
    MatchRmsAdamW = "MatchRmsAdamW"

    def ratio(self, rows: int, cols: int) -> float:
        if self is AdjustLrFn.Original:
            return math.sqrt(max(1.0, rows / cols))
        return 0.2 * math.sqrt(max(rows, cols))


@dataclass(frozen=True)
class MuonState:
    momentum: MomentumState


class Muon(SimpleOptimizer[MuonState]):
    """The rule for one matrix."""

    def __init__(self, config: MuonConfig) -> None:
        self.momentum = config.momentum
        self.coefficients = tuple(map(as_single, config.ns_coefficients))
        self.epsilon = as_single(config.epsilon)
        self.ns_steps = config.ns_steps
        self.adjust_lr_fn = config.adjust_lr_fn
        self.penalty = None if config.weight_decay is None else as_single(config.weight_decay.penalty)

    def step(
        self, lr: float, tensor: FloatTensor, grad: FloatTensor, state: MuonState | None
    ) -> tuple[FloatTensor, MuonState]:
        if tensor.rank != 2:
            raise OptimizerError(
                f"Muon: Newton-Schulz iteration requires 2D tensors, got {tensor.rank}D. Train this parameter, of "
                f"shape {list(tensor.shape)}, by another optimizer."
            )
        factor = as_single(self.momentum.momentum)
        velocity = grad
        if state is not None:
            velocity = grad * (1.0 - self.momentum.dampening) + state.momentum.velocity * factor
        direction = velocity * factor + grad if self.momentum.nesterov else velocity
        if self.penalty is not None:
            tensor = tensor * (1.0 - lr * self.penalty)
        rate = lr * self.adjust_lr_fn.ratio(*tensor.shape)
        return tensor - self.orthogonal(direction) * rate, MuonState(MomentumState(velocity))

    def orthogonal(self, matrix: FloatTensor) -> FloatTensor:
        """Close to the nearest matrix whose singular values are all equal."""
        tall = matrix.shape[0] > matrix.shape[1]
        x = matrix.transpose() if tall else matrix
        norm = x.square().sum().sqrt().clamp_min(self.epsilon)
        x = x / norm.unsqueeze()
        a, b, c = self.coefficients
        for _ in range(self.ns_steps):
            gram = x.matmul(x.transpose())
            x = x * a + (gram * b + gram.matmul(gram) * c).matmul(x)
        return x.transpose() if tall else x

    def check_state(self, tensor: FloatTensor, state: MuonState) -> str | None:
        return check_sizes(tensor, {"velocity": state.momentum.velocity})


class MuonConfig(Config):
    """ns_coefficients: a, b, c. epsilon: the least norm divided by. weight_decay: the share of θ taken off, times lr.

    Errors: OptimizerError in `build` for coefficients that are not three.
    """

    weight_decay: WeightDecayConfig | None = None
    momentum: MomentumConfig = MomentumConfig(momentum=0.95, dampening=0.0, nesterov=True)
    ns_coefficients: tuple[float, ...] = (3.4445, -4.775, 2.0315)
    epsilon: float = 1e-7
    ns_steps: int = 5
    adjust_lr_fn: AdjustLrFn = AdjustLrFn.Original

    def build(self) -> Muon:
        """The bare rule."""
        if len(self.ns_coefficients) != 3:
            raise OptimizerError(f"MuonConfig: ns_coefficients are three numbers, but got {self.ns_coefficients!r}.")
        return Muon(self)

    def init(self) -> OptimizerAdaptor:
        """The optimizer of a module."""
        return OptimizerAdaptor(self.build())
