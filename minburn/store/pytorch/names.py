"""From the value of a pickle to named tensors, as `state_dict()` would name them.

    {"model": {"fc.weight": tensor}, "epoch": 3}     model.fc.weight; and the scalar epoch
    [tensor, tensor]                                 0, 1
    a module object, torch.save(model)               its _parameters, _buffers and those of its _modules

A pickle can hold itself, or one list a million times, so depth and number of values are bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minburn.store.error import StoreError
from minburn.store.files import MAX_TENSORS
from minburn.store.pytorch.objects import Global, Instance, TensorRef

MAX_DEPTH = 1000
MAX_VALUES = 1_000_000

Scalar = str | bytes | int | float | bool | None

_TABLES = ("_parameters", "_buffers", "_modules")


def is_module(value: object) -> bool:
    """An object with the three tables of a torch.nn.Module."""
    return isinstance(value, Instance) and all(isinstance(value.state.get(table), dict) for table in _TABLES)


def named_values(where: str, root: Any) -> tuple[dict[str, TensorRef], dict[str, Scalar]]:
    """Tensors and scalars by dotted name, in the order of the pickle."""
    tensors: dict[str, TensorRef] = {}
    scalars: dict[str, Scalar] = {}
    waiting: list[tuple[str, int, Any]] = [("", 0, root)]
    count = 0
    while waiting:
        name, depth, value = waiting.pop()
        count += 1
        if depth > MAX_DEPTH or count > MAX_VALUES:
            raise StoreError(f"{where}: its values nest deeper than {MAX_DEPTH}, or are more than {MAX_VALUES}.")
        if isinstance(value, TensorRef):
            if name in tensors:
                raise StoreError(f"{where}: tensor {name!r} comes twice.")
            tensors[name] = value
            if len(tensors) > MAX_TENSORS:
                raise StoreError(f"{where}: more than {MAX_TENSORS} tensors.")
        elif isinstance(value, (str, bytes, int, float)) or value is None:
            scalars[name] = value
        else:
            inner = list(_inner(where, name, value))
            prefix = f"{name}." if name else ""
            waiting += [(prefix + key, depth + 1, item) for key, item in reversed(inner)]
    return tensors, scalars


def _inner(where: str, name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Instance):
        if is_module(value):
            yield from _module_entries(where, name, value)
        elif value.cls.module.startswith("__torch__"):  # TorchScript: its attributes are all there is
            yield from _items(where, name, value.state)
        else:
            yield from _items(where, name, value.items)
            yield from ((str(index), item) for index, item in enumerate(value.elements))
    elif isinstance(value, dict):
        yield from _items(where, name, value)
    elif isinstance(value, (list, tuple)):
        yield from ((str(index), item) for index, item in enumerate(value))


def _items(where: str, name: str, items: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    for key, item in items.items():
        if isinstance(key, (str, int)):
            yield str(key), item
        elif isinstance(item, (TensorRef, dict, list, tuple, Instance)):
            raise StoreError(f"{where}: {name or 'its root'} has a key that is neither text nor an integer.")


def _module_entries(where: str, name: str, module: Instance) -> Iterator[tuple[str, Any]]:
    """What `state_dict()` keeps: no None, no buffers that are not persistent."""
    hidden = module.state.get("_non_persistent_buffers_set")
    hidden = {key for key in hidden if isinstance(key, str)} if isinstance(hidden, list) else set()
    seen: set[Any] = set()
    for table in _TABLES:
        for key, item in module.state[table].items():
            if item is None or (table == "_buffers" and key in hidden):
                continue
            if key in seen or not isinstance(key, str):
                raise StoreError(f"{where}: {name or 'the model'} has two parts called {key!r}, or one without a name.")
            seen.add(key)
            if not (is_module(item) if table == "_modules" else isinstance(item, TensorRef)):
                kind = item.cls if isinstance(item, Instance) else type(item).__name__
                raise StoreError(f"{where}: {name}{'.' if name else ''}{key} should be a part of a model, not {kind}.")
            yield key, item


def describe(value: object) -> str:
    """For messages."""
    if isinstance(value, Instance):
        return f"an object of {value.cls}"
    return str(value) if isinstance(value, Global) else f"a {type(value).__name__}"
