"""Rules and rates of their own for groups of parameters."""

from __future__ import annotations

import numpy as np
import pytest
from helpers_optim import backend_of, gradients, pair, random_gradients, random_pair, same_bits, values

from minburn import ParamGroup
from minburn.backends import Autodiff, BalancedCheckpointing, NumPy
from minburn.module import ModuleError
from minburn.optim import (
    AdamConfig,
    ConstantLr,
    GradientClippingConfig,
    LinearLrSchedulerConfig,
    LrSchedulerRecord,
    ModuleLearningRate,
    ModuleLrScheduler,
    ModuleLrSchedulerConfig,
    MuonConfig,
    OptimizerAdaptor,
    OptimizerError,
    OptimizerRecord,
    RecordWarning,
    SgdConfig,
    StepLrSchedulerConfig,
)

BIAS = ParamGroup.from_path("b")


def steps(optim, model, lr=0.1, first=0, count=4):
    for seed in range(first, first + count):
        model = optim.step(lr, model, random_gradients(seed, model))
    return model


def test_each_group_is_stepped_as_by_an_optimizer_of_its_own():
    model = random_pair()
    mixed = steps(AdamConfig().init().with_group(BIAS, SgdConfig().build()), model)
    adam, sgd = steps(AdamConfig().init(), model), steps(SgdConfig().init(), model)
    assert same_bits(values(mixed), {"w": adam.w.value.numpy(), "b": sgd.b.value.numpy()})


def test_the_last_group_that_matches_wins():
    model = random_pair()
    optim = SgdConfig().init().with_group(ParamGroup.all(), AdamConfig().build()).with_group(BIAS, SgdConfig().build())
    adam, sgd = steps(AdamConfig().init(), model), steps(SgdConfig().init(), model)
    assert same_bits(values(steps(optim, model)), {"w": adam.w.value.numpy(), "b": sgd.b.value.numpy()})


def test_a_group_has_a_limit_of_its_own_on_gradients():
    clip = GradientClippingConfig.Value(0.01)
    model = random_pair()
    optim = SgdConfig().init().with_group(BIAS, SgdConfig().build(), clip)
    assert optim.has_gradient_clipping() and optim.grad_clipping is None
    stepped = steps(optim, model, count=1)
    assert same_bits({"w": stepped.w.value.numpy()}, {"w": steps(SgdConfig().init(), model, count=1).w.value.numpy()})
    np.testing.assert_allclose(abs(stepped.b.value.numpy() - model.b.value.numpy()), 0.001, rtol=1e-4)
    limited = SgdConfig().init().with_grad_clipping(clip)
    assert limited.grad_clipping == clip
    by_config = SgdConfig(gradient_clipping=clip).init()
    assert same_bits(values(steps(limited, model)), values(steps(by_config, model)))


def test_only_the_states_of_a_new_group_start_again():
    model = random_pair()
    optim = AdamConfig().init()
    model = steps(optim, model)
    optim.with_group(BIAS, AdamConfig().build())
    assert [entry.path for entry in optim.into_record()] == ["w"]
    model = steps(optim, model, first=4, count=1)
    times = {entry.path: entry.leaves["momentum.time"].value for entry in optim.into_record()}
    assert times == {"w": 5, "b": 1}


def test_a_parameter_keeps_its_rule_where_its_path_changes():
    from minburn import Module
    from minburn.optim import GradientsParams

    class Outer(Module):
        inner: object

    model = random_pair()
    optim = SgdConfig().init().with_group(BIAS, AdamConfig().build())
    model = steps(optim, model)
    outer = optim.step(0.1, Outer(inner=model), random_gradients(4, model))
    straight = steps(SgdConfig().init().with_group(BIAS, AdamConfig().build()), random_pair(), count=5)
    assert same_bits(values(outer.inner), values(straight))
    assert isinstance(random_gradients(4, model), GradientsParams)


