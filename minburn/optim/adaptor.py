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

    optim = SgdConfig().init().with_group(ParamGroup.from_predicate("head"), AdamConfig().build())

A parameter is stepped by the rule of the last group that matches it, and with the limit on its gradient, by the first
rule if none does; which one is decided at its first step. Groups of rates are independent of these: see
learning_rate.py.

An adaptor changes at every step (its states advance), a model does not. The one trap in that is to forget the
rebinding; it is detected: see `_refuse_forgotten`.

Burn: `crates/burn-optim/src/optim/module/module_optimizer.rs`.
"""

from __future__ import annotations

import math
import warnings
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, final

from minburn.module import Module, Param, ParamGroup, ParamId
from minburn.module.group import check_group
from minburn.optim.clipping import GradientClippingConfig
from minburn.optim.elementwise import States
from minburn.optim.error import OptimizerError, RecordWarning
from minburn.optim.grads import GradientsParams
from minburn.optim.group import OptimizerGroup, check_clipping, name_of
from minburn.optim.item import Item, states_of
from minburn.optim.kept import Context, Last
from minburn.optim.learning_rate import ModuleLearningRate, check_rate
from minburn.optim.record import OptimizerRecord, StateEntry
from minburn.optim.simple import SimpleOptimizer
from minburn.optim.state import leaves_of
from minburn.optim.trainables import Trainables, trainables_of
from minburn.optim.walks import SHOWN, matched, with_known_params
from minburn.tensor import FloatTensor

__all__ = ["OptimizerAdaptor"]

M = TypeVar("M", bound=Module)

FORGOTTEN = """\
step: this model was stepped before, and the model that came of it is gone ({path} still has its old value).
A step changes no model, it returns a new one:
    wrong:  optim.step(lr, model, grads)
    right:  model = optim.step(lr, model, grads)
To go back to an older model on purpose, take the optimizer back to that time too: optim.load_record(record)."""


@final
class OptimizerAdaptor:
    """An optimizer of modules. `config.init()` makes one of a built-in rule; this constructor takes any rule.

    optimizer: the rule. grad_clipping: limits each parameter's gradient before the rule sees it.

    Burn: `ModuleOptimizer` in `crates/burn-optim/src/optim/module/module_optimizer.rs`, formerly `OptimizerAdaptor`.
    """

    def __init__(self, optimizer: SimpleOptimizer[Any], grad_clipping: GradientClippingConfig | None = None) -> None:
        self.groups = [OptimizerGroup("OptimizerAdaptor", ParamGroup.all(), optimizer, grad_clipping)]
        self._contexts: dict[ParamId, Context] = {}
        self._last: Last | None = None

    # Rules

    def with_group(
        self,
        group: ParamGroup,
        optimizer: SimpleOptimizer[Any],
        grad_clipping: GradientClippingConfig | None = None,
    ) -> OptimizerAdaptor:
        """From now on this rule steps the parameters of the group, and their states start again; returns this
        optimizer. Groups that are added later win."""
        added = OptimizerGroup("with_group", check_group("with_group", group), optimizer, grad_clipping)
        self.groups.append(added)
        self._contexts = {id: context for id, context in self._contexts.items() if not group.matches(id, context.path)}
        self._last = None
        return self

    def with_grad_clipping(self, grad_clipping: GradientClippingConfig | None) -> OptimizerAdaptor:
        """Limits the gradients of the parameters that are in no group of their own; returns this optimizer."""
        self.groups[0].grad_clipping = check_clipping("with_grad_clipping", grad_clipping)
        self._last = None
        return self

    @property
    def optimizer(self) -> SimpleOptimizer[Any]:
        """The rule of the parameters that are in no group of their own."""
        return self.groups[0].optimizer

    @property
    def grad_clipping(self) -> GradientClippingConfig | None:
        """The limit on the gradients of those parameters."""
        return self.groups[0].grad_clipping

    def has_gradient_clipping(self) -> bool:
        """Whether any group's gradients are limited."""
        return any(group.grad_clipping is not None for group in self.groups)

    def rename_ids(self, ids: Mapping[int, int]) -> None:
        """Let groups of ids follow the parameters of a model that took over a record's: new ids by old ones."""
        for group in self.groups:
            group.group = group.group.with_ids(ids)

    # Steps

    def step(self, lr: float | ModuleLearningRate, module: M, grads: GradientsParams) -> M:
        """The module after one step at learning rate lr, a number or one per group of parameters. The module passed in
        is unchanged; so are the gradients.

        Errors: OptimizerError for a rate that is no finite number, gradients that belong to no parameter of the module
        or have another shape or dtype than theirs, a recorded state that does not fit its parameter, and for a model
        whose update was dropped. Then no state has changed.
        """
        rate = lr if type(lr) is float and math.isfinite(lr) else checked_rate(lr)
        if not isinstance(module, Module):
            raise OptimizerError(f"step: expected the module as second argument, but got {name_of(module)}.")
        if not isinstance(grads, GradientsParams):
            raise OptimizerError(
                f"step: expected GradientsParams as third argument, but got {name_of(grads)}. "
                "Use GradientsParams.from_grads(loss.backward(), model)."
            )
        last = self._last
        if last is not None and type(rate) is float:
            trainables = grads.all_of(module)
            if trainables is not None and last.goes_on_with(trainables, grads.in_turn()):
                return self._go_on(rate, module, trainables, grads.in_turn(), last)
        found = matched(module, grads)
        if not found:
            return module
        items = [self._item(rate, path, param, grad) for path, param, grad in found]
        calls: dict[Any, list[Item]] = {}
        for item in items:
            item.prepare()
            calls.setdefault((item.group, item.tensor.ops, item.rate), []).append(item)
        _refuse_forgotten(items)
        _warn_of_restarts(items)
        mapped: dict[int, Param[FloatTensor]] = {}
        results = [(call, *self._run(call, states, mapped)) for call, states in _in_order(calls.values())]
        stepped, trainables = with_known_params(module, trainables_of(module), mapped)
        after: dict[ParamId, Context] = {}
        for call, _, states in results:
            after.update(_contexts_after(call, states, mapped))
        self._last = None
        self._contexts.update(after)  # at once: who interrupts a step finds all of its states, or none
        if len(results) == 1 and items[0].group.grad_clipping is None:
            [(call, tensors, states)] = results
            self._last = Last.of_call(items[0].group, list(after.values()), trainables, tensors, states)
        return stepped

    def _item(self, rate: float | ModuleLearningRate, path: str, param: Param[FloatTensor], grad: FloatTensor) -> Item:
        id = param._id
        context = self._contexts.get(id)
        group = None if context is None else context.group
        if group is None:
            group = next(group for group in reversed(self.groups) if group.group.matches(id, path))
        number = rate.lr_from_param(id, path) if isinstance(rate, ModuleLearningRate) else rate
        return Item(path, param, grad, context, group, number)

    def _go_on(self, lr: float, module: M, trainables: Trainables, grads: Sequence[FloatTensor], last: Last) -> M:
        """A step from what the last one returned."""
        given = last.tensors
        tensors, states = last.group.call(lr, given, grads, last.states)
        if type(states) is not States:  # which one call of the backend made, from tensors that were looked at before
            for (path, _), tensor, before in zip(trainables.params, tensors, given, strict=True):
                last.group.check_result(path, tensor, before)
        mapped: dict[int, Param[FloatTensor]] = {
            param._id: param.with_inner(tensor) for (_, param), tensor in zip(trainables.params, tensors, strict=True)
        }
        stepped, trainables = with_known_params(module, trainables, mapped)
        last.advance(mapped.values(), trainables, tensors, states)
        return stepped

    def _run(
        self, call: list[Item], states: Sequence[Any], mapped: dict[int, Param[FloatTensor]]
    ) -> tuple[Sequence[FloatTensor], Sequence[Any]]:
        """Duties 4 and 5 for parameters of one rule, table and rate: adds the new parameters to `mapped`."""
        group = call[0].group
        given, grads = [item.tensor for item in call], [item.grad for item in call]
        tensors, after = group.call(call[0].rate, given, grads, states)
        for item, tensor in zip(call, tensors, strict=True):
            group.check_result(item.path, tensor, item.tensor)
            mapped[item.id] = item.param.with_inner(tensor)
        return tensors, after

    # Records

    def into_record(self) -> OptimizerRecord:
        """The states of all parameters that were stepped. Data that lie on the host are not copied.

        Burn: `ModuleOptimizer::to_record`.
        """
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
                f"load_record: expected an OptimizerRecord, but got {name_of(record)}. "
                "OptimizerRecord.load(path) reads one."
            )
        if record.whole is not None:
            raise OptimizerError(
                "load_record: this is the record of L-BFGS, whose state is one for the whole model. "
                "LBFGSConfig().init().load_record(record) takes it."
            )
        self._contexts = {entry.id: Context(entry) for entry in record}
        self._last = None
        return self

    def __repr__(self) -> str:
        rules = ", ".join(group.rule for group in self.groups)
        return f"OptimizerAdaptor({rules}, {len(self._contexts)} states)"


