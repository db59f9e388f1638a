"""The two kinds of walk over a module: a visitor reads, a mapper rebuilds.

Everything that treats all parameters alike is one of them: counting, freezing, records, optimizers.

    class Norms(ModuleVisitor):                     class Halve(ModuleMapper):
        def visit_float(self, param):                   def map_float(self, param):
            print(self.path, param.value.norm())            return param.map(lambda tensor: tensor * 0.5)

    model.visit(Norms())                            smaller = model.map(Halve())

`self.path` is where the walk is, dotted: `blocks.0.weight`. A visitor sees a shared parameter under each of its paths;
a mapper is asked once for it, and it stays one.

Around every field and element come `enter_module(name, container_type)` and `exit_module`, where the container's type
is `Struct:Linear` (the class that declares the field), `Enum:Head` (around the name of the variant), `Vec` (a list),
`Tuple` or `Map` (a dict).

Burn: `ModuleVisitor`, `ModuleMapper` in `crates/burn-core/src/module/base.rs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from minburn.module.param import Flag, Param
from minburn.tensor import BoolTensor, FloatTensor, IntTensor

if TYPE_CHECKING:
    from minburn.module.running_state import RunningState
    from minburn.tensor import Tensor

K = TypeVar("K", bound="Tensor")


class ModuleVisitor:
    """Reads parameters. Every method does nothing unless overridden."""

    path: str = ""
    """Where the walk is.

    Burn: `ModuleVisitor::visit_float_with_path`, `ModuleVisitor::visit_int_with_path`,
    `ModuleVisitor::visit_bool_with_path`.
    """

    def visit_float(self, param: Param[FloatTensor]) -> None:
        """Also called with the value of a running state."""

    def visit_int(self, param: Param[IntTensor]) -> None: ...
    def visit_bool(self, param: Param[BoolTensor]) -> None: ...
    def visit_flag(self, param: Param[Flag]) -> None: ...
    def visit_constant(self, tensor: Tensor) -> None:
        """A bare tensor field: it moves with the module but is not its state."""

    def enter_module(self, name: str, container_type: str) -> None: ...
    def exit_module(self, name: str, container_type: str) -> None: ...


class ModuleMapper:
    """Rebuilds a module from mapped parameters. Every method returns what it got unless overridden."""

    path: str = ""

    keeps_ids: bool = True
    """False for a mapper that gives new ids: only that one may walk over two parameters with one id."""

    def map_float(self, param: Param[FloatTensor]) -> Param[FloatTensor]:
        """Also called with the value of a running state."""
        return param

    def map_int(self, param: Param[IntTensor]) -> Param[IntTensor]:
        return param

    def map_bool(self, param: Param[BoolTensor]) -> Param[BoolTensor]:
        return param

    def map_flag(self, param: Param[Flag]) -> Param[Flag]:
        return param

    def map_constant(self, tensor: K) -> K:
        """A bare tensor field: it moves with the module but is not its state."""
        return tensor

    def map_running(self, state: RunningState) -> RunningState:
        """By default its value goes through `map_float`; its id stays, and so does the cell if the value did."""
        param = state.as_param()
        mapped = self.map_float(param)
        if mapped is param or mapped.value is param.value:
            return state
        return state.with_value(mapped.value)

    def enter_module(self, name: str, container_type: str) -> None: ...
    def exit_module(self, name: str, container_type: str) -> None: ...
