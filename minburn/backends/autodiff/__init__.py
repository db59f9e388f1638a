"""Autodiff: a decorator that makes any backend differentiable.

    graph.py       nodes, the backward walk, Gradients
    parts.py       the gradient of what was cut into pieces
    rule.py        decorators: a rule (result and pullbacks in one method) becomes an op
    layout.py, arithmetic.py, math.py, activations.py, modules/      the rules, one file a family
    checkpoint.py  the strategy that computes values again instead of keeping them
    backend.py     Autodiff(backend)

Burn: `crates/burn-autodiff`.
"""

from minburn.backends.autodiff.backend import Autodiff
from minburn.backends.autodiff.checkpoint import BalancedCheckpointing, CheckpointStrategy, NoCheckpointing
from minburn.backends.autodiff.graph import Gradients

__all__ = ["Autodiff", "BalancedCheckpointing", "CheckpointStrategy", "Gradients", "NoCheckpointing"]
