"""The trainable parameters of a module, remembered.

Every step asks a module for its parameters: for their gradients, and to put new values into them. On a small model a
walk through it costs a third of the backward pass, and a step knows the parameters of the module that it returns. So
they are kept with the module:

    trainables_of(module)                   those that are known, or a walk
    remember(stepped, Trainables(…))        a step says what it has made

A module is a value, but a list or a dict in one can be changed in place. What these held is kept too, and if they hold
something else the walk is made again.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeVar, final

from minburn.module import Module, ModuleVisitor, Param, RunningState
from minburn.module.walk import VisitWalk, equal_ids
from minburn.tensor import FloatTensor, Tensor

C = TypeVar("C")


@final
class Containers:
    """Lists and dicts, and what they held when they were noted."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: list[tuple[Any, list[Any], list[Any] | None]] = []

    def noted(self, container: C) -> C:
        if isinstance(container, list):
            self._held.append((container, list(container), None))
        elif isinstance(container, dict):
            self._held.append((container, list(container.values()), list(container)))
        return container

    def unchanged(self) -> bool:
        for container, values, keys in self._held:
            now = container if keys is None else list(container.values())
            if len(now) != len(values) or not all(map(operator.is_, now, values)):
                return False
            if keys is not None and list(container) != keys:
                return False
        return True


@final
class Trainables:
    """params: the float parameters that require a gradient, each once with its first path, in the order of the walk."""

    __slots__ = ("__weakref__", "containers", "params")

    def __init__(self, params: Sequence[tuple[str, Param[FloatTensor]]], containers: Containers) -> None:
        self.params = params
        self.containers = containers

    def are_of(self, module: Module) -> bool:
        return trainables_known(module) is self


def trainables_known(module: Module) -> Trainables | None:
    """Those of the module, if they are known and still right."""
    try:
        known: Trainables = _SLOT.__get__(module)
    except AttributeError:
        return None
    return known if known.containers.unchanged() else None


def trainables_of(module: Module) -> Trainables:
    """Errors: ModuleError for two parameters with one id."""
    known = trainables_known(module)
    if known is None:
        walk = _FindWalk()
        walk.run(module)
        known = Trainables(list(walk.found.values()), walk.containers)
        remember(module, known)
    return known


def remember(module: Module, trainables: Trainables) -> None:
    _SLOT.__set__(module, trainables)


# The slot itself: a class may have a `_trainables` of its own, or a `__getattr__` that asks the module inside it.
_SLOT: Any = Module.__dict__["_trainables"]


class _FindWalk(VisitWalk):
    def __init__(self) -> None:
        super().__init__(_NOBODY)
        self.found: dict[int, tuple[str, Param[FloatTensor]]] = {}
        self.containers = Containers()

    def param(self, path: str, param: Param[Any]) -> Any:
        known = self.seen.setdefault(param._id, (param, param, path))
        if known[0] is not param:
            raise equal_ids(param._id, known[2], path)
        if param._require_grad and param.kind == "float":
            self.found.setdefault(param._id, (path, param))
        return param

    def running(self, path: str, state: RunningState) -> Any:
        return state

    def constant(self, tensor: Tensor) -> Any:
        return tensor

    def sequence(self, path: str, items: list[Any] | tuple[Any, ...]) -> Any:
        return super().sequence(path, self.containers.noted(items))

    def mapping(self, path: str, items: dict[Any, Any]) -> Any:
        return super().mapping(path, self.containers.noted(items))


_NOBODY = ModuleVisitor()
