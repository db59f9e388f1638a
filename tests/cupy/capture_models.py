"""Small models, batches and runs for the tests of recorded steps."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from minburn import FloatTensor, Module, ParamGroup, Tensor
from minburn.backends import Autodiff, Backend, CuPy
from minburn.module import Lora
from minburn.nn import (
    BatchNormConfig,
    Dropout,
    DropoutConfig,
    GroupNormConfig,
    LayerNormConfig,
    Linear,
    LinearConfig,
    Lstm,
    LstmConfig,
    MseLoss,
)
from minburn.tensor import activation
from minburn.train import Learner, Renderer, SupervisedTraining, TrainOutput

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "train"))
from train_program import parameters


class Net(Module):
    """trained: what else a training step does with the loss."""

    first: Linear
    dropout: Dropout
    last: Linear
    trained: Callable[[FloatTensor], Any] = lambda loss: loss

    def train_step(self, batch: Any) -> TrainOutput:
        inputs, targets = batch
        loss = MseLoss()(self.last(self.dropout(activation.tanh(self.first(inputs)))), targets)
        item = self.trained(loss)
        return TrainOutput(self, loss.backward(), item if isinstance(item, dict) else {"loss": loss})

    def inference_step(self, batch: Any) -> dict[str, FloatTensor]:
        inputs, targets = batch
        return {"loss": MseLoss()(self.last(self.first(inputs)), targets)}


def net(backend: Backend, trained: Callable[[FloatTensor], Any] = lambda loss: loss) -> Net:
    first, last = LinearConfig(3, 5).init(backend), LinearConfig(5, 2).init(backend)
    return Net(first=first, dropout=DropoutConfig(0.3).init(), last=last, trained=trained)


class Batches:
    """Equal batches but for their numbers. `then`: called before each."""

    def __init__(self, backend: Backend, count: int = 8, then: Callable[[int], Any] = lambda number: None) -> None:
        self.backend, self.count, self.then = backend, count, then

    def __len__(self) -> int:
        return self.count

    def iter_epoch(self, epoch: int, start_batch: int = 0) -> Iterator[Any]:
        for number in range(start_batch, self.count):
            self.then(number)
            rng = np.random.default_rng((epoch, number))
            arrays = rng.standard_normal((4, 3)), rng.standard_normal((4, 2))
            yield tuple(Tensor.from_data(array, self.backend) for array in arrays)


def train(folder: Path, learner: Learner[Any], loader: Any = None, **options: Any) -> Any:
    backend = learner.backend
    loader = Batches(backend) if loader is None else loader
    settings = {"renderer": Renderer(), "checkpoints": False, **options}
    return SupervisedTraining(folder, loader, Batches(backend.inner, 1), **settings).launch(learner)


def weights(model: Module) -> list[Any]:
    return [param.value.inner().numpy() for param in parameters(model)]


def start(seed: int = 3) -> Autodiff:
    return Autodiff(CuPy(seed=seed))


class Layers(Module):
    """One after the other; a recurrent one sees three times the same."""

    layers: list[Any]

    def forward(self, x: FloatTensor) -> FloatTensor:
        for layer in self.layers:
            if isinstance(layer, Lstm):
                x = layer(x.unsqueeze_dim(1).repeat_dim(1, 3))[0].sum_dim(1).squeeze_dim(1)
            else:
                x = layer(x)
        return x

    def train_step(self, batch: Any) -> TrainOutput:
        item = self.inference_step(batch)
        return TrainOutput(self, item["loss"].backward(), item)

    def inference_step(self, batch: Any) -> dict[str, FloatTensor]:
        inputs, targets = batch
        return {"loss": MseLoss()(self(inputs), targets)}


def frozen(backend: Backend) -> Layers:
    return Layers(layers=[LinearConfig(3, 5).init(backend).freeze(), LinearConfig(5, 2).init(backend)])


def tied(backend: Backend) -> Layers:
    shared = LinearConfig(3, 3).init(backend)
    return Layers(layers=[shared, shared, LinearConfig(3, 2).init(backend)])


def normed(backend: Backend) -> Layers:
    norms = [config.init(backend) for config in (BatchNormConfig(6), GroupNormConfig(2, 6), LayerNormConfig(6))]
    return Layers(layers=[LinearConfig(3, 6).init(backend), *norms, LinearConfig(6, 2).init(backend)])


def recurrent(backend: Backend) -> Layers:
    return Layers(layers=[LstmConfig(3, 4, bias=True).init(backend), LinearConfig(4, 2).init(backend)])


def adapted(backend: Backend) -> Layers:
    plain = Layers(layers=[LinearConfig(3, 6).init(backend), LinearConfig(6, 2).init(backend)])
    return plain.apply_lora(Lora(rank=2, alpha=4.0, param_group=ParamGroup.all()))
