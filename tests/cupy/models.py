"""Small versions of the three example models, and a training step as a user writes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minburn import FloatTensor, IntTensor, Module, Tensor, nn
from minburn.backends import Backend
from minburn.nn import CrossEntropyLoss
from minburn.optim import AdamConfig, GradientsParams

TOKENS = 11


class Mlp(Module):
    first: nn.Linear
    second: nn.Linear
    last: nn.Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        hidden = nn.Relu()(self.second(nn.Relu()(self.first(x))))
        return self.last(hidden)


class Cnn(Module):
    conv1: nn.Conv2d
    norm1: nn.BatchNorm
    conv2: nn.Conv2d
    norm2: nn.BatchNorm
    pool: nn.MaxPool2d
    dropout: nn.Dropout
    linear: nn.Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        for conv, norm in ((self.conv1, self.norm1), (self.conv2, self.norm2)):
            x = self.pool(nn.Relu()(norm(conv(x))))
        return self.linear(self.dropout(x.flatten(1)))


class Gpt(Module):
    tokens: nn.Embedding
    places: nn.Embedding
    body: nn.TransformerEncoder
    norm: nn.LayerNorm
    head: nn.Linear

    def forward(self, ids: IntTensor) -> FloatTensor:
        count, time = ids.shape
        x = self.tokens(ids) + self.places(Tensor.arange(0, time, ids.backend).unsqueeze())
        mask = nn.generate_autoregressive_mask(count, time, ids.backend)
        x = self.body(nn.TransformerEncoderInput(x, mask_attn=mask))
        return self.head(self.norm(x)).flatten(0, 1)


def mlp(backend: Backend) -> Mlp:
    layers = [nn.LinearConfig(i, o).init(backend) for i, o in ((6, 8), (8, 7), (7, 4))]
    return Mlp(first=layers[0], second=layers[1], last=layers[2])


def cnn(backend: Backend) -> Cnn:
    padding = nn.PaddingConfig2d.Explicit(1, 1, 1, 1)
    return Cnn(
        conv1=nn.Conv2dConfig((1, 3), (3, 3), padding=padding).init(backend),
        norm1=nn.BatchNormConfig(3).init(backend),
        conv2=nn.Conv2dConfig((3, 4), (3, 3), padding=padding).init(backend),
        norm2=nn.BatchNormConfig(4).init(backend),
        pool=nn.MaxPool2dConfig((2, 2)).init(),
        dropout=nn.DropoutConfig(0.25).init(),
        linear=nn.LinearConfig(16, 4).init(backend),
    )


def gpt(backend: Backend, layers: int = 2) -> Gpt:
    body = nn.TransformerEncoderConfig(8, 16, 2, layers, dropout=0.0, norm_first=True)
    return Gpt(
        tokens=nn.EmbeddingConfig(TOKENS, 8).init(backend),
        places=nn.EmbeddingConfig(6, 8).init(backend),
        body=body.init(backend),
        norm=nn.LayerNormConfig(8).init(backend),
        head=nn.LinearConfig(8, TOKENS, bias=False).init(backend),
    )


@dataclass(frozen=True)
class Task:
    """A model and what to feed it: (inputs, targets) of a step, as host arrays."""

    name: str
    model: Callable[[Backend], Any]
    batch: Callable[[np.random.Generator], tuple[Any, Any]]


def _gpt_batch(rng: np.random.Generator) -> tuple[Any, Any]:
    ids = rng.integers(0, TOKENS, (3, 7))
    return ids[:, :-1].copy(), ids[:, 1:].reshape(-1).copy()


TASKS = [
    Task("mlp", mlp, lambda rng: (rng.standard_normal((5, 6)), rng.integers(0, 4, 5))),
    Task("cnn", cnn, lambda rng: (rng.standard_normal((4, 1, 8, 8)), rng.integers(0, 4, 4))),
    Task("gpt", gpt, _gpt_batch),
]


class Trainer:
    """A model, Adam and its state. The batch of a step is a function of the step's number."""

    def __init__(self, task: Task, backend: Backend) -> None:
        self.task = task
        self.backend = backend
        self.model = task.model(backend)
        self.optimizer = AdamConfig().init()
        self.loss = CrossEntropyLoss()

    def batch(self, step: int) -> tuple[Any, Any]:
        inputs, targets = self.task.batch(np.random.default_rng(step))
        return Tensor.from_data(inputs, self.backend), Tensor.from_data(targets, self.backend)

    def step(self, inputs: Any, targets: Any) -> FloatTensor:
        loss = self.loss(self.model(inputs), targets)
        gradients = GradientsParams.from_grads(loss.backward(), self.model)
        self.model = self.optimizer.step(0.01, self.model, gradients)
        return loss

    def run(self, steps: range) -> list[float]:
        """The losses, each a number on the host."""
        return [float(self.step(*self.batch(step)).inner().numpy()[0]) for step in steps]
