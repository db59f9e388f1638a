"""L2 weight decay: g ← penalty · θ + g, before anything else is done with the gradient.

AdamW decays the parameter itself instead, and has a number of its own for it.

Burn: `crates/burn-optim/src/optim/decay.rs`.
"""

from __future__ import annotations

from minburn.module import Config

__all__ = ["WeightDecayConfig"]


class WeightDecayConfig(Config):
    """penalty: the factor of θ that is added to its gradient.

    Burn: `WeightDecay` in `crates/burn-optim/src/optim/decay.rs`.
    """

    penalty: float
