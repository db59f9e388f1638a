"""Activations without settings. Burn: `crates/burn-nn/src/activation/`."""

from __future__ import annotations

from minburn.nn.activation.base import Activation
from minburn.tensor import FloatTensor, activation

__all__ = [
    "Gelu",
    "HardSwish",
    "LogSigmoid",
    "Mish",
    "Relu",
    "Relu6",
    "Selu",
    "SiLU",
    "Sigmoid",
    "Softsign",
    "Tanh",
    "Tanhshrink",
]


class Relu(Activation):
    """max(x, 0)."""

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.relu(x)


class Relu6(Activation):
    """min(max(x, 0), 6)."""

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.relu6(x)


class Gelu(Activation):
    """x · Φ(x), Φ the normal distribution function; `approximate`: by tanh instead of erf.

    Burn: `Gelu::new_approximate`.
    """

    approximate: bool = False

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.gelu_approximate(x) if self.approximate else activation.gelu(x)

    def display_attributes(self) -> dict[str, object]:
        return {"approximate": True} if self.approximate else {}


class SiLU(Activation):
    """x · sigmoid(x)."""

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.silu(x)


class Sigmoid(Activation):
    """1 / (1 + e^-x)."""

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.sigmoid(x)


class LogSigmoid(Activation):
    """-log(1 + e^-x)."""

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.log_sigmoid(x)


class Tanh(Activation):
    """tanh(x)."""

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.tanh(x)


class Tanhshrink(Activation):
    """x - tanh(x)."""

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.tanhshrink(x)


class HardSwish(Activation):
    """x · clamp(x/6 + 1/2, 0, 1)."""

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.hard_swish(x)


class Softsign(Activation):
    """x / (1 + |x|)."""

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.softsign(x)


class Mish(Activation):
    """x · tanh(softplus(x))."""

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.mish(x)


class Selu(Activation):
    """1.0507… · (x where x ≥ 0, else 1.6733… · (e^x - 1))."""

    def forward(self, x: FloatTensor) -> FloatTensor:
        return activation.selu(x)
