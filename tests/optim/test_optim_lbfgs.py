"""L-BFGS: what it finds, what its line search promises, and its record."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers_optim import Pair, backend_of, pair, same_bits, values

from minburn import FloatTensor, Module, Param, Tensor
from minburn.dtype import DType
from minburn.module import RunningState
from minburn.optim import (
    AdamConfig,
    GradientsParams,
    LBFGSConfig,
    LBFGSState,
    LineSearchFn,
    OptimizerError,
    OptimizerRecord,
    RecordWarning,
)
from minburn.optim.line_search import C1, C2, Sample, cubic_minimum, strong_wolfe
from minburn.optim.state import flatten

WOLFE = LineSearchFn.StrongWolfe


def rosenbrock(model):
    """Its minimum is 0, at w = b = 1; a curved valley leads there."""
    w, b = model.w.value, model.b.value
    loss = (1.0 - w).square().sum() + (b - w.square()).square().sum() * 100.0
    return loss, GradientsParams.from_grads(loss.backward(), model)


def valley(dtype="F64"):
    return pair([-1.2, 0.5], [1.0, -2.0], backend_of(dtype))


def test_it_finds_the_minimum_of_a_curved_valley():
    optim = LBFGSConfig(max_iter=60, max_eval=200, tolerance_change=1e-14, line_search_fn=WOLFE).init()
    model, _ = optim.step(1.0, valley(), rosenbrock)
    model, loss = optim.step(1.0, model, rosenbrock)
    assert loss < 1e-14
    np.testing.assert_allclose(np.concatenate(list(values(model).values())), 1.0, atol=1e-7)


def test_a_stretched_bowl_takes_few_moves():
    scales = Tensor.from_data([1.0, 10.0, 100.0], backend_of("F64"), DType.F64)

    def closure(model):
        loss = (model.w.value.square() * scales).sum() + model.b.value.square().sum()
        return loss, GradientsParams.from_grads(loss.backward(), model)

    model = pair([1.0, 1.0, 1.0], [0.0], backend_of("F64"))
    config = LBFGSConfig(max_iter=20, max_eval=40, line_search_fn=WOLFE)
    assert config.init().step(1.0, model, closure)[1] < 1e-10


@pytest.mark.parametrize("search", LineSearchFn)
def test_a_resumed_training_goes_on_bit_for_bit(search):
    config = LBFGSConfig(max_iter=3, history_size=2, line_search_fn=search)
    lr = 1.0 if search is WOLFE else 1e-3
    for dtype in ("F32", "F64"):
        optim, model = config.init(), valley(dtype)
        for _ in range(3):
            model, _ = optim.step(lr, model, rosenbrock)
        record = OptimizerRecord.from_bytes(optim.into_record().into_bytes())
        assert record.into_bytes() == optim.into_record().into_bytes()
        resumed = config.init().load_record(record)
        assert resumed.into_record().into_bytes() == record.into_bytes()
        again, straight = model, model
        for _ in range(3):
            again, mine = resumed.step(lr, again, rosenbrock)
            straight, theirs = optim.step(lr, straight, rosenbrock)
            assert mine == theirs
        assert same_bits(values(again), values(straight))


def test_a_model_is_a_value_and_the_loss_is_that_of_the_one_returned():
    model = valley()
    before = {name: value.copy() for name, value in values(model).items()}
    stepped, loss = LBFGSConfig(max_iter=5, line_search_fn=WOLFE).init().step(1.0, model, rosenbrock)
    assert same_bits(values(model), before)
    assert loss == rosenbrock(stepped)[0].item()
    assert (stepped.w.id, stepped.w.value.is_require_grad) == (model.w.id, True)


def test_what_has_no_gradient_stays_with_and_without_a_history():
    optim = LBFGSConfig(max_iter=4, line_search_fn=WOLFE).init()
    model, _ = optim.step(1.0, valley(), rosenbrock)
    frozen = Pair(w=model.w, b=model.b.set_require_grad(False))
    stepped, _ = optim.step(1.0, frozen, rosenbrock)
    assert stepped.b is frozen.b and not same_bits(values(stepped), values(frozen))
    empty, loss = optim.step(1.0, Empty(), lambda module: (2.5, GradientsParams()))
    assert isinstance(empty, Empty) and loss == 2.5


class Empty(Module):
    pass


def test_running_states_keep_what_the_closure_gave_them():
    class Counting(Module):
        w: Param
        seen: RunningState

    backend = backend_of()

    def closure(model):
        model.seen.update(model.seen.value_sync() + 1.0)
        loss = (model.w.value - 1.0).square().sum()
        return loss, GradientsParams.from_grads(loss.backward(), model)

    start = Tensor.from_floats([0.0], backend)
    model = Counting(w=Param.from_data([5.0], backend), seen=RunningState(start))
    optim = LBFGSConfig(max_iter=3, max_eval=10).init()
    stepped, _ = optim.step(0.5, model, closure)
    assert stepped.seen is model.seen and stepped.seen.value_sync().item() == 4.0


def test_a_shared_parameter_moves_once():
    class Twice(Module):
        first: Param
        second: Param

    weight = Param.from_data([3.0], backend_of())

    def closure(model):
        loss = (model.first.value + model.second.value).square().sum()
        return loss, GradientsParams.from_grads(loss.backward(), model)

    stepped, loss = LBFGSConfig(line_search_fn=WOLFE).init().step(1.0, Twice(first=weight, second=weight), closure)
    assert stepped.first is stepped.second and loss < 1e-10


def test_never_more_evaluations_than_asked_for_and_one():
    for search in LineSearchFn:
        calls = 0

        def closure(model):
            nonlocal calls
            calls += 1
            return rosenbrock(model)

        LBFGSConfig(max_iter=20, max_eval=7, line_search_fn=search).init().step(1e-3, valley(), closure)
        assert calls <= 8


# The line search


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("guess", [1e-4, 0.1, 1.0, 30.0])
def test_a_found_step_meets_the_strong_wolfe_conditions(seed, guess):
    a, b, c = np.random.default_rng(seed).normal(size=3)

    def at(t):
        loss = math.cosh(t - 2.0 - a * 0.3) + 0.3 * math.sin(b + 3.0 * t) + c if t < 500 else math.inf
        slope = math.sinh(t - 2.0 - a * 0.3) + 0.9 * math.cos(b + 3.0 * t) if t < 500 else math.inf
        return Sample(t, loss, None, slope)

    start = at(0.0)
    if start.slope >= 0:
        return
    found, evaluations = strong_wolfe(at, start, guess, 1.0, 1e-12, 25)
    assert evaluations <= 26
    assert found.loss <= start.loss + C1 * found.t * start.slope
    assert abs(found.slope) <= C2 * abs(start.slope)


def test_the_minimum_of_a_cubic():
    def sample(t):  # t³ - 3t has its minimum at 1
        return Sample(t, t**3 - 3 * t, None, 3 * t * t - 3)

    for a, b in ((-0.5, 2.0), (2.0, -0.5), (0.0, 1.5)):
        assert cubic_minimum(sample(a), sample(b), (-5.0, 5.0)) == pytest.approx(1.0)
    assert cubic_minimum(sample(0.0), sample(2.0), (1.25, 2.0)) == 1.25
    assert cubic_minimum(sample(0.0), sample(2.0), (0.0, 0.5)) == 0.5
    line = (Sample(0.0, 0.0, None, 10.0), Sample(1.0, 5.0, None, 10.0))
    assert cubic_minimum(*line, (0.0, 1.0)) == 0.5  # it has none
    assert cubic_minimum(sample(1.0), sample(1.0), (0.0, 1.0)) == 0.5
    broken = Sample(1.0, math.nan, None, math.nan)
    assert 0.0 <= cubic_minimum(sample(0.0), broken, (0.0, 1.0)) <= 1.0


# What it refuses


def test_configs_that_make_no_sense():
    for config, text in (
        (LBFGSConfig(max_iter=0), "max_iter must be at least 1, but is 0"),
        (LBFGSConfig(history_size=0), "history_size must be at least 1"),
        (LBFGSConfig(max_eval=0), "max_eval must be at least 1"),
        (LBFGSConfig(tolerance_grad=-1.0), "tolerance_grad must be at least 0"),
        (LBFGSConfig(tolerance_change=math.nan), "tolerance_change must be at least 0"),
    ):
        with pytest.raises(OptimizerError, match=text):
            config.init()
    assert LBFGSConfig.from_json(LBFGSConfig().to_json()) == LBFGSConfig()
    assert '"line_search_fn": "None"' in LBFGSConfig().to_json()


def test_what_a_step_refuses():
    optim, model = LBFGSConfig().init(), valley("F32")
    with pytest.raises(OptimizerError, match="the learning rate must be a number"):
        optim.step("1", model, rosenbrock)
    with pytest.raises(OptimizerError, match="expected the module as second argument, but got function"):
        optim.step(1.0, rosenbrock, model)
    with pytest.raises(OptimizerError, match="expected a closure as third argument, but got GradientsParams"):
        optim.step(1.0, model, GradientsParams())
    with pytest.raises(OptimizerError, match=r"the closure must return \(loss, grads\)"):
        optim.step(1.0, model, lambda model: rosenbrock(model)[0])
    mixed = Pair(w=model.w, b=Param.from_tensor(model.b.value.cast(DType.F64)))
    with pytest.raises(OptimizerError, match="one dtype and device, but w is F32 on cpu and b is F64 on cpu"):
        optim.step(1.0, mixed, rosenbrock)

    def wrong(model):
        grads = GradientsParams()
        grads.register(model.w.id, Tensor.from_floats([1.0], backend_of()))
        return 1.0, grads

    with pytest.raises(OptimizerError, match=r"w is a F32 tensor of shape \[2\] on cpu, its gradient a F32 .* \[1\]"):
        optim.step(1.0, model, wrong)


def test_records_of_other_optimizers_and_models():
    optim, model = LBFGSConfig(max_iter=4).init(), valley("F32")
    optim.step(1e-3, model, rosenbrock)
    record = optim.into_record()
    with pytest.raises(OptimizerError, match="the record of L-BFGS, whose state is one for the whole model"):
        AdamConfig().init().load_record(record)
    with pytest.raises(OptimizerError, match="has a state for every parameter"):
        LBFGSConfig().init().load_record(OptimizerRecord())
    with pytest.raises(OptimizerError, match="expected an OptimizerRecord, but got dict"):
        LBFGSConfig().init().load_record({})
    other = pair([1.0], [2.0], backend_of())
    with pytest.raises(OptimizerError, match=r"does not fit: d is a F32 tensor of shape \[4\], the model has 2"):
        LBFGSConfig().init().load_record(record).step(1.0, other, rosenbrock)
    cut = OptimizerRecord(whole={name: leaf for name, leaf in record.whole.items() if name != "history_y.0"})
    with pytest.warns(RecordWarning, match="history_y.0 is missing"):
        LBFGSConfig().init().load_record(cut).step(1e-3, model, rosenbrock)
    state = LBFGSState([], [], None, None, None, None, 0)
    assert list(flatten(state)) == ["history_s.len", "history_y.len", "g_iter"]
    assert isinstance(model.w.value, FloatTensor)
