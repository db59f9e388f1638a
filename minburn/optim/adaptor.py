"""From a rule for one tensor to an optimizer of a module.

    model = optim.step(lr, model, grads)        a new model: rebind it

For every float parameter of the module, in the order of its fields, the adaptor

    1. looks for its gradient; without one the parameter stays as it is and has no state,
    2. brings parameter, gradient and state to the gradient's device,
    3. clips the gradient,
    4. runs the rule on the plain tensors, below autodiff, so that no arithmetic of it enters a graph,
    5. puts the result into the parameter: a new leaf with the same id and the same require_grad.

States are kept by ParamId, so they follow their parameters through moves, `valid()`, records and rebuilt modules. All
parameters of one dtype and device are handed to the rule together (`step_many`).

An adaptor changes at every step (its states advance), a model does not. The one trap in that is to forget the
rebinding; it is detected: see `_refuse_forgotten`.

Burn: `ModuleOptimizer` in `crates/burn-optim/src/optim/module/module_optimizer.rs`, formerly `OptimizerAdaptor`.
"""

from __future__ import annotations

import math
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, final

import numpy as np

from minburn.backends import BackendError
from minburn.dtype import DType
from minburn.module import Module, ModuleMapper, ModuleVisitor, Param, ParamId
from minburn.module.walk import MapWalk
from minburn.optim.clipping import GradientClippingConfig
from minburn.optim.elementwise import States
from minburn.optim.error import OptimizerError, RecordWarning
from minburn.optim.grads import Found, GradientsParams, plain
from minburn.optim.kept import NO_STATE, Context, Last, fits
from minburn.optim.numbers import is_number
from minburn.optim.record import OptimizerRecord, StateEntry
from minburn.optim.simple import SimpleOptimizer, state_class
from minburn.optim.state import Incomplete, check_state_class, flatten, leaves_of, unflatten
from minburn.tensor import FloatTensor, Tensor, TensorData, TensorError

__all__ = ["OptimizerAdaptor"]

M = TypeVar("M", bound=Module)

SHOWN = 3
"""How many ids or paths an error lists."""

FORGOTTEN = """\
step: this model was stepped before, and the model that came of it is gone ({path} still has its old value).
A step changes no model, it returns a new one:
    wrong:  optim.step(lr, model, grads)
    right:  model = optim.step(lr, model, grads)
To go back to an older model on purpose, take the optimizer back to that time too: optim.load_record(record)."""


@final
class _Item:
    """One parameter in the middle of a step."""

    __slots__ = ("context", "given", "grad", "id", "index", "param", "path", "shape", "states", "tensor", "unusable")

    def __init__(self, path: str, param: Param[FloatTensor], grad: FloatTensor, context: Context | None) -> None:
        self.path = path
        self.id = param._id
        self.given = param  # the object in the module
        self.param = param  # the same parameter on the gradient's device
        self.grad = grad
        self.tensor = plain(param.value)
        self.shape: tuple[int, ...] = self.tensor.primitive.shape
        self.context = context
        self.states: Sequence[Any] = NO_STATE
        self.index = 0
        self.unusable = ""  # why its recorded state cannot be used


