"""When a loop saves: which sets are written, which are kept, and what must never be written.

    save_step      the run's newest point, inside an epoch or at its end, under checkpoint/steps/
    save_epoch     as the strategy says; an epoch that it does not want is still saved as a step, so that nothing
                   trained is lost to a kill

A parameter that is NaN is refused: the checkpoint before it stays the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from minburn.module import Module, ModuleMapper, ModuleRecord, ModuleVisitor, Param, RunningState
from minburn.optim import LrSchedulerRecord, ModuleLrScheduler, OptimizerAdaptor, OptimizerRecord
from minburn.tensor import BoolTensor, FloatTensor
from minburn.train.checkpoint import (
    CheckpointError,
    CheckpointingStrategy,
    CheckpointSet,
    CheckpointStore,
    Delete,
    RunState,
    Save,
    SetId,
)
from minburn.train.error import TrainingError
from minburn.train.history import History
from minburn.train.metric.base import fetch
from minburn.train.settings import ids_by_path

M = TypeVar("M", bound=Module)
StateOf = Callable[[], RunState]


class Saver:
    """The checkpoints of one launch. With store None it saves nothing.

    Burn: `LearningCheckpointer` in `crates/burn-train/src/learner/base.rs`.
    """

    def __init__(
        self, store: CheckpointStore | None, strategy: CheckpointingStrategy, fingerprint: Mapping[str, Any]
    ) -> None:
        self.store = store
        self.strategy = strategy
        self.fingerprint = fingerprint
        self.last: CheckpointSet | None = None
        self._kept: tuple[int, ...] = ()
        self._position: tuple[int, int] | None = None  # epoch and batch of the last set

    def load_records(
        self, found: CheckpointSet, model: M, optim: OptimizerAdaptor, scheduler: ModuleLrScheduler
    ) -> tuple[M, OptimizerAdaptor, ModuleLrScheduler]:
        """Model, then optimizer (which finds its states by the model's ids), then schedule.

        Burn: `LearningCheckpointer::load_checkpoint`.
        """
        before = ids_by_path(model)
        model = model.load_record(found.load("model", ModuleRecord))
        ids = {old: new for path, new in ids_by_path(model).items() if (old := before[path]) != new}
        optim.rename_ids(ids)  # groups of ids still mean the same parameters
        scheduler.rename_ids(ids)
        optim = optim.load_record(found.load("optim", OptimizerRecord))
        scheduler = scheduler.load_record(found.load("scheduler", LrSchedulerRecord))
        self.last = found
        if found.state is not None:
            self._position = (found.state.epoch, found.state.batch)
            self._kept = found.state.kept_epochs
        elif self.store is not None:
            self._kept = tuple(epoch for epoch in self.store.burn_epochs() if epoch <= found.epoch)
        return model, optim, scheduler

    def load_strategy(self, found: CheckpointSet, strict: bool) -> None:
        """What the strategy remembered. Unless strict, another kind of strategy starts anew."""
        if found.state is None:
            return
        try:
            self.strategy.load_state(found.state.strategy)
        except CheckpointError:
            if strict:
                raise

    def save_step(
        self, model: Module, optim: OptimizerAdaptor, scheduler: ModuleLrScheduler, state_of: StateOf
    ) -> None:
        """Saves where the run is, unless the last set was made there."""
        if self.store is None:
            return
        state = self._complete(state_of())
        if self._position == (state.epoch, state.batch) or state.global_step == 0:
            return
        self._write_step(state, model, optim, scheduler)

    def save_epoch(
        self,
        epoch: int,
        history: History,
        model: Module,
        optim: OptimizerAdaptor,
        scheduler: ModuleLrScheduler,
        state_of: StateOf,
    ) -> None:
        """The end of an epoch: asks the strategy, and does what it says. Burn: `LearningCheckpointer::checkpoint`."""
        if self.store is None:
            return
        actions = self.strategy.checkpointing(epoch, history)
        deleted = {action.epoch for action in actions if isinstance(action, Delete)}
        wanted = any(isinstance(action, Save) for action in actions)
        kept = {*self._kept, epoch} if wanted else {*self._kept}
        self._kept = tuple(sorted(kept - deleted))
        state = self._complete(state_of())
        if wanted:
            self._prepare(model)
            self.last = self.store.save_epoch(
                epoch,
                model=model.into_record(),
                optim=optim.into_record(),
                scheduler=scheduler.into_record(),
                state=state,
                keep=self._kept,
            )
            self._position = (state.epoch, state.batch)
        else:
            self._write_step(state, model, optim, scheduler)
        for old in sorted(deleted):
            self.store.delete(SetId.epoch(old))

    def tidy(self) -> None:
        """The end of the run: of several step sets only the newest stays."""
        if self.store is not None:
            steps = [id for id in self.store.ids() if id.kind == "step"]
            for id in steps[:-1]:
                self.store.delete(id)

    def last_good(self) -> str:
        """A sentence about the checkpoint to go back to."""
        if self.last is None:
            return "There is no checkpoint before it."
        return f"The last good checkpoint is {self.last.id}: {self.last.path('model')}."

    def _complete(self, state: RunState) -> RunState:
        return replace(state, kept_epochs=self._kept, strategy=self.strategy.into_state(), fingerprint=self.fingerprint)

    def _write_step(
        self, state: RunState, model: Module, optim: OptimizerAdaptor, scheduler: ModuleLrScheduler
    ) -> None:
        assert self.store is not None
        self._prepare(model)
        self.last = self.store.save_step(
            model=model.into_record(), optim=optim.into_record(), scheduler=scheduler.into_record(), state=state
        )
        self._position = (state.epoch, state.batch)

    def _prepare(self, model: Module) -> None:
        """Nothing pending stays outside the file, and nothing broken gets into it."""
        model.map(_CommitRunning())
        finder = _FindNan()
        model.visit(finder)
        broken = [path for path, nan in zip(finder.paths, fetch(finder.found), strict=True) if nan]
        if broken:
            shown = ", ".join(broken[:5]) + (f" and {len(broken) - 5} more" if broken[5:] else "")
            raise TrainingError(
                f"the model has NaN in {shown}, so no checkpoint was written. {self.last_good()} "
                "Try a smaller learning rate or GradientClippingConfig.Norm(1.0) in the optimizer's config."
            )


class _CommitRunning(ModuleMapper):
    """The statistics of the last batch would be lost: a record has the committed values only."""

    def map_running(self, state: RunningState) -> RunningState:
        state.value_sync()
        return state


class _FindNan(ModuleVisitor):
    """For every float parameter whether it has a NaN, still on its device."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.found: list[BoolTensor] = []

    def visit_float(self, param: Param[FloatTensor]) -> None:
        self.paths.append(self.path)
        self.found.append(param.value.inner().is_nan().any())
