"""Momentum: v ← (1 - dampening) · g + momentum · v; at a parameter's first step v = g.

The update uses v, or with Nesterov's look-ahead g + momentum · v. The default dampening is Burn's 0.1, not 0.

Burn: `crates/burn-optim/src/optim/momentum.rs`.
"""

from __future__ import annotations

from dataclasses import dataclass

from minburn.module import Config
from minburn.tensor import FloatTensor

__all__ = ["MomentumConfig", "MomentumState"]


class MomentumConfig(Config):
    """Burn: `Momentum` in `crates/burn-optim/src/optim/momentum.rs`."""

    momentum: float = 0.9
    dampening: float = 0.1
    nesterov: bool = False


@dataclass(frozen=True)
class MomentumState:
    velocity: FloatTensor