@final
class OptimizerAdaptor:
    """An optimizer of modules. `config.init()` makes one of a built-in rule; this constructor takes any rule.

    optimizer: the rule. grad_clipping: limits each parameter's gradient before the rule sees it.
    """

    def __init__(self, optimizer: SimpleOptimizer[Any], grad_clipping: GradientClippingConfig | None = None) -> None:
        if not isinstance(optimizer, SimpleOptimizer):
            raise OptimizerError(
                f"OptimizerAdaptor: expected a SimpleOptimizer, but got {_name(optimizer)}. "
                "Derive the class from SimpleOptimizer[State], or build a built-in rule: AdamConfig().build()."
            )
        self.optimizer = optimizer
        self._state_class = state_class(type(optimizer))
        if self._state_class is not None:
            check_state_class(self._state_class)
        if grad_clipping is not None:
            if not isinstance(grad_clipping, GradientClippingConfig):
                raise OptimizerError(
                    f"OptimizerAdaptor: grad_clipping must be a GradientClippingConfig, but is {_name(grad_clipping)}. "
                    "Use GradientClippingConfig.Norm(1.0) or .Value(1.0)."
                )
            grad_clipping.check()
        self.grad_clipping = grad_clipping
        self._contexts: dict[ParamId, Context] = {}
        self._last: Last | None = None

    def step(self, lr: float, module: M, grads: GradientsParams) -> M:
        """The module after one step at learning rate lr. The one passed in is unchanged; so are the gradients.

        Errors: OptimizerError for a rate that is no finite number, gradients that belong to no parameter of the module
        or have another shape or dtype than theirs, a recorded state that does not fit its parameter, and for a model
        whose update was dropped. Then no state has changed.
        """
        rate = _check_lr(lr)
        if not isinstance(module, Module):
            raise OptimizerError(f"step: expected the module as second argument, but got {_name(module)}.")
        if not isinstance(grads, GradientsParams):
            raise OptimizerError(
                f"step: expected GradientsParams as third argument, but got {_name(grads)}. "
                "Use GradientsParams.from_grads(loss.backward(), model)."
            )
        found = _matched(module, grads)
        last = self._last
        if last is not None and last.goes_on_with(found):
            return self._go_on(rate, module, found, last)
        contexts = self._contexts
        items = [_Item(path, param, grad, contexts.get(param._id)) for path, param, grad in found]
        if not items:
            return module
        groups: dict[Any, list[_Item]] = {}
        for item in items:
            self._prepare(item)
            groups.setdefault(item.tensor.ops, []).append(item)
        _refuse_forgotten(items)
        restarted = [f"{item.path}: {item.unusable}" for item in items if item.unusable]
        if restarted:
            warnings.warn(
                f"step: the recorded states of {len(restarted)} parameters are not {type(self.optimizer).__name__}'s "
                f"({', '.join(restarted[:SHOWN])}{', …' * (len(restarted) > SHOWN)}), so these start without a state.",
                RecordWarning,
                stacklevel=2,
            )
        mapped: dict[int, Param[FloatTensor]] = {}
        results = [self._run(rate, group, mapped) for group in groups.values()]
        stepped: M = _ReplaceWalk(_Replace(mapped)).run(module)
        self._last = None
        for group, (tensors, states) in zip(groups.values(), results, strict=True):
            self._remember(group, states, mapped)
            if len(groups) == 1 and self.grad_clipping is None:
                self._last = Last.of([contexts[item.id] for item in group], list(mapped.values()), tensors, states)
        return stepped

    # A step, piece by piece

    def _go_on(self, lr: float, module: M, found: Sequence[Found], last: Last) -> M:
        """A step from what the last one returned."""
        given = last.tensors
        tensors, states = self._call(lr, given, [grad for _, _, grad in found], last.states)
        if type(states) is not States:  # which one call of the backend made, from tensors that were looked at before
            for (path, _, _), tensor, before in zip(found, tensors, given, strict=True):
                self._check_result(path, tensor, before)
        mapped: dict[int, Param[FloatTensor]] = {
            param._id: param.with_inner(tensor) for (_, param, _), tensor in zip(found, tensors, strict=True)
        }
        stepped: M = _ReplaceWalk(_Replace(mapped)).run(module)
        last.advance(mapped.values(), tensors, states)
        return stepped

    def _prepare(self, item: _Item) -> None:
        """Duties 1 to 3 for one parameter: its plain tensor, gradient and state, fit for the rule."""
        if item.tensor.ops is not item.grad.ops:
            self._bring_together(item)
        shape, context = item.shape, item.context
        if shape != item.grad.primitive.shape:
            raise OptimizerError(f"step: {item.path} has shape {list(shape)}, its gradient {list(item.grad.shape)}.")
        if context is not None:
            if context.ops is item.tensor.ops and context.shape == shape:
                item.states, item.index = context.states, context.index
            else:
                item.states = (self._fitted(context, item),)
        if self.grad_clipping is not None:
            item.grad = self.grad_clipping.clip(item.grad)

    def _bring_together(self, item: _Item) -> None:
        """The parameter to its gradient's device."""
        grad = item.grad = plain(item.grad)
        tensor = item.tensor
        if tensor.ops is grad.ops:
            return
        if tensor.dtype != grad.dtype:
            raise OptimizerError(
                f"step: {item.path} is {tensor.dtype}, its gradient {grad.dtype}. Cast one of them: grad.cast(dtype)."
            )
        item.param = item.param.to_device(grad.backend)
        item.tensor = plain(item.param.value)

    def _fitted(self, context: Context, item: _Item) -> Any:
        """A recorded state, or that of a parameter that changed place or shape, where its gradient is, if it fits."""
        if context.loaded is not None:
            state = self._restored(context.loaded, item)
        else:
            state = context.state()
            if state is not None:
                state = unflatten(type(state), flatten(state), _placing(item))
        wrong = None if state is None else self.optimizer.check_state(item.tensor, state)
        if wrong is not None:
            raise OptimizerError(
                f"step: the optimizer's state of {item.path} does not fit: {wrong}. "
                "Load the record that was saved with this model, or start with a new optimizer."
            )
        return state

    def _restored(self, entry: StateEntry, item: _Item) -> Any:
        """A recorded state; None if its leaves do not make one up."""
        rule = type(self.optimizer).__name__
        if entry.rank != len(item.tensor.shape):
            raise OptimizerError(
                f"step: the recorded state of {item.path} is one of a tensor of rank {entry.rank}, but the parameter "
                f"has rank {len(item.tensor.shape)}. Load the record that was saved with this model."
            )
        if self._state_class is None:
            if not entry.leaves:
                return None
            raise OptimizerError(
                f"step: {rule} does not say what its states are, so the recorded one of {item.path} cannot be rebuilt. "
                f"Write class {rule}(SimpleOptimizer[State])."
            )
        try:
            return unflatten(self._state_class, entry.leaves, _placing(item))
        except Incomplete as missing:
            if entry.leaves:
                item.unusable = str(missing)
            return None

    def _run(
        self, lr: float, group: list[_Item], mapped: dict[int, Param[FloatTensor]]
    ) -> tuple[Sequence[FloatTensor], Sequence[Any]]:
        """Duties 4 and 5 for all parameters of one table: adds the new parameters to `mapped`."""
        given, grads = [item.tensor for item in group], [item.grad for item in group]
        tensors, states = self._call(lr, given, grads, _states_of(group))
        for item, tensor in zip(group, tensors, strict=True):
            self._check_result(item.path, tensor, item.tensor)
            mapped[item.id] = item.param.with_inner(tensor)
        return tensors, states

    def _call(
        self, lr: float, given: Sequence[FloatTensor], grads: Sequence[FloatTensor], before: Sequence[Any]
    ) -> tuple[Sequence[FloatTensor], Sequence[Any]]:
        """The rule, and as many results as it should give."""
        optimizer = self.optimizer
        if type(before) is States:
            before.give_up()  # the new ones take their place, and nobody else has them
        tensors, states = optimizer.step_many(lr, given, grads, before)
        if len(tensors) != len(given) or len(states) != len(given):
            raise OptimizerError(
                f"step: {type(optimizer).__name__}.step_many returned {len(tensors)} tensors and {len(states)} states "
                f"for {len(given)} parameters."
            )
        if type(states) is list:
            for state in states:
                if type(state) is not self._state_class and state is not None:
                    self._check_class(state)
        return tensors, states

    def _check_result(self, path: str, tensor: object, before: FloatTensor) -> None:
        if not isinstance(tensor, FloatTensor) or not fits(tensor, before):
            raise OptimizerError(
                f"step: {type(self.optimizer).__name__} returned {_describe(tensor)} for {path}, which is "
                f"{_describe(before)}. step() returns (tensor, state)."
            )

    def _check_class(self, state: object) -> None:
        if self._state_class is not None:
            raise OptimizerError(
                f"step: {type(self.optimizer).__name__} returned a state of type {_name(state)}, "
                f"but declares {self._state_class.__name__}."
            )
        check_state_class(type(state))

    def _remember(self, group: list[_Item], states: Sequence[Any], mapped: Mapping[int, Param[FloatTensor]]) -> None:
        for index, item in enumerate(group):
            id, given, context = item.id, item.given, item.context
            if context is None:
                context = self._contexts[id] = Context()
            context.path = item.path
            context.loaded = None
            context.states, context.index = states, index
            context.ops, context.shape = item.tensor.ops, item.shape
            if context.consumed is None or context.consumed() is not given:
                context.consumed, context.produced = weakref.ref(given), weakref.ref(mapped[id])
            # else the same parameter was stepped again on purpose: its first result counts

    # Records

    def into_record(self) -> OptimizerRecord:
        """The states of all parameters that were stepped. Data that lie on the host are not copied."""
        return OptimizerRecord(
            context.loaded or StateEntry(id, len(context.shape), context.path, leaves_of(context.state()))
            for id, context in self._contexts.items()
        )

    def load_record(self, record: OptimizerRecord) -> OptimizerAdaptor:
        """Go on from recorded states, in place of all that are here; returns this optimizer.

        They are looked at when a step meets their parameter: what belongs to none is kept and recorded again, and a
        parameter whose state is missing or is another rule's starts without one (the latter with a RecordWarning).
        """
        if not isinstance(record, OptimizerRecord):
            raise OptimizerError(
                f"load_record: expected an OptimizerRecord, but got {_name(record)}. "
                "OptimizerRecord.load(path) reads one."
            )
        self._contexts = {entry.id: Context(entry) for entry in record}
        self._last = None
        return self

    def __repr__(self) -> str:
        return f"OptimizerAdaptor({type(self.optimizer).__name__}, {len(self._contexts)} states)"


