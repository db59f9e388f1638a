"""minburn: Burn's architecture in Python.

The names most programs need; the rest lives in the packages `backends`, `tensor`, `linalg`, `signal`, `module`, `nn`,
`optim`, `data`, `train` and `pack`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from minburn.backends.rng import Distribution
from minburn.dtype import DType
from minburn.module import Config, Module, ModuleMapper, ModuleRecord, ModuleVisitor, Param, ParamGroup, ParamId
from minburn.tensor import BoolTensor, FloatTensor, IntTensor, NumericTensor, Tensor, TensorData

if TYPE_CHECKING:
    from minburn import linalg as linalg
    from minburn import signal as signal

__version__ = "0.1.0"

__all__ = [
    "BoolTensor",
    "Config",
    "DType",
    "Distribution",
    "FloatTensor",
    "IntTensor",
    "Module",
    "ModuleMapper",
    "ModuleRecord",
    "ModuleVisitor",
    "NumericTensor",
    "Param",
    "ParamGroup",
    "ParamId",
    "Tensor",
    "TensorData",
]


def __getattr__(name: str) -> object:
    """`minburn.linalg` and `minburn.signal`, loaded when they are first asked for."""
    if name in ("linalg", "signal"):
        return import_module(f"minburn.{name}")
    raise AttributeError(f"module 'minburn' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
