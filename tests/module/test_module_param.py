"""Param and ParamId: identity, laziness, what is remembered."""

import gc
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.module import Flag, Initializer, ModuleError, Param, ParamId
from minburn.nn import LinearConfig
from minburn.tensor import Tensor


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (42, "5800000000000"),
        (123456, "83h0200000000"),
        (0, "0000000000000"),
        (2**64 - 1, "vvvvvvvvvvvvu"),
        (0x0123456789ABCDEF, "tv6qn2b78khg2"),
    ],
)
def test_text_form(number, text):
    assert str(ParamId(number)) == f"{ParamId(number)}" == text
    assert ParamId.parse(text) == ParamId.parse(text.upper()) == number


@given(st.integers(0, 2**64 - 1))
def test_text_form_round_trip(number):
    assert ParamId.parse(str(ParamId(number))) == number
    assert int(ParamId(number)) == number
    assert hash(ParamId(number)) == hash(number)


def test_older_short_text_forms_are_extended_with_zeros():
    six_bytes = str(ParamId(0xABCDEF012345))[:10]
    assert ParamId.parse(six_bytes) == 0xABCDEF012345


@pytest.mark.parametrize("bad", ["xyz!", "0" * 16, "5800000000000z", 7])
def test_bad_text_forms(bad):
    with pytest.raises(ValueError, match="ParamId"):
        ParamId.parse(bad)


@pytest.mark.parametrize("bad", [-1, 2**64, 1.5, "42"])
def test_bad_numbers(bad):
    with pytest.raises(ValueError, match="2\\^64"):
        ParamId(bad)


def test_ids_of_one_process_never_meet():
    backends = [NumPy(seed=1), NumPy(seed=1), NumPy(seed=2)]
    ids = [ParamId.new(backend) for backend in backends for _ in range(200)]
    assert len(set(ids)) == len(ids)


class Counted:
    def __init__(self):
        self.calls = 0

    def __call__(self, backend):
        self.calls += 1
        return Tensor.random([3], backend)


def lazy(backend, counted=None, **options):
    return Param.uninitialized(ParamId.new(backend), counted or Counted(), backend, (3,), **options)


def test_metadata_needs_no_draw():
    counted = Counted()
    backend = Autodiff(NumPy(seed=0, float_dtype=DType.F64))
    param = lazy(backend, counted)
    param = param.set_require_grad(False).set_require_grad(True).to_device(NumPy(seed=1))
    assert (param.shape, param.dtype, param.is_require_grad, param.kind) == ((3,), DType.F64, True, "float")
    assert param.backend.is_autodiff
    assert not param.is_initialized
    assert counted.calls == 0
    assert param.value.dtype == DType.F64
    assert param.value.is_require_grad
    assert counted.calls == 1
    assert param.is_initialized


def test_all_that_stem_from_a_lazy_parameter_share_one_draw():
    counted = Counted()
    param = lazy(Autodiff(NumPy(seed=0)), counted)
    frozen, moved, named = param.set_require_grad(False), param.to_device(NumPy(seed=9)), param.with_id(ParamId(5))
    values = [p.value.numpy() for p in (frozen, moved, param, named)]
    assert all(np.array_equal(values[0], value) for value in values)
    assert counted.calls == 1
    assert [p.value.is_require_grad for p in (frozen, moved, param, named)] == [False, True, True, True]


def test_one_draw_from_many_threads():
    counted = Counted()
    param = lazy(Autodiff(NumPy(seed=0)), counted)
    views = [param, *(param.with_id(ParamId(index)) for index in range(7))]
    barrier, values = threading.Barrier(8), []

    def use(view):
        barrier.wait()
        values.append(view.value.numpy())

    threads = [threading.Thread(target=use, args=(view,)) for view in views]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted.calls == 1
    assert all(np.array_equal(values[0], value) for value in values)


def test_an_initialization_of_another_shape_is_refused():
    backend = NumPy(seed=0)
    param = Param.uninitialized(ParamId(1), lambda b: Tensor.zeros([2], b), backend, (3,))
    with pytest.raises(ModuleError, match=r"shape \[2\], but shape \[3\] was announced"):
        _ = param.value


def test_the_value_is_always_a_leaf():
    backend = Autodiff(NumPy(seed=0))
    param = Param.from_tensor(Tensor.ones([2], backend))
    assert param.value.is_require_grad
    mapped = param.map(lambda tensor: tensor * 3.0)
    set_to = param.with_value(param.value * 3.0)
    for changed in (mapped, set_to):
        assert changed.id == param.id
        grads = (changed.value * 2.0).sum().backward()
        assert changed.value.grad(grads).numpy().tolist() == [2.0, 2.0]
        assert param.value.grad(grads) is None
    frozen = param.set_require_grad(False)
    assert not frozen.map(lambda tensor: tensor * 1.0).value.is_require_grad
    with pytest.raises(ModuleError, match="float parameter cannot hold a IntTensor"):
        param.with_value(Tensor.from_data([1], backend))
    with pytest.raises(TypeError, match="expected a tensor, but got list"):
        Param.from_tensor([1.0])


def test_trainable_is_remembered_on_a_plain_backend():
    backend = NumPy(seed=0)
    for param in (Param.from_tensor(Tensor.ones([2], backend)), LinearConfig(2, 2).init(backend).weight):
        assert param.is_require_grad
        assert not param.value.is_require_grad
        trained = param.train()
        assert trained.value.is_require_grad
        assert trained.set_require_grad(False).valid().train().value.is_require_grad is False
        assert trained.valid().set_require_grad(False).train().is_require_grad is False
    plain = Param.initialized(ParamId(1), Tensor.ones([2], backend))
    assert not plain.train().value.is_require_grad  # Burn's rule for `initialized`
    ints = Param.from_tensor(Tensor.from_data([1], backend))
    assert not ints.set_require_grad(True).is_require_grad


def test_flags():
    flag = Param.from_bool(True)
    assert (flag.value, flag.is_enabled, flag.shape, flag.kind) == (Flag.ON, True, (), "flag")
    off = flag.with_value(False)
    assert (off.is_enabled, off.train().is_enabled, off.id) == (False, False, flag.id)
    assert flag.valid().is_enabled is False
    assert flag.valid().train().is_enabled is True
    assert flag.set_require_grad(False).to_device(NumPy(seed=0)) is flag
    assert repr(flag) == "enabled"
    with pytest.raises(ModuleError, match="asks for a flag"):
        _ = Param.from_tensor(Tensor.ones([1], NumPy(seed=0))).is_enabled
    with pytest.raises(ModuleError, match="not on a backend"):
        _ = flag.backend
    assert {Flag(True): 1}[Flag.ON] == 1


def test_params_are_values_and_can_be_watched():
    param = lazy(NumPy(seed=0))
    for name in ("value", "id", "is_require_grad", "shape"):
        with pytest.raises(AttributeError):
            setattr(param, name, None)
    watch = weakref.ref(param)
    gc.disable()
    try:
        del param
        assert watch() is None
    finally:
        gc.enable()


def test_repr():
    backend = NumPy(seed=0)
    assert repr(Initializer.Zeros().init([2, 3], backend)) == "ParamTensor {rank: 2, shape: [2, 3], kind: float}"
    assert repr(Param.from_data([1], backend)) == "ParamTensor {rank: 1, shape: [1], kind: int}"
