"""What a module remembers of its parameters is right whatever happens to the lists and dicts in it."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pytest

from minburn import Module, Param, Tensor
from minburn.backends import Autodiff, NumPy
from minburn.module import ModuleError, ModuleMapper
from minburn.nn import Linear, LinearConfig
from minburn.optim import AdamConfig, GradientsParams, SgdConfig
from minburn.optim.trainables import trainables_known, trainables_of

BACKEND = Autodiff(NumPy(seed=0))


class Stack(Module):
    layers: list[Linear]
    named: dict[str, Linear]

    def forward(self, x: Any) -> Any:
        for layer in (*self.layers, *self.named.values()):
            x = layer(x)
        return x


def linear() -> Linear:
    return LinearConfig(2, 2).init(BACKEND)


def stack() -> Stack:
    return Stack(layers=[linear(), linear()], named={"last": linear()})


def grads_of(model: Any) -> GradientsParams:
    x = Tensor.from_data(np.ones((3, 2), np.float32), BACKEND)
    return GradientsParams.from_grads(model(x).square().mean().backward(), model)


def paths(model: Module) -> list[str]:
    return [path for path, _ in trainables_of(model).params]


def test_a_step_tells_the_next_model_its_parameters() -> None:
    model, optim = stack(), AdamConfig().init()
    for _ in range(3):
        model = optim.step(0.1, model, grads_of(model))
        known = trainables_known(model)
        assert known is not None
        assert [path for path, _ in known.params] == paths(stack())
        found: list[Param[Any]] = [param for _, param in known.params]
        assert found[0] is model.layers[0].weight and found[-1] is model.named["last"].bias


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda model: model.layers.pop(), 4),
        (lambda model: model.layers.append(linear()), 8),
        (lambda model: model.layers.__setitem__(0, linear()), 6),
        (lambda model: model.layers.reverse(), 6),
        (lambda model: model.named.clear(), 4),
        (lambda model: model.named.update(more=linear()), 8),
        (lambda model: model.named.update(last=linear()), 6),
        (lambda model: model.named.update(first=model.named.pop("last")), 6),
    ],
)
@pytest.mark.parametrize("steps", [0, 2])
def test_a_list_or_dict_that_was_changed_is_walked_again(change: Any, left: int, steps: int) -> None:
    """After the gradients were found, and before: a step sees the parameters that are there."""
    model, optim = stack(), SgdConfig().init()
    for _ in range(steps):
        model = optim.step(0.1, model, grads_of(model))
    assert len(trainables_of(model).params) == 6
    change(model)
    assert trainables_known(model) is None
    grads = grads_of(model)
    assert len(grads) == left
    assert [param for _, param in trainables_of(model).params] == params_of(model)
    change_after = stack()
    found = grads_of(change_after)
    change(change_after)
    stepped = SgdConfig().init().step(0.1, change_after, found)
    for old, new in zip(params_of(change_after), params_of(stepped), strict=True):
        assert (new is not old) == (old.id in found)


def params_of(model: Stack) -> list[Param[Any]]:
    return [param for layer in (*model.layers, *model.named.values()) for param in (layer.weight, layer.bias) if param]


def test_it_is_no_part_of_the_value() -> None:
    model, optim = stack(), AdamConfig().init()
    model = optim.step(0.1, model, grads_of(model))
    assert trainables_known(model) is not None
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.map(ModuleMapper())):
        assert other is model or trainables_known(other) is None
        assert set(vars(other)) == {"layers", "named"}
    copied = copy.deepcopy(model)
    assert [param for _, param in trainables_of(copied).params] == params_of(copied)


def test_gradients_keep_no_model_alive() -> None:
    model = stack()
    grads, param = grads_of(model), weakref.ref(model.layers[0].weight)
    gc.disable()
    try:
        del model
        assert param() is None
    finally:
        gc.enable()
    assert len(grads) == 6


def test_two_parameters_of_one_id_are_refused_each_time() -> None:
    model = stack()
    model.layers.append(Linear(weight=copy.deepcopy(model.layers[0].weight), bias=None))
    for _ in range(2):
        with pytest.raises(ModuleError, match=r"layers\.0\.weight and layers\.2\.weight are two parameters"):
            grads_of(model)


class Around(Module):
    """Asks the module inside it for what it does not have, as wrappers do."""

    inner: Linear
    head: Linear

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inner"], name)

    def forward(self, x: Any) -> Any:
        return self.head(self.inner(x))


def test_what_the_module_inside_knows_is_not_taken_for_that_of_its_wrapper() -> None:
    model = Around(inner=linear(), head=linear())
    assert len(trainables_of(model.inner).params) == 2
    assert model.weight is model.inner.weight
    optim = AdamConfig().init()
    for _ in range(2):
        grads = grads_of(model)
        assert len(grads) == 4
        model = optim.step(0.1, model, grads)
        trainables_of(model.inner)


T = TypeVar("T")


class Plain:
    __slots__ = ()

    def _trainables(self) -> str:
        return "a method of mine"


class Callable_(Protocol):
    def forward(self, x: Any) -> Any: ...


class Abstract(ABC):
    @abstractmethod
    def forward(self, x: Any) -> Any: ...


class Mixed(Plain, Module, Abstract, Callable_, Generic[T]):
    layer: Linear

    def forward(self, x: Any) -> Any:
        return self.layer(x)


def test_a_class_may_have_other_bases_and_the_name_for_itself() -> None:
    model: Any = Mixed[int](layer=linear())
    optim = AdamConfig().init()
    for _ in range(2):
        model = optim.step(0.1, model, grads_of(model))
    assert len(trainables_of(model).params) == 2
    assert model._trainables() == "a method of mine"
