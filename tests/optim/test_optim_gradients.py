"""Gradients by parameter: the containers, and clipping."""

import numpy as np
import pytest
from helpers_optim import backend_of, gradients, pair, random_gradients, random_pair

from minburn.backends import NumPy
from minburn.dtype import DType
from minburn.optim import (
    GradientClippingConfig,
    GradientsAccumulator,
    GradientsParams,
    OptimizerAdaptor,
    OptimizerError,
    SgdConfig,
)
from minburn.tensor import Tensor

BACKEND = backend_of()


def loss_of(model):
    return (model.w.value * model.w.value).sum() + model.b.value.sum()


# Gradient containers


def test_gradients_params():
    model = random_pair()
    grads = GradientsParams.from_grads(loss_of(model).backward(), model)
    assert (len(grads), grads.is_empty(), list(grads), 11 in grads, 12 in grads) == (2, False, [11, 22], True, False)
    assert np.array_equal(grads.get(11).numpy(), 2 * model.w.value.numpy())
    assert not grads.get(11).backend.is_autodiff
    assert grads.get(12) is None
    assert grads.remove(11).shape == (3, 4)
    assert grads.remove(11) is None
    grads.register(22, Tensor.ones([4], BACKEND).require_grad())
    assert not grads.get(22).backend.is_autodiff
    assert grads.remove(22).numpy().tolist() == [1.0] * 4
    assert grads.is_empty()


def test_gradients_of_some_parameters():
    model = random_pair()
    grads = loss_of(model).backward()
    assert list(GradientsParams.from_params(grads, model, [22])) == [22]
    assert list(GradientsParams.from_module(grads, model)) == [11, 22]


def test_wrong_arguments_of_the_containers():
    model = random_pair()
    with pytest.raises(OptimizerError, match=r"expected what loss\.backward"):
        GradientsParams.from_grads(loss_of(model), model)
    with pytest.raises(OptimizerError, match="expected the module as second argument, but got FloatTensor"):
        GradientsParams.from_grads(loss_of(model).backward(), model.w.value)
    with pytest.raises(OptimizerError, match="a gradient is a float tensor, not a list"):
        GradientsParams().register(11, [1.0])
    with pytest.raises(ValueError, match="ParamId"):
        GradientsParams().register(-1, model.w.value)
    with pytest.raises(OptimizerError, match="expected GradientsParams"):
        GradientsAccumulator().accumulate(model, loss_of(model).backward())


def test_the_accumulator_sums_and_empties_itself():
    model = random_pair()
    accumulator = GradientsAccumulator()
    both, only_b = random_gradients(0, model), GradientsParams()
    only_b.register(22, random_gradients(1, model).get(22))
    only_b.register(99, Tensor.ones([1], NumPy()))  # of another model
    accumulator.accumulate(model, both)
    accumulator.accumulate(model, only_b)
    sums = accumulator.grads()
    assert list(sums) == [11, 22]
    assert np.array_equal(sums.get(11).numpy(), both.get(11).numpy())
    assert np.array_equal(sums.get(22).numpy(), both.get(22).numpy() + only_b.get(22).numpy())
    assert len(accumulator) == 0
    assert accumulator.grads().is_empty()


def test_the_accumulator_refuses_shapes_that_changed():
    model = random_pair()
    accumulator = GradientsAccumulator()
    accumulator.accumulate(model, random_gradients(0, model))
    with pytest.raises(OptimizerError, match=r"of w so far have shape \[3, 4\], this one \[1\]"):
        accumulator.accumulate(model, gradients({11: [1.0]}, BACKEND))


# Clipping


def test_clipping_by_value():
    grad = Tensor.from_floats([-2.0, 0.5, float("nan"), 3.0], NumPy())
    clipped = GradientClippingConfig.Value(1.0).clip(grad).numpy()
    assert clipped[[0, 1, 3]].tolist() == [-1.0, 0.5, 1.0]
    assert np.isnan(clipped[2])


def test_clipping_by_norm():
    backend = NumPy()
    clip = GradientClippingConfig.Norm(1.0).clip
    np.testing.assert_allclose(clip(Tensor.from_floats([[3.0], [4.0]], backend)).numpy(), [[0.6], [0.8]], rtol=1e-6)
    for small in ([0.3, 0.4], [0.0, 0.0], []):
        assert np.array_equal(clip(Tensor.from_floats(np.array(small), backend)).numpy(), np.float32(small))
    scalar = Tensor.from_floats([-5.0], backend).reshape([])
    assert clip(scalar).numpy().tolist() == -1.0


def test_norm_clipping_in_half_precision_does_not_overflow():
    grad = Tensor.from_data(np.full(100, 1000.0), NumPy(), DType.F16)
    clipped = GradientClippingConfig.Norm(1.0).clip(grad)
    assert clipped.dtype == DType.F16
    np.testing.assert_allclose(clipped.numpy(), 0.1, rtol=1e-3)


def test_clipping_is_of_each_parameter_alone():
    model = pair([0.0, 0.0], [0.0], BACKEND)
    optim = OptimizerAdaptor(SgdConfig().build(), GradientClippingConfig.Norm(1.0))
    stepped = optim.step(1.0, model, gradients({11: [3.0, 4.0], 22: [0.5]}, BACKEND))
    np.testing.assert_allclose(stepped.w.value.numpy(), [-0.6, -0.8], rtol=1e-6)
    assert stepped.b.value.item() == -0.5


def test_clipping_configs():
    config = SgdConfig(gradient_clipping=GradientClippingConfig.Value(0.5))
    assert '"Value": 0.5' in config.to_json()
    assert SgdConfig.from_json(config.to_json()) == config
    for limit in (0.0, -1.0, float("nan")):
        with pytest.raises(OptimizerError, match="the limit must be greater than 0"):
            SgdConfig(gradient_clipping=GradientClippingConfig.Norm(limit)).init()
