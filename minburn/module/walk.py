"""The one walk over the fields of a module: it knows what a field may hold, and in which order and under which names.

    Param, RunningState                   state: handed to the visitor or mapper; of an adapted one, both parts
    Module, list, tuple, dict, None       entered; dict keys are identifiers, as they become part of a path
    a bare Tensor                         a constant: told apart from state, see visitor.py
    anything else, or a skipped field     left alone

`VisitWalk` reads, `MapWalk` rebuilds; a part in which nothing changed is kept as it is, so a map that changes nothing
returns the module itself. Both refuse two different parameters with one id: an optimizer would take them for one.

Burn generates this per struct: `crates/burn-derive/src/module/`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minburn.module.adapted import AdaptedParam
from minburn.module.error import ModuleError
from minburn.module.param import Param
from minburn.module.param_id import ParamId
from minburn.module.running_state import RunningState
from minburn.module.visitor import ModuleMapper, ModuleVisitor
from minburn.tensor import Tensor

if TYPE_CHECKING:
    from minburn.module.module import Module

PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes})

NO_HOOKS: frozenset[Any] = frozenset(
    {ModuleVisitor.enter_module, ModuleVisitor.exit_module, ModuleMapper.enter_module, ModuleMapper.exit_module}
)


HOOKS = ("enter_module", "exit_module")


@functools.cache
def has_hooks(target: Any) -> bool:
    """Of a class of visitors or mappers."""
    return any(getattr(target, name) not in NO_HOOKS for name in HOOKS)


class Walk:
    """Goes through values depth first. Subclasses say what happens at a parameter, a running state, a constant."""

    def __init__(self, target: ModuleVisitor | ModuleMapper) -> None:
        self.target = target
        # Few targets ask where modules begin and end; the others are spared two calls a field.
        kind: Any = type(target)
        self.hooked = has_hooks(kind) or not vars(target).keys().isdisjoint(HOOKS)
        self.seen: dict[object, tuple[Any, Any, str]] = {}  # id → (object, what became of it, path)

    def run(self, module: Module) -> Any:
        try:
            return self.module("", module)
        finally:
            self.target.path = ""

    def value(self, path: str, value: Any) -> Any:
        """What becomes of one value: the value itself, unless something in it changed."""
        cls = type(value)
        if cls is Param:
            return self.param(path, value)
        if hasattr(cls, "_module_layout"):
            return self.module(path, value)
        if cls in PLAIN:
            return value
        if isinstance(value, (list, tuple)):
            return self.sequence(path, value)
        if isinstance(value, dict):
            return self.mapping(path, value)
        if cls is RunningState:
            self.target.path = path
            return self.running(path, value)
        if cls is AdaptedParam:
            return self.adapted(path, value)
        if isinstance(value, Tensor):
            self.target.path = path
            return self.constant(value)
        if isinstance(value, (set, frozenset)) and any(map(holds_state, value)):
            raise ModuleError(f"{path}: a set has no order, so parameters in it have no path. Use a list or a dict.")
        return value

    def between_hooks(self, path: str, name: str, container: str, action: Callable[[str, Any], Any], value: Any) -> Any:
        target = self.target
        target.path = path
        target.enter_module(name, container)
        result = action(path, value)
        target.path = path
        target.exit_module(name, container)
        return result

    def child(self, path: str, name: str, container: str, value: Any) -> Any:
        path = f"{path}.{name}" if path else name
        return self.between_hooks(path, name, container, self.value, value) if self.hooked else self.value(path, value)

    def module(self, path: str, module: Module) -> Any:
        layout = module._module_layout
        if layout.variant is None:
            return self.fields(path, module)
        path = f"{path}.{layout.variant}" if path else layout.variant
        if self.hooked:
            return self.between_hooks(path, layout.variant, layout.enum, self.fields, module)
        return self.fields(path, module)

    def fields(self, path: str, module: Module) -> Any:
        layout = module._module_layout
        values = module.__dict__
        prefix = f"{path}." if path else ""
        changed: dict[str, Any] | None = None
        for name, outside, container in layout.walked:
            old = values[name]
            cls = type(old)
            if cls in PLAIN:
                continue
            place = prefix + outside
            new: Any
            if self.hooked:
                new = self.between_hooks(place, outside, container, self.value, old)
            elif cls is Param:  # the two most frequent cases, in fewer calls
                new = self.param(place, old)
            elif (inner := getattr(cls, "_module_layout", None)) is not None and inner.variant is None:
                new = self.fields(place, old)
            else:
                new = self.value(place, old)
            if new is not old:
                if changed is None:
                    changed = {}
                changed[name] = new
        return module if changed is None else module._with(changed)

    def sequence(self, path: str, items: list[Any] | tuple[Any, ...]) -> Any:
        container = "Vec" if isinstance(items, list) else "Tuple"
        prefix = f"{path}." if path else ""
        mapped = []
        for index, item in enumerate(items):
            cls = type(item)
            new: Any = item
            if cls not in PLAIN:
                place = f"{prefix}{index}"
                if self.hooked:
                    new = self.between_hooks(place, str(index), container, self.value, item)
                elif (inner := getattr(cls, "_module_layout", None)) is not None and inner.variant is None:
                    new = self.fields(place, item)  # as in fields(): the usual case, in fewer calls
                else:
                    new = self.value(place, item)
            mapped.append(new)
        if all(map(operator.is_, mapped, items)):
            return items
        if type(items) is list:
            return mapped
        if hasattr(items, "_make"):
            return items._make(mapped)
        return type(items)(mapped)

    def mapping(self, path: str, items: dict[Any, Any]) -> Any:
        changed: dict[Any, Any] = {}
        for key, old in items.items():
            if type(old) in PLAIN:
                continue
            if not (isinstance(key, str) and key.isidentifier()):
                if holds_state(old):
                    raise ModuleError(
                        f"{path}: the key {key!r} cannot be part of a parameter's path. Keys must be identifiers, like "
                        "names of fields."
                    )
                continue
            new = self.child(path, key, "Map", old)
            if new is not old:
                changed[key] = new
        return {**items, **changed} if changed else items

    def adapted(self, path: str, param: AdaptedParam) -> Any:
        """A parameter with a reparameterization: its base, and below it, under the name of that, the other's fields."""
        base = self.param(path, param._base)
        other = param._reparameterization
        mapped = self.child(path, other.NAME, "Reparameterization", other)
        if base is param._base and mapped is other:
            return param
        if type(base) is AdaptedParam:
            raise ModuleError(
                f"{path}: a parameter has one reparameterization, and this one has its {other.NAME}. "
                "Make it a plain one first: model.materialize()."
            )
        return AdaptedParam.of(base, mapped)

    def param(self, path: str, param: Param[Any]) -> Any:
        raise NotImplementedError

    def running(self, path: str, state: RunningState) -> Any:
        raise NotImplementedError

    def constant(self, tensor: Tensor) -> Any:
        raise NotImplementedError


