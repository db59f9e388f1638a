"""The settings of an optimizer or a schedule as plain values, to be compared with those of another process."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from minburn.module import Module, ParamGroup
from minburn.module.group import CollectIds
from minburn.optim import ModuleLrScheduler, OptimizerAdaptor


def optimizer_settings(optim: OptimizerAdaptor, model: Module) -> dict[str, Any]:
    """Of every rule; groups by the paths they match, as ids are others in another run."""
    base, *others = optim.groups
    found = {**settings(base.optimizer), "grad_clipping": plain(base.grad_clipping)}
    if others:
        found["groups"] = [
            {
                "parameters": members(group.group, model),
                **settings(group.optimizer),
                "grad_clipping": plain(group.grad_clipping),
            }
            for group in others
        ]
    return found


def schedule_settings(scheduler: ModuleLrScheduler, model: Module) -> dict[str, Any]:
    """Of every schedule."""
    found = settings(scheduler.base)
    if scheduler.groups:
        found["groups"] = [
            {"parameters": members(group, model), **settings(schedule)} for group, schedule in scheduler.groups
        ]
    return found


def members(group: ParamGroup, model: Module) -> list[str]:
    """The paths of a group's parameters."""
    return [path for path, id in ids_by_path(model).items() if group.matches(id, path)]


def ids_by_path(model: Module) -> dict[str, int]:
    """Of every parameter, under its first path."""
    collector = CollectIds()
    model.visit(collector)
    return {path: int(id) for id, path in collector.paths.items()}


def settings(value: Any) -> dict[str, Any]:
    """The class of an object and its public attributes."""
    fields = vars(value) if hasattr(value, "__dict__") else {}
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {
        "class": type(value).__name__,
        **{name: plain(part) for name, part in fields.items() if not name.startswith("_")},
    }


def plain(value: Any) -> Any:
    """Numbers and texts as they are, containers of them too; of anything else its class and attributes."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    return settings(value)