def _matched(module: Module, grads: GradientsParams) -> Sequence[Found]:
    """Path, parameter and gradient of the module's parameters that have one, each once.

    Errors: OptimizerError if there are gradients but none belongs to the module.
    """
    known = grads.found_in(module)
    if known is not None:
        return known
    gather = _Gather(grads)
    module.visit(gather)
    if not gather.found and len(grads):
        raise _foreign(grads, gather.unmatched)
    return list(gather.found.values())


class _Gather(ModuleVisitor):
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


class _Replace(ModuleMapper):
    def __init__(self, params: Mapping[int, Param[FloatTensor]]) -> None:
        self.params = params

    def map_float(self, param: Param[FloatTensor]) -> Param[FloatTensor]:
        return self.params.get(param._id, param)


class _ReplaceWalk(MapWalk):
    """`module.map(_Replace(…))` in less time: two parameters of one id were refused by the walk that found these."""

    target: _Replace

    def param(self, path: str, param: Param[Any]) -> Any:
        return self.target.params.get(param._id, param)


def _refuse_forgotten(items: Iterable[_Item]) -> None:
    """Refuse a model whose last update was dropped.

    A parameter counts as forgotten if it is the very object that its last step was given, and the one which that step
    returned is gone. The model is refused if that holds for every parameter of it that was stepped before. Going back
    to an older snapshot, stepping one model several times while keeping the results, two models with one optimizer,
    and copies by valid(), fork() or a record are none of that.
    """
    forgotten = None
    for item in items:
        context = item.context
        if context is None or context.consumed is None or context.produced is None:
            continue
        if context.consumed() is not item.given or context.produced() is not None:
            return
        forgotten = forgotten or item.path
    if forgotten is not None:
        raise OptimizerError(FORGOTTEN.format(path=forgotten))


