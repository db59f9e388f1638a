"""The two walks of a step over the module: one finds the parameters that have a gradient, one puts the new ones in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minburn.module import Module, ModuleMapper, ModuleVisitor, Param
from minburn.module.walk import MapWalk
from minburn.optim.error import OptimizerError
from minburn.optim.grads import Found, GradientsParams
from minburn.tensor import FloatTensor

SHOWN = 3
"""How many ids or paths an error lists."""


def matched(module: Module, grads: GradientsParams) -> Sequence[Found]:
    """Path, parameter and gradient of the module's parameters that have one, each once.

    Errors: OptimizerError if there are gradients but none belongs to the module.
    """
    known = grads.found_in(module)
    if known is not None:
        return known
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


def with_params(module: Any, params: Mapping[int, Param[FloatTensor]]) -> Any:
    """The module with these parameters, by id, in place of its own."""
    return ReplaceWalk(Replace(params)).run(module)


class Replace(ModuleMapper):
    def __init__(self, params: Mapping[int, Param[FloatTensor]]) -> None:
        self.params = params

    def map_float(self, param: Param[FloatTensor]) -> Param[FloatTensor]:
        return self.params.get(param._id, param)


class ReplaceWalk(MapWalk):
    """`module.map(Replace(…))` in less time: two parameters of one id were refused by the walk that found these."""

    target: Replace

    def param(self, path: str, param: Param[Any]) -> Any:
        return self.target.params.get(param._id, param)


def foreign(grads: GradientsParams, params: list[tuple[str, int]]) -> OptimizerError:
    shown = ", ".join(f"{path} ({id:d})" for path, id in params[:SHOWN])
    more = ", …" if len(params) > SHOWN else ""
    return OptimizerError(
        f"step: none of the {len(grads)} gradients belongs to this model. They are those of the ids "
        f"{', '.join(f'{id:d}' for id in list(grads)[:SHOWN])}{', …' if len(grads) > SHOWN else ''}; "
        f"the model has {shown + more if params else 'no parameters'}. "
        "Compute them from this model: GradientsParams.from_grads(loss.backward(), model)."
    )
