"""An Lstm that Burn 0.22.1 trained: the same steps from the same start, and on from its checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.module import Module, ModuleRecord
from minburn.nn import CrossEntropyLoss, Linear, LinearConfig, Lstm, LstmConfig, PRelu, PReluConfig
from minburn.optim import (
    ExponentialLrSchedulerConfig,
    GradientsParams,
    LrSchedulerRecord,
    OptimizerRecord,
    RmsPropConfig,
)
from minburn.tensor import FloatTensor, Tensor

GOLDEN = Path(__file__).parent.parent / "golden" / "nn"
EXPECTED = json.loads((GOLDEN / "lstm.json").read_text())
BACKEND = Autodiff(NumPy(seed=0))


class Model(Module):
    rnn: Lstm
    act: PRelu
    fc: Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        """Of the last step."""
        _, state = self.rnn(x)
        return self.fc(self.act(state.hidden))


def new_model() -> Model:
    return Model(
        rnn=LstmConfig(4, 5, True).init(BACKEND),
        act=PReluConfig().init(BACKEND),
        fc=LinearConfig(5, 2).init(BACKEND),
    )


def array(spec: Any) -> Any:
    return np.array(spec["data"], np.int32 if spec["dtype"] == "I32" else np.float32).reshape(spec["shape"])


class Training:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.optim = RmsPropConfig(centered=True, alpha=0.9, momentum=0.5, epsilon=1e-5).init()
        self.scheduler: Any = ExponentialLrSchedulerConfig(initial_lr=0.01, gamma=0.9).init()

    def step(self, expected: Any) -> None:
        batch = {name: Tensor.from_data(array(spec), BACKEND) for name, spec in expected["batch"].items()}
        loss = CrossEntropyLoss()(self.model(batch["x"]), batch["y"])
        assert loss.item() == pytest.approx(expected["loss"], rel=1e-5)
        lr = self.scheduler.step()
        assert float(lr) == pytest.approx(expected["lr"], rel=1e-12)
        self.model = self.optim.step(lr, self.model, GradientsParams.from_grads(loss.backward(), self.model))

    def compare(self, params: Any) -> None:
        record = {entry.path: entry.data.numpy() for entry in self.model.into_record()}
        assert list(record) == [spec["path"] for spec in params]
        for spec in params:
            np.testing.assert_allclose(record[spec["path"]], array(spec), 1e-4, 2e-6, err_msg=spec["path"])


def with_values(model: Model, params: Any) -> Model:
    values = {spec["path"]: array(spec) for spec in params}
    entries = list(model.into_record())
    for entry in entries:
        entry.data = type(entry.data).from_numpy(values[entry.path])
    return model.load_record(ModuleRecord(entries))


def evaluated(model: Model) -> Any:
    x = Tensor.from_data(array(EXPECTED["eval_after_load"]["inputs"]["x"]), BACKEND.inner)
    return model.valid()(x).numpy()


def test_five_steps_from_burns_start() -> None:
    training = Training(with_values(new_model(), EXPECTED["initial_params"]))
    for expected in EXPECTED["training"]:
        training.step(expected)
    training.compare(EXPECTED["params_5"])


def test_burns_checkpoint_evaluates_and_goes_on() -> None:
    training = Training(new_model().load_file(GOLDEN / "lstm-5.bpk"))
    training.optim = training.optim.load_record(OptimizerRecord.load(GOLDEN / "lstm-rmsprop-5.bpk"))
    training.scheduler = training.scheduler.load_record(LrSchedulerRecord.load(GOLDEN / "lstm-scheduler-5.bpk"))
    np.testing.assert_allclose(evaluated(training.model), array(EXPECTED["eval_after_load"]["output"]), 1e-5, 1e-6)
    for expected in EXPECTED["resumed"]:
        training.step(expected)
        training.compare(expected["params"])
    np.testing.assert_allclose(evaluated(training.model), array(EXPECTED["eval_8"]), 1e-4, 1e-6)
    training.compare(EXPECTED["params_8"])


def test_burns_file_is_written_again_byte_for_byte() -> None:
    assert (
        new_model().load_file(GOLDEN / "lstm-5.bpk").into_record().into_bytes() == (GOLDEN / "lstm-5.bpk").read_bytes()
    )
