"""Running statistics of a batch norm through checkpoints inside an epoch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.data import DataLoader, PartialDataset, digits
from minburn.module import Module
from minburn.nn import BatchNorm, BatchNormConfig, CrossEntropyLoss, Linear, LinearConfig
from minburn.optim import ConstantLr, SgdConfig
from minburn.tensor import FloatTensor
from minburn.train import ClassificationOutput, Interrupter, Learner, SupervisedTraining, TrainOutput


class Model(Module):
    inner: Linear
    norm: BatchNorm
    outer: Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        return self.outer(self.norm(self.inner(x.reshape([x.shape[0], -1]))).tanh())

    def train_step(self, batch: Any) -> Any:
        output = self.inference_step(batch)
        return TrainOutput(self, output.loss.backward(), output)

    def inference_step(self, batch: Any) -> Any:
        logits = self(batch.images)
        return ClassificationOutput(CrossEntropyLoss()(logits, batch.targets), logits, batch.targets)


def launch(folder: Path, stop_after: int | None) -> Any:
    backend = Autodiff(NumPy(seed=1))
    model = Model(
        inner=LinearConfig(64, 8).init(backend),
        norm=BatchNormConfig(8).init(backend),
        outer=LinearConfig(8, 10).init(backend),
    )
    interrupter = Interrupter()
    loader: Any = DataLoader(PartialDataset(digits.load(), 0, 64), digits.Batcher(backend), batch_size=16)
    valid = DataLoader(PartialDataset(digits.load(), 64, 80), digits.Batcher(backend.inner), batch_size=16)
    training = SupervisedTraining(folder, loader, valid, num_epochs=2, resume="auto", interrupter=interrupter)
    if stop_after is not None:
        take = loader.iter_epoch

        def watched(epoch: int, start_batch: int = 0) -> Any:
            for number, batch in enumerate(take(epoch, start_batch), start=4 * (epoch - 1) + start_batch + 1):
                if number == stop_after:
                    interrupter.stop("test")
                yield batch

        loader.iter_epoch = watched
    return training.launch(Learner(model, SgdConfig().init(), ConstantLr(0.1))).model


def values(model: Any) -> dict[str, Any]:
    return {entry.path: entry.data.numpy() for entry in model.into_record()}


@pytest.mark.parametrize("stop_after", [1, 2, 4, 7])
def test_a_resumed_run_has_the_running_values_of_one_that_never_stopped(tmp_path: Path, stop_after: int) -> None:
    whole = values(launch(tmp_path / "whole", None))
    assert (whole["norm.running_mean"] != 0).all()
    launch(tmp_path / "broken", stop_after)
    resumed = values(launch(tmp_path / "broken", None))
    for path, expected in whole.items():
        np.testing.assert_array_equal(resumed[path], expected, err_msg=path)