class VisitWalk(Walk):
    target: ModuleVisitor

    def param(self, path: str, param: Param[Any]) -> Any:
        self.target.path = path
        known = self.seen.setdefault(param._id, (param, param, path))
        if known[0] is not param:
            raise equal_ids(param._id, known[2], path)
        kind = param.kind
        if kind == "float":
            self.target.visit_float(param)
        elif kind == "flag":
            self.target.visit_flag(param)
        elif kind == "int":
            self.target.visit_int(param)
        else:
            self.target.visit_bool(param)
        return param

    def running(self, path: str, state: RunningState) -> Any:
        known = self.seen.setdefault(state.id, (state, state, path))
        if known[0] is not state:
            raise equal_ids(state.id, known[2], path)
        self.target.visit_float(state.as_param())
        return state

    def constant(self, tensor: Tensor) -> Any:
        self.target.visit_constant(tensor)
        return tensor


class MapWalk(Walk):
    target: ModuleMapper

    def param(self, path: str, param: Param[Any]) -> Any:
        self.target.path = path
        return self.once(path, param._id, param, self.mapped)

    def adapted(self, path: str, param: AdaptedParam) -> Any:
        known = self.seen.get(param)
        if known is None:
            known = self.seen[param] = (param, super().adapted(path, param), path)
        return known[1]

    def running(self, path: str, state: RunningState) -> Any:
        return self.once(path, state.id, state, self.target.map_running)

    def once(self, path: str, id: ParamId, value: Any, change: Callable[[Any], Any]) -> Any:
        """`change(value)`, or what became of it when it was met before, under another name."""
        key: object = id if self.target.keeps_ids else value
        known = self.seen.get(key)
        if known is not None:
            if known[0] is value:
                return known[1]
            raise equal_ids(id, known[2], path)
        mapped = change(value)
        self.seen[key] = (value, mapped, path)
        return mapped

    def mapped(self, param: Param[Any]) -> Any:
        kind = param.kind
        mapped: Any
        if kind == "float":
            mapped = self.target.map_float(param)
        elif kind == "flag":
            mapped = self.target.map_flag(param)
        elif kind == "int":
            mapped = self.target.map_int(param)
        else:
            mapped = self.target.map_bool(param)
        if type(mapped) is not Param and type(mapped) is not AdaptedParam:
            raise TypeError(
                f"{type(self.target).__name__}.map_{kind} returned {type(mapped).__name__} for {self.target.path}, "
                "expected a Param. Use param.map(function) or param.with_value(tensor)."
            )
        return mapped

    def constant(self, tensor: Tensor) -> Any:
        return self.target.map_constant(tensor)


def holds_state(value: object) -> bool:
    """Whether a walk would find a parameter, a running state or a module in it."""
    if isinstance(value, (Param, RunningState)) or hasattr(type(value), "_module_layout"):
        return True
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(map(holds_state, value))
    return isinstance(value, dict) and any(map(holds_state, value.values()))


def equal_ids(id: ParamId, first: str, second: str) -> ModuleError:
    return ModuleError(
        f"{first} and {second} are two parameters with one id ({int(id)}): an optimizer would take them for one. "
        "Put the same Param in both places to share it, or give one part other ids: part.with_new_ids()."
    )
