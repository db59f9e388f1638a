"""Modules, their parameters, and what can be done with them: walks, records, configs.

class Mlp(Module):                          a frozen record of fields
model.visit(visitor), model.map(mapper)     read or rebuild every parameter
model.into_record().save(path)              what it leaves behind
MlpConfig(…).init(backend)                  hyper-parameters, saved as JSON
"""

from minburn.module.config import Config, ConfigError, same_as
from minburn.module.error import ModuleError
from minburn.module.group import ParamGroup
from minburn.module.initializer import Initializer
from minburn.module.lora import Lora, LoraAdapter
from minburn.module.module import Module, skip
from minburn.module.param import Flag, Param, StoredForm
from minburn.module.param_id import ParamId
from minburn.module.record import DTypePolicy, ModuleRecord, RecordEntry, RecordError
from minburn.module.reparameterization import Reparameterization, Reparameterizer
from minburn.module.running_state import RunningState
from minburn.module.visitor import ModuleMapper, ModuleVisitor

__all__ = [
    "Config",
    "ConfigError",
    "DTypePolicy",
    "Flag",
    "Initializer",
    "Lora",
    "LoraAdapter",
    "Module",
    "ModuleError",
    "ModuleMapper",
    "ModuleRecord",
    "ModuleVisitor",
    "Param",
    "ParamGroup",
    "ParamId",
    "RecordEntry",
    "RecordError",
    "Reparameterization",
    "Reparameterizer",
    "RunningState",
    "StoredForm",
    "same_as",
    "skip",
]
