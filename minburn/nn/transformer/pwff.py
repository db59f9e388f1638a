"""The position-wise feed-forward network. Burn: `crates/burn-nn/src/modules/transformer/pwff.rs`."""

from __future__ import annotations

import math

from minburn.backends import Backend
from minburn.module import Config, Initializer, Module, skip
from minburn.nn.activation import Activation, ActivationConfig
from minburn.nn.dropout import Dropout, DropoutConfig
from minburn.nn.linear import Linear, LinearConfig
from minburn.tensor import FloatTensor

__all__ = ["PositionWiseFeedForward", "PositionWiseFeedForwardConfig"]


class PositionWiseFeedForward(Module):
    """linear_outer(dropout(activation(linear_inner(x)))), for every position alike: [..., d_model] → [..., d_model].

    linear_inner: d_model → d_ff. linear_outer: d_ff → d_model.
    """

    linear_inner: Linear
    linear_outer: Linear
    dropout: Dropout
    activation: Activation = skip()

    def forward(self, x: FloatTensor) -> FloatTensor:
        return self.linear_outer(self.dropout(self.activation(self.linear_inner(x))))

    def display_attributes(self) -> dict[str, object]:
        d_model, d_ff = self.linear_inner.weight.shape
        return {"d_model": d_model, "d_ff": d_ff, "prob": self.dropout.prob}


class PositionWiseFeedForwardConfig(Config):
    d_model: int
    d_ff: int
    dropout: float = 0.1
    initializer: Initializer = Initializer.KaimingUniform(gain=1.0 / math.sqrt(3.0), fan_out_only=False)
    activation: ActivationConfig = ActivationConfig.Gelu()

    def init(self, backend: Backend) -> PositionWiseFeedForward:
        return PositionWiseFeedForward(
            linear_inner=LinearConfig(self.d_model, self.d_ff, initializer=self.initializer).init(backend),
            linear_outer=LinearConfig(self.d_ff, self.d_model, initializer=self.initializer).init(backend),
            dropout=DropoutConfig(self.dropout).init(),
            activation=self.activation.init(backend),
        )
