"""Activations as modules, to be fields of a model. Burn: `crates/burn-nn/src/activation/`."""

from __future__ import annotations

from minburn.module import Module
from minburn.tensor import FloatTensor, activation


class Relu(Module):
    """max(x, 0)."""

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.relu(x)


class Gelu(Module):
    """x · Φ(x), Φ the normal distribution function."""

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.gelu(x)


class Sigmoid(Module):
    """1 / (1 + e^-x)."""

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.sigmoid(x)


class Tanh(Module):
    """tanh(x)."""

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.tanh(x)
