"""A step that is interrupted (Ctrl-C) is repeated with the same bits, or it is refused: never with states that are half
those of the step before."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from helpers_optim import random_pair, same_bits, values

from minburn import Tensor
from minburn.backends import BackendError, NumPy
from minburn.backends.array.program import Kernel
from minburn.backends.elementwise import trace
from minburn.optim import (
    AdamConfig,
    GradientClippingConfig,
    GradientsParams,
    LambConfig,
    OptimizerAdaptor,
    OptimizerError,
    SgdConfig,
)

FILES = ("adaptor.py", "kept.py", "group.py", "elementwise.py", "program.py")


def gradients_of(seed: int, model: Any) -> GradientsParams:
    rng = np.random.default_rng(seed)
    w, b = (Tensor.from_data(rng.normal(size=param.shape), model.w.backend) for param in (model.w, model.b))
    loss = (model.w.value * w).sum() + (model.b.value * b).sum()
    return GradientsParams.from_grads(loss.backward(), model)


def trained(rule: Any, clipping: Any, steps: int) -> tuple[OptimizerAdaptor, list[Any]]:
    optim, models = OptimizerAdaptor(rule, clipping), [random_pair()]
    for step in range(steps):
        models.append(optim.step(0.1, models[-1], gradients_of(step, models[-1])))
    return optim, models


def interrupted(optim: OptimizerAdaptor, model: Any, grads: Any, line: int) -> bool:
    """Whether the step was interrupted at its line of this number."""
    seen = 0

    def watch(frame: Any, event: str, _: Any) -> Any:
        nonlocal seen
        if not frame.f_code.co_filename.endswith(FILES):
            return None
        seen += event == "line"
        if seen > line:
            raise KeyboardInterrupt
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        optim.step(0.1, model, grads)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("clipping", [None, GradientClippingConfig.Norm(0.5)], ids=["all", "clipped"])
@pytest.mark.parametrize("config", [SgdConfig(), AdamConfig(), LambConfig()], ids=lambda config: type(config).__name__)
def test_the_step_again_gives_the_same_bits_or_is_refused(config: Any, clipping: Any) -> None:
    _, [*_, third, fourth] = trained(config.build(), clipping, 4)
    line, repeated, refused = 0, 0, 0
    while True:
        optim, [*_, model] = trained(config.build(), clipping, 2)
        grads = gradients_of(2, model)
        if not interrupted(optim, model, grads, line):
            break
        line += 1
        try:
            stepped = optim.step(0.1, model, grads)
        except (BackendError, OptimizerError):
            refused += 1
            continue
        repeated += 1
        assert same_bits(values(stepped), values(third))
        assert same_bits(values(optim.step(0.1, stepped, gradients_of(3, stepped))), values(fourth))
    assert repeated
    assert refused


def test_a_kernel_left_by_a_program_that_is_gone_is_not_another_programs() -> None:
    table: Any = NumPy().floats
    halved, doubled = trace(lambda x: x * 0.5, 1, 0), trace(lambda x: x * 2.0, 1, 0)
    table.kernels[id(doubled)] = Kernel(table, halved)
    [[result]] = table.run_elementwise([[table.ones((2,))]], doubled, ())
    assert result.tolist() == [2.0, 2.0]
