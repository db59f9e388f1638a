"""Training with recorded steps: `Learner(…, capture=True)`.

The first steps are ordinary ones, until the optimizer's are all alike. Then a step is recorded (see recorded.py) and
replayed from the same place as an ordinary one. If both gave the same bits, the batches that follow are replayed:

    batch like the recorded one        copied to where that was; schedule and random streams move on; replay
    another one                        an ordinary step; then replays go on
    somebody wants the model           it is made of what the last replay left

Nothing is replayed where a replay could be wrong: a step that needs the host in the middle, an optimizer whose numbers
Python computes for each tensor, gradients of several batches. What Python does in `train_step` is done while recording
and never again; the comparison finds what changes from one step to the next, not what changes every hundredth time.
"""

from __future__ import annotations

import contextlib
import copy
import warnings
import weakref
from collections import Counter
from collections.abc import Hashable
from typing import Any, TypeVar

from minburn.backends.error import NotRecordable
from minburn.module import Module
from minburn.optim import ModuleLearningRate
from minburn.optim.recorded import RecordedOptimizer, why_not
from minburn.train.error import CaptureWarning
from minburn.train.interrupt import Interrupter
from minburn.train.learner import Learner
from minburn.train.loop import TrainingLoop
from minburn.train.meter import Measure
from minburn.train.metric import MetricMetadata
from minburn.train.options import Options
from minburn.train.parts import take_apart
from minburn.train.recorded import RecordedStep, signature
from minburn.train.render import Renderer
from minburn.train.saver import Saver
from minburn.train.settings import ids_by_path

M = TypeVar("M", bound=Module)

ORDINARY = 2
"""Batches alike before one is recorded: their steps compile the kernels, and many optimizers begin in another way."""
ATTEMPTS = 8
"""So often a step may be unlike the one before, for the optimizer, before there is no further recording."""
SHAPES = 64
"""So many kinds of batches are counted."""


def loop_of(
    options: Options, learner: Learner[M], saver: Saver, renderer: Renderer, interrupter: Interrupter
) -> TrainingLoop[M]:
    """The loop of a launch: one that records, where the learner wants it and it is possible."""
    kind: type[TrainingLoop[M]] = TrainingLoop
    if learner.capture:
        reason = _why_never(options, learner)
        if reason is None:
            kind = CapturedLoop
        else:
            _warn(f"steps run as usual, as {reason}.")
    return kind(options, learner, saver, renderer, interrupter)


def _why_never(options: Options, learner: Learner[Any]) -> str | None:
    backend = _undecorated(learner)
    if not hasattr(backend, "recorder"):
        return f"{backend!r} has nothing to record them with; CuPy(…) has"
    if options.grads_accumulation is not None:
        return "the gradients of several batches are accumulated"
    if hasattr(learner.model, "optimize"):
        return f"{type(learner.model).__name__} has its own optimize()"
    return why_not(learner.optim)


def _undecorated(learner: Learner[Any]) -> Any:
    backend: Any = learner.backend
    while backend.is_autodiff:
        backend = backend.inner
    return backend


def _warn(text: str) -> None:
    warnings.warn(f"Learner(capture=True): {text}", CaptureWarning, stacklevel=2)


