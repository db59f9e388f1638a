"""How a module prints: Burn's tree.

    Mlp {
      hidden: Linear {d_input: 64, d_output: 256, bias: true, params: 16640}
      activation: Relu
      dropout: Dropout {prob: 0.3}
      params: 19210
    }

A module that returns `display_attributes()` takes one line.

Burn: `crates/burn-core/src/module/display.rs`.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import numpy as np

from minburn.module.fields import outside_name
from minburn.module.param import Param
from minburn.module.running_state import RunningState
from minburn.module.walk import holds_state
from minburn.tensor import Tensor

if TYPE_CHECKING:
    from minburn.module.module import Module

INDENT = 2


def display(module: Module) -> str:
    """Burn: `ModuleDisplay::format`."""
    return _module(module, 0)


def text_of(value: Any) -> str:
    """Any value of a field as it shows in the tree."""
    return _text(value, 0)


def _module(module: Module, depth: int) -> str:
    name = type(module).__name__
    attributes = module.display_attributes()
    params = module.num_params()
    if attributes is not None:
        shown = [f"{key}: {_text(value, depth)}" for key, value in attributes.items()]
        if params:
            shown.append(f"params: {params}")
        return f"{name} {{{', '.join(shown)}}}" if shown else name
    names = module._module_layout.table.names
    lines = [(outside_name(name), _text(getattr(module, name), depth + 1)) for name in names]
    if params:
        lines.append(("params", str(params)))
    return _block(name, lines, depth)


def _block(name: str, lines: list[tuple[str, str]], depth: int) -> str:
    if not lines:
        return name
    pad = " " * (INDENT * (depth + 1))
    body = "\n".join(f"{pad}{key}: {text}" for key, text in lines)
    return f"{name} {{\n{body}\n{' ' * (INDENT * depth)}}}"


def _text(value: Any, depth: int) -> str:
    if hasattr(type(value), "_module_layout"):
        return _module(value, depth)
    if isinstance(value, (Param, RunningState)):
        return repr(value)
    if isinstance(value, Tensor):
        kind = type(value).__name__.removesuffix("Tensor").lower()
        return f"Tensor {{rank: {value.rank}, shape: {list(value.shape)}, kind: {kind}}}"
    if isinstance(value, (list, tuple)):
        if holds_state(value):
            name = f"{'Vec' if isinstance(value, list) else 'Tuple'}<0..{len(value)}>"
            return _block(name, [(str(index), _text(item, depth + 1)) for index, item in enumerate(value)], depth)
        return f"[{', '.join(str(item) if isinstance(item, float) else _text(item, depth) for item in value)}]"
    if isinstance(value, dict) and holds_state(value):
        return _block("Map", [(str(key), _text(item, depth + 1)) for key, item in value.items()], depth)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, float):  # as Burn prints it: 0.00001, and 1 for 1.0; in a list 1.0 stays 1.0
        return np.format_float_positional(value, trim="-")
    return str(value)
