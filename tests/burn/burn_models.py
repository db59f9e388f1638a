"""The models of the matrix: `src/models.rs`, field by field, in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minburn.backends import Backend
from minburn.module import Flag, Module, Param
from minburn.nn import (
    AdaptiveAvgPool2d,
    AdaptiveAvgPool2dConfig,
    BatchNorm,
    BatchNormConfig,
    Conv2d,
    Conv2dConfig,
    CrossEntropyLossConfig,
    Dropout,
    DropoutConfig,
    Embedding,
    EmbeddingConfig,
    LayerNorm,
    LayerNormConfig,
    Linear,
    LinearConfig,
    LinearLayout,
    MaxPool2d,
    MaxPool2dConfig,
    MseLoss,
    PaddingConfig2d,
    PositionalEncoding,
    PositionalEncodingConfig,
    RmsNorm,
    RmsNormConfig,
    TransformerEncoder,
    TransformerEncoderConfig,
    TransformerEncoderInput,
    generate_autoregressive_mask,
)
from minburn.tensor import FloatTensor, IntTensor, Tensor, activation

Arrays = dict[str, np.ndarray[Any, Any]]


class Block(Module):
    fc: Linear
    norm: LayerNorm | None
    dropout: Dropout


class Head(Module):
    """The enum."""


class Deep(Head, variant="Deep"):
    hidden: Linear
    last: Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        return self.last(activation.relu(self.hidden(x)))


class Mlp(Module):
    """Every kind of container and of parameter; the first of `arr` is frozen."""

    stem: Linear
    blocks: list[Block]
    pair: tuple[Linear, RmsNorm]
    arr: list[Linear]
    extra: Linear | None
    nothing: Linear | None
    head: Head
    temperature: Param[FloatTensor]
    counts: Param[Any]
    keep: Param[Any]
    gate: Param[Flag]

    def forward(self, x: FloatTensor) -> FloatTensor:
        x = activation.relu(self.stem(x))
        for block in self.blocks:
            out = block.fc(x).tanh()
            x = x + block.dropout(out if block.norm is None else block.norm(out)) * 0.5
        x = self.pair[1](self.pair[0](x))
        for layer in self.arr:
            x = activation.relu(layer(x)) + x
        return self.head(self.extra(x)) * self.temperature.value.unsqueeze()

    def loss(self, batch: Arrays, backend: Backend) -> FloatTensor:
        return MseLoss()(self(tensor(batch["x"], backend)), tensor(batch["y"], backend))


def tensor(array: np.ndarray[Any, Any], backend: Backend) -> Any:
    """In the backend's dtype."""
    dtype = backend.float_dtype if array.dtype.kind == "f" else backend.int_dtype
    return Tensor.from_data(array, backend, dtype)


def mlp(backend: Backend) -> Mlp:
    def linear(d_input: int, d_output: int, **options: Any) -> Linear:
        return LinearConfig(d_input, d_output, **options).init(backend)

    norms = [LayerNormConfig(8).init(backend), None, LayerNormConfig(8, bias=False).init(backend)]
    return Mlp(
        stem=linear(5, 8),
        blocks=[Block(fc=linear(8, 8), norm=norm, dropout=DropoutConfig(0.0).init()) for norm in norms],
        pair=(linear(8, 6, bias=False), RmsNormConfig(6).init(backend)),
        arr=[linear(6, 6).no_grad(), linear(6, 6)],
        extra=linear(6, 6, layout=LinearLayout.Col),
        nothing=None,
        head=Deep(hidden=linear(6, 4), last=linear(4, 3)),
        temperature=Param.from_tensor(Tensor.ones([1], backend)),
        counts=Param.from_tensor(Tensor.from_data([3, -2, 7], backend)),
        keep=Param.from_tensor(Tensor.from_data([True, False, True, True], backend)),
        gate=Param.from_bool(True),
    )


def mlp_batch(rng: np.random.Generator) -> Arrays:
    return {"x": rng.normal(size=(4, 5)).astype(np.float32), "y": rng.normal(size=(4, 3)).astype(np.float32)}


