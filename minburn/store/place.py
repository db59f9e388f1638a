"""The places of a module that a file's tensors can go to: its parameters and running states, under all their paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minburn.module import ModuleVisitor, Param

if TYPE_CHECKING:
    from minburn.module import Module
    from minburn.tensor import BoolTensor, FloatTensor, IntTensor

__all__ = ["Place"]


@dataclass(frozen=True, slots=True)
class Place:
    """A parameter where it is.

    path: in the module. name: what a file calls it; the same, or without the variants of enums.
    containers: the types of what it lies in, from the outside in: `Struct:Model`, `Vec`, `Struct:Linear`.

    Burn: `ModuleContext` in `crates/burn-store/src/adapter.rs`.
    """

    path: str
    name: str
    containers: tuple[str, ...]
    param: Param[Any]

    @property
    def owner(self) -> str:
        """The innermost struct or enum, which decides about its layout: `Linear`."""
        for container in reversed(self.containers):
            if ":" in container:
                return container.partition(":")[2]
        return ""

    @property
    def container_path(self) -> str:
        return ".".join(self.containers)

    @property
    def has_stored_form(self) -> bool:
        """A record holds this parameter in another form than memory does, as the weight of a Linear with Col layout."""
        return self.param._stored is not None


def places_of(module: Module, skip_enum_variants: bool = False) -> list[Place]:
    """In the order of the walk."""
    visitor = _Places(skip_enum_variants)
    module.visit(visitor)
    return visitor.found


class _Places(ModuleVisitor):
    def __init__(self, skip_enum_variants: bool) -> None:
        self.found: list[Place] = []
        self._skip = skip_enum_variants
        self._names: list[str] = []
        self._containers: list[str] = []

    def enter_module(self, name: str, container_type: str) -> None:
        self._names.append(name)
        self._containers.append(container_type)

    def exit_module(self, name: str, container_type: str) -> None:
        self._names.pop()
        self._containers.pop()

    def _add(self, param: Param[Any]) -> None:
        names = [
            name
            for name, container in zip(self._names, self._containers, strict=True)
            if not (self._skip and container.startswith("Enum:"))
        ]
        self.found.append(Place(self.path, ".".join(names), tuple(self._containers), param))

    def visit_float(self, param: Param[FloatTensor]) -> None:
        self._add(param)

    def visit_int(self, param: Param[IntTensor]) -> None:
        self._add(param)

    def visit_bool(self, param: Param[BoolTensor]) -> None:
        self._add(param)
