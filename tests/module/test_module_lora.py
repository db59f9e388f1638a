"""Reparameterized parameters, and LoRA among them: values, gradients, training, records as Burn writes them."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

from minburn import FloatTensor, Module, ModuleMapper, ModuleRecord, ModuleVisitor, Param, ParamGroup, Tensor
from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.module import Flag, Lora, LoraAdapter, ModuleError, Reparameterization, RunningState
from minburn.nn import Dropout, DropoutConfig, Linear, LinearConfig
from minburn.optim import AdamConfig, GradientsParams, OptimizerRecord

GOLDEN = Path(__file__).parent.parent / "golden" / "module"
BACKEND = Autodiff(NumPy(seed=0))


class Two(Module):
    a: Linear
    dropout: Dropout
    b: Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        return self.b(self.dropout(self.a(x)))


def two(backend=BACKEND) -> Two:
    return Two(
        a=LinearConfig(3, 4).init(backend),
        dropout=DropoutConfig(0.0).init(),
        b=LinearConfig(4, 2, bias=False).init(backend),
    )


def adapted(**options) -> Two:
    model = two().apply_lora(Lora(2, 4.0, **options))
    b = model.a.weight.reparameterization.b if model.a.weight.reparameterization else None
    if b is None:
        return model
    filled = model.a.weight.reparameterization.replace(b=b.map(lambda zeros: zeros + 0.5))
    return model.map(Put(b.id, filled.b))


def inputs(backend=BACKEND):
    return Tensor.from_data(np.linspace(-1.0, 1.0, 6, dtype=np.float32).reshape(2, 3), backend)


class Put(ModuleMapper):
    """A value for the parameter with this id."""

    def __init__(self, id, param):
        self.id, self.param = id, param

    def map_float(self, param):
        return self.param if param.id == self.id else param


class Paths(ModuleVisitor):
    def __init__(self) -> None:
        self.found: list[str] = []
        self.entered: list[tuple[str, str]] = []

    def visit_float(self, param) -> None:
        self.found.append(self.path)

    def visit_flag(self, param) -> None:
        self.found.append(self.path)

    def enter_module(self, name, container_type) -> None:
        self.entered.append((name, container_type))


def paths(model) -> list[str]:
    visitor = Paths()
    model.visit(visitor)
    return visitor.found


# LoRA


def test_burns_file_loads_and_is_written_again_byte_for_byte():
    record = ModuleRecord.load(GOLDEN / "lora.bpk")
    model = two(NumPy(seed=1)).apply_lora(Lora(2, 4.0)).load_record(record)
    assert model.into_record().into_bytes() == (GOLDEN / "lora.bpk").read_bytes()
    assert paths(model)[:4] == ["a.weight", "a.weight.lora.a", "a.weight.lora.b", "a.bias"]


def test_it_changes_nothing_at_first():
    model = two()
    lora = model.apply_lora(Lora(2, 4.0))
    np.testing.assert_array_equal(lora(inputs()).numpy(), model(inputs()).numpy())
    assert lora.num_params() == model.num_params() + (3 + 4) * 2 + (4 + 2) * 2
    assert model.into_record().paths() != lora.into_record().paths()


def test_nothing_is_drawn_to_attach_it():
    model = two().apply_lora(Lora(2, 4.0))
    adapter = model.a.weight.reparameterization
    assert not model.a.weight.is_initialized and not adapter.a.is_initialized and not adapter.b.is_initialized
    assert model.a.weight.shape == (3, 4) and model.devices() == [BACKEND.device]
    assert "ParamTensor {rank: 2, shape: [3, 4], kind: float}" in repr(model.a.weight)


def test_the_value_is_the_base_and_the_scaled_product():
    model = adapted()
    weight = model.a.weight
    adapter = weight.reparameterization
    assert isinstance(adapter, LoraAdapter) and adapter.scale == 2.0
    expected = weight.base.value.numpy() + 2.0 * adapter.a.value.numpy() @ adapter.b.value.numpy()
    np.testing.assert_allclose(weight.value.numpy(), expected, rtol=1e-6)
    assert weight.base.base is weight.base and weight.base.reparameterization is None


def test_gradients_reach_the_factors_only():
    model = adapted()
    grads = GradientsParams.from_grads(model(inputs()).square().sum().backward(), model)
    trained = {model.a.weight.reparameterization.a.id, model.a.weight.reparameterization.b.id}
    trained |= {model.b.weight.reparameterization.a.id, model.b.weight.reparameterization.b.id}
    assert set(grads) == trained
    thawed = model.unfreeze()
    grads = GradientsParams.from_grads(thawed(inputs()).square().sum().backward(), thawed)
    assert set(grads) == trained | {model.a.weight.id, model.a.bias.id, model.b.weight.id}


def test_training_moves_the_factors_and_resumes():
    def train(model, optim, steps):
        for _ in range(steps):
            grads = GradientsParams.from_grads((model(inputs()) - 1.0).square().sum().backward(), model)
            model = optim.step(0.05, model, grads)
        return model

    start = adapted()
    optim = AdamConfig().init()
    model = train(start, optim, 5)
    np.testing.assert_array_equal(model.a.weight.base.value.numpy(), start.a.weight.base.value.numpy())
    assert [entry.path for entry in optim.into_record()] == [
        *("a.weight.lora.a", "a.weight.lora.b", "b.weight.lora.a", "b.weight.lora.b")
    ]
    again = two().apply_lora(Lora(2, 4.0)).load_record(ModuleRecord.from_bytes(model.into_record().into_bytes()))
    resumed = AdamConfig().init().load_record(OptimizerRecord.from_bytes(optim.into_record().into_bytes()))
    straight, broken = train(model, optim, 3), train(again, resumed, 3)
    assert straight.into_record().into_bytes() == broken.into_record().into_bytes()


def test_valid_and_train_keep_both_parts():
    model = adapted()
    inference = model.valid()
    adapter = inference.a.weight.reparameterization
    assert not inference.a.weight.backend.is_autodiff and not adapter.a.backend.is_autodiff
    assert inference.into_record().paths() == model.into_record().paths()
    assert not inference.dropout.training.is_enabled
    np.testing.assert_array_equal(inference(inputs(BACKEND.inner)).numpy(), model(inputs()).numpy())
    restored = inference.train()
    assert restored.dropout.training.is_enabled
    assert not restored.a.weight.base.is_require_grad and restored.a.weight.reparameterization.b.is_require_grad


def test_materialize_gives_plain_parameters_with_the_values_seen():
    model = adapted()
    merged = model.valid().materialize()
    assert paths(merged) == paths(two()) and merged.a.weight.id == model.a.weight.id
    assert type(merged.a.weight) is Param and merged.a.bias is not None
    np.testing.assert_array_equal(merged(inputs(BACKEND.inner)).numpy(), model(inputs()).numpy())
    plain = two()
    assert plain.materialize() is plain
    again = model.materialize()
    assert again.a.weight.value.backend.is_autodiff and not again.a.weight.is_require_grad
    assert not again.a.weight.value.is_tracked


def test_only_matrices_of_the_group_are_adapted_but_all_is_frozen():
    model = adapted(param_group=ParamGroup.from_predicate("b."))
    assert model.a.weight.reparameterization is None and model.b.weight.reparameterization is not None
    assert not model.a.weight.is_require_grad and not model.a.bias.is_require_grad
    assert model.dropout.training.is_enabled
    bases = ParamGroup.from_regex("weight$")
    thawed = model.unfreeze_group(ParamGroup.all().exclude(bases))
    assert thawed.a.bias.is_require_grad and not thawed.b.weight.base.is_require_grad


def test_factors_have_the_dtype_of_the_base_unless_told_otherwise():
    model = two(NumPy(seed=0, float_dtype=DType.F64))
    assert model.apply_lora(Lora(2, 4.0)).a.weight.reparameterization.a.dtype == DType.F64
    mixed = model.apply_lora(Lora(2, 4.0, dtype=DType.F32)).a.weight
    assert (mixed.base.dtype, mixed.reparameterization.b.value.dtype, mixed.value.dtype) == (
        DType.F64,
        DType.F32,
        DType.F32,
    )


def test_a_is_normal_with_its_deviation():
    weight = LinearConfig(100, 100).init(BACKEND)
    draw = weight.apply_lora(Lora(50, 1.0)).weight.reparameterization.a.value.numpy()
    assert abs(draw.std() - 0.02) < 0.001 and abs(draw.mean()) < 0.001
    wide = weight.apply_lora(Lora(50, 1.0, init_std=3.0)).weight.reparameterization.a.value.numpy()
    assert abs(wide.std() - 3.0) < 0.1


def test_what_lora_refuses():
    for make, text in (
        (lambda: Lora(0, 1.0), "the rank must be an int greater than 0, but is 0"),
        (lambda: Lora(2.0, 1.0), "the rank must be an int greater than 0, but is 2.0"),
        (lambda: Lora(2, float("nan")), "alpha must be a finite number, but is nan"),
        (lambda: Lora(2, 1.0, init_std=-1.0), "init_std must be at least 0"),
        (lambda: Lora(2, 1.0, dtype=DType.I32), "dtype must be that of floats"),
        (lambda: Lora(2, 1.0, param_group="a"), "Lora: expected a ParamGroup, but got str"),
        (lambda: two().apply_lora(2), r"expected something with reparameterize\(path, param\), but got int 2"),
        (lambda: adapted().apply_lora(Lora(2, 1.0)), r"a.weight: a parameter has one reparameterization.* its lora"),
    ):
        with pytest.raises(ModuleError, match=text):
            make()


# In general


class Scaled(Reparameterization):
    NAME = "scaled"

    factor: Param
    enabled: Param[Flag]

    def apply(self, base):
        return base * self.factor.value.reshape([1] * base.rank)


class Scale:
    def reparameterize(self, path, param):
        if len(param.shape) != 2:
            return param, None
        factor = Param.from_tensor(FloatTensor.ones([1], param.backend) * 3.0)
        return param, Scaled(factor=factor, enabled=Param.from_bool(True))


def test_a_reparameterization_of_ones_own_takes_part_in_everything():
    model = two().apply_reparameterization(Scale())
    np.testing.assert_allclose(model.a.weight.value.numpy(), 3.0 * model.a.weight.base.value.numpy())
    assert paths(model)[:3] == ["a.weight", "a.weight.scaled.factor", "a.weight.scaled.enabled"]
    visitor = Paths()
    model.visit(visitor)
    assert ("scaled", "Reparameterization") in visitor.entered and ("factor", "Struct:Scaled") in visitor.entered
    assert not model.freeze().a.weight.reparameterization.enabled.is_enabled
    assert ParamGroup.ids_from_module(model).matches(model.a.weight.reparameterization.enabled.id, None)
    grads = model(inputs()).sum().backward()
    assert model.a.weight.base.value.grad(grads) is not None
    assert model.a.weight.reparameterization.factor.value.grad(grads) is not None
    moved = model.to_device(NumPy(seed=5))
    assert moved.a.weight.reparameterization.factor.backend.is_autodiff
    fresh = model.with_new_ids()
    assert fresh.a.weight.id != model.a.weight.id
    assert fresh.a.weight.reparameterization.factor.id != model.a.weight.reparameterization.factor.id


def test_copies_and_pickles():
    model = two(NumPy(seed=0)).apply_reparameterization(Scale())
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.into_record().into_bytes() == model.into_record().into_bytes()
        np.testing.assert_array_equal(other(inputs(NumPy())).numpy(), model(inputs(NumPy())).numpy())
    assert copy.copy(model.a.weight) is model.a.weight


def test_a_shared_parameter_is_adapted_once_and_stays_shared():
    class Tied(Module):
        first: Param
        second: Param

    weight = Param.from_data([[1.0, 2.0]], BACKEND)
    model = Tied(first=weight, second=weight).apply_reparameterization(Scale())
    assert model.first is model.second

    class Double(ModuleMapper):
        def map_float(self, param):
            return param.map(lambda tensor: tensor * 2.0)

    doubled = model.map(Double())
    assert doubled.first is doubled.second
    np.testing.assert_array_equal(doubled.first.value.numpy(), [[12.0, 24.0]])
    merged = doubled.materialize()
    assert merged.first is merged.second


def test_what_is_done_to_the_parameter_alone():
    weight = two().apply_reparameterization(Scale()).a.weight
    seen = weight.value.numpy()
    plain = weight.map(lambda value: value + 1.0)
    assert type(plain) is Param and plain.id == weight.id
    np.testing.assert_array_equal(plain.value.numpy(), seen + 1.0)
    np.testing.assert_array_equal(weight.with_id(7).value.numpy(), seen)
    assert weight.valid().reparameterization is not None and not weight.valid().backend.is_autodiff
    assert weight.valid().train().backend.is_autodiff
    frozen = weight.set_require_grad(False)
    assert not frozen.base.is_require_grad and frozen.reparameterization is weight.reparameterization


def test_running_values_are_left_alone():
    class Counting(Module):
        seen: RunningState

    model = Counting(seen=RunningState(FloatTensor.ones([2, 2], BACKEND)))
    assert model.apply_lora(Lora(1, 1.0)) is model


def test_reparameterizers_that_make_no_sense():
    class Wrong:
        def __init__(self, result):
            self.result = result

        def reparameterize(self, path, param):
            return self.result(param)

    class Nameless(Reparameterization):
        pass

    class Reshaping(Reparameterization):
        NAME = "reshaping"

        def apply(self, base):
            return base.reshape([-1])

    with pytest.raises(ModuleError, match=r"Wrong.reparameterize returned .* for a.weight"):
        two().apply_reparameterization(Wrong(lambda param: param))
    with pytest.raises(ModuleError, match=r"Nameless for a.weight must be a Reparameterization with an identifier as"):
        two().apply_reparameterization(Wrong(lambda param: (param, Nameless())))
    with pytest.raises(ModuleError, match=r"Reshaping.apply made a tensor of shape \[12\] of a parameter of shape"):
        _ = two().apply_reparameterization(Wrong(lambda param: (param, Reshaping()))).a.weight.value
