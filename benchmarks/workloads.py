"""The training steps that are measured, as a user of minburn writes them, each with its data, its floor and its bound.

    tiny      MLP 2-16-16-1, tanh, batch 32, mean squared error: what the framework costs where nothing else does
    mlp64     MLP 784-512-256-10, relu, batch 64, cross-entropy: what it costs where the work is real
    mlp256    the same, batch 256

Adam everywhere. A step is forward, loss, backward, optimizer, and the loss as a Python number.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from floors import mlp as mlp_floor
from floors.arrays import EPSILON, F32, LEARNING_RATE, Step, Weights
from numpy.typing import NDArray

from minburn import FloatTensor, Module, Tensor
from minburn.backends import Autodiff, NumPy
from minburn.module import ModuleVisitor, Param
from minburn.nn import CrossEntropyLoss, Linear, LinearConfig, MseLoss
from minburn.optim import AdamConfig, GradientsParams
from minburn.tensor import activation

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


class Mlp(Module):
    layers: list[Linear]

    def forward(self, x: FloatTensor, act: Callable[[FloatTensor], FloatTensor]) -> FloatTensor:
        *hidden, last = self.layers
        for layer in hidden:
            x = act(layer(x))
        return last(x)


def mlp(sizes: Sequence[int]) -> Callable[[Autodiff], Mlp]:
    return lambda backend: Mlp(layers=[LinearConfig(i, o).init(backend) for i, o in itertools.pairwise(sizes)])


def wave(rng: np.random.Generator) -> Batches:
    inputs = [rng.uniform(-1, 1, (32, 2)).astype(np.float32) for _ in range(BATCHES)]
    return [(x, np.sin(3 * x[:, :1]) * x[:, 1:]) for x in inputs]


def images(*shape: int) -> Callable[[np.random.Generator], Batches]:
    """Noise of that shape, and a class out of ten for each row."""

    def batch(rng: np.random.Generator) -> tuple[F32, NDArray[np.int32]]:
        return rng.standard_normal(shape).astype(np.float32), rng.integers(0, 10, shape[0]).astype(np.int32)

    return lambda rng: [batch(rng) for _ in range(BATCHES)]


mean_square, cross_entropy = MseLoss(), CrossEntropyLoss()


def tiny_loss(model: Mlp, x: FloatTensor, y: FloatTensor) -> FloatTensor:
    return mean_square(model(x, activation.tanh), y)


def mlp_loss(model: Mlp, x: FloatTensor, y: Tensor) -> FloatTensor:
    return cross_entropy(model(x, activation.relu), y)


SIZES = (784, 512, 256, 10)
WORKLOADS = {
    "tiny": Workload(8.0, 50, mlp((2, 16, 16, 1)), tiny_loss, wave, mlp_floor.tiny),
    "mlp64": Workload(1.25, 4, mlp(SIZES), mlp_loss, images(64, 784), mlp_floor.mlp),
    "mlp256": Workload(1.2, 2, mlp(SIZES), mlp_loss, images(256, 784), mlp_floor.mlp),
}