class CapturedLoop(TrainingLoop[M]):
    """A launch that replays what it can."""

    def __init__(
        self, options: Options, learner: Learner[M], saver: Saver, renderer: Renderer, interrupter: Interrupter
    ) -> None:
        self._model = learner.model
        self._recorded: RecordedStep[M] | None = None
        self._behind = False  # whether the model is the one before the replays
        self._given_up = False
        self._warned = False
        self._met: Counter[Hashable] = Counter()
        self._last_item: Any = None
        self._attempts = ATTEMPTS
        self._device = _undecorated(learner)
        super().__init__(options, learner, saver, renderer, interrupter)
        self._measures = self.train.measures
        self._recorded_measures: dict[str, Measure] = {}
        self._wants_item = True  # whether the other measures look at it

    @property
    def model(self) -> M:
        """Made of what the last replay left, when somebody wants it."""
        if self._behind and self._recorded is not None:
            self._behind = False
            self._model = self._recorded.settle(self._model)
        return self._model

    @model.setter
    def model(self, model: M) -> None:
        self._model = model

    def _step(self, batch: Any) -> Any:
        step = self._recorded
        if step is None:
            return self._record(batch)
        tensors = step.match(batch)
        if isinstance(tensors, str):
            self._warn_once(f"a batch runs as usual: {tensors}.")
            return super()._step(batch)
        if not self._behind and not step.is_present(self._model) and not step.load(self._model):
            self._recorded = None
            return self._record(batch)
        self.batch += 1
        self.global_step += 1
        lr = self._advance_schedule()
        self._behind = True
        item, readings = step.replay(tensors, lr, self._wants_item)
        metadata = MetricMetadata(self.batch, self.last_lr)
        self.train.push(
            item,
            metadata,
            [
                readings[name] if name in readings else measure(item, metadata)
                for name, measure in self._measures.items()
            ],
        )
        return item

    def _record(self, batch: Any) -> Any:
        """An ordinary step, and perhaps a recording of it."""
        made, reason = None, ""
        if not self._given_up:
            try:
                made = self._recording(batch) if self._is_usual(batch) else None
            except NotRecordable as error:
                reason = str(error)
            except MemoryError as error:
                reason = f"there is no memory for it: {error}".rstrip(".")
        if made is not None:
            return self._compared(batch, *made)
        if reason:  # here nothing of what was tried is alive
            self._give_up(f"that of {type(self._model).__name__} cannot be recorded: {reason}")
        item = super()._step(batch)
        self._last_item = None if self._given_up else item
        return item

    def _recording(self, batch: Any) -> tuple[RecordedStep[M], Any, Any] | None:
        """A step like that of the batch, and its first replay: what it gives, and where it leaves the random streams,
        which are put back. None: not yet."""
        self._attempts -= 1
        if self._attempts < 0:
            raise NotRecordable("its optimizer's steps are not like each other")
        recorder = self._device.recorder(self.streams.known())
        optimizer = RecordedOptimizer.of(self.optim, recorder, list(ids_by_path(self._model).values()))
        if optimizer is None:
            return None
        lr = self._next_rate()
        self._choose_measures()
        step = RecordedStep(recorder, optimizer, self._model, batch, lr, self._measured)
        streams = self.streams.known()
        before = [each.state() for each in streams]
        try:
            replayed = step.replay(take_apart(batch)[1], lr)
            return step, replayed, [each.state() for each in streams]
        finally:
            for each, state in zip(streams, before, strict=True):
                each.load_state(state)

    def _next_rate(self) -> ModuleLearningRate:
        """Of the step that comes."""
        try:
            return copy.deepcopy(self.scheduler).step()
        except Exception as error:  # whatever a schedule of somebody's own raises when it is copied
            raise NotRecordable(f"its schedule cannot be copied ({type(error).__name__}: {error})") from error

    def _is_usual(self, batch: Any) -> bool:
        """Whether such batches were met before. A smaller one at the end of an epoch is not what to record."""
        frame, tensors = take_apart(batch)
        kind = frame, tuple(map(signature, tensors))
        self._met[kind] += 1
        if len(self._met) > SHAPES:
            raise NotRecordable(f"its batches have {len(self._met)} shapes")
        return self._met[kind] > ORDINARY

    def _choose_measures(self) -> None:
        """Those that can be recorded, and do not look at where the run is: tried with the item of an earlier step. What
        reads the host only, such as a clock, has nothing to record."""
        self._recorded_measures, self._wants_item = {}, False
        for name, measure in self._measures.items():
            metadata = _Watched(1)
            recorder = self._device.recorder(self.streams.known())
            with contextlib.suppress(NotRecordable):
                readings = recorder.record(lambda: measure(self._last_item, metadata))  # noqa: B023 - called at once
                if not metadata.seen and (not readings or take_apart(readings)[1]):
                    self._recorded_measures[name] = measure
                    continue
            self._wants_item = self._wants_item or _reads_item(measure)
        self._last_item = None

    def _measured(self, item: Any) -> dict[str, Any]:
        metadata = MetricMetadata(self.batch, self.last_lr)
        return {name: measure(item, metadata) for name, measure in self._recorded_measures.items()}

    def _compared(self, batch: Any, step: RecordedStep[M], replayed: Any, after: Any) -> Any:
        """An ordinary step, after which replays go on if the one from the same place gave the same."""
        item = super()._step(batch)
        difference = step.difference(self._model, (item, self._measured(item)), replayed)
        if after != [each.state() for each in self.streams.known()]:
            difference = "how many random numbers it draws"
        if difference is None:
            self._recorded = step
        else:
            self._give_up(f"its first replay differs from an ordinary one, first in {difference}")
        return item

    def _give_up(self, reason: str) -> None:
        self._given_up, self._last_item = True, None
        self._warn_once(f"steps run as usual, as {reason}.")

    def _warn_once(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            _warn(text)


def _reads_item(measure: Measure) -> bool:
    """Whether a measure looks at the item, or keeps it."""
    looks: list[str] = []

    class Watched:
        def __getattribute__(self, name: str) -> Any:
            looks.append(name)
            raise AttributeError(name)

    watched = Watched()
    kept = weakref.ref(watched)
    try:
        measure(watched, MetricMetadata(1))
    except Exception:  # whatever a metric raises for such an item
        return True
    del watched
    return bool(looks) or kept() is not None


class _Watched(MetricMetadata):
    """Tells whether somebody has looked at it."""

    seen = False

    @property
    def iteration(self) -> int:
        return int(self[0])

    @property
    def lr(self) -> float:
        return float(self[1])

    def __getitem__(self, index: Any) -> Any:
        self.seen = True
        return tuple.__getitem__(self, index)

    def __iter__(self) -> Any:
        self.seen = True
        return tuple.__iter__(self)
