"""freeze, valid, train, moves: what changes and what is remembered."""

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.module import Module, ModuleRecord, Param
from minburn.nn import CrossEntropyLossConfig, Dropout, DropoutConfig, Linear, LinearConfig
from minburn.tensor import FloatTensor, Tensor


class Net(Module):
    layer: Linear
    drop: Dropout
    counts: Param
    table: FloatTensor

    def forward(self, x: FloatTensor) -> FloatTensor:
        return self.drop(self.layer(x)) + self.table


def net(backend):
    return Net(
        layer=LinearConfig(2, 3).init(backend),
        drop=DropoutConfig(0.5).init(),
        counts=Param.from_tensor(Tensor.from_data([1, 2], backend)),
        table=Tensor.ones([1, 3], backend),
    )


@pytest.fixture
def backend():
    return Autodiff(NumPy(seed=0))


def grads_of(model):
    return (model.layer.weight.is_require_grad, model.layer.bias.is_require_grad, bool(model.drop.training.value))


def test_freeze_and_unfreeze_have_no_memory(backend):
    model = net(backend)
    assert grads_of(model) == (True, True, True)
    assert grads_of(model.freeze()) == (False, False, False)
    assert grads_of(model.freeze().unfreeze()) == (True, True, True)
    assert grads_of(model.freeze().valid().train()) == (False, False, False)
    assert grads_of(model.no_grad()) == (False, False, True)
    assert grads_of(model.set_require_grad(False).set_require_grad(True)) == (True, True, True)
    assert not model.freeze().layer.weight.value.is_require_grad
    assert grads_of(model) == (True, True, True)


def test_valid_is_the_model_on_the_inner_backend(backend):
    model = net(backend)
    partly = model.replace(layer=model.layer.replace(bias=model.layer.bias.set_require_grad(False)))
    valid = partly.valid()
    assert not valid.layer.weight.value.backend.is_autodiff
    assert not valid.counts.value.backend.is_autodiff
    assert not valid.table.backend.is_autodiff
    assert grads_of(valid) == (True, False, False)  # remembered, but for the flag's value
    x = Tensor.ones([4, 2], backend)
    assert np.array_equal(valid(x.inner()).numpy(), model.replace(drop=model.drop.freeze())(x).numpy())
    again = valid.train()
    assert grads_of(again) == (True, False, True)
    assert again.layer.weight.value.is_require_grad
    assert not again.layer.bias.value.is_require_grad
    assert again.table.backend.is_autodiff
    assert [entry.id for entry in again.into_record()] == [entry.id for entry in model.into_record()]
    grads = again(x).sum().backward()
    assert again.layer.weight.value.grad(grads) is not None


def test_settings_made_on_a_valid_model_are_what_train_applies(backend):
    valid = net(backend).valid()
    assert grads_of(valid.freeze().train()) == (False, False, False)
    assert grads_of(valid.unfreeze().train()) == (True, True, True)
    record = net(NumPy(seed=3)).into_record()
    loaded = valid.load_record(record).train()
    assert grads_of(loaded) == (True, True, True)
    assert loaded.layer.weight.value.is_require_grad


def test_a_plain_model_becomes_trainable():
    model = net(NumPy(seed=0))
    assert not model.layer.weight.value.is_require_grad
    assert grads_of(model.valid()) == (True, True, False)
    trained = model.train()
    assert trained.layer.weight.value.is_require_grad
    x = Tensor.ones([1, 2], Autodiff(NumPy(seed=5)))
    assert trained.layer.weight.value.grad(trained(x).sum().backward()) is not None


def test_constants_follow_but_are_no_state(backend):
    loss = CrossEntropyLossConfig(weights=[1.0, 2.0]).init(backend)
    assert loss.num_params() == 0
    assert len(loss.into_record()) == 0
    assert not loss.valid().weights.backend.is_autodiff
    assert loss.valid().train().weights.backend.is_autodiff
    assert loss.to_device(NumPy(seed=1)).weights.backend.is_autodiff


def test_valid_leaves_one_level_of_nested_autodiff():
    backend = Autodiff(Autodiff(NumPy(seed=0)))
    model = net(backend)
    once = model.valid()
    assert once.layer.weight.backend.is_autodiff
    assert once.layer.weight.value.is_require_grad
    twice = once.valid()
    assert not twice.layer.weight.backend.is_autodiff
    assert twice.train().layer.weight.value.ops is backend.inner.floats


def test_devices_and_counts_draw_nothing(backend):
    model = net(backend)
    assert model.num_params() == 9
    assert [str(device) for device in model.devices()] == ["cpu"]
    assert not model.layer.weight.is_initialized


def test_moving(backend):
    model = net(backend)
    weight = model.layer.weight.value.numpy()
    for moved in (model.to_device(NumPy(seed=9)), model.fork(NumPy(seed=9)), model.fork(backend)):
        assert moved.layer.weight.value.backend.is_autodiff
        assert moved.layer.weight.value.is_require_grad
        assert np.array_equal(moved.layer.weight.value.numpy(), weight)
        assert moved.layer.weight.id == model.layer.weight.id
        grads = moved(Tensor.ones([1, 2], backend)).sum().backward()
        assert model.layer.weight.value.grad(grads) is None
    plain = net(NumPy(seed=0)).to_device(Autodiff(NumPy(seed=1)))
    assert not plain.layer.weight.value.backend.is_autodiff
    assert not plain.table.backend.is_autodiff
    wide = net(NumPy(seed=0, float_dtype=DType.F64)).to_device(NumPy(seed=1))
    assert wide.layer.weight.dtype == DType.F64
    assert wide.layer.weight.value.dtype == DType.F64


def test_new_ids(backend):
    model = net(backend)
    other = model.with_new_ids()
    ids = [entry.id for entry in model.into_record()]
    assert not set(ids) & {entry.id for entry in other.into_record()}
    assert model.drop.training.id != other.drop.training.id
    assert np.array_equal(model.layer.weight.value.numpy(), other.layer.weight.value.numpy())


def test_a_loaded_file_trains(backend, tmp_path):
    net(backend).save_file(tmp_path / "net")
    model = net(NumPy(seed=4)).load_file(tmp_path / "net").train()
    assert model.layer.weight.value.is_require_grad
    assert ModuleRecord.load(tmp_path / "net").paths() == ["counts", "layer.bias", "layer.weight"]
