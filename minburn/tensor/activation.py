"""Activation functions: one op of the backend each, so that a backend may fuse them.

Burn: `crates/burn-tensor/src/tensor/activation/base.rs`.
"""

from __future__ import annotations

from minburn.tensor.check import resolve_dim
from minburn.tensor.kinds import FloatTensor


def relu(x: FloatTensor) -> FloatTensor:
    """max(x, 0); NaN stays NaN."""
    return FloatTensor(x.backend.activations.relu(x.primitive), x.ops, x.backend)


def gelu(x: FloatTensor) -> FloatTensor:
    """x · Φ(x), where Φ is the normal distribution function, by erf. Hendrycks & Gimpel 2016."""
    return FloatTensor(x.backend.activations.gelu(x.primitive), x.ops, x.backend)


def sigmoid(x: FloatTensor) -> FloatTensor:
    """1 / (1 + e⁻ˣ)."""
    return FloatTensor(x.backend.activations.sigmoid(x.primitive), x.ops, x.backend)


def log_sigmoid(x: FloatTensor) -> FloatTensor:
    """-log(1 + e⁻ˣ), without overflow."""
    return FloatTensor(x.backend.activations.log_sigmoid(x.primitive), x.ops, x.backend)


def tanh(x: FloatTensor) -> FloatTensor:
    return x.tanh()


def silu(x: FloatTensor) -> FloatTensor:
    """x · sigmoid(x)."""
    return x * sigmoid(x)


def softmax(x: FloatTensor, dim: int) -> FloatTensor:
    """eˣ / Σ eˣ along dim, shifted by the maximum."""
    place = resolve_dim("softmax", dim, x.rank)
    return FloatTensor(x.backend.activations.softmax(x.primitive, place), x.ops, x.backend)


def log_softmax(x: FloatTensor, dim: int) -> FloatTensor:
    """x - log Σ eˣ along dim, shifted by the maximum."""
    place = resolve_dim("log_softmax", dim, x.rank)
    return FloatTensor(x.backend.activations.log_softmax(x.primitive, place), x.ops, x.backend)
