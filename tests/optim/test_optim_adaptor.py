"""What an OptimizerAdaptor does with a module."""

import gc
from dataclasses import dataclass

import numpy as np
import pytest
from helpers_optim import (
    Pair,
    backend_of,
    gradients,
    pair,
    param,
    random_gradients,
    random_pair,
    same_bits,
    values,
)

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.module import Flag, Module, Param, ParamId, RunningState
from minburn.optim import (
    AdamConfig,
    GradientsParams,
    MomentumConfig,
    OptimizerAdaptor,
    OptimizerError,
    SgdConfig,
    SimpleOptimizer,
)
from minburn.tensor import FloatTensor, IntTensor, Tensor

BACKEND = backend_of()


def loss_of(model):
    return (model.w.value * model.w.value).sum() + model.b.value.sum()


# The five duties


def test_a_parameter_without_gradient_stays_as_it_is_and_gets_no_state():
    model = random_pair()
    optim = AdamConfig().init()
    stepped = optim.step(0.1, model, gradients({11: np.ones((3, 4))}, BACKEND))
    assert stepped.b is model.b
    assert stepped.w is not model.w
    assert [entry.path for entry in optim.into_record()] == ["w"]


def test_no_gradients_at_all_change_nothing():
    model = random_pair()
    assert AdamConfig().init().step(0.1, model, GradientsParams()) is model


def test_values_not_references():
    model = random_pair()
    before = {name: value.copy() for name, value in values(model).items()}
    grads = random_gradients(1, model)
    stepped = AdamConfig().init().step(0.1, model, grads)
    assert same_bits(values(model), before)
    assert len(grads) == 2
    assert not same_bits(values(stepped), before)
    assert (stepped.w.id, stepped.b.id) == (11, 22)


def test_the_result_is_a_fresh_leaf_with_the_same_require_grad():
    backend = BACKEND
    model = Pair(w=param(11, [1.0], backend), b=param(22, [2.0], backend, require_grad=False))
    stepped = SgdConfig().init().step(0.1, model, gradients({11: [1.0], 22: [1.0]}, backend))
    assert (stepped.w.is_require_grad, stepped.b.is_require_grad) == (True, False)
    assert stepped.w.value.is_require_grad
    assert not stepped.b.value.is_tracked
    assert stepped.b.value.item() == pytest.approx(1.9)
    grads = (stepped.w.value * 3.0).sum().backward()
    assert stepped.w.value.grad(grads).item() == 3.0
    assert model.w.value.grad(grads) is None  # not connected with what it came from


def test_arithmetic_never_enters_a_graph():
    """Neither at one level nor at two: results and states are plain."""
    for backend in (Autodiff(NumPy()), Autodiff(Autodiff(NumPy()))):
        model = pair([1.0, 2.0], [3.0], backend)
        optim = SgdConfig(momentum=MomentumConfig()).init()
        for _ in range(2):
            grads = GradientsParams.from_grads(loss_of(model).backward(), model)
            model = optim.step(0.1, model, grads)
        assert model.w.value.backend.name == backend.name
        assert model.w.value.is_require_grad
        assert model.w.value.inner().is_tracked is False
        state = optim._contexts[ParamId(11)].state()
        assert not state.momentum.velocity.backend.is_autodiff
        assert model.w.value.numpy().tolist() == pytest.approx([0.476, 0.952])


def test_a_plain_module_with_gradients_made_by_hand():
    backend = NumPy()
    model = pair([1.0], [2.0], backend)
    stepped = SgdConfig().init().step(0.5, model, gradients({11: [1.0], 22: [2.0]}, Autodiff(backend)))
    assert (stepped.w.value.item(), stepped.b.value.item()) == (0.5, 1.0)
    assert not stepped.w.backend.is_autodiff
    assert stepped.w.is_require_grad


def test_lazy_parameters_are_drawn_by_the_step():
    lazy = Param.uninitialized(ParamId(11), lambda backend: Tensor.ones([2], backend), BACKEND, (2,))
    model = Pair(w=lazy, b=param(22, [0.0], BACKEND))
    stepped = SgdConfig().init().step(0.5, model, gradients({11: [1.0, 2.0]}, BACKEND))
    assert stepped.w.value.numpy().tolist() == [0.5, 0.0]


class Everything(Module):
    w: Param[FloatTensor]
    counts: Param[IntTensor]
    flag: Param[Flag]
    running: RunningState
    constant: FloatTensor
    name: str