def test_records_go_on_bit_for_bit():
    def new():
        return AdamConfig().init().with_group(BIAS, SgdConfig().build())

    optim = new()
    model = steps(optim, random_pair())
    record = OptimizerRecord.from_bytes(optim.into_record().into_bytes())
    resumed = new().load_record(record)
    assert same_bits(values(steps(optim, model, first=4)), values(steps(resumed, model, first=4)))
    assert optim.into_record().into_bytes() == resumed.into_record().into_bytes()


def test_a_record_of_other_groups_starts_what_does_not_fit_again():
    optim = AdamConfig().init()
    model = steps(optim, random_pair())
    other = AdamConfig().init().with_group(BIAS, MuonConfig().build()).load_record(optim.into_record())
    with (
        pytest.warns(RecordWarning, match=r"the recorded states of 1 parameters are not Muon's \(b: "),
        pytest.raises(OptimizerError, match="Newton-Schulz iteration requires 2D tensors, got 1D"),
    ):
        steps(other, model, first=4, count=1)
    with_warning = AdamConfig().init().with_group(ParamGroup.from_path("w"), MuonConfig().build())
    with pytest.warns(RecordWarning, match=r"not Muon's \(w: "):
        steps(with_warning.load_record(optim.into_record()), model, first=4, count=1)


def test_a_rule_that_fails_leaves_the_states_of_the_others():
    """Muon refuses vectors; what Adam kept of the matrix must not have moved."""
    optim = AdamConfig().init()
    model = steps(optim, random_pair())
    optim.with_group(BIAS, MuonConfig().build())
    before = optim.into_record().into_bytes()
    with pytest.raises(OptimizerError, match="2D"):
        steps(optim, model, first=4, count=1)
    assert optim.into_record().into_bytes() == before
    only_w = gradients({11: random_gradients(4, model).get(11).numpy()}, backend_of())
    reference = steps(AdamConfig().init(), random_pair())
    optim2 = AdamConfig().init()
    steps(optim2, random_pair())
    assert same_bits(values(optim.step(0.1, model, only_w)), values(optim2.step(0.1, reference, only_w)))


# Rates


def test_rates_of_groups():
    rates = ModuleLearningRate(0.1, [(ParamGroup.from_ids([22]), 0.2), (ParamGroup.from_predicate("b"), 0.3)])
    assert (rates.base(), float(rates), rates.lr_from_param(11, "w")) == (0.1, 0.1, 0.1)
    assert (rates.lr_from_param(22, "x"), rates.lr_from_param(22, "b"), rates.lr_from_param(1, None)) == (0.2, 0.3, 0.1)
    assert repr(rates) == "ModuleLearningRate(0.1, group 1: 0.2, group 2: 0.3)"


def test_a_step_takes_the_rate_of_each_parameter():
    model = random_pair()
    rates = ModuleLearningRate(0.1, [(BIAS, 0.5)])
    mixed = steps(AdamConfig().init(), model, rates)
    slow, fast = steps(AdamConfig().init(), model, 0.1), steps(AdamConfig().init(), model, 0.5)
    assert same_bits(values(mixed), {"w": slow.w.value.numpy(), "b": fast.b.value.numpy()})
    uniform = steps(AdamConfig().init(), model, ModuleLearningRate(0.1))
    assert same_bits(values(uniform), values(slow))
    changing = AdamConfig().init()
    halfway = steps(changing, model, rates, count=2)
    back = steps(changing, halfway, 0.1, first=2, count=2)
    assert back.w.value.numpy().tobytes() == slow.w.value.numpy().tobytes()


def test_rates_that_are_no_numbers():
    model = random_pair()
    for rates in (ModuleLearningRate(float("nan")), ModuleLearningRate(0.1, [(BIAS, float("inf"))])):
        with pytest.raises(OptimizerError, match=r"the learning rate is (nan|inf). Check the schedule"):
            steps(SgdConfig().init(), model, rates, count=1)
    with pytest.raises(OptimizerError, match=r"the learning rate must be a number, but is str '0.1'"):
        steps(SgdConfig().init(), model, ModuleLearningRate(0.1, [(BIAS, "0.1")]), count=1)


