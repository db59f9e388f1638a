"""The hyper-parameters that encoders and decoders share, and the parts they make of them."""

from __future__ import annotations

import math

from minburn.backends import Backend
from minburn.module import Config, Initializer, Module
from minburn.nn.activation import ActivationConfig
from minburn.nn.attention import MultiHeadAttention, MultiHeadAttentionConfig
from minburn.nn.dropout import Dropout, DropoutConfig
from minburn.nn.norm import LayerNorm, LayerNormConfig
from minburn.nn.transformer.pwff import PositionWiseFeedForward, PositionWiseFeedForwardConfig

MAX_LAYERS = 10_000
"""More is a slip, which would fill the memory before it is noticed."""


class TransformerConfig(Config):
    """dropout: of attention weights, feed-forward and residuals."""

    d_model: int
    d_ff: int
    n_heads: int
    n_layers: int
    dropout: float = 0.1
    norm_first: bool = False
    quiet_softmax: bool = False
    initializer: Initializer = Initializer.KaimingUniform(gain=1.0 / math.sqrt(3.0), fan_out_only=False)
    activation: ActivationConfig = ActivationConfig.Gelu()
    layer_norm_eps: float = 1e-5

    def check(self, name: str) -> None:
        if not 0 <= self.n_layers <= MAX_LAYERS:
            raise ValueError(f"{name}: n_layers is {self.n_layers}. Use 0 to {MAX_LAYERS}.")

    def make_mha(self, backend: Backend) -> MultiHeadAttention:
        return MultiHeadAttentionConfig(
            self.d_model, self.n_heads, self.dropout, quiet_softmax=self.quiet_softmax, initializer=self.initializer
        ).init(backend)

    def make_pwff(self, backend: Backend) -> PositionWiseFeedForward:
        return PositionWiseFeedForwardConfig(
            self.d_model, self.d_ff, self.dropout, self.initializer, self.activation
        ).init(backend)

    def make_norm(self, backend: Backend) -> LayerNorm:
        return LayerNormConfig(self.d_model, self.layer_norm_eps).init(backend)

    def make_dropout(self) -> Dropout:
        return DropoutConfig(self.dropout).init()


def displayed(model: Module) -> dict[str, object]:
    """What an encoder or a decoder shows of itself: the settings that it keeps."""
    names = ("d_model", "d_ff", "n_heads", "n_layers", "dropout", "norm_first", "quiet_softmax")
    return {name: getattr(model, name) for name in names}
