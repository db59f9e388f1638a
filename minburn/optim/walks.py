"""The two walks of a step over the module: one finds the parameters that have a gradient, one puts the new ones in."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from minburn.module import Module, ModuleMapper, ModuleVisitor, Param
from minburn.module.walk import PLAIN, MapWalk
from minburn.optim.error import OptimizerError
from minburn.optim.grads import GradientsParams
from minburn.optim.trainables import Containers, Trainables, remember
from minburn.tensor import FloatTensor

M = TypeVar("M", bound=Module)

SHOWN = 3
"""How many ids or paths an error lists."""

Found = tuple[str, Param[FloatTensor], FloatTensor]
"""Path, parameter and gradient."""


def matched(module: Module, grads: GradientsParams) -> Sequence[Found]:
    """Path, parameter and gradient of the module's parameters that have one, each once.

    Errors: OptimizerError if there are gradients but none belongs to the module.
    """
    trainables = grads.all_of(module)
    if trainables is not None:
        pairs = zip(trainables.params, grads.in_turn(), strict=True)
        return [(path, param, grad) for (path, param), grad in pairs]
    gather = Gather(grads)
    module.visit(gather)
    if not gather.found and len(grads):
        raise foreign(grads, gather.unmatched)
    return list(gather.found.values())


class Gather(ModuleVisitor):
    def __init__(self, grads: GradientsParams) -> None:
        self.grads = grads
        self.found: dict[int, tuple[str, Param[FloatTensor], FloatTensor]] = {}
        self.unmatched: list[tuple[str, int]] = []

    def visit_float(self, param: Param[FloatTensor]) -> None:
        grad = self.grads.get(param.id)
        if grad is None:
            self.unmatched.append((self.path, param.id))
        else:
            self.found.setdefault(param.id, (self.path, param, grad))


def with_params(module: M, params: Mapping[int, Param[FloatTensor]]) -> M:
    """The module with these parameters, by id, in place of its own."""
    stepped: M = ReplaceWalk(params).module("", module)
    return stepped


def with_known_params(
    module: M, trainables: Trainables, params: Mapping[int, Param[FloatTensor]]
) -> tuple[M, Trainables]:
    """`with_params` of a module whose parameters are known: those of the result are known then, too."""
    walk = ReplaceWalk(params)
    stepped: M = walk.module("", module)
    known = Trainables([(path, params.get(param._id, param)) for path, param in trainables.params], walk.containers)
    remember(stepped, known)
    return stepped, known


_NOBODY = ModuleMapper()


class ReplaceWalk(MapWalk):
    """`module.map(…)` in less time: two parameters of one id were refused by the walk that found these, so no path is
    needed for an error."""

    target = _NOBODY
    hooked = False

    def __init__(self, params: Mapping[int, Param[FloatTensor]]) -> None:
        self.params = params
        self.containers = Containers()
        self.seen = {}

    def fields(self, path: str, module: Module) -> Any:
        values, params = module.__dict__, self.params
        changed: dict[str, Any] = {}
        for name, _, _ in module._module_layout.walked:
            old = values[name]
            cls = type(old)
            if cls is Param:
                new = params.get(old._id, old)
            elif cls in PLAIN:
                continue
            else:
                new = self.value("", old)
            if new is not old:
                changed[name] = new
        return module._with(changed) if changed else module

    def param(self, path: str, param: Param[Any]) -> Any:
        return self.params.get(param._id, param)

    def sequence(self, path: str, items: list[Any] | tuple[Any, ...]) -> Any:
        if type(items) is not list:
            return self.containers.noted(super().sequence(path, items))
        value = self.value
        mapped = [value("", item) for item in items]
        return self.containers.noted(items if all(map(operator.is_, mapped, items)) else mapped)

    def mapping(self, path: str, items: dict[Any, Any]) -> Any:
        return self.containers.noted(super().mapping(path, items))


def foreign(grads: GradientsParams, params: list[tuple[str, int]]) -> OptimizerError:
    shown = ", ".join(f"{path} ({id:d})" for path, id in params[:SHOWN])
    more = ", …" if len(params) > SHOWN else ""
    return OptimizerError(
        f"step: none of the {len(grads)} gradients belongs to this model. They are those of the ids "
        f"{', '.join(f'{id:d}' for id in list(grads)[:SHOWN])}{', …' if len(grads) > SHOWN else ''}; "
        f"the model has {shown + more if params else 'no parameters'}. "
        "Compute them from this model: GradientsParams.from_grads(loss.backward(), model)."
    )
