"""A CNN with batch norms that Burn 0.22.1 trained: the same steps from the same start, and on from its checkpoint.

The running values in Burn's files lie one update behind what the layers hold (see RunningState), so its resumed run
differs from the uninterrupted one; both are followed here.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.module import Module, ModuleRecord
from minburn.nn import (
    AdaptiveAvgPool2d,
    AdaptiveAvgPool2dConfig,
    BatchNorm,
    BatchNormConfig,
    Conv2d,
    Conv2dConfig,
    CrossEntropyLoss,
    Linear,
    LinearConfig,
    MaxPool2d,
    MaxPool2dConfig,
    PaddingConfig2d,
)
from minburn.optim import (
    GradientClippingConfig,
    GradientsParams,
    LrSchedulerRecord,
    MomentumConfig,
    OptimizerRecord,
    SgdConfig,
    StepLrSchedulerConfig,
)
from minburn.tensor import FloatTensor, Tensor, activation

GOLDEN = Path(__file__).parent.parent / "golden"
EXPECTED = json.loads((GOLDEN / "nn" / "cnn.json").read_text())
BACKEND = Autodiff(NumPy(seed=0))


class Cnn(Module):
    conv1: Conv2d
    bn1: BatchNorm
    pool: MaxPool2d
    conv2: Conv2d
    bn2: BatchNorm
    gap: AdaptiveAvgPool2d
    fc: Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        x = self.pool(activation.relu(self.bn1(self.conv1(x))))
        x = activation.relu(self.bn2(self.conv2(x)))
        return self.fc(self.gap(x).flatten(1))


def new_model() -> Cnn:
    padding = PaddingConfig2d.Explicit(1, 1, 1, 1)
    return Cnn(
        conv1=Conv2dConfig((1, 4), (3, 3), padding=PaddingConfig2d.Same()).init(BACKEND),
        bn1=BatchNormConfig(4).init(BACKEND),
        pool=MaxPool2dConfig((2, 2)).init(),
        conv2=Conv2dConfig((4, 6), (3, 3), stride=(2, 2), padding=padding, bias=False).init(BACKEND),
        bn2=BatchNormConfig(6, epsilon=1e-3, momentum=0.3).init(BACKEND),
        gap=AdaptiveAvgPool2dConfig((1, 1)).init(),
        fc=LinearConfig(6, 3).init(BACKEND),
    )


def array(spec):
    dtype = np.int32 if spec["dtype"] == "I32" else np.float32
    return np.array(spec["data"], dtype).reshape(spec["shape"])


class Training:
    def __init__(self, model):
        self.model = model
        clipping = GradientClippingConfig.Value(0.30000001192092896)
        momentum = MomentumConfig(momentum=0.9, dampening=0.1, nesterov=True)
        self.optim = SgdConfig(momentum=momentum, gradient_clipping=clipping).init()
        self.scheduler = StepLrSchedulerConfig(initial_lr=0.05, step_size=3, gamma=0.5).init()

    def step(self, expected):
        batch = {name: Tensor.from_data(array(spec), BACKEND) for name, spec in expected["batch"].items()}
        loss = CrossEntropyLoss()(self.model(batch["x"]), batch["y"])
        assert loss.item() == pytest.approx(expected["loss"], rel=2e-5)
        lr = self.scheduler.step()
        assert float(lr) == pytest.approx(expected["lr"], rel=1e-12)
        self.model = self.optim.step(lr, self.model, GradientsParams.from_grads(loss.backward(), self.model))

    def compare(self, params):
        record = {entry.path: entry.data.numpy() for entry in self.model.into_record()}
        assert list(record) == [spec["path"] for spec in params]
        for spec in params:
            np.testing.assert_allclose(record[spec["path"]], array(spec), 1e-4, 2e-6, err_msg=spec["path"])


def with_values(model, params):
    """The model with these values; the ids stay."""
    values = {spec["path"]: array(spec) for spec in params}
    entries = list(model.into_record())
    for entry in entries:
        entry.data = type(entry.data).from_numpy(values[entry.path])
    return model.load_record(ModuleRecord(entries))


def evaluated(model):
    x = Tensor.from_data(array(EXPECTED["eval_after_load"]["inputs"]["x"]), BACKEND.inner)
    return model.valid()(x).numpy()


def test_five_steps_from_burns_start():
    training = Training(with_values(new_model(), EXPECTED["initial_params"]))
    for expected in EXPECTED["training"]:
        training.step(expected)
    training.compare(EXPECTED["params_5"])


def test_burns_checkpoint_evaluates_and_goes_on():
    training = Training(new_model().load_file(GOLDEN / "nn" / "cnn-5.bpk"))
    training.optim = training.optim.load_record(OptimizerRecord.load(GOLDEN / "optim" / "cnn-sgd.bpk"))
    training.scheduler = training.scheduler.load_record(LrSchedulerRecord.load(GOLDEN / "nn" / "cnn-scheduler-5.bpk"))
    np.testing.assert_allclose(evaluated(training.model), array(EXPECTED["eval_after_load"]["output"]), 1e-4, 1e-6)
    for expected in EXPECTED["resumed"]:
        training.step(expected)
        training.compare(expected["params"])
    np.testing.assert_allclose(evaluated(training.model), array(EXPECTED["eval_8"]), 1e-4, 1e-6)
    training.compare(EXPECTED["params_8"])  # valid() has committed the last update


def test_burns_file_is_written_again_but_for_the_ids_of_running_values():
    burns = {entry.path: entry for entry in ModuleRecord.load(GOLDEN / "nn" / "cnn-5.bpk")}
    again = new_model().load_record(ModuleRecord(burns.values())).into_record()
    assert sorted(entry.path for entry in again) == sorted(burns)
    for ours in again:
        theirs = burns[ours.path]
        np.testing.assert_array_equal(ours.data.numpy(), theirs.data.numpy())
        assert (ours.id == theirs.id) != ("running" in ours.path)