class Cnn(Module):
    """Running statistics: they are in the file, and no optimizer steps them."""

    conv1: Conv2d
    bn1: BatchNorm
    pool: MaxPool2d
    conv2: Conv2d
    bn2: BatchNorm
    average: AdaptiveAvgPool2d
    fc: Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        x = self.pool(activation.relu(self.bn1(self.conv1(x))))
        x = self.average(activation.relu(self.bn2(self.conv2(x))))
        return self.fc(x.flatten(1, 3))

    def loss(self, batch: Arrays, backend: Backend) -> FloatTensor:
        return cross_entropy(self(tensor(batch["x"], backend)), batch["y"], backend)


def cnn(backend: Backend) -> Cnn:
    second = Conv2dConfig((4, 6), (3, 3), stride=(2, 2), padding=PaddingConfig2d.Explicit(1, 1, 1, 1), bias=False)
    return Cnn(
        conv1=Conv2dConfig((1, 4), (3, 3), padding=PaddingConfig2d.Same()).init(backend),
        bn1=BatchNormConfig(4).init(backend),
        pool=MaxPool2dConfig((2, 2), strides=(2, 2)).init(),
        conv2=second.init(backend),
        bn2=BatchNormConfig(6, momentum=0.3, epsilon=1e-3).init(backend),
        average=AdaptiveAvgPool2dConfig((1, 1)).init(),
        fc=LinearConfig(6, 3).init(backend),
    )


def cnn_batch(rng: np.random.Generator) -> Arrays:
    return {"x": rng.normal(size=(4, 1, 8, 8)).astype(np.float32), "y": rng.integers(0, 3, 4, np.int32)}


class Transformer(Module):
    token: Embedding
    pos: PositionalEncoding
    enc: TransformerEncoder
    norm: LayerNorm
    head: Linear

    def forward(self, tokens: IntTensor) -> FloatTensor:
        batch, length = tokens.shape
        x = self.pos(self.token(tokens))
        mask = generate_autoregressive_mask(batch, length, x.backend)
        x = self.enc(TransformerEncoderInput(x, mask_attn=mask))
        return self.head(self.norm(x)).reshape([batch * length, 11])

    def loss(self, batch: Arrays, backend: Backend) -> FloatTensor:
        return cross_entropy(self(tensor(batch["x"], backend)), batch["y"], backend)


def transformer(backend: Backend) -> Transformer:
    return Transformer(
        token=EmbeddingConfig(11, 8).init(backend),
        pos=PositionalEncodingConfig(8, max_sequence_size=16).init(backend),
        enc=TransformerEncoderConfig(8, 12, 2, 1, norm_first=True, dropout=0.0).init(backend),
        norm=LayerNormConfig(8).init(backend),
        head=LinearConfig(8, 11, bias=False).init(backend),
    )


def cross_entropy(logits: FloatTensor, classes: np.ndarray[Any, Any], backend: Backend) -> FloatTensor:
    return CrossEntropyLossConfig().init(backend)(logits, tensor(classes.reshape(-1), backend))


class Tied(Module):
    """One parameter under two names. For records only: a step of Burn's pulls the two apart, one of ours does not."""

    embed: Embedding
    output: Param[FloatTensor]

    def forward(self, tokens: IntTensor) -> FloatTensor:
        batch, length = tokens.shape
        return self.embed(tokens).reshape([batch * length, 4]).matmul(self.output.value.swap_dims(0, 1))


def tied(backend: Backend) -> Tied:
    embed = EmbeddingConfig(5, 4).init(backend)
    return Tied(embed=embed, output=embed.weight)


def tokens(rng: np.random.Generator, classes: int) -> Arrays:
    return {name: rng.integers(0, classes, (2, 6), np.int32) for name in "xy"}


class Line(NamedTuple):
    """How a model is made, and a batch for it.

    partly_single: a layer of Burn's computes in float32 whatever the dtype is.
    """

    make: Callable[[Backend], Any]
    batch: Callable[[np.random.Generator], Arrays]
    partly_single: bool = False


MODELS = {
    "mlp": Line(mlp, mlp_batch, partly_single=True),
    "cnn": Line(cnn, cnn_batch),
    "transformer": Line(transformer, lambda rng: tokens(rng, 11), partly_single=True),
}
FOR_RECORDS = {
    "tied": Line(tied, lambda rng: tokens(rng, 5)),
}
