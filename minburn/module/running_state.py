"""A value that a forward pass updates: the running mean of a batch norm.

The one shared mutable cell among modules, which are values otherwise. Every module made from one by a map that leaves
this value alone holds the same cell, so an update in the model that trains is seen by the model the optimizer made of
it. A map that changes the value (loading, moving, `valid()`) makes a cell of its own.

Burn's commit rule: an update is pending until the next update of the same thread, or until it is asked for:

    update(v)       commit what is pending if this thread has something pending, then v is pending
    value()         the committed value, which may lie one update behind
    value_sync()    commit first

To commit is to take the mean over the threads that have something pending. Nothing here is ever part of a graph.

Burn: `crates/burn-core/src/module/param/running.rs`.
"""

from __future__ import annotations

import threading
from typing import final

from minburn.backends import Backend
from minburn.module.param import Param, as_leaf, recording
from minburn.module.param_id import ParamId
from minburn.tensor import FloatTensor


@final
class RunningState:
    """A cell holding a float tensor, recorded like a parameter that is not trained.

    In a forward pass:  if x.backend.is_autodiff:  # in training
                            self.mean.update(self.mean.value_sync() * 0.9 + batch_mean * 0.1)
    """

    __slots__ = ("_lock", "_pending", "_value", "id")

    def __init__(self, value: FloatTensor, id: ParamId | None = None) -> None:
        self._value = _outside(value)
        self.id = ParamId.new(value.backend) if id is None else id
        self._pending: dict[threading.Thread, FloatTensor] = {}  # not by number: those are used again
        self._lock = threading.Lock()

    def update(self, value: FloatTensor) -> None:
        """Make `value` this thread's pending value."""
        value = _outside(value)
        thread = threading.current_thread()
        with self._lock:
            if thread in self._pending:
                self._commit()
            self._pending[thread] = value

    def value(self) -> FloatTensor:
        """The committed value."""
        return self._value

    def value_sync(self) -> FloatTensor:
        """The committed value, after committing what is pending if this thread has something pending."""
        with self._lock:
            if threading.current_thread() in self._pending:
                self._commit()
            return self._value

    def as_param(self) -> Param[FloatTensor]:
        """What a visitor sees: the committed value as a parameter without gradient."""
        return Param.initialized(self.id, self._value, require_grad=False)

    def with_value(self, value: FloatTensor) -> RunningState:
        """A cell of its own with the same id."""
        return RunningState(value, self.id)

    def to_device(self, backend: Backend) -> RunningState:
        return self.with_value(self.as_param().to_device(backend).value)

    def valid(self) -> RunningState:
        """A cell on the inner backend. Commits first."""
        value = self.value_sync()
        return self.with_value(value.inner()) if value.backend.is_autodiff else self

    def train(self) -> RunningState:
        """A cell on an autodiff backend. Commits first."""
        value = self.value_sync()
        return self if value.backend.is_autodiff else self.with_value(recording(value))

    def __reduce__(self) -> tuple[object, ...]:
        """Copied or pickled it is a cell of its own, with the same id. Commits first."""
        return RunningState, (self.value_sync(), self.id)

    def _commit(self) -> None:
        first, *others = self._pending.values()
        self._pending.clear()
        total = first
        for value in others:
            total = total + value
        self._value = total / (1 + len(others)) if others else total

    def __repr__(self) -> str:
        return f"RunningState {{rank: {self._value.rank}, shape: {list(self._value.shape)}}}"


def _outside(value: FloatTensor) -> FloatTensor:
    if not isinstance(value, FloatTensor):
        raise TypeError(f"RunningState: expected a FloatTensor, but got {type(value).__name__}.")
    return as_leaf(value, False)