def test_only_float_parameters_are_touched():
    ids = Param.from_tensor(Tensor.from_data([1, 2], BACKEND))
    model = Everything(
        w=param(11, [1.0], BACKEND),
        counts=ids,
        flag=Param.from_bool(True),
        running=RunningState(Tensor.ones([2], BACKEND)),
        constant=Tensor.ones([3], BACKEND),
        name="x",
    )
    stepped = SgdConfig().init().step(0.5, model, gradients({11: [1.0]}, BACKEND))
    for name in ("counts", "flag", "running", "constant", "name"):
        assert getattr(stepped, name) is getattr(model, name)


class Tied(Module):
    left: Param[FloatTensor]
    right: Param[FloatTensor]


def test_a_shared_parameter_is_updated_once_and_stays_shared():
    shared = param(11, [1.0, 2.0], BACKEND)
    model = Tied(left=shared, right=shared)
    optim = SgdConfig(momentum=MomentumConfig()).init()
    for _ in range(2):
        loss = (model.left.value * 2.0 + model.right.value).sum()
        grads = GradientsParams.from_grads(loss.backward(), model)
        assert len(grads) == 1
        assert grads.get(11).numpy().tolist() == [3.0, 3.0]
        model = optim.step(0.1, model, grads)
        assert model.left is model.right
    assert model.left.value.numpy().tolist() == pytest.approx([1 - 0.3 - 0.54, 2 - 0.3 - 0.54])
    (entry,) = optim.into_record()
    assert entry.path == "left"


def test_frozen_parameters_have_no_gradients():
    model = Pair(w=param(11, [1.0], BACKEND), b=param(22, [2.0], BACKEND, require_grad=False))
    grads = GradientsParams.from_grads(loss_of(model).backward(), model)
    assert list(grads) == [11]


def test_parameters_of_several_dtypes():
    model = Pair(w=param(11, [1.0], backend_of("F64")), b=param(22, [2.0], backend_of("F32")))
    grads = GradientsParams()
    grads.register(11, Tensor.from_data([0.1], NumPy(), DType.F64))
    grads.register(22, Tensor.from_data([0.1], NumPy(), DType.F32))
    optim = AdamConfig().init()
    for _ in range(3):
        model = optim.step(0.1, model, grads)
    alone = AdamConfig().init()
    single = Pair(w=param(11, [1.0], backend_of("F64")), b=param(22, [2.0], backend_of("F32")))
    for _ in range(3):
        single = alone.step(0.1, single, gradients({11: [0.1]}, backend_of("F64")))
    assert model.w.value.dtype == DType.F64
    assert model.b.value.dtype == DType.F32
    assert model.w.value.numpy().tobytes() == single.w.value.numpy().tobytes()


def test_parameters_that_get_gradients_at_different_times():
    """States have different ages; each parameter fares as if it were alone."""
    plan = [(11,), (11, 22), (22,), (11, 22), (11, 22), ()]
    model, optim = random_pair(), AdamConfig().init()
    alone = {id: (random_pair(), AdamConfig().init()) for id in (11, 22)}
    for k, ids in enumerate(plan):
        every = random_gradients(k, model)
        grads = GradientsParams()
        for id in ids:
            grads.register(id, every.get(id))
        model = optim.step(0.1, model, grads)
        for id in ids:
            single, single_optim = alone[id]
            one = GradientsParams()
            one.register(id, every.get(id))
            alone[id] = single_optim.step(0.1, single, one), single_optim
    assert values(model)["w"].tobytes() == values(alone[11][0])["w"].tobytes()
    assert values(model)["b"].tobytes() == values(alone[22][0])["b"].tobytes()


# Rules of users


@dataclass(frozen=True)
class Count:
    time: int
    velocity: FloatTensor | None = None


@dataclass(frozen=True)
class Plain(SimpleOptimizer[Count]):
    def step(self, lr, tensor, grad, state):
        assert not tensor.backend.is_autodiff
        assert not grad.backend.is_autodiff
        return tensor - grad * lr, Count(1 if state is None else state.time + 1)


class Stateless(SimpleOptimizer[None]):
    def step(self, lr, tensor, grad, state):
        return tensor - grad * lr, None


@pytest.mark.parametrize("rule", [Plain(), Stateless()])
def test_a_rule_needs_only_step(rule):
    model = random_pair()
    optim = OptimizerAdaptor(rule)
    stepped = optim.step(0.1, model, random_gradients(0, model))
    assert same_bits(values(stepped), values(SgdConfig().init().step(0.1, model, random_gradients(0, model))))
    optim.step(0.1, stepped, random_gradients(0, model))
    entry = optim.into_record()[11]
    assert (entry.rank, len(entry.leaves)) == (2, 1 if isinstance(rule, Plain) else 0)


