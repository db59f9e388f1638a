"""What every module can do with its parameters, each as a visitor or a mapper.

Burn: the methods of `Module` in `crates/burn-core/src/module/base.rs`.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

from minburn.backends import Backend, Device
from minburn.module.error import ModuleError
from minburn.module.group import ParamGroup
from minburn.module.param import Flag, Param, recording, same_level
from minburn.module.param_id import ParamId
from minburn.module.running_state import RunningState
from minburn.module.visitor import ModuleMapper, ModuleVisitor
from minburn.tensor import BoolTensor, FloatTensor, IntTensor, Tensor

K = TypeVar("K", bound=Tensor)


class CountParams(ModuleVisitor):
    def __init__(self) -> None:
        self.total = 0
        self._counted: set[ParamId] = set()

    def visit_float(self, param: Param[FloatTensor]) -> None:
        if param.id not in self._counted:
            self._counted.add(param.id)
            self.total += math.prod(param.shape)


class CollectDevices(ModuleVisitor):
    def __init__(self) -> None:
        self.devices: list[Device] = []

    def _add(self, device: Device) -> None:
        if device not in self.devices:
            self.devices.append(device)

    def visit_float(self, param: Param[FloatTensor]) -> None:
        self._add(param.backend.device)

    def visit_int(self, param: Param[IntTensor]) -> None:
        self._add(param.backend.device)

    def visit_bool(self, param: Param[BoolTensor]) -> None:
        self._add(param.backend.device)

    def visit_constant(self, tensor: Tensor) -> None:
        self._add(tensor.device)


class SetRequireGrad(ModuleMapper):
    """Of all float parameters, or of those in a group."""

    def __init__(self, require_grad: bool, group: ParamGroup | None = None) -> None:
        if not isinstance(require_grad, bool):
            raise ModuleError(f"set_require_grad: expected True or False, but got {type(require_grad).__name__}.")
        self.require_grad = require_grad
        self.group = group
        self.found = False

    def map_float(self, param: Param[FloatTensor]) -> Param[FloatTensor]:
        return param.set_require_grad(self.require_grad) if self._chosen(param) else param

    def _chosen(self, param: Param[Any]) -> bool:
        chosen = self.group is None or self.group.matches(param.id, self.path)
        self.found |= chosen
        return chosen

    def map_running(self, state: RunningState) -> RunningState:
        return state


class Freeze(SetRequireGrad):
    """Parameters and flags alike: off, or on again."""

    def map_flag(self, param: Param[Flag]) -> Param[Flag]:
        return param.with_value(self.require_grad) if self._chosen(param) else param


class ToValid(ModuleMapper):
    def map_float(self, param: Param[FloatTensor]) -> Param[FloatTensor]:
        return param.valid()

    def map_int(self, param: Param[IntTensor]) -> Param[IntTensor]:
        return param.valid()

    def map_bool(self, param: Param[BoolTensor]) -> Param[BoolTensor]:
        return param.valid()

    def map_flag(self, param: Param[Flag]) -> Param[Flag]:
        return param.valid()

    def map_constant(self, tensor: K) -> K:
        return inner(tensor)

    def map_running(self, state: RunningState) -> RunningState:
        return state.valid()


class ToTrain(ModuleMapper):
    def map_float(self, param: Param[FloatTensor]) -> Param[FloatTensor]:
        return param.train()

    def map_int(self, param: Param[IntTensor]) -> Param[IntTensor]:
        return param.train()

    def map_bool(self, param: Param[BoolTensor]) -> Param[BoolTensor]:
        return param.train()

    def map_flag(self, param: Param[Flag]) -> Param[Flag]:
        return param.train()

    def map_constant(self, tensor: K) -> K:
        return tensor if tensor.backend.is_autodiff else recording(tensor)

    def map_running(self, state: RunningState) -> RunningState:
        return state.train()


class ToDevice(ModuleMapper):
    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def map_float(self, param: Param[FloatTensor]) -> Param[FloatTensor]:
        return param.to_device(self.backend)

    def map_int(self, param: Param[IntTensor]) -> Param[IntTensor]:
        return param.to_device(self.backend)

    def map_bool(self, param: Param[BoolTensor]) -> Param[BoolTensor]:
        return param.to_device(self.backend)

    def map_constant(self, tensor: K) -> K:
        return tensor.to_device(same_level(self.backend, tensor.backend))

    def map_running(self, state: RunningState) -> RunningState:
        return state.to_device(self.backend)


class Fork(ToDevice):
    """Leaves of its own, also where nothing moves."""

    def map_float(self, param: Param[FloatTensor]) -> Param[FloatTensor]:
        moved = param.to_device(self.backend)
        return param.with_value(param.value) if moved is param and param.is_initialized else moved


class ChangeIds(ModuleMapper):
    keeps_ids = False

    def map_float(self, param: Param[FloatTensor]) -> Param[FloatTensor]:
        return param.with_id(ParamId.new(param.backend))

    def map_int(self, param: Param[IntTensor]) -> Param[IntTensor]:
        return param.with_id(ParamId.new(param.backend))

    def map_bool(self, param: Param[BoolTensor]) -> Param[BoolTensor]:
        return param.with_id(ParamId.new(param.backend))

    def map_flag(self, param: Param[Flag]) -> Param[Flag]:
        return param.with_id(ParamId.new())

    def map_running(self, state: RunningState) -> RunningState:
        return RunningState(state.value_sync(), ParamId.new(state.value().backend))


def inner(tensor: K) -> K:
    return tensor.inner() if tensor.backend.is_autodiff else tensor
