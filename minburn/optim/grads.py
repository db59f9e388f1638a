"""Gradients by parameter, cut loose from the graph that made them.

    loss.backward()                                     gradients by node of the graph
    GradientsParams.from_grads(…, model)                gradients by ParamId, on the inner backend
    optim.step(lr, model, grads)

They may be read, replaced and summed before the step; `GradientsAccumulator` sums those of several batches.

Burn: `crates/burn-optim/src/optim/{grads,visitor,grad_accum}.rs`.
"""

from __future__ import annotations

import weakref
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, final

from minburn.backends import Gradients
from minburn.module import Module, ModuleVisitor, Param, ParamId
from minburn.optim.error import OptimizerError
from minburn.optim.trainables import Trainables, trainables_of
from minburn.tensor import FloatTensor

__all__ = ["GradientsAccumulator", "GradientsParams"]


@final
class GradientsParams:
    """Gradients of parameters: plain tensors by ParamId, in the order of the module."""

    __slots__ = ("_by_id", "_in_turn", "_of")

    def __init__(self) -> None:
        self._by_id: dict[int, FloatTensor] = {}
        # The parameters they were found for, and the gradient of each in turn, so that a step need not look for them
        # again. Weak: gradients keep no model alive.
        self._of: weakref.ref[Trainables] | None = None
        self._in_turn: list[FloatTensor | None] = []

    @staticmethod
    def from_grads(grads: Gradients, module: Module) -> GradientsParams:
        """The gradients of the module's trainable parameters. A parameter that the loss does not depend on has none."""
        return GradientsParams._collect(grads, module, None)

    @staticmethod
    def from_module(grads: Gradients, module: Module) -> GradientsParams:
        """Burn's name for taking one module's gradients out of those of several; here the same as `from_grads`, as
        reading takes nothing away."""
        return GradientsParams._collect(grads, module, None)

    @staticmethod
    def from_params(grads: Gradients, module: Module, ids: Iterable[int]) -> GradientsParams:
        """Only those of the parameters with these ids. Errors: ValueError for what is no id, as everywhere here."""
        return GradientsParams._collect(grads, module, _ids(ids))

    @staticmethod
    def _collect(grads: Gradients, module: Module, ids: Container[int] | None) -> GradientsParams:
        if not isinstance(grads, Gradients):
            raise OptimizerError(
                f"GradientsParams: expected what loss.backward() returns, but got {type(grads).__name__}."
            )
        if not isinstance(module, Module):
            raise OptimizerError(
                f"GradientsParams: expected the module as second argument, but got {type(module).__name__}."
            )
        found = GradientsParams()
        trainables = trainables_of(module)
        by_id, in_turn = found._by_id, found._in_turn
        for _, param in trainables.params:
            tensor = param.value
            backend: Any = tensor.backend
            primitive = None
            if backend.is_autodiff and (ids is None or param._id in ids):
                ops: Any = tensor.ops
                primitive = ops.grad(tensor.primitive, grads)
            if primitive is None:
                in_turn.append(None)
            else:
                grad = by_id[param._id] = FloatTensor(primitive, ops.inner, backend.inner)
                in_turn.append(grad)
        found._of = weakref.ref(trainables)
        return found

    def all_of(self, module: Module) -> Trainables | None:
        """The trainable parameters of the module, if the gradients were found in it and none is missing; else None."""
        trainables = None if self._of is None or len(self._by_id) != len(self._in_turn) else self._of()
        return trainables if trainables is not None and trainables.are_of(module) else None

    def in_turn(self) -> Sequence[FloatTensor]:
        """Of all that `all_of` has, in its order."""
        return self._in_turn  # type: ignore[return-value]  # none is missing

    def get(self, id: int) -> FloatTensor | None:
        return self._by_id.get(_id("get", id))

    def remove(self, id: int) -> FloatTensor | None:
        """The gradient, which is then no longer here."""
        _id("remove", id)
        self._of, self._in_turn = None, []
        return self._by_id.pop(id, None)

    def register(self, id: int, grad: FloatTensor) -> None:
        """Put a gradient in, in place of the one that may be there."""
        if not isinstance(grad, FloatTensor):
            raise OptimizerError(f"register: a gradient is a float tensor, not a {type(grad).__name__}.")
        self._of, self._in_turn = None, []
        self._by_id[ParamId(id)] = plain(grad)

    def is_empty(self) -> bool:
        return not self._by_id

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, int) and id in self._by_id

    def __iter__(self) -> Iterator[int]:
        """The ids."""
        return iter(self._by_id)

    def __repr__(self) -> str:
        return f"GradientsParams({len(self)} parameters)"


def _id(name: str, id: object) -> int:
    if not isinstance(id, int):
        raise OptimizerError(
            f"{name}: gradients are kept by ParamId, but got {type(id).__name__} {id!r}. Use param.id."
        )
    return id


def _ids(ids: Iterable[int]) -> frozenset[int]:
    try:
        listed = None if isinstance(ids, (str, bytes, bytearray)) else iter(ids)
    except TypeError:
        listed = None
    if listed is None:
        raise OptimizerError(
            f"from_params: expected a list of ParamIds, but got {type(ids).__name__} {ids!r}. Use [param.id, …]."
        )
    return frozenset(map(ParamId, listed))


class GradientsAccumulator:
    """Sums the gradients of several batches; divide the loss by their number for a mean.

    accumulator.accumulate(model, grads)         after each batch's backward
    model = optim.step(lr, model, accumulator.grads())
    """

    def __init__(self) -> None:
        self._sums = GradientsParams()

    def accumulate(self, module: Module, grads: GradientsParams) -> None:
        """Add the gradients of the module's parameters to what is here."""
        if not isinstance(grads, GradientsParams):
            raise OptimizerError(f"accumulate: expected GradientsParams, but got {type(grads).__name__}.")
        if not isinstance(module, Module):
            raise OptimizerError(
                f"accumulate: expected the module as first argument, but got {type(module).__name__}. "
                "Call accumulate(model, grads)."
            )
        ids = _Ids()
        module.visit(ids)
        sums = self._sums._by_id
        added: dict[int, FloatTensor] = {}
        for id, grad in grads._by_id.items():
            if id not in ids.paths:
                continue
            known = sums.get(id)
            if known is not None and known.shape != grad.shape:
                raise OptimizerError(
                    f"accumulate: the gradients of {ids.paths[id]} so far have shape {list(known.shape)}, this one "
                    f"{list(grad.shape)}."
                )
            added[id] = grad if known is None else known + grad
        sums.update(added)

    def grads(self) -> GradientsParams:
        """The sums. The accumulator is empty afterwards."""
        sums, self._sums = self._sums, GradientsParams()
        return sums

    def __len__(self) -> int:
        return len(self._sums)


class _Ids(ModuleVisitor):
    """The path of every float parameter by its id."""

    def __init__(self) -> None:
        self.paths: dict[int, str] = {}

    def visit_float(self, param: Param[FloatTensor]) -> None:
        self.paths.setdefault(param.id, self.path)


def plain(tensor: FloatTensor) -> FloatTensor:
    """The values of a tensor, below every autodiff decorator."""
    backend: Any = tensor.backend
    if not backend.is_autodiff:
        return tensor
    primitive, ops = tensor.primitive, backend.floats
    while backend.is_autodiff:
        primitive = ops.inner_of(primitive)
        backend = backend.inner
        ops = backend.floats
    return FloatTensor(primitive, ops, backend)
