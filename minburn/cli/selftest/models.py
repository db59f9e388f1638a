"""The three models whose steps are timed and trained: an MLP, a CNN, a small GPT; each with a batch.

QUICK are the same with few of everything.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minburn.backends import Backend
from minburn.module import Module
from minburn.nn import (
    Conv2d,
    Conv2dConfig,
    CrossEntropyLoss,
    Embedding,
    EmbeddingConfig,
    LayerNorm,
    LayerNormConfig,
    Linear,
    LinearConfig,
    MaxPool2d,
    MaxPool2dConfig,
    PaddingConfig2d,
    TransformerEncoder,
    TransformerEncoderConfig,
    TransformerEncoderInput,
    generate_autoregressive_mask,
)
from minburn.optim import AdamConfig, GradientsParams, OptimizerAdaptor
from minburn.tensor import FloatTensor, IntTensor, Tensor, activation

RATE = 1e-3


class Mlp(Module):
    layers: list[Linear]

    def forward(self, x: FloatTensor) -> FloatTensor:
        *hidden, last = self.layers
        for layer in hidden:
            x = activation.relu(layer(x))
        return last(x)


class Cnn(Module):
    conv1: Conv2d
    conv2: Conv2d
    pool: MaxPool2d
    head: Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        for conv in (self.conv1, self.conv2):
            x = self.pool(activation.relu(conv(x)))
        return self.head(x.flatten(1))


class Gpt(Module):
    token: Embedding
    position: Embedding
    encoder: TransformerEncoder
    norm: LayerNorm
    head: Linear

    def forward(self, tokens: IntTensor) -> FloatTensor:
        batch, length = tokens.shape
        places = IntTensor.arange(0, length, tokens.backend).unsqueeze()
        mask = generate_autoregressive_mask(batch, length, tokens.backend)
        x = self.encoder(TransformerEncoderInput(self.token(tokens) + self.position(places), mask_attn=mask))
        return self.head(self.norm(x)).flatten(0, 1)


def mlp(backend: Backend, sizes: tuple[int, ...] = (784, 256, 128, 10)) -> Mlp:
    return Mlp(layers=[LinearConfig(*pair).init(backend) for pair in itertools.pairwise(sizes)])


def cnn(backend: Backend, side: int = 28) -> Cnn:
    padding = PaddingConfig2d.Explicit(1, 1, 1, 1)
    return Cnn(
        conv1=Conv2dConfig((1, 8), (3, 3), padding=padding).init(backend),
        conv2=Conv2dConfig((8, 16), (3, 3), padding=padding).init(backend),
        pool=MaxPool2dConfig((2, 2)).init(),
        head=LinearConfig(16 * (side // 4) ** 2, 10).init(backend),
    )


def gpt(backend: Backend, tokens: int = 65, width: int = 64, layers: int = 2) -> Gpt:
    return Gpt(
        token=EmbeddingConfig(tokens, width).init(backend),
        position=EmbeddingConfig(32, width).init(backend),
        encoder=TransformerEncoderConfig(width, 4 * width, 4, layers, norm_first=True, dropout=0.0).init(backend),
        norm=LayerNormConfig(width).init(backend),
        head=LinearConfig(width, tokens, bias=False).init(backend),
    )


class Workload(NamedTuple):
    """make: the model. shape: of an input of floats, or of tokens. classes: of the targets."""

    make: Callable[[Backend], Any]
    shape: tuple[int, ...]
    tokens: bool
    classes: int


WORKLOADS = {
    "mlp": Workload(mlp, (64, 784), False, 10),
    "cnn": Workload(cnn, (32, 1, 28, 28), False, 10),
    "gpt": Workload(gpt, (8, 32), True, 65),
}
QUICK = {
    "mlp": Workload(functools.partial(mlp, sizes=(49, 32, 16, 10)), (16, 49), False, 10),
    "cnn": Workload(functools.partial(cnn, side=8), (4, 1, 8, 8), False, 10),
    "gpt": Workload(functools.partial(gpt, tokens=11, width=16, layers=1), (2, 6), True, 11),
}


def batch(work: Workload) -> tuple[Any, Any]:
    """An input and its targets, as host arrays; the same every time."""
    rng = np.random.default_rng(3)
    if work.tokens:
        return rng.integers(0, work.classes, work.shape, np.int32), rng.integers(0, work.classes, work.shape, np.int32)
    return rng.normal(size=work.shape).astype(np.float32), rng.integers(0, work.classes, work.shape[0], np.int32)


class Training:
    """A model, its Adam, and a batch: what a step needs."""

    def __init__(self, work: Workload, backend: Backend) -> None:
        x, y = batch(work)
        self.model = work.make(backend)
        self.optim: OptimizerAdaptor = AdamConfig().init()
        self.x: Any = Tensor.from_data(x, backend)
        self.y: Any = Tensor.from_data(y.reshape(-1), backend)

    def step(self) -> FloatTensor:
        """One step; its loss stays on the device."""
        loss = CrossEntropyLoss()(self.model(self.x), self.y)
        grads = GradientsParams.from_grads(loss.backward(), self.model)
        self.model = self.optim.step(RATE, self.model, grads)
        return loss
