"""minburn: Burn's architecture in Python.

The names most programs need; the rest lives in the packages `backends`, `tensor`, `module`, `nn`, `optim`, `data`,
`train` and `pack`.
"""

from minburn.backends.rng import Distribution
from minburn.dtype import DType
from minburn.module import Config, Module, ModuleMapper, ModuleRecord, ModuleVisitor, Param, ParamGroup, ParamId
from minburn.tensor import BoolTensor, FloatTensor, IntTensor, NumericTensor, Tensor, TensorData

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
