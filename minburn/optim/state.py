"""How an optimizer's state becomes named tensors and numbers, and comes back.

A state is a frozen dataclass; the names of its fields, joined by dots, are the names in the file:

    @dataclass(frozen=True)                      time                  UInt
    class MyState:                               velocity              tensor
        time: int                                history.len           UInt
        velocity: FloatTensor                    history.0, history.1  tensors
        history: list[FloatTensor]               inner.…               what the nested state has
        inner: Nested | None

| field                      | written as                    | missing when it is read           |
|----------------------------|-------------------------------|-----------------------------------|
| Tensor (of any kind)       | the tensor                    | the state cannot be rebuilt       |
| Tensor | None              | the tensor, or nothing        | None                              |
| list[Tensor]               | `.len` and `.0`, `.1` …       | the state cannot be rebuilt       |
| int, float, bool           | a scalar; an int is a UInt    | the state cannot be rebuilt       |
| int | None …               | a scalar, or nothing          | None                              |
| a nested dataclass         | its fields under the name     | the state cannot be rebuilt       |
| a nested dataclass | None  | the same, or nothing          | None; also if it is incomplete    |

A negative int is written as an Int. A state that cannot be rebuilt starts again, as in Burn.

Burn: the derive in `crates/burn-derive/src/record_state/mod.rs`.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from minburn.optim.error import OptimizerError
from minburn.pack import Scalar
from minburn.tensor import BoolTensor, FloatTensor, IntTensor, NumericTensor, Tensor, TensorData

S = TypeVar("S")

Leaves = Mapping[str, TensorData | Scalar]
"""A state as it is recorded: its tensors and scalars by dotted name."""

Place = Callable[[TensorData], Tensor]
"""Puts recorded data where the parameter is."""

TENSORS = (Tensor, NumericTensor, FloatTensor, IntTensor, BoolTensor)
MAX_LIST = 1_000_000
RESERVED = "__rank"


class Incomplete(Exception):
    """The leaves do not make up a state; the text says which is missing."""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field of a state: its name, what it holds (`Tensor`, `list`, `scalar` or `state`), the
    class of that, and whether it may be None."""

    name: str
    holds: str
    cls: type
    optional: bool


def flatten(state: object, prefix: str = "") -> dict[str, TensorData | Scalar]:
    """The leaves of a state, in the order of its fields.

    Burn: `derive(RecordState)`, `RecordState`, and `RecordState::state_flatten`.
    """
    leaves: dict[str, TensorData | Scalar] = {}
    for field in fields_of(type(state)):
        name, value = prefix + field.name, getattr(state, field.name)
        if value is None and field.optional:
            continue
        if field.holds == "list":
            if not isinstance(value, (list, tuple)):
                raise wrong_value(state, field, value)
            leaves[f"{name}.len"] = Scalar.uint(len(value))
            for index, item in enumerate(value):
                leaves[f"{name}.{index}"] = tensor_leaf(state, field, item)
        elif field.holds == "state":
            if type(value) is not field.cls:
                raise wrong_value(state, field, value)
            leaves.update(flatten(value, f"{name}."))
        elif field.holds == "Tensor":
            leaves[name] = tensor_leaf(state, field, value)
        else:
            leaves[name] = scalar_leaf(state, field, value)
    return leaves


def leaves_of(state: object | None) -> Leaves:
    """`flatten`; a parameter without a state has no leaves."""
    return {} if state is None else flatten(state)


def unflatten(cls: type[S], leaves: Leaves, place: Place, prefix: str = "") -> S:
    """The state of that class. Raises Incomplete if the leaves do not make one up; leaves it has no field for are not
    looked at.

    Burn: `RecordState::state_unflatten`.
    """
    values: dict[str, Any] = {}
    for field in fields_of(cls):
        name = prefix + field.name
        values[field.name] = READ[field.holds](field, name, leaves, place)
    return cls(**values)


def read_tensor(field: FieldSpec, name: str, leaves: Leaves, place: Place) -> Tensor | None:
    data = leaves.get(name)
    if not isinstance(data, TensorData):
        absent(field, name)
        return None
    tensor = place(data)
    if not isinstance(tensor, field.cls):
        raise Incomplete(f"{name} is a {type(tensor).__name__}, not a {field.cls.__name__}")
    return tensor


def read_list(field: FieldSpec, name: str, leaves: Leaves, place: Place) -> list[Tensor] | None:
    length = leaves.get(f"{name}.len")
    count = length.as_uint() if isinstance(length, Scalar) else None
    if count is None or count > MAX_LIST:
        absent(field, f"{name}.len")
        return None
    element = FieldSpec(field.name, "Tensor", field.cls, False)
    return [cast(Tensor, read_tensor(element, f"{name}.{index}", leaves, place)) for index in range(count)]


def read_scalar(field: FieldSpec, name: str, leaves: Leaves, place: Place) -> Any:
    scalar = leaves.get(name)
    value: Any
    if not isinstance(scalar, Scalar):
        value = None
    elif field.cls is bool:
        value = scalar.as_bool()
    elif field.cls is float:
        value = scalar.as_float()
    else:
        value = scalar.as_uint() if scalar.kind == "UInt" else scalar.as_int()
    if value is None:
        absent(field, name)
    return value