def test_schedules_of_groups_advance_together_and_are_recorded_by_number():
    config = ModuleLrSchedulerConfig(LinearLrSchedulerConfig(0.5, 0.1, 4)).with_group(
        BIAS, StepLrSchedulerConfig(1.0, 2)
    )
    config = config.with_group(ParamGroup.from_ids([33]), 0.25)
    assert ModuleLrSchedulerConfig.from_json(config.to_json()) == config
    scheduler = config.init()
    for _ in range(3):
        rates = scheduler.step()
    assert (rates.base(), rates.lr_from_param(22, "b"), rates.lr_from_param(33, "c")) == pytest.approx((0.3, 0.1, 0.25))
    record = LrSchedulerRecord.from_bytes(scheduler.into_record().into_bytes())
    assert sorted(record.keys()) == ["0.remaining_iters", "1.iter_idx"]
    resumed = config.init().load_record(record)
    for _ in range(3):
        mine, theirs = resumed.step(), scheduler.step()
        assert mine.lr_from_param(22, "b") == theirs.lr_from_param(22, "b") and mine.base() == theirs.base()


def test_what_makes_no_group_of_rates_or_rules():
    scheduler = ModuleLrScheduler(0.1)
    assert scheduler.with_group(BIAS, 0.2) is scheduler
    with pytest.raises(OptimizerError, match="with_group: LinearLrSchedulerConfig is not a bare schedule"):
        scheduler.with_group(BIAS, LinearLrSchedulerConfig(0.5, 0.1, 4))
    with pytest.raises(ModuleError, match="with_group: expected a ParamGroup, but got str"):
        scheduler.with_group("b", 0.2)
    config = ModuleLrSchedulerConfig(LinearLrSchedulerConfig(0.5, 0.1, 4))
    with pytest.raises(OptimizerError, match="expected a schedule's config or a number, but got ConstantLr"):
        config.with_group(BIAS, ConstantLr(0.1))
    optim = SgdConfig().init()
    with pytest.raises(OptimizerError, match=r"with_group: expected a SimpleOptimizer.*AdamConfig\(\)\.build\(\)"):
        optim.with_group(BIAS, AdamConfig())
    with pytest.raises(ModuleError, match="with_group: expected a ParamGroup, but got str"):
        optim.with_group("b", AdamConfig().build())
    with pytest.raises(OptimizerError, match="with_group: grad_clipping must be a GradientClippingConfig"):
        optim.with_group(BIAS, AdamConfig().build(), 1.0)
    assert len(optim.groups) == 1 and isinstance(optim, OptimizerAdaptor)


def test_a_step_keeps_the_context_of_a_parameter():
    """Its checkpointing strategy, require_grad and id: the next forward pass meets it as it was."""
    backend = Autodiff(NumPy(seed=0), BalancedCheckpointing)
    model = pair([[1.0, 2.0]], [3.0], backend)
    optim = SgdConfig().init().with_group(BIAS, AdamConfig().build())
    stepped = optim.step(0.1, model, gradients({11: [[1.0, 1.0]], 22: [1.0]}, backend))
    for name in ("w", "b"):
        before, after = getattr(model, name), getattr(stepped, name)
        assert after.backend is before.backend and after.id == before.id
        assert after.value.is_require_grad and after.value.ops is before.value.ops


def test_a_rate_is_a_number_like_any_other():
    rates = LinearLrSchedulerConfig(0.5, 0.1, 4).init().with_group(BIAS, 0.25).step()
    assert rates == 0.5 and rates * 2 == 1.0 and f"{rates:.2f}" == "0.50" and type(rates + 0) is float
