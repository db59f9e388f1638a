"""How a gradient lies in memory changes no bit of a run that is resumed; settings of which no step can be made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minburn import FloatTensor, Module, ModuleRecord, Param, Tensor
from minburn.backends import Autodiff, NumPy
from minburn.optim import (
    AdafactorConfig,
    AdaGradConfig,
    AdamConfig,
    AdamWConfig,
    GradientsParams,
    LambConfig,
    LionConfig,
    MuonConfig,
    OptimizerError,
    OptimizerRecord,
    SgdConfig,
)

backend = Autodiff(NumPy(seed=1))
CONFIGS = [AdafactorConfig(), AdamConfig(), LambConfig(), LionConfig(), MuonConfig(), SgdConfig()]


class Transposed(Module):
    """The gradient of its first weight lies column after column."""

    first: Param[FloatTensor]
    second: Param[FloatTensor]

    def forward(self, x: FloatTensor) -> FloatTensor:
        return x.matmul(self.first.value.transpose()).tanh().matmul(self.second.value)


def new_model() -> Transposed:
    rng = np.random.default_rng(1)
    return Transposed(
        first=Param.from_data(rng.standard_normal((70, 60)), backend),
        second=Param.from_data(rng.standard_normal((70, 33)), backend),
    )


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)
def test_a_gradient_that_lies_in_another_order_resumes_exactly(config: Any) -> None:
    x: FloatTensor = Tensor.from_data(np.random.default_rng(2).standard_normal((50, 60)), backend)

    def trained(model: Transposed, optimizer: Any, steps: int) -> Transposed:
        for _ in range(steps):
            loss = model(x).square().mean()
            model = optimizer.step(0.01, model, GradientsParams.from_grads(loss.backward(), model))
        return model

    optimizer = config.init()
    model = trained(new_model(), optimizer, 3)
    saved = model.into_record().into_bytes(), optimizer.into_record().into_bytes()
    whole = trained(model, optimizer, 4)
    again = config.init().load_record(OptimizerRecord.from_bytes(saved[1]))
    resumed = trained(new_model().load_record(ModuleRecord.from_bytes(saved[0])), again, 4)
    assert resumed.into_record().into_bytes() == whole.into_record().into_bytes()


@pytest.mark.parametrize("beta", [-0.1, 1.0, 2.0, float("nan"), float("inf")])
@pytest.mark.parametrize("config", [AdamConfig, AdamWConfig, LambConfig])
def test_means_that_are_none(config: Any, beta: float) -> None:
    for name in ("beta_1", "beta_2"):
        with pytest.raises(OptimizerError, match=f"{name} must be at least 0 and less than 1, but is {beta}"):
            config(**{name: beta}).init()


@pytest.mark.parametrize("decay", [-1.0, float("nan"), float("inf")])
def test_a_decay_that_would_divide_by_nothing(decay: float) -> None:
    with pytest.raises(OptimizerError, match=f"lr_decay must be finite and at least 0, but is {decay}"):
        AdaGradConfig(lr_decay=decay).init()
