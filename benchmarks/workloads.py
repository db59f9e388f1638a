"""The training steps that are measured, each with its model (`models.py`), its data, its floor and its bound.

    tiny      MLP 2-16-16-1, tanh, batch 32, mean squared error: what the framework costs where nothing else does
    mlp64     MLP 784-512-256-10, relu, batch 64, cross-entropy: what it costs where the work is real
    mlp256    the same, batch 256
    cnn       conv 1→16→32, 3x3, padding 1, relu and 2x2 max-pool after each, one layer; 28x28, batch 64
    gpt       4 layers, width 128, 4 heads, context 64, 65 tokens, batch 16, tanh GELU, no dropout
    lstm      LSTM 64→128, sequences of 32, batch 32, and one layer on the last state

Adam everywhere. A step is forward, loss, backward, optimizer, and the loss as a Python number.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import floors.cnn
import floors.gpt
import floors.lstm
import floors.mlp
import models
import numpy as np
from floors.arrays import EPSILON, F32, LEARNING_RATE, Step, Weights
from numpy.typing import NDArray

from minburn import FloatTensor, Module, Tensor
from minburn.backends import Autodiff, NumPy
from minburn.module import ModuleVisitor, Param
from minburn.nn import CrossEntropyLoss, MseLoss, Relu, Tanh
from minburn.optim import AdamConfig, GradientsParams

Batches = list[tuple[NDArray[Any], NDArray[Any]]]
BATCHES = 4
"""Batches made beforehand, used in turn."""


@dataclass(frozen=True)
class Workload:
    bound: float
    """What a step may cost, in steps of the floor."""
    calls: int
    """Steps per round."""
    init: Callable[[Autodiff], Module]
    loss: Callable[[Any, Any, Any], FloatTensor]
    """Of the model, inputs and targets."""
    batches: Callable[[np.random.Generator], Batches]
    make_floor: Callable[[Weights, Any], Step]

    def data(self) -> Batches:
        return self.batches(np.random.default_rng(99))

    def ours(self) -> Step:
        backend = Autodiff(NumPy(seed=0))
        model = self.init(backend)
        turns = itertools.cycle([(Tensor.from_data(x, backend), Tensor.from_data(y, backend)) for x, y in self.data()])
        optim = AdamConfig(epsilon=EPSILON).init()

        def step() -> float:
            nonlocal model
            inputs, targets = next(turns)
            loss = self.loss(model, inputs, targets)
            grads = GradientsParams.from_grads(loss.backward(), model)
            model = optim.step(LEARNING_RATE, model, grads)
            return float(loss.into_scalar())

        return step

    def weights(self) -> dict[str, F32]:
        """What the parameters of `ours` are before its first step, by path."""
        found = ByPath()
        self.init(Autodiff(NumPy(seed=0))).visit(found)
        return found.arrays

    def floor(self) -> Step:
        return self.make_floor(self.weights(), self.data())


class ByPath(ModuleVisitor):
    def __init__(self) -> None:
        self.arrays: dict[str, F32] = {}

    def visit_float(self, param: Param[FloatTensor]) -> None:
        self.arrays[self.path] = param.value.numpy()


def wave(rng: np.random.Generator) -> Batches:
    inputs = [rng.uniform(-1, 1, (32, 2)).astype(np.float32) for _ in range(BATCHES)]
    return [(x, np.sin(3 * x[:, :1]) * x[:, 1:]) for x in inputs]


def noise(*shape: int) -> Callable[[np.random.Generator], Batches]:
    """Inputs of that shape, and a class out of ten for each row."""

    def batch(rng: np.random.Generator) -> tuple[F32, NDArray[np.int32]]:
        return rng.standard_normal(shape).astype(np.float32), rng.integers(0, 10, shape[0]).astype(np.int32)

    return lambda rng: [batch(rng) for _ in range(BATCHES)]


def text(rng: np.random.Generator) -> Batches:
    return [tuple(rng.integers(0, 65, (2, 16, 64)).astype(np.int32)) for _ in range(BATCHES)]


mean_square, cross_entropy = MseLoss(), CrossEntropyLoss()


def distance(model: Any, x: FloatTensor, y: FloatTensor) -> FloatTensor:
    return mean_square(model(x), y)


def surprise(model: Any, x: Tensor, y: Tensor) -> FloatTensor:
    return cross_entropy(model(x), y.flatten())


def small(backend: Autodiff) -> Module:
    return models.mlp(backend, (2, 16, 16, 1), Tanh())


def large(backend: Autodiff) -> Module:
    return models.mlp(backend, (784, 512, 256, 10), Relu())


WORKLOADS = {
    "tiny": Workload(8.0, 50, small, distance, wave, floors.mlp.tiny),
    "mlp64": Workload(1.25, 4, large, surprise, noise(64, 784), floors.mlp.mlp),
    "mlp256": Workload(1.2, 2, large, surprise, noise(256, 784), floors.mlp.mlp),
    "cnn": Workload(1.2, 1, models.cnn, surprise, noise(64, 1, 28, 28), floors.cnn.cnn),
    "gpt": Workload(1.25, 1, models.gpt, surprise, text, floors.gpt.gpt),
    "lstm": Workload(1.3, 2, models.lstm, surprise, noise(32, 32, 64), floors.lstm.lstm),
}