class Returns(SimpleOptimizer[Count]):
    def __init__(self, result):
        self.result = result

    def step(self, lr, tensor, grad, state):
        return self.result(tensor, grad)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (lambda tensor, grad: tensor - grad, r"Returns.step returned a FloatTensor. It returns \(tensor, state\)"),
        (lambda tensor, grad: None, "returned a NoneType"),
        (
            lambda tensor, grad: (tensor.sum(), None),
            r"returned a F32 tensor of shape \[1\] on cpu for w",
        ),
        (lambda tensor, grad: (tensor.cast(DType.F64), None), "returned a F64 tensor"),
        (lambda tensor, grad: (1.0, None), "returned float 1.0 for w"),
        (lambda tensor, grad: (tensor, 3), "returned a state of type int 3, but declares Count"),
    ],
)
def test_rules_that_return_something_else(result, text):
    model = random_pair()
    optim = OptimizerAdaptor(Returns(result))
    with pytest.raises(OptimizerError, match=text):
        optim.step(0.1, model, random_gradients(0, model))
    assert len(optim.into_record()) == 0


def test_an_undeclared_state_must_be_a_dataclass():
    class Undeclared(SimpleOptimizer):
        def step(self, lr, tensor, grad, state):
            return tensor, {"time": 1}

    model = random_pair()
    with pytest.raises(OptimizerError, match="dict is no dataclass"):
        OptimizerAdaptor(Undeclared()).step(0.1, model, random_gradients(0, model))


def test_a_rule_without_step():
    model = random_pair()
    with pytest.raises(NotImplementedError, match="Bare has no step"):
        OptimizerAdaptor(type("Bare", (SimpleOptimizer,), {})()).step(0.1, model, random_gradients(0, model))


def test_a_step_that_fails_changes_no_state():
    class Fragile(SimpleOptimizer[Count]):
        broken = False

        def step(self, lr, tensor, grad, state):
            if self.broken and tensor.rank == 1:
                raise ZeroDivisionError
            return tensor - grad, Count(1 if state is None else state.time + 1)

    model, rule = random_pair(), Fragile()
    optim = OptimizerAdaptor(rule)
    model = optim.step(0.1, model, random_gradients(0, model))
    before = optim.into_record().into_bytes()
    rule.broken = True
    with pytest.raises(ZeroDivisionError):
        optim.step(0.1, model, random_gradients(0, model))
    assert optim.into_record().into_bytes() == before


# What is refused


@pytest.mark.parametrize("lr", [float("nan"), float("inf"), "0.1", None, True, 1j])
def test_a_rate_that_is_no_number(lr):
    model = random_pair()
    with pytest.raises(OptimizerError, match="the learning rate"):
        SgdConfig().init().step(lr, model, random_gradients(0, model))


@pytest.mark.parametrize("lr", [0, 0.0, -0.1, 1, np.float32(0.1)])
def test_rates_that_are_fine(lr):
    model = random_pair()
    SgdConfig().init().step(lr, model, random_gradients(0, model))


def test_wrong_arguments():
    model = random_pair()
    optim = SgdConfig().init()
    with pytest.raises(OptimizerError, match="expected GradientsParams as third argument, but got Gradients"):
        optim.step(0.1, model, loss_of(model).backward())
    with pytest.raises(OptimizerError, match="expected the module as second argument"):
        optim.step(0.1, random_gradients(0, model), model)
    with pytest.raises(OptimizerError, match="expected a SimpleOptimizer, but got AdamConfig"):
        OptimizerAdaptor(AdamConfig())
    with pytest.raises(OptimizerError, match="expected a SimpleOptimizer, but got type"):
        OptimizerAdaptor(Plain)
    with pytest.raises(OptimizerError, match=r"grad_clipping must be a GradientClippingConfig, but is float 1\.0"):
        OptimizerAdaptor(Plain(), 1.0)
    with pytest.raises(OptimizerError, match=r"expected an OptimizerRecord, but got str 'optim\.bpk'"):
        optim.load_record("optim.bpk")


def test_gradients_of_another_shape_or_dtype():
    model = random_pair()
    with pytest.raises(OptimizerError, match=r"w has shape \[3, 4\], its gradient \[4, 3\]"):
        SgdConfig().init().step(0.1, model, gradients({11: np.ones((4, 3))}, BACKEND))
    with pytest.raises(OptimizerError, match="w is F32, its gradient F64"):
        SgdConfig().init().step(0.1, model, gradients({11: np.ones((3, 4))}, backend_of("F64")))


