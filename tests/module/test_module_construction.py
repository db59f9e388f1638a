"""A module is a frozen record of the fields its class body names."""

import collections
import inspect
from typing import ClassVar

import pytest

from minburn.backends import Autodiff, NumPy
from minburn.module import Module, Param, skip
from minburn.nn import Linear, LinearConfig, Relu
from minburn.tensor import FloatTensor, Tensor


class Pair(Module):
    first: Linear
    second: Linear
    names: tuple[str, ...] = ()
    scale: float = 1.0
    limit: ClassVar[int] = 3

    def forward(self, x: FloatTensor, times: int = 1) -> FloatTensor:
        for _ in range(times):
            x = self.second(self.first(x))
        return x * self.scale


class Child(Pair):
    third: Linear | None = None


def linear(backend=None):
    return LinearConfig(2, 2).init(backend or NumPy(seed=0))


def test_fields_defaults_and_call():
    a, b = linear(), linear()
    pair = Pair(first=a, second=b)
    assert (pair.first, pair.second, pair.names, pair.scale, Pair.limit) == (a, b, (), 1.0, 3)
    x = Tensor.ones([1, 2], NumPy(seed=0))
    assert pair(x, times=2).shape == pair.forward(x, 2).shape == (1, 2)
    child = Child(second=b, first=a, scale=2)
    assert (child.third, child.scale) == (None, 2)
    assert (child(x).numpy() == pair(x).numpy() * 2).all()


def test_help_shows_the_fields_of_a_class_and_the_call_of_an_instance():
    assert list(inspect.signature(Child).parameters) == ["first", "second", "names", "scale", "third"]
    first, scale = (inspect.signature(Pair).parameters[name] for name in ("first", "scale"))
    assert first.default is first.empty and scale.default == 1.0 and first.kind is first.KEYWORD_ONLY
    assert list(inspect.signature(Pair(first=linear(), second=linear())).parameters) == ["x", "times"]


def test_one_error_says_everything_about_a_wrong_construction():
    with pytest.raises(TypeError) as caught:
        Pair(frist=linear(), second=LinearConfig(2, 2), scale="large")
    text = str(caught.value)
    assert "missing field first" in text
    assert "unknown field frist (did you mean first?)" in text
    assert "field second must be Linear, but got LinearConfig" in text
    assert "field scale must be a float, but got str 'large'" in text
    assert "Pair(first, second, names=…, scale=…)" in text
    with pytest.raises(TypeError, match=r"by name: Pair\(first=…"):
        Pair(linear(), linear())


def test_modules_are_values():
    pair = Pair(first=linear(), second=linear())
    with pytest.raises(AttributeError, match=r"Pair is a value: scale cannot be set.*replace\(scale=…\)"):
        pair.scale = 2.0
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del pair.scale
    twin = Pair(first=pair.first, second=pair.second)
    assert pair == pair
    assert pair != twin
    assert len({pair, twin, pair}) == 2
    other = pair.replace(scale=3.0)
    assert (pair.scale, other.scale, other.first) == (1.0, 3.0, pair.first)
    with pytest.raises(TypeError, match="unknown field size"):
        pair.replace(size=1)


def test_class_bodies_that_cannot_work_are_refused_when_written():
    with pytest.raises(TypeError, match="has no __init__"):

        class WithInit(Module):
            def __init__(self):
                pass

    with pytest.raises(TypeError, match="a field cannot be called train"):

        class Hides(Module):
            train: bool

    with pytest.raises(TypeError, match=r"Mutable\.items: its default is a list"):

        class Mutable(Module):
            items: list = []  # noqa: RUF012

    with pytest.raises(TypeError, match=r"Shares\.flag: its default is a Param"):

        class Shares(Module):
            flag: Param = Param.from_bool(True)

    with pytest.raises(TypeError, match=r"Inside\.layers: its default is a tuple, which all instances would share"):

        class Inside(Module):
            layers: tuple[Linear, ...] = (linear(),)

    with pytest.raises(TypeError, match=r"NoField\.hidden has no annotation.*Write hidden: Linear, and give it where"):

        class NoField(Module):
            hidden = linear()

    class Silent(Module):
        size: int
        activation = Relu()

    with pytest.raises(TypeError, match="Silent cannot be called: its class defines no forward"):
        Silent(size=1)(2)


def test_check_fields_refuses_values():
    class Even(Module):
        size: int

        def check_fields(self):
            if self.size % 2:
                raise ValueError(f"size must be even, but got {self.size}.")

    assert Even(size=2).size == 2
    with pytest.raises(ValueError, match="even"):
        Even(size=3)
    with pytest.raises(ValueError, match="even"):
        Even(size=2).replace(size=5)


def test_forward_is_inherited_and_overridden():
    class Doubled(Pair):
        def forward(self, x: FloatTensor, times: int = 1) -> FloatTensor:
            return x * 2.0

    class Same(Doubled):
        pass

    x = Tensor.ones([1, 2], NumPy(seed=0))
    for cls in (Doubled, Same):
        assert cls(first=linear(), second=linear())(x).numpy().tolist() == [[2.0, 2.0]]


def test_anything_may_be_a_field():
    Point = collections.namedtuple("Point", "x y")

    class Any(Module):
        table: dict
        point: object
        call: object
        layer: object
        hidden: object = skip(default=None)

    layer = linear()
    module = Any(table={1: "a", "b c": 2}, point=Point(linear(), 3), call=len, layer=layer, hidden=linear())
    frozen = module.freeze()
    assert frozen.table is module.table
    assert type(frozen.point) is Point
    assert (frozen.point.y, frozen.call) == (3, len)
    assert not frozen.point.x.weight.is_require_grad
    assert frozen.hidden is module.hidden
    assert frozen.hidden.weight.is_require_grad
    assert module.num_params() == 12


def test_a_map_that_changes_nothing_returns_the_module():
    backend = Autodiff(NumPy(seed=0))
    pair = Pair(first=linear(backend), second=linear(backend))
    assert pair.set_require_grad(True) is pair
    assert pair.valid().valid() is not pair.valid()
    valid = pair.valid()
    assert valid.valid() is valid
    half = pair.replace(first=pair.first.freeze()).set_require_grad(True)
    assert half.second is pair.second
    assert isinstance(half.first.weight, Param)
