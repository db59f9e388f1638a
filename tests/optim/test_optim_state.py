"""How states become leaves and come back: the table of reference 3.3."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from minburn.backends import NumPy
from minburn.dtype import DType
from minburn.optim import OptimizerAdaptor, OptimizerError, SimpleOptimizer
from minburn.optim.state import Incomplete, check_state_class, flatten, unflatten
from minburn.pack import Scalar
from minburn.tensor import BoolTensor, FloatTensor, IntTensor, Tensor

BACKEND = NumPy()


@dataclass(frozen=True)
class Inner:
    buffer: FloatTensor
    count: int | None = None


@dataclass(frozen=True)
class Full:
    time: int
    scale: float
    ready: bool
    velocity: FloatTensor
    counts: IntTensor
    mask: BoolTensor
    history: list[FloatTensor]
    inner: Inner
    maybe_tensor: FloatTensor | None = None
    maybe_int: int | None = None
    maybe_float: float | None = None
    maybe_bool: bool | None = None
    maybe_history: list[Tensor] | None = None
    maybe_inner: Inner | None = None


def floats(*values):
    return Tensor.from_floats(list(values), BACKEND)


def place(data):
    return Tensor.from_data(data, BACKEND, data.dtype)


def full(**others):
    fields = {
        "time": 3,
        "scale": 0.5,
        "ready": True,
        "velocity": floats(1.0, 2.0),
        "counts": Tensor.from_data([1, 2], BACKEND),
        "mask": Tensor.from_data([True, False], BACKEND),
        "history": [floats(3.0), floats(4.0, 5.0)],
        "inner": Inner(floats(6.0)),
    }
    return Full(**{**fields, **others})


def plain(state):
    """The leaves with their data as lists."""
    return {
        name: (leaf.kind, leaf.value) if isinstance(leaf, Scalar) else leaf.numpy().tolist()
        for name, leaf in flatten(state).items()
    }


REQUIRED = {
    "time": ("UInt", 3),
    "scale": ("Float", 0.5),
    "ready": ("Bool", True),
    "velocity": [1.0, 2.0],
    "counts": [1, 2],
    "mask": [True, False],
    "history.len": ("UInt", 2),
    "history.0": [3.0],
    "history.1": [4.0, 5.0],
    "inner.buffer": [6.0],
}


def test_names_and_kinds_in_the_order_of_the_fields():
    assert plain(full()) == REQUIRED
    assert list(plain(full())) == list(REQUIRED)
    optional = plain(
        full(
            maybe_tensor=floats(7.0),
            maybe_int=-4,
            maybe_float=2,
            maybe_bool=False,
            maybe_history=[],
            maybe_inner=Inner(floats(8.0), count=9),
        )
    )
    assert {name: optional[name] for name in optional if name not in REQUIRED} == {
        "maybe_tensor": [7.0],
        "maybe_int": ("Int", -4),
        "maybe_float": ("Float", 2.0),
        "maybe_bool": ("Bool", False),
        "maybe_history.len": ("UInt", 0),
        "maybe_inner.buffer": [8.0],
        "maybe_inner.count": ("UInt", 9),
    }


@pytest.mark.parametrize(
    "others",
    [
        {},
        {"maybe_tensor": floats(1.0), "maybe_history": [floats(2.0)], "maybe_inner": Inner(floats(8.0), count=9)},
        {"history": [], "time": 2**64 - 1, "maybe_int": -(2**63)},
    ],
)
def test_what_is_flattened_comes_back(others):
    state = full(**others)
    back = unflatten(Full, flatten(state), place)
    assert plain(back) == plain(state)
    assert isinstance(back.counts, IntTensor)
    assert isinstance(back.mask, BoolTensor)


@pytest.mark.parametrize("missing", REQUIRED)
def test_a_state_without_a_required_leaf_cannot_be_rebuilt(missing):
    leaves = flatten(full())
    del leaves[missing]
    with pytest.raises(Incomplete, match=missing):
        unflatten(Full, leaves, place)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("time", Scalar.float(3.0)),
        ("ready", Scalar.uint(1)),
        ("scale", Scalar.bool(True)),
        ("velocity", Scalar.uint(1)),
        ("history.len", Scalar.int(-1)),
        ("history.len", Scalar.uint(2**40)),
        ("history.len", Scalar.uint(3)),
    ],
)
def test_a_leaf_of_another_kind_counts_as_missing(name, value):
    with pytest.raises(Incomplete):
        unflatten(Full, {**flatten(full()), name: value}, place)


def test_integers_become_floats_and_each_other():
    leaves = {**flatten(full()), "scale": Scalar.int(2), "time": Scalar.int(5), "maybe_int": Scalar.uint(6)}
    state = unflatten(Full, leaves, place)
    assert (state.scale, state.time, state.maybe_int) == (2.0, 5, 6)


def test_optional_fields_that_do_not_fit_are_none():
    leaves = {**flatten(full()), "maybe_int": Scalar.bool(True), "maybe_inner.count": Scalar.uint(1)}
    state = unflatten(Full, leaves, place)
    assert state.maybe_int is None
    assert state.maybe_inner is None  # present, but without its buffer


@dataclass(frozen=True)
class AllOptional:
    count: int | None = None


@dataclass(frozen=True)
class Holder:
    part: AllOptional | None = None


def test_an_optional_state_of_which_no_key_is_there_is_none():
    assert unflatten(Holder, {}, place) == Holder(None)
    assert unflatten(Holder, {"part.count": Scalar.uint(1)}, place) == Holder(AllOptional(1))


def test_a_tensor_of_another_kind_cannot_be_used():
    leaves = {**flatten(full()), "velocity": Tensor.from_data([1, 2], BACKEND).into_data()}
    with pytest.raises(Incomplete, match="velocity is a IntTensor, not a FloatTensor"):
        unflatten(Full, leaves, place)


def test_dtypes_survive():
    half = Tensor.from_data([1.5], BACKEND, DType.F16)
    assert unflatten(Full, flatten(full(velocity=half)), place).velocity.dtype == DType.F16


@dataclass(frozen=True)
class Derived:
    time: int
    double: int = field(init=False, default=0)

    def __post_init__(self):
        object.__setattr__(self, "double", 2 * self.time)


def test_computed_fields_are_not_recorded():
    assert plain(Derived(2)) == {"time": ("UInt", 2)}
    assert unflatten(Derived, {"time": Scalar.uint(4)}, place).double == 8


# What cannot be recorded is refused when the optimizer is made


@dataclass(frozen=True)
class WithDict:
    table: dict[str, int]


@dataclass(frozen=True)
class Deep:
    inner: WithDict


@dataclass(frozen=True)
class Reserved:
    __rank: int


@dataclass(frozen=True)
class SelfMade:
    again: SelfMade | None


class NotADataclass:
    pass


@pytest.mark.parametrize(
    ("cls", "text"),
    [
        (WithDict, r"WithDict\.table: a state cannot record dict"),
        (Deep, r"WithDict\.table"),
        (NotADataclass, "NotADataclass is no dataclass"),
        (SelfMade, "cannot contain itself"),
    ],
)
def test_classes_that_cannot_be_recorded(cls, text):
    with pytest.raises(OptimizerError, match=text):
        check_state_class(cls)

    class Rule(SimpleOptimizer[cls]):
        pass

    with pytest.raises(OptimizerError, match=text):
        OptimizerAdaptor(Rule())


def test_the_reserved_name():
    cls = dataclass(frozen=True)(type("Clash", (), {"__annotations__": {"__rank": int}}))
    with pytest.raises(OptimizerError, match="__rank"):
        check_state_class(cls)


def test_a_type_that_is_not_known_at_run_time():
    @dataclass(frozen=True)
    class Local:
        part: Nowhere  # noqa: F821

    with pytest.raises(OptimizerError, match="its type 'Nowhere' is not known"):
        check_state_class(Local)


@pytest.mark.parametrize("others", [{"time": 1.5}, {"velocity": 3}, {"history": 3}, {"inner": 3}, {"ready": 1}])
def test_a_value_of_another_type_than_declared(others):
    name = next(iter(others))
    with pytest.raises(OptimizerError, match=rf"Full\.{name} holds a"):
        flatten(full(**others))
