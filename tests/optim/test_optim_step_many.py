"""`step_many` gives the bits of `step`, for every built-in rule, shape, dtype and mixture of states."""

import numpy as np
import pytest
from helpers_optim import DTYPES

from minburn.backends import NumPy
from minburn.optim import (
    AdaGradConfig,
    AdamConfig,
    AdamWConfig,
    AdanConfig,
    LionConfig,
    MomentumConfig,
    RmsPropConfig,
    SgdConfig,
    WeightDecayConfig,
)
from minburn.optim.elementwise import States
from minburn.tensor import Tensor

SHAPES = [(), (1,), (0,), (3, 4), (2, 0, 3), (17,), (5, 1, 2), (70_000,), (300, 60)]
RULES = {
    "sgd": SgdConfig(),
    "sgd decay": SgdConfig(weight_decay=WeightDecayConfig(0.1)),
    "sgd momentum": SgdConfig(momentum=MomentumConfig()),
    "sgd nesterov": SgdConfig(momentum=MomentumConfig(nesterov=True), weight_decay=WeightDecayConfig(0.01)),
    "adam": AdamConfig(),
    "adam decay amsgrad": AdamConfig(amsgrad=True, weight_decay=WeightDecayConfig(0.1), beta_2=0.9),
    "adamw": AdamWConfig(weight_decay=0.1),
    "adamw cautious amsgrad": AdamWConfig(weight_decay=0.1, cautious_weight_decay=True, amsgrad=True),
    "adamw no decay": AdamWConfig(weight_decay=0.0),
    "adagrad": AdaGradConfig(lr_decay=0.1, weight_decay=WeightDecayConfig(0.1)),
    "rmsprop": RmsPropConfig(),
    "rmsprop centered decay": RmsPropConfig(centered=True, weight_decay=WeightDecayConfig(0.1)),
    "rmsprop no momentum": RmsPropConfig(momentum=0.0),
    "adan": AdanConfig(),
    "adan decay": AdanConfig(weight_decay=0.1),
    "adan no prox": AdanConfig(weight_decay=0.1, no_prox=True),
    "lion": LionConfig(),
    "lion decay": LionConfig(weight_decay=0.1),
}


def tensors_of(seed, backend, shapes=SHAPES):
    rng = np.random.default_rng(seed)
    return [Tensor.from_floats(np.asarray(rng.normal(size=shape)), backend).reshape(shape) for shape in shapes]


def bits(tensors):
    return [(tensor.shape, tensor.dtype, tensor.numpy().tobytes()) for tensor in tensors]


def leaves(state):
    """Everything a state holds, comparable."""
    found = []
    for value in vars(state).values():
        if isinstance(value, Tensor):
            found += bits([value])
        elif hasattr(value, "__dataclass_fields__"):
            found += leaves(value)
        else:
            found.append(value)
    return found


def loop(rule, lr, tensors, grads, states):
    results = [rule.step(lr, *each) for each in zip(tensors, grads, states, strict=True)]
    return [tensor for tensor, _ in results], [state for _, state in results]


@pytest.mark.parametrize("dtype", ["F32", "F64", "F16"])
@pytest.mark.parametrize("name", RULES)
def test_the_first_and_later_steps(name, dtype):
    rule = RULES[name].build()
    backend = NumPy(float_dtype=DTYPES[dtype])
    many = one = tensors_of(0, backend)
    many_states = one_states = [None] * len(SHAPES)
    for k in range(4):
        grads, lr = tensors_of(k + 1, backend), 0.1 / (k + 1)
        many, many_states = rule.step_many(lr, many, grads, many_states)
        one, one_states = loop(rule, lr, one, grads, one_states)
        assert bits(many) == bits(one)
        assert [leaves(state) for state in many_states] == [leaves(state) for state in one_states]
    assert isinstance(many_states, States)


@pytest.mark.parametrize("name", RULES)
def test_mixtures_of_tensors_with_and_without_states_of_different_age(name):
    rule, backend = RULES[name].build(), NumPy()
    tensors, grads = tensors_of(0, backend), tensors_of(1, backend)
    states = [None] * len(SHAPES)
    for age in range(1, 4):  # tensors 0, 3, 6 … have taken 0 steps, the next 1, the next 2
        for index in range(len(SHAPES)):
            if index % 3 >= age:
                _, states[index] = rule.step(0.1, tensors[index], grads[index], states[index])
    for k in range(2):
        grads = tensors_of(k + 2, backend)
        many, many_states = rule.step_many(0.1, tensors, grads, states)
        one, one_states = loop(rule, 0.1, tensors, grads, states)
        assert bits(many) == bits(one)
        assert [leaves(state) for state in many_states] == [leaves(state) for state in one_states]
        tensors, states = many, many_states


def test_states_of_the_last_call_with_other_tensors():
    """The columns of the last call may only be taken as they are where they are the same tensors' still."""
    rule, backend = AdamConfig().build(), NumPy()
    shapes = [(3, 4), (17,), (2,)]
    _, states = rule.step_many(0.1, tensors_of(0, backend, shapes), tensors_of(1, backend, shapes), [None] * 3)
    others, grads = tensors_of(5, backend, shapes), tensors_of(6, backend, shapes)
    many, many_states = rule.step_many(0.1, others, grads, states)
    one, one_states = loop(rule, 0.1, others, grads, list(states))
    assert bits(many) == bits(one)
    assert [leaves(state) for state in many_states] == [leaves(state) for state in one_states]

    foreign = AdamConfig(beta_1=0.5).build()  # another rule's states are states like any other
    many, _ = foreign.step_many(0.1, others, grads, states)
    assert bits(many) == bits(loop(foreign, 0.1, others, grads, list(states))[0])


@pytest.mark.filterwarnings("ignore:invalid value")
def test_nan_and_infinities_are_the_same_both_ways():
    rule, backend = AdamWConfig(cautious_weight_decay=True, weight_decay=0.1, amsgrad=True).build(), NumPy()
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -3.0]
    tensors = [Tensor.from_floats(special, backend), Tensor.from_floats(special[::-1], backend)]
    grads = [Tensor.from_floats(special[::-1], backend), Tensor.from_floats(special, backend)]
    many = one = tensors
    many_states = one_states = [None, None]
    for _ in range(3):
        many, many_states = rule.step_many(0.1, many, grads, many_states)
        one, one_states = loop(rule, 0.1, one, grads, one_states)
        np.testing.assert_array_equal([t.numpy() for t in many], [t.numpy() for t in one])


def test_nothing_to_do():
    assert AdamConfig().build().step_many(0.1, [], [], []) == ([], [])


def test_states_are_a_sequence():
    rule, backend = AdamConfig().build(), NumPy()
    tensors = tensors_of(0, backend, [(2,), (3,), (4,)])
    _, states = rule.step_many(0.1, tensors, tensors, [None] * 3)
    assert len(states) == 3
    assert [state.momentum.moment_1.shape for state in states] == [(2,), (3,), (4,)]
    assert [state.momentum.moment_1.shape for state in states[1:]] == [(3,), (4,)]
    assert states[-1].momentum.time == 1
    with pytest.raises(IndexError):
        states[3]
