"""The states of an optimizer in memory that stays, so that a recorded step can be replayed.

A replay does what a step does, without the adaptor: the kernels are recorded, the scalars that change (rate, bias
corrections) are asked of the rules. So a step can be recorded when it is like the one before it and like the one after:
every state was made by one of the calls that rules work in, see elementwise.py, and the next one will be, too.

    recorded = RecordedOptimizer.of(optim, recorder, ids)   None: not yet; take an ordinary step first
    recorder.record(… recorded.twin() …)                    the step itself, by an adaptor whose states are held
    recorder.replay(recorded.numbers(lr))                   again and again
    recorded.settle(params)                                 the optimizer goes on from there
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from minburn.backends.base import Recorder
from minburn.backends.error import NotRecordable
from minburn.module import ParamId
from minburn.optim.adaptor import OptimizerAdaptor, checked_rate
from minburn.optim.elementwise import ElementwiseOptimizer, States
from minburn.optim.kept import Context
from minburn.optim.learning_rate import ModuleLearningRate
from minburn.tensor import FloatTensor


def why_not(optim: OptimizerAdaptor) -> str | None:
    """The rule that no step can be recorded of, or None."""
    other = [group.rule for group in optim.groups if not isinstance(group.optimizer, ElementwiseOptimizer)]
    return f"{other[0]} computes with numbers that change from step to step, and is not recorded" if other else None


@dataclass
class Call:
    """A call of a rule in the last step. members: id and context of each of its parameters, in its order."""

    states: States[Any]
    members: list[tuple[ParamId, Context]]

    @property
    def kept(self) -> list[Any]:
        """The primitives of its states, column by column."""
        return [primitive for column in self.states.kept for primitive in column]

    def is_like(self, other: Call) -> bool:
        one, two = self.states, other.states
        same = one.rule is two.rule and one.variant == two.variant and len(one.kept) == len(two.kept)
        return same and [id for id, _ in self.members] == [id for id, _ in other.members]


def calls_of(optim: OptimizerAdaptor, order: Sequence[int]) -> list[Call] | None:
    """Those of the last step, if they made all states and the next step's are like them; else None.

    order: of the parameters in the model. Calls are in the order of their first parameters, as a step takes them.
    """
    place = {id: number for number, id in enumerate(order)}
    calls: dict[int, Call] = {}
    for id_, context in optim._contexts.items():
        if context.loaded is not None or id_ not in place:
            continue  # of no parameter that is stepped
        states = context.states
        if type(states) is not States or states.variant is None:
            return None
        calls.setdefault(id(states), Call(states, [])).members.append((id_, context))
    for call in calls.values():
        call.members.sort(key=lambda member: member[1].index)
        if len(call.members) != len(call.states):
            return None
    return sorted(calls.values(), key=lambda call: place[call.members[0][0]]) or None


@final
class RecordedOptimizer:
    """ids: of the parameters that a step changes."""

    def __init__(self, optim: OptimizerAdaptor, recorder: Recorder, order: Sequence[int], calls: list[Call]) -> None:
        self.optim = optim
        self.order = order
        self.recorder = recorder
        self.calls = calls
        self.ids = [id for call in calls for id, _ in call.members]
        self.held = recorder.hold([primitive for call in calls for primitive in call.kept])
        self._made: list[States[Any]] = [call.states for call in calls]  # the held memory has their values
        self._times = [states.time for states in self._made]
        self._settled = False  # whether their tensors are the held ones

    @staticmethod
    def of(optim: OptimizerAdaptor, recorder: Recorder, order: Sequence[int]) -> RecordedOptimizer | None:
        """order: of the parameters in the model."""
        calls = calls_of(optim, order)
        return None if calls is None else RecordedOptimizer(optim, recorder, order, calls)

    def load(self) -> bool:
        """Bring the optimizer's present states into the held memory. False: they are of other calls."""
        if not self._take():
            return False
        self._times = [states.time for states in self._made]
        self.recorder.copy(self.present(), self.held)
        return True

    def adopt(self) -> bool:
        """The held memory has the values of the optimizer's present states, which other work put there. False: they
        are of other calls, or at another step."""
        return self._take() and [states.time for states in self._made] == self._times

    def _take(self) -> bool:
        """Look at the calls of the optimizer's last step, if they are like those that were recorded."""
        calls = calls_of(self.optim, self.order)
        if calls is None or len(calls) != len(self.calls):
            return False
        if not all(one.is_like(two) for one, two in zip(calls, self.calls, strict=True)):
            return False
        self.calls, self._made, self._settled = calls, [call.states for call in calls], False
        return True

    def is_present(self) -> bool:
        """Whether the optimizer's states are those that the held memory has the values of."""
        return all(
            context.states is made
            for call, made in zip(self.calls, self._made, strict=True)
            for _, context in call.members
        )

    def present(self) -> list[Any]:
        """The primitives of the optimizer's states, in the order of `held`."""
        return [primitive for call in self.calls for primitive in call.kept]

    def names(self, paths: Mapping[ParamId, str]) -> list[str]:
        """What each of `held` is."""
        return [
            f"the optimizer's state of {paths.get(id, 'a parameter')}"
            for call in self.calls
            for _ in call.states.kept
            for id, _ in call.members
        ]

    def twin(self, params: Mapping[ParamId, FloatTensor]) -> OptimizerAdaptor:
        """An adaptor of the same rules, for the held states and these plain parameters."""
        twin = OptimizerAdaptor(self.optim.optimizer)
        twin.groups = self.optim.groups
        contexts: dict[ParamId, Context] = {}
        for call, states in zip(self.calls, self._states(params), strict=True):
            for index, (id, given) in enumerate(call.members):
                context = contexts[id] = Context()
                context.group, context.path, context.ops, context.shape = (
                    given.group,
                    given.path,
                    given.ops,
                    given.shape,
                )
                context.states, context.index = states, index
        twin._contexts = {id: contexts[id] for id in self.optim._contexts if id in contexts}
        return twin

    def results(self, twin: OptimizerAdaptor) -> list[Any]:
        """The primitives of the twin's states, in the order of `held`. Errors: NotRecordable."""
        calls = calls_of(twin, self.order)
        if calls is None:
            raise NotRecordable("its optimizer's steps are not like each other")
        return [primitive for call in calls for primitive in call.kept]

    def check(self, twin: OptimizerAdaptor, lr: float | ModuleLearningRate) -> None:
        """Errors: NotRecordable if a step of the twin did not take these calls, or not with the scalars that replays
        will be given."""
        calls, rate = calls_of(twin, self.order), checked_rate(lr)
        if calls is None or [call.members[0][0] for call in calls] != [call.members[0][0] for call in self.calls]:
            raise NotRecordable("its optimizer steps other parameters than in the step before")
        if isinstance(rate, ModuleLearningRate):
            for call in calls:
                if len({rate._membership.index(id, context.path) for id, context in call.members}) > 1:
                    raise NotRecordable("two groups of learning rates have the same rate now")
        found = [n for call in calls for n in call.states.rule.numbers(self._rate(call, rate), call.states.time)]
        if tuple(found) != self.recorder.scalars:
            raise NotRecordable("its optimizer computes with numbers that are not read from the device")

    def numbers(self, lr: float | ModuleLearningRate) -> list[float]:
        """The scalars of the next step, which it thereby takes. Errors: OptimizerError for a rate that is none."""
        rate = checked_rate(lr)
        found: list[float] = []
        for number, (call, made) in enumerate(zip(self.calls, self._made, strict=True)):
            time = self._times[number] = self._times[number] + 1
            found.extend(made.rule.numbers(self._rate(call, rate), time))
            if self._settled:
                made.time = time  # as its tensors
        return found

    def settle(self, params: Mapping[ParamId, FloatTensor]) -> None:
        """Let the optimizer go on from the held states, for these plain parameters."""
        self._made, self._settled = self._states(params), True
        for call, states in zip(self.calls, self._made, strict=True):
            call.states = states
            for index, (_, context) in enumerate(call.members):
                context.states, context.index = states, index
                context.consumed = context.produced = None
        self.optim._last = None

    def _states(self, params: Mapping[ParamId, FloatTensor]) -> list[States[Any]]:
        """The held states as if a call for these parameters had made them."""
        held, found = iter(self.held), []
        for call, made, time in zip(self.calls, self._made, self._times, strict=True):
            tensors = tuple(params[id] for id, _ in call.members)
            kept = [[next(held) for _ in call.members] for _ in made.kept]
            updated = [tensor.primitive for tensor in tensors]
            states = States(made.rule, time, updated, tensors, kept, made.ops, made.backend)
            states.variant = made.variant
            found.append(states)
        return found

    @staticmethod
    def _rate(call: Call, lr: float | ModuleLearningRate) -> float:
        if not isinstance(lr, ModuleLearningRate):
            return lr
        id, context = call.members[0]
        return lr.lr_from_param(id, context.path)