def read_nested(field: FieldSpec, name: str, leaves: Leaves, place: Place) -> Any:
    if field.optional and not any(leaf.startswith(f"{name}.") for leaf in leaves):
        return None
    try:
        return unflatten(field.cls, leaves, place, f"{name}.")
    except Incomplete:
        if field.optional:
            return None
        raise


READ = {"Tensor": read_tensor, "list": read_list, "scalar": read_scalar, "state": read_nested}


def absent(field: FieldSpec, name: str) -> None:
    """Fine for an optional field, Incomplete for another."""
    if not field.optional:
        raise Incomplete(f"{name} is missing")


def tensor_leaf(state: object, field: FieldSpec, value: object) -> TensorData:
    if not isinstance(value, field.cls):
        raise wrong_value(state, field, value)
    return cast(Tensor, value).into_data()


def scalar_leaf(state: object, field: FieldSpec, value: object) -> Scalar:
    if field.cls is bool and isinstance(value, bool):
        return Scalar.bool(value)
    if isinstance(value, bool):
        raise wrong_value(state, field, value)
    if field.cls is float and isinstance(value, (int, float)):
        return Scalar.float(float(value))
    if field.cls is int and isinstance(value, int):
        return Scalar.uint(int(value)) if value >= 0 else Scalar.int(int(value))
    raise wrong_value(state, field, value)


def wrong_value(state: object, field: FieldSpec, value: object) -> OptimizerError:
    return OptimizerError(
        f"{type(state).__name__}.{field.name} holds a {type(value).__name__}, but is declared as "
        f"{'list of ' if field.holds == 'list' else ''}{field.cls.__name__}."
    )


# What the fields of a class are

_known: dict[type, tuple[FieldSpec, ...]] = {}


def check_state_class(cls: type) -> None:
    """Errors: OptimizerError naming the first field, at any depth, that cannot be recorded."""
    waiting, seen = [cls], {cls}
    while waiting:
        current = waiting.pop()
        for field in fields_of(current):
            if field.name == RESERVED:
                raise OptimizerError(f"{current.__name__}.{RESERVED}: a record uses this name itself. Choose another.")
            if field.holds == "state":
                if field.cls in seen:
                    raise OptimizerError(f"{current.__name__}.{field.name}: a state cannot contain itself.")
                seen.add(field.cls)
                waiting.append(field.cls)


def fields_of(cls: type) -> tuple[FieldSpec, ...]:
    """The fields of a state's class, or an OptimizerError for one that cannot be recorded."""
    known = _known.get(cls)
    if known is None:
        known = _known[cls] = read_fields(cls)
    return known


def read_fields(cls: type) -> tuple[FieldSpec, ...]:
    if cls is type(None):
        return ()  # SimpleOptimizer[None]: a rule that remembers nothing
    if not dataclasses.is_dataclass(cls):
        raise OptimizerError(
            f"{cls.__name__} is no dataclass, so its fields cannot be recorded. Write @dataclass(frozen=True) above it."
        )
    specs = []
    for field in dataclasses.fields(cls):
        if not field.init:
            continue  # computed from the others
        specs.append(spec_of(cls, field.name, resolve(cls, field.name, field.type)))
    return tuple(specs)


def spec_of(cls: type, name: str, annotation: object) -> FieldSpec:
    optional = False
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        members = [member for member in typing.get_args(annotation) if member is not type(None)]
        optional = len(members) < len(typing.get_args(annotation))
        annotation = members[0] if len(members) == 1 else annotation
    if typing.get_origin(annotation) is list:
        (element,) = typing.get_args(annotation)
        if element in TENSORS:
            return FieldSpec(name, "list", cast(type, element), optional)
    if annotation in TENSORS:
        return FieldSpec(name, "Tensor", cast(type, annotation), optional)
    if annotation in (int, float, bool):
        return FieldSpec(name, "scalar", cast(type, annotation), optional)
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return FieldSpec(name, "state", annotation, optional)
    raise OptimizerError(
        f"{cls.__name__}.{name}: a state cannot record {describe(annotation)}. Its fields are tensors, lists of "
        "tensors, int, float, bool, other dataclasses of these, or one of these or None."
    )


def resolve(cls: type, name: str, annotation: object) -> object:
    """An annotation as an object. A text is looked up where the class was written; the tensor classes are known anyway,
    as an import for type checkers only does not bring them in."""
    if not isinstance(annotation, str):
        return annotation
    known = {kind.__name__: kind for kind in TENSORS}
    for base in cls.__mro__:
        if name in inspect.get_annotations(base):
            module = sys.modules.get(base.__module__)
            known |= vars(module) if module else {}
            break
    try:
        return eval(annotation, {**vars(typing), **known, cls.__name__: cls})  # the class body's own text
    except Exception as error:
        raise OptimizerError(
            f"{cls.__name__}.{name}: its type {annotation!r} is not known at run time ({error}). "
            "Define it at the top of a module, or without `from __future__ import annotations`."
        ) from error


def describe(annotation: object) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)
