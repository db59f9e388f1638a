"""`copy` and `pickle` of modules: another model with the same ids, values and settings."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from functools import cached_property
from typing import Any

import numpy as np

from minburn import FloatTensor, Module, Param, ParamId, Tensor
from minburn.backends import Autodiff, NumPy
from minburn.module import RunningState
from minburn.nn import Dropout, DropoutConfig, Linear, LinearConfig, LinearLayout
from minburn.optim import AdamConfig, GradientsParams


class Model(Module):
    first: Linear
    rest: list[Linear]
    again: Linear
    dropout: Dropout
    scale: FloatTensor
    mean: RunningState
    note: str


def model(backend: Any) -> Model:
    first = LinearConfig(2, 3).init(backend)
    return Model(
        first=first,
        rest=[LinearConfig(3, 2, layout=LinearLayout.Col).init(backend)],
        again=first,
        dropout=DropoutConfig(0.5).init(),
        scale=Tensor.ones([2], backend),
        mean=RunningState(Tensor.zeros([2], backend)),
        note="hello",
    )


def entries(module: Module) -> list[Any]:
    return [(entry.path, entry.id, entry.data) for entry in module.into_record()]


def both_ways(module: Model) -> list[Model]:
    return [copy.deepcopy(module), pickle.loads(pickle.dumps(module))]


def test_a_copy_has_the_same_record_settings_and_shared_parts() -> None:
    auto = Autodiff(NumPy(seed=5))
    for source in (model(auto), model(auto).no_grad().freeze(), model(auto).valid(), model(NumPy())):
        for other in both_ways(source):
            assert entries(other) == entries(source)
            assert repr(other) == repr(source)
            assert other.first.weight is other.again.weight
            assert other.first.weight.is_require_grad == source.first.weight.is_require_grad
            assert other.first.weight.value.is_require_grad == source.first.weight.value.is_require_grad
            assert other.dropout.training.is_enabled == source.dropout.training.is_enabled
            assert other.scale.backend is other.first.weight.backend
            assert (
                other.valid().train().dropout.training.is_enabled == source.valid().train().dropout.training.is_enabled
            )
    shallow = copy.copy(source)
    assert shallow is not source
    assert shallow.first is source.first
    assert copy.copy(source.first.weight) is source.first.weight


def test_a_copy_is_trained_on_its_own_and_in_step() -> None:
    auto = Autodiff(NumPy(seed=5))
    source = model(auto)
    x = Tensor.from_data([[1.0, 2.0]], auto)
    optimizers = [AdamConfig().init() for _ in range(3)]
    models = [source, *both_ways(source)]
    before = [entries(m) for m in models]
    for number, optimizer in enumerate(optimizers):
        loss = models[number].rest[0](models[number].first(x)).sum()
        gradients = GradientsParams.from_grads(loss.backward(), models[number])
        assert len(gradients) == 4  # by ids that the optimizer and the files know
        models[number] = optimizer.step(0.1, models[number], gradients)
    assert entries(models[0]) == entries(models[1]) == entries(models[2]) != before[0]
    assert entries(source) == before[0]


def test_a_copied_running_state_is_a_cell_of_its_own() -> None:
    source = model(Autodiff(NumPy(seed=5)))
    source.mean.update(Tensor.ones([2], source.scale.backend))
    for other in both_ways(source):
        assert other.mean.id == source.mean.id
        assert other.mean.value().numpy().tolist() == [1.0, 1.0]  # what was pending is committed
        other.mean.update(Tensor.zeros([2], source.scale.backend))
        assert other.mean.value_sync().numpy().tolist() == [0.0, 0.0]
        assert source.mean.value_sync().numpy().tolist() == [1.0, 1.0]


def test_a_deep_copy_of_a_lazy_parameter_is_lazy_and_draws_the_same() -> None:
    source = LinearConfig(2, 3).init(NumPy(seed=1))
    other = copy.deepcopy(source)
    assert not other.weight.is_initialized
    drawn = other.weight.value.numpy()
    assert not source.weight.is_initialized
    assert np.array_equal(source.weight.value.numpy(), drawn)
    assert pickle.loads(pickle.dumps(LinearConfig(2, 3).init(NumPy(seed=1)).weight)).is_initialized


def test_ids_flags_and_parameters_of_every_kind() -> None:
    backend = Autodiff(NumPy(seed=1))
    ident = pickle.loads(pickle.dumps(ParamId(2**64 - 1)))
    assert (type(ident), ident) == (ParamId, ParamId(2**64 - 1))
    for data in ([1.0], [1], [True]):
        param = Param.from_data(data, backend)
        for other in (copy.deepcopy(param), pickle.loads(pickle.dumps(param))):
            assert (other.id, other.kind, other.is_require_grad) == (param.id, param.kind, param.is_require_grad)
            assert other.value.into_data() == param.value.into_data()
    flag = Param.from_bool(True).valid()
    for switch in (copy.deepcopy(flag), pickle.loads(pickle.dumps(flag))):
        assert (switch.is_enabled, switch.train().is_enabled, switch.id) == (False, True, flag.id)


def test_another_process_reads_the_same_model() -> None:
    source = LinearConfig(2, 2).init(Autodiff(NumPy(seed=9)))
    code = (
        "import pickle, sys; model = pickle.load(sys.stdin.buffer); "
        "print(int(model.weight.id), model.weight.value.numpy().tolist(), model.weight.backend)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(source), capture_output=True, env=env)
    weight = source.weight
    expected = f"{int(weight.id)} {weight.value.numpy().tolist()} {weight.backend}"
    assert found.stdout.decode().strip() == expected, found.stderr.decode()


class Tied(Module):
    layer: Linear

    @cached_property
    def doubled(self) -> FloatTensor:
        return self.layer.weight.value * 2.0


def test_what_a_module_cached_of_its_fields_stays_with_it() -> None:
    """`functools.cached_property` keeps it beside the fields; another module has other fields."""
    tied = Tied(layer=LinearConfig(2, 2).init(Autodiff(NumPy(seed=5))))
    before = tied.doubled
    loss = (before * 3.0).sum()
    stepped = AdamConfig().init().step(0.1, tied, GradientsParams.from_grads(loss.backward(), tied))
    for other in (stepped, tied.valid(), copy.copy(tied), *both_ways(tied)):
        assert set(vars(other)) == {"layer"}
        assert other.doubled is not before
        np.testing.assert_array_equal(other.doubled.numpy(), other.layer.weight.value.numpy() * 2.0)
    assert tied.doubled is before
