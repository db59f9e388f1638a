"""Activation functions: one op of the backend each, so that a backend may fuse them.

Burn: `crates/burn-tensor/src/tensor/activation/base.rs`.
"""

from __future__ import annotations

from minburn.tensor.check import KindError, resolve_dim
from minburn.tensor.kinds import FloatTensor


def relu(x: FloatTensor) -> FloatTensor:
    """max(x, 0); NaN stays NaN."""
    check_float("relu", x)
    return FloatTensor(x.backend.activations.relu(x.primitive), x.ops, x.backend)


def gelu(x: FloatTensor) -> FloatTensor:
    """x · Φ(x), where Φ is the normal distribution function, by erf. Hendrycks & Gimpel 2016."""
    check_float("gelu", x)
    return FloatTensor(x.backend.activations.gelu(x.primitive), x.ops, x.backend)


def sigmoid(x: FloatTensor) -> FloatTensor:
    """1 / (1 + e⁻ˣ)."""
    check_float("sigmoid", x)
    return FloatTensor(x.backend.activations.sigmoid(x.primitive), x.ops, x.backend)


def log_sigmoid(x: FloatTensor) -> FloatTensor:
    """-log(1 + e⁻ˣ), without overflow."""
    check_float("log_sigmoid", x)
    return FloatTensor(x.backend.activations.log_sigmoid(x.primitive), x.ops, x.backend)


def tanh(x: FloatTensor) -> FloatTensor:
    check_float("tanh", x)
    return x.tanh()


def silu(x: FloatTensor) -> FloatTensor:
    """x · sigmoid(x)."""
    check_float("silu", x)
    return x * sigmoid(x)


def softmax(x: FloatTensor, dim: int) -> FloatTensor:
    """eˣ / Σ eˣ along dim, shifted by the maximum."""
    check_float("softmax", x)
    place = resolve_dim("softmax", dim, x.rank)
    return FloatTensor(x.backend.activations.softmax(x.primitive, place), x.ops, x.backend)


def log_softmax(x: FloatTensor, dim: int) -> FloatTensor:
    """x - log Σ eˣ along dim, shifted by the maximum."""
    check_float("log_softmax", x)
    place = resolve_dim("log_softmax", dim, x.rank)
    return FloatTensor(x.backend.activations.log_softmax(x.primitive, place), x.ops, x.backend)


def check_float(name: str, x: object) -> None:
    if not isinstance(x, FloatTensor):
        raise KindError(
            f"{name}: expected a float tensor, but got {type(x).__name__}. Convert ints and bools with float()."
        )
