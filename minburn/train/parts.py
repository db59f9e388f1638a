"""The tensors in a batch or an item, and the same thing with others in their places.

    frame, tensors = take_apart(batch)              what is not a tensor, as a value that can be compared
    put_together(batch, other_tensors)

Known are tensors, numbers, texts, None, and lists, tuples, dicts and objects with fields of these; also derived classes
of these, unless they have more in them than the bases know.
"""

from __future__ import annotations

import copy
import enum
import functools
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from minburn.backends.error import NotRecordable
from minburn.module import Module
from minburn.tensor import Tensor

PLAIN = (bool, int, float, str, bytes, enum.Enum)
HEAP_TYPE = 1 << 9
"""The flag of classes that are made while Python runs: `class` statements, and few others."""
BUILT_IN = (int, float, str, bytes, dict, list, tuple)


def take_apart(value: Any) -> tuple[Any, list[Tensor]]:
    """Errors: NotRecordable for a part of another kind, whose changes nobody would see."""
    tensors: list[Tensor] = []
    try:
        return _frame(value, tensors), tensors
    except RecursionError:
        raise NotRecordable(f"it has a {type(value).__name__} that contains itself") from None


def _frame(value: Any, tensors: list[Tensor]) -> Any:
    cls: Any = type(value)
    if isinstance(value, Tensor):
        tensors.append(value)
        return cls
    if value is None or isinstance(value, (bool, enum.Enum)):
        return cls, value
    if cls not in BUILT_IN and isinstance(value, BUILT_IN) and field_names(value):
        raise NotRecordable(f"it has a {cls.__name__} with attributes")
    if isinstance(value, float):
        return cls, value.hex()  # -0.0 is not 0.0, and NaN is NaN
    if isinstance(value, PLAIN):
        return cls, value
    if isinstance(value, dict):
        return cls, tuple((key, _frame(part, tensors)) for key, part in value.items())
    if isinstance(value, list) or cls is tuple or hasattr(cls, "_make"):
        return cls, tuple(_frame(part, tensors) for part in value)
    names = field_names(value)
    if isinstance(value, Module) or not names or not has_fields_only(cls):
        raise NotRecordable(f"it has a {cls.__name__}")
    return cls, tuple((name, _frame(getattr(value, name), tensors)) for name in names)


def names_of(value: Any, path: str = "item") -> list[str]:
    """What each of its tensors is: `item.loss`."""
    if isinstance(value, Tensor):
        return [path]
    if isinstance(value, dict):
        parts = [(f"{path}[{key!r}]", part) for key, part in value.items()]
    elif isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        parts = [(f"{path}[{number}]", part) for number, part in enumerate(value)]
    else:
        names = getattr(value, "_fields", None) or field_names(value)
        parts = [(f"{path}.{name}", getattr(value, name)) for name in names]
    return [name for place, part in parts for name in names_of(part, place)]


def put_together(value: Any, tensors: Sequence[Tensor]) -> Any:
    """`value` with these in place of its tensors, in the order of `take_apart`."""
    return _replaced(value, iter(tensors))


def _replaced(value: Any, tensors: Iterator[Tensor]) -> Any:
    if isinstance(value, Tensor):
        return next(tensors)
    if value is None or isinstance(value, PLAIN):
        return value
    if isinstance(value, tuple):
        parts = [_replaced(part, tensors) for part in value]
        return value._make(parts) if hasattr(value, "_make") else tuple(parts)
    made = copy.copy(value)
    if isinstance(made, (list, dict)):
        for place, part in enumerate(value) if isinstance(value, list) else value.items():
            made[place] = _replaced(part, tensors)
        return made
    for name in field_names(value):
        object.__setattr__(made, name, _replaced(getattr(value, name), tensors))
    return made


def field_names(value: Any) -> list[str]:
    """Of the fields that an object has."""
    slots = [
        f"_{cls.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
        for cls in type(value).__mro__
        for name in _as_tuple(cls.__dict__.get("__slots__", ()))
    ]
    names = [*getattr(value, "__dict__", {}), *slots]
    return [name for name in names if not name.startswith("__") and hasattr(value, name)]


@functools.cache
def has_fields_only(cls: Any) -> bool:
    """Whether all of its bases are written in Python: what is not, as an array or a date, has more than its fields."""
    return all(
        base is SimpleNamespace
        or (base.__basicsize__, base.__itemsize__) == (object.__basicsize__, 0)
        or (
            base.__flags__ & HEAP_TYPE
            and ("__slots__" in vars(base) or any("__dict__" in vars(b) for b in base.__mro__))
        )
        for base in cls.__mro__
    )


def _as_tuple(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)
