"""Recording is asked for where it cannot be: the run is an ordinary one, and says why."""

from __future__ import annotations

from abc import ABC
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import date
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pytest
from train_program import Program, assert_same_run, new_model

from minburn import Tensor
from minburn.backends import NumPy
from minburn.backends.error import NotRecordable
from minburn.optim import SgdConfig
from minburn.train import CaptureWarning, Direction, Learner, TrainingError
from minburn.train.parts import names_of, put_together, take_apart


def test_numpy_has_nothing_to_record_with(tmp_path: Path) -> None:
    ordinary = Program(tmp_path / "ordinary", model=new_model(), epochs=1)
    ordinary.launch()
    asked = Program(tmp_path / "asked", model=ordinary.model, epochs=1, capture=True)
    with pytest.warns(CaptureWarning) as found:
        asked.launch()
    [warning] = found
    assert str(warning.message) == (
        "Learner(capture=True): steps run as usual, as NumPy(seed=42, float_dtype=F32, int_dtype=I32) "
        "has nothing to record them with; CuPy(…) has."
    )
    assert_same_run(asked.run_dir, ordinary.run_dir)


def test_capture_is_a_bool() -> None:
    broken: Any = "yes"
    with pytest.raises(TrainingError, match="capture must be True or False, but got str 'yes'"):
        Learner(new_model(), SgdConfig().init(), 0.1, capture=broken)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Frozen:
    loss: Tensor
    more: Any = None


class Pair(NamedTuple):
    first: Any
    second: Any


class Plain:
    def __init__(self, x: Tensor) -> None:
        self.x, self.label = x, "a"


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda x: x, ["item"]),
        (lambda x: [x, (3, x)], ["item[0]", "item[1][1]"]),
        (lambda x: {"a": x, "b": None}, ["item['a']"]),
        (lambda x: Pair(2.5, {"deep": [x]}), ["item.second['deep'][0]"]),
        (lambda x: Frozen(x, Plain(x)), ["item.loss", "item.more.x"]),
        (lambda x: Frozen(x, Direction.Lowest), ["item.loss"]),
        (lambda x: (1, "no tensor"), []),
    ],
)
def test_tensors_are_taken_out_and_others_put_in(make: Any, names: list[str]) -> None:
    backend = NumPy()
    value, other = make(Tensor.ones([2], backend)), Tensor.zeros([3], backend)
    frame, tensors = take_apart(value)
    assert names_of(value) == names and len(tensors) == len(names)
    again = put_together(value, [other for _ in tensors])
    assert type(again) is type(value)
    found, others = take_apart(again)
    assert found == frame and all(tensor is other for tensor in others)
    assert all(tensor is not other for tensor in take_apart(value)[1])  # the first is as it was


def test_the_frame_tells_values_apart() -> None:
    x = Tensor.ones([2], NumPy())
    frames = [take_apart(value)[0] for value in ([x, 1], [x, 2], [x, 1.0], (x, 1), [x, True], {"x": x})]
    assert all(one != two for number, one in enumerate(frames) for two in frames[:number])


@pytest.mark.parametrize("part", [np.ones(3), np.float32(1), object(), {1, 2}, new_model()])
def test_what_may_change_unseen_is_refused(part: Any) -> None:
    with pytest.raises(NotRecordable, match=type(part).__name__):
        take_apart([part])


T = TypeVar("T")


class Couple(NamedTuple):
    left: Any
    right: Any


class Named(dict[str, Any]):
    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(name)
        return self[name]


class Rows(list[Any]):
    pass


class Kind(IntEnum):
    ONE = 1


class Weighted(tuple[Any, ...]):
    weight = 1.0


class Two(tuple[Any, ...]):
    def __new__(cls, left: Any, right: Any) -> Two:
        return tuple.__new__(cls, (left, right))


class Text(str):
    language = "en"


class Private:
    __slots__ = ("__hidden", "x")

    def __init__(self, hidden: int) -> None:
        self.x, self.__hidden = 1, hidden


class Array(np.ndarray[Any, Any]):
    pass


class Queue(deque[Any]):
    pass


class Day(date):
    pass


class Basis(Generic[T], ABC):
    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x


class Derived(Basis[int]):
    pass


def ones() -> Tensor:
    made: Tensor = Tensor.ones([2], NumPy())
    return made


def test_a_batch_is_taken_apart_and_put_together() -> None:
    value = [
        Couple(ones(), (1, "a")),
        Named(x=ones(), y=Rows([ones(), None])),
        OrderedDict(k=Kind.ONE),
        np.float64(2.0),
    ]
    value.append(SimpleNamespace(x=ones(), name="a"))
    frame, tensors = take_apart(value)
    others = [tensor * 2.0 for tensor in tensors]
    made = put_together(value, others)
    assert take_apart(made) == (frame, others)
    assert made[0].left is others[0]
    assert made[1].x is others[1]
    assert made[1].y[0] is others[2]
    assert [type(part) for part in made] == [type(part) for part in value]
    assert value[1].x is tensors[1]


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1, True), (1, 1.0), ("a", b"a"), ((1,), [1]), ({}, Named())])
def test_what_is_equal_in_python_only_is_another_batch(one: Any, other: Any) -> None:
    assert take_apart(one)[0] != take_apart(other)[0]


def test_nan_is_like_nan() -> None:
    assert take_apart(float("nan"))[0] == take_apart(-float("nan") + 1.0)[0]


def with_attribute(value: Any) -> Any:
    value.weight = 2.0
    return value


def around() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (with_attribute(Weighted((1, 2))), "it has a Weighted with attributes"),
        (with_attribute(Rows()), "it has a Rows with attributes"),
        (with_attribute(Named(x=1)), "it has a Named with attributes"),
        (with_attribute(Text("hello")), "it has a Text with attributes"),
        (Two(1, 2), "it has a Two"),
        (with_attribute(np.ones(2).view(Array)), "it has a Array"),
        (with_attribute(Queue([1])), "it has a Queue"),
        (with_attribute(Day(2000, 1, 1)), "it has a Day"),
        (around(), "it has a list that contains itself"),
        (np.ones(2), "it has a ndarray"),
        (len, "it has a builtin_function_or_method"),
    ],
)
def test_what_could_change_unseen_is_refused(value: Any, reason: str) -> None:
    with pytest.raises(NotRecordable, match=f"^{reason}$"):
        take_apart(value)


def test_fields_of_all_bases_are_told_apart() -> None:
    assert take_apart(Private(1))[0] != take_apart(Private(2))[0]
    one, other = take_apart(with_attribute(Derived(1))), take_apart(with_attribute(Derived(2)))
    assert one[0] != other[0]
    assert take_apart(put_together(Derived(ones()), [ones() * 2.0]))[0] == take_apart(Derived(ones()))[0]
