"""Are recorded steps to the last bit what ordinary ones are? Only a real device can tell: see `Learner(capture=True)`.

The same short run twice, with dropout and a learning rate that moves, and a batch of another size at the end.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

from minburn.backends import Autodiff, Backend
from minburn.cli.selftest.models import Workload, batch
from minburn.cli.selftest.ops import with_seed
from minburn.module import Module
from minburn.nn import CrossEntropyLoss, Dropout, DropoutConfig
from minburn.optim import AdamConfig, CosineAnnealingLrSchedulerConfig
from minburn.tensor import Tensor
from minburn.train import (
    AccuracyMetric,
    CaptureWarning,
    ClassificationOutput,
    Learner,
    LossMetric,
    Renderer,
    SupervisedTraining,
    TrainOutput,
)

STEPS = 10


class Classifier(Module):
    net: Any  # a Module with a forward of one tensor
    dropout: Dropout

    def train_step(self, batch: Any) -> TrainOutput:
        item = self.inference_step(batch)
        return TrainOutput(self, item.loss.backward(), item)

    def inference_step(self, batch: Any) -> ClassificationOutput:
        inputs, targets = batch
        logits = self.dropout(self.net(inputs))
        return ClassificationOutput(CrossEntropyLoss()(logits, targets), logits, targets)


class Batches:
    """One batch again and again, and half of it at the end."""

    def __init__(self, work: Workload, backend: Backend) -> None:
        self.work, self.backend = work, backend

    def __len__(self) -> int:
        return STEPS

    def iter_epoch(self, epoch: int, start_batch: int = 0) -> Iterator[Any]:
        inputs, targets = batch(self.work)
        for step in range(start_batch, STEPS):
            rows = len(inputs) if step < STEPS - 1 else len(inputs) // 2
            parts = inputs[:rows], targets[:rows].reshape(-1)
            yield tuple(Tensor.from_data(part, self.backend) for part in parts)


def replays(work: Workload, backend: Backend) -> str:
    """What is wrong, or nothing."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ordinary, recorded = run(work, backend, False), run(work, backend, True)
    said = [str(warning.message) for warning in found if warning.category is CaptureWarning]
    if len(said) != 1 or "a batch runs as usual" not in said[0]:  # the half batch, and nothing else
        return said[0] if said else "no step was recorded"
    return "" if ordinary == recorded else "recorded steps differ from ordinary ones"


def run(work: Workload, backend: Backend, capture: bool) -> list[bytes]:
    """The parameters it ends with."""
    here = Autodiff(with_seed(backend))
    model = Classifier(net=work.make(here), dropout=DropoutConfig(0.1).init())
    schedule = CosineAnnealingLrSchedulerConfig(1e-3, num_iters=STEPS).init()
    with tempfile.TemporaryDirectory() as folder:
        training = SupervisedTraining(
            folder,
            Batches(work, here),
            Batches(work, here.inner),
            metrics=[LossMetric(), AccuracyMetric()],
            renderer=Renderer(),
            checkpoints=False,
        )
        result = training.launch(Learner(model, AdamConfig().init(), schedule, capture=capture))
    return [entry.data.numpy().tobytes() for entry in result.model.into_record()]
