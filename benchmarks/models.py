"""The models of the workloads, as a user of minburn writes them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from minburn import FloatTensor, IntTensor, Module, Tensor
from minburn.backends import Autodiff
from minburn.nn import (
    Conv2d,
    Conv2dConfig,
    Embedding,
    EmbeddingConfig,
    LayerNorm,
    LayerNormConfig,
    Linear,
    LinearConfig,
    Lstm,
    LstmConfig,
    MaxPool2d,
    MaxPool2dConfig,
    MhaInput,
    MultiHeadAttention,
    MultiHeadAttentionConfig,
    PaddingConfig2d,
    Relu,
    Tanh,
    generate_autoregressive_mask,
)
from minburn.tensor import BoolTensor, activation


class Mlp(Module):
    layers: list[Linear]
    act: Any

    def forward(self, x: FloatTensor) -> FloatTensor:
        *hidden, last = self.layers
        for layer in hidden:
            x = self.act(layer(x))
        return last(x)


def mlp(backend: Autodiff, sizes: Sequence[int], act: Relu | Tanh) -> Mlp:
    return Mlp(layers=[LinearConfig(i, o).init(backend) for i, o in itertools.pairwise(sizes)], act=act)


class Cnn(Module):
    conv1: Conv2d
    conv2: Conv2d
    pool: MaxPool2d
    linear: Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        for conv in (self.conv1, self.conv2):
            x = self.pool(activation.relu(conv(x)))
        return self.linear(x.flatten(1))


def cnn(backend: Autodiff) -> Cnn:
    padding = PaddingConfig2d.Explicit(1, 1, 1, 1)
    return Cnn(
        conv1=Conv2dConfig((1, 16), (3, 3), padding=padding).init(backend),
        conv2=Conv2dConfig((16, 32), (3, 3), padding=padding).init(backend),
        pool=MaxPool2dConfig((2, 2)).init(),
        linear=LinearConfig(1568, 10).init(backend),
    )


class GptBlock(Module):
    norm1: LayerNorm
    attention: MultiHeadAttention
    norm2: LayerNorm
    inner: Linear
    outer: Linear

    def forward(self, x: FloatTensor, mask: BoolTensor) -> FloatTensor:
        x = x + self.attention(MhaInput.self_attn(self.norm1(x), mask_attn=mask)).context
        return x + self.outer(activation.gelu_approximate(self.inner(self.norm2(x))))


class Gpt(Module):
    tokens: Embedding
    positions: Embedding
    blocks: list[GptBlock]
    norm: LayerNorm
    head: Linear

    def forward(self, ids: IntTensor) -> FloatTensor:
        """The logits of every next token, [batch · time, tokens]."""
        time = ids.shape[1]
        x = self.tokens(ids) + self.positions(Tensor.arange(0, time, ids.backend).unsqueeze())
        mask = generate_autoregressive_mask(1, time, ids.backend)
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x)).flatten(0, 1)


class Reader(Module):
    """Reads a sequence and says what it was."""

    rnn: Lstm
    linear: Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        return self.linear(self.rnn(x)[1].hidden)


def lstm(backend: Autodiff) -> Reader:
    return Reader(rnn=LstmConfig(64, 128, True).init(backend), linear=LinearConfig(128, 10).init(backend))


def gpt(backend: Autodiff, layers: int = 4, width: int = 128, heads: int = 4, time: int = 64, tokens: int = 65) -> Gpt:
    def block() -> GptBlock:
        return GptBlock(
            norm1=LayerNormConfig(width).init(backend),
            attention=MultiHeadAttentionConfig(width, heads, dropout=0.0).init(backend),
            norm2=LayerNormConfig(width).init(backend),
            inner=LinearConfig(width, 4 * width).init(backend),
            outer=LinearConfig(4 * width, width).init(backend),
        )

    return Gpt(
        tokens=EmbeddingConfig(tokens, width).init(backend),
        positions=EmbeddingConfig(time, width).init(backend),
        blocks=[block() for _ in range(layers)],
        norm=LayerNormConfig(width).init(backend),
        head=LinearConfig(width, tokens, bias=False).init(backend),
    )