def checked_rate(lr: object) -> float | ModuleLearningRate:
    """A number if it is the same for all parameters."""
    if not isinstance(lr, ModuleLearningRate):
        return check_rate(lr)
    rates = lr.checked()
    return rates.base() if rates.is_uniform() else rates


def _in_order(calls: Iterable[list[Item]]) -> list[tuple[list[Item], Sequence[Any]]]:
    """Each with the states before it. First those that can fail with nothing lost: `States` are written over."""
    prepared = [(call, states_of(call)) for call in calls]
    return sorted(prepared, key=lambda entry: type(entry[1]) is States)


def _contexts_after(
    call: list[Item], states: Sequence[Any], mapped: Mapping[int, Param[FloatTensor]]
) -> Iterator[tuple[ParamId, Context]]:
    for index, item in enumerate(call):
        known, given, context = item.context, item.given, Context()
        context.group, context.path = item.group, item.path
        context.states, context.index = states, index
        context.ops, context.shape = item.tensor.ops, item.shape
        if known is None or known.consumed is None or known.consumed() is not given:
            context.consumed, context.produced = weakref.ref(given), weakref.ref(mapped[item.id])
        else:  # the same parameter was stepped again on purpose: its first result counts
            context.consumed, context.produced = known.consumed, known.produced
        yield item.id, context


def _warn_of_restarts(items: Iterable[Item]) -> None:
    restarted = [item for item in items if item.unusable]
    if restarted:
        rules = " and ".join(sorted({item.group.rule for item in restarted}))
        reasons = ", ".join(f"{item.path}: {item.unusable}" for item in restarted[:SHOWN])
        warnings.warn(
            f"step: the recorded states of {len(restarted)} parameters are not {rules}'s "
            f"({reasons}{', …' * (len(restarted) > SHOWN)}), so these start without a state.",
            RecordWarning,
            stacklevel=3,
        )


def _refuse_forgotten(items: Iterable[Item]) -> None:
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