def _states_of(group: list[_Item]) -> Sequence[Any]:
    """The states of the items; the very sequence that the last step made, if it was made for just these."""
    states = group[0].states
    if len(states) == len(group):
        for index, item in enumerate(group):
            if item.index != index or item.states is not states:
                break
        else:
            return states
    return [item.states[item.index] for item in group]


def _placing(item: _Item) -> Callable[[TensorData], Tensor]:
    """Puts a state's data where the parameter's gradient is, in their own dtype."""
    backend = item.grad.backend

    def place(data: TensorData) -> Tensor:
        try:
            tensor: Tensor = Tensor.from_data(data, backend, DType.F32 if data.dtype == DType.Flex32 else data.dtype)
        except (TensorError, BackendError) as error:
            raise OptimizerError(f"step: the recorded state of {item.path} cannot be used: {error}") from error
        return tensor

    return place


def _check_lr(lr: object) -> float:
    if type(lr) is float and math.isfinite(lr):
        return lr
    if isinstance(lr, bool) or not isinstance(lr, (int, float, np.integer, np.floating)):
        raise OptimizerError(f"step: the learning rate must be a number, but is {_name(lr)}. Use scheduler.step().")
    if not is_number(lr):
        raise OptimizerError(f"step: the learning rate is {lr}. Check the schedule that made it.")
    return float(lr)


def _foreign(grads: GradientsParams, params: list[tuple[str, int]]) -> OptimizerError:
    shown = ", ".join(f"{path} ({id:d})" for path, id in params[:SHOWN])
    more = ", …" if len(params) > SHOWN else ""
    return OptimizerError(
        f"step: none of the {len(grads)} gradients belongs to this model. They are those of the ids "
        f"{', '.join(f'{id:d}' for id in list(grads)[:SHOWN])}{', …' if len(grads) > SHOWN else ''}; "
        f"the model has {shown + more if params else 'no parameters'}. "
        "Compute them from this model: GradientsParams.from_grads(loss.backward(), model)."
    )


def _describe(value: object) -> str:
    if isinstance(value, FloatTensor):
        return f"a {value.dtype} tensor of shape {list(value.shape)} on {value.device}"
    return _name(value)


def _name(value: object) -> str:
    return f"{type(value).__name__} {value!r}" if isinstance(value, (int, float, str)) else type(value).__name__
