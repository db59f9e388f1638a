"""A parameter seen through a module: training the module instead of the parameter, or beside it.

    class Scaled(Reparameterization):                       its NAME becomes a part of the paths: `weight.scaled.factor`
        NAME = "scaled"
        factor: Param[FloatTensor]

        def apply(self, base):
            return base * self.factor.value.reshape([1] * base.rank)

    class Scale:                                            which parameters get one
        def reparameterize(self, path, param):
            return param, Scaled(factor=…) if param.kind == "float" else None

    model = model.apply_reparameterization(Scale())
    model = model.materialize()                             plain parameters again, with the values seen

LoRA is one of these, see lora.py. Files hold both parts, so a model that loads such a record has to be reparameterized
in the same way before.

Burn: `crates/burn-core/src/module/param/reparameterization.rs`.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from minburn.module.adapted import AdaptedParam
from minburn.module.error import ModuleError
from minburn.module.fields import describe
from minburn.module.module import Module
from minburn.module.param import Param
from minburn.module.running_state import RunningState
from minburn.module.visitor import ModuleMapper
from minburn.module.walk import MapWalk
from minburn.tensor import FloatTensor


class Reparameterization(Module):
    """What makes the value of a parameter. A subclass names itself in `NAME`, an identifier."""

    NAME: ClassVar[str] = ""

    def apply(self, base: FloatTensor) -> FloatTensor:
        """The value, of the base's shape."""
        raise NotImplementedError(f"{type(self).__name__} has no apply(base).")


class Reparameterizer(Protocol):
    """Says of every float parameter what becomes of it."""

    def reparameterize(
        self, path: str, param: Param[FloatTensor]
    ) -> tuple[Param[FloatTensor], Reparameterization | None]:
        """The parameter, frozen perhaps, and what stands beside it, or None."""
        ...


class ApplyReparameterization(ModuleMapper):
    def __init__(self, reparameterizer: Reparameterizer) -> None:
        if not callable(getattr(reparameterizer, "reparameterize", None)):
            raise ModuleError(
                f"apply_reparameterization: expected something with reparameterize(path, param), but got "
                f"{describe(reparameterizer)}."
            )
        self.reparameterizer = reparameterizer

    def map_float(self, param: Param[FloatTensor]) -> Param[FloatTensor]:
        result: Any = self.reparameterizer.reparameterize(self.path, param)
        if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[0], Param):
            raise ModuleError(
                f"{type(self.reparameterizer).__name__}.reparameterize returned {describe(result)} for {self.path}. "
                "It returns (param, reparameterization or None)."
            )
        base, reparameterization = result
        if reparameterization is None:
            return base  # type: ignore[no-any-return]
        name = getattr(reparameterization, "NAME", "")
        if not isinstance(reparameterization, Reparameterization) or not name.isidentifier():
            raise ModuleError(
                f"{type(self.reparameterizer).__name__}: {type(reparameterization).__name__} for {self.path} must be a "
                f"Reparameterization with an identifier as NAME, but has {name!r}."
            )
        return AdaptedParam.of(base, reparameterization)

    def map_running(self, state: RunningState) -> RunningState:
        return state


class MaterializeWalk(MapWalk):
    """Puts plain parameters in the place of adapted ones; nothing else is looked at."""

    def adapted(self, path: str, param: AdaptedParam) -> Any:
        return self.once(path, param._id, param, AdaptedParam.materialized)

    def param(self, path: str, param: Param[Any]) -> Any:
        return param


def materialized(module: Any) -> Any:
    return MaterializeWalk(ModuleMapper()).run(module)