def test_gradients_of_another_model():
    model = random_pair()
    optim = SgdConfig().init()
    with pytest.raises(OptimizerError, match=r"none of the 2 gradients belongs to this.*77, 78.*w \(11\), b \(22\)"):
        optim.step(0.1, model, gradients({77: [1.0], 78: [1.0]}, BACKEND))
    stepped = optim.step(0.1, model, gradients({77: [1.0], 22: np.ones(4)}, BACKEND))  # some do: the others are ignored
    assert stepped.w is model.w


# Forgetting to rebind


def test_forgetting_to_rebind_is_explained():
    model = random_pair()
    optim = AdamConfig().init()
    optim.step(0.1, model, random_gradients(0, model))
    before = optim.into_record().into_bytes()
    with pytest.raises(OptimizerError) as caught:
        optim.step(0.1, model, random_gradients(1, model))
    text = str(caught.value)
    assert "wrong:  optim.step(lr, model, grads)" in text
    assert "right:  model = optim.step(lr, model, grads)" in text
    assert optim.into_record().into_bytes() == before


def test_rebinding_another_name_is_forgetting_too():
    model = random_pair()
    optim = AdamConfig().init()
    for k in range(2):
        updated = optim.step(0.1, model, random_gradients(k, model))  # the first result is gone at the second step
    with pytest.raises(OptimizerError, match=r"right:  model = optim\.step"):
        optim.step(0.1, model, random_gradients(2, model))
    del updated


def test_it_does_not_depend_on_the_garbage_collector():
    gc.disable()
    try:
        test_forgetting_to_rebind_is_explained()
    finally:
        gc.enable()


def test_stepping_one_model_several_times_and_keeping_the_results():
    model, optim = random_pair(), SgdConfig().init()
    results = [optim.step(lr, model, random_gradients(0, model)) for lr in (0.1, 0.2, 0.4)]
    assert len({value.w.value.numpy().tobytes() for value in results}) == 3


def test_going_back_to_an_older_snapshot():
    model, optim = random_pair(), AdamConfig().init()
    best = model
    for k in range(3):
        model = optim.step(0.1, model, random_gradients(k, model))
    model = optim.step(0.01, best, random_gradients(9, best))
    optim.step(0.01, model, random_gradients(9, model))


def test_going_back_with_the_optimizers_record():
    model, optim = random_pair(), AdamConfig().init()
    record = optim.into_record()
    optim.step(0.1, model, random_gradients(0, model))
    optim.load_record(record)
    optim.step(0.1, model, random_gradients(0, model))


def test_copies_are_other_values():
    model, optim = random_pair(), AdamConfig().init()
    copy = model.valid().train()
    optim.step(0.1, model, random_gradients(0, model))
    optim.step(0.1, copy, random_gradients(1, copy))
    loaded = model.load_record(model.into_record())
    optim.step(0.1, loaded, random_gradients(1, loaded))


def test_two_models_with_one_optimizer():
    optim = AdamConfig().init()
    first = pair([1.0], [2.0], BACKEND)
    second = Pair(w=param(33, [1.0], BACKEND), b=param(44, [2.0], BACKEND))
    for _ in range(3):
        first = optim.step(0.1, first, gradients({11: [1.0], 22: [1.0]}, BACKEND))
        second = optim.step(0.1, second, gradients({33: [1.0], 44: [1.0]}, BACKEND))
    assert len(optim.into_record()) == 4


def test_two_optimizers_with_one_model():
    """As in a GAN: each steps its part and leaves the other's as it is."""
    model = pair([1.0], [2.0], BACKEND)
    left, right = AdamConfig().init(), SgdConfig().init()
    for _ in range(3):
        model = left.step(0.1, model, gradients({11: [1.0]}, BACKEND))
        model = right.step(0.1, model, gradients({22: [1.0]}, BACKEND))
    assert [[entry.path for entry in optim.into_record()] for optim in (left, right)] == [["w"], ["b"]]


def test_stepping_with_an_optimizer_and_then_with_another():
    model = random_pair()
    AdamConfig().init().step(0.1, model, random_gradients(0, model))
    AdamConfig().init().step(0.1, model, random_gradients(0, model))


def test_putting_an_updated_part_into_the_old_model():
    model, optim = random_pair(), SgdConfig().init()
    for k in range(3):
        stepped = optim.step(0.1, model, random_gradients(k, model))
        model = model.replace(w=stepped.w)
        del stepped


def test_an_optimizer_keeps_no_model_alive():
    model, optim = random_pair(), AdamConfig().init()
    for k in range(2):
        model = optim.step(0.1, model, random_gradients(k, model))
    context = optim._contexts[ParamId(11)]
    assert context.produced() is model.w
    del model
    assert context.produced() is None
