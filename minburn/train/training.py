"""A supervised run: trains a learner, validates it, writes its logs and checkpoints, and goes on where it was stopped.

    training = SupervisedTraining("runs/digits", train_loader, valid_loader, num_epochs=40,
                                  metrics=[LossMetric(), AccuracyMetric()], resume="auto")
    result = training.launch(Learner(model, optim, scheduler))
    result.model, result.history["valid"]["Accuracy"][-1], result.interrupted

Burn: `SupervisedTraining` in `crates/burn-train/src/learner/supervised/paradigm.rs`, a chain of builder calls there.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from minburn.module import Module
from minburn.train.captured import loop_of
from minburn.train.checkpoint import CheckpointingStrategy, CheckpointStore, default_strategy
from minburn.train.early_stopping import EarlyStoppingStrategy
from minburn.train.error import TrainingError
from minburn.train.fingerprint import fingerprint
from minburn.train.history import History
from minburn.train.interrupt import Interrupter, stop_on_signals
from minburn.train.learner import Learner
from minburn.train.lock import RunLock
from minburn.train.loop import TrainingLoop
from minburn.train.metric import Metric
from minburn.train.options import Loader, Options, Resume, check_metrics, describe
from minburn.train.render import Renderer, RunInfo, default_renderer
from minburn.train.render.summary import summary as summary_of
from minburn.train.resume import choose_start
from minburn.train.saver import Saver
from minburn.train.vocabulary import epochs_text

M = TypeVar("M", bound=Module)


@dataclass(frozen=True, slots=True)
class Interruption:
    """A run that was asked to stop: why, where it is, and how it goes on."""

    reason: str
    epoch: int
    """The epoch in progress."""
    batch: int
    """Batches of it that are trained."""
    checkpoint: Path | None
    """The model's file in the checkpoint to go on from; None if there is none."""
    message: str


@dataclass(frozen=True, slots=True)
class LearningResult(Generic[M]):
    """What a launch leaves. `model` is `valid()`: call `.train()` to train it further."""

    model: M
    history: History
    interrupted: Interruption | None

    def __repr__(self) -> str:
        """In a few words; the model shows its layers when it is printed."""
        model = f"{type(self.model).__name__} of {self.model.num_params():,} parameters"
        reason = "" if self.interrupted is None else f", interrupted: {self.interrupted.reason}"
        return f"LearningResult({model}, {self.history}{reason})"


class SupervisedTraining:
    """A run in the folder `run_dir`. Nothing is read or written before `launch`.

    num_epochs: epochs 1 … num_epochs in all, those of earlier launches included.
    metrics: one object each; training and validation get copies.
    resume: None for a new run, "auto" for the newest checkpoint if there is one (the same settings are required, but
    there may be more epochs), or the number of a finished epoch to go on from with the settings of now.
    checkpoints: False writes none. They go to `{run_dir}/checkpoint`, at the end of every epoch.
    checkpoint_every_steps: also after every so many training batches.
    strategy: which epochs stay; by default the last two and the one with the lowest validation loss.
    early_stopping: asked after every epoch.
    grads_accumulation: sum the gradients of so many batches for one optimizer step.
    renderer: by default bars in a terminal, else a line per epoch. `Renderer()` is silent.
    interrupter: to stop the run from elsewhere. Ctrl-C and SIGTERM do so by themselves.
    summary: show a table of best and worst values at the end.
    label: what the run is called on the screen.
    overwrite: allow a launch to delete checkpoints that it does not go on from.
    TrainingError for arguments that make no sense.
    """

    def __init__(
        self,
        run_dir: str | os.PathLike[str],
        train_loader: Loader,
        valid_loader: Loader,
        *,
        num_epochs: int = 1,
        metrics: Sequence[Metric] = (),
        resume: Resume = None,
        checkpoints: bool = True,
        checkpoint_every_steps: int | None = None,
        strategy: CheckpointingStrategy | None = None,
        early_stopping: EarlyStoppingStrategy | None = None,
        grads_accumulation: int | None = None,
        renderer: Renderer | None = None,
        interrupter: Interrupter | None = None,
        summary: bool = False,
        label: str = "training",
        overwrite: bool = False,
    ) -> None:
        if not isinstance(run_dir, (str, os.PathLike)):
            raise TrainingError(f"SupervisedTraining: run_dir must be a path, but got {describe(run_dir)}.")
        check_metrics(metrics)
        self.options = Options(
            run_dir=Path(run_dir),
            train_loader=train_loader,
            valid_loader=valid_loader,
            num_epochs=num_epochs,
            metrics=tuple(metrics),
            resume=resume,
            checkpoints=checkpoints,
            checkpoint_every_steps=checkpoint_every_steps,
            strategy=strategy,
            early_stopping=early_stopping,
            grads_accumulation=grads_accumulation,
            renderer=renderer,
            interrupter=interrupter,
            summary=summary,
            label=label,
            overwrite=overwrite,
        )

    def launch(self, learner: Learner[M]) -> LearningResult[M]:
        """Trains until the end, an early stop or an interruption.

        A run that is finished already returns its model and history at once. Errors: TrainingError (LockError,
        CheckpointError) with what to do; those of the model, the dataset and the disk pass as they are, with a note
        that says where they happened. The last checkpoint is whole in every case.
        """
        if not isinstance(learner, Learner):
            raise TrainingError(
                f"launch: expected a Learner, but got {describe(learner)}. Write Learner(model, optim, lr_scheduler)."
            )
        options = self.options
        renderer = options.renderer or default_renderer()
        interrupter = options.interrupter or Interrupter()
        made_of = fingerprint(
            learner, options.train_loader, options.valid_loader, options.metrics, options.grads_accumulation
        )
        with RunLock(options.run_dir), stop_on_signals(interrupter):
            store = CheckpointStore(options.run_dir) if options.checkpoints else None
            saver = Saver(store, copy.deepcopy(options.strategy) or default_strategy(), made_of)
            loop = loop_of(options, learner, saver, renderer, interrupter)
            try:
                return self._launch(loop, saver, store)
            finally:
                loop.log.abandon()

    def _launch(self, loop: TrainingLoop[M], saver: Saver, store: CheckpointStore | None) -> LearningResult[M]:
        options, renderer = self.options, loop.renderer
        found = choose_start(options, store, saver.fingerprint) if store is not None else None
        notes: list[str] = []
        if found is None:
            loop.start()
        else:
            notes = loop.restore(found)
            saver.load_strategy(found, strict=options.resume == "auto")
            if loop.done:
                renderer.message(self._finished(loop))
                return LearningResult(loop.model.valid(), loop.history, None)
            where = f" after batch {loop.batch}" if loop.batch else ""
            notes.insert(0, f"Going on from {found.id}, in epoch {loop.epoch}{where}.")
        if not options.metrics:
            notes.append("Nothing is measured. metrics=[LossMetric()] would show the loss.")
        renderer.start(RunInfo(options.run_dir, options.num_epochs, loop.epoch, options.label))
        try:
            for note in notes:
                renderer.message(note)
            interruption = self._interruption(loop, saver) if loop.run() else None
            if interruption is not None:
                renderer.message(interruption.message)
            elif options.summary:
                renderer.message(summary_of(repr(loop.model), loop.history))
        finally:
            renderer.end()
        return LearningResult(loop.model.valid(), loop.history, interruption)

    def _finished(self, loop: TrainingLoop[M]) -> str:
        how = f"stopped early after epoch {loop.epoch - 1}" if loop.stopped_early else epochs_text(loop.epoch - 1)
        return (
            f"The run in {self.options.run_dir} is finished ({how}): nothing is trained. "
            "More epochs go on from here; another folder starts a new run."
        )

    def _interruption(self, loop: TrainingLoop[M], saver: Saver) -> Interruption:
        reason = loop.interrupter.reason
        where = f"in epoch {loop.epoch} after batch {loop.batch} of {loop.batches}"
        if saver.last is not None:
            checkpoint: Path | None = saver.last.path("model")
            onward = f'The checkpoint is {checkpoint}. Launch it again with resume="auto" to go on from there.'
        else:
            checkpoint = None
            why = "checkpoints are off" if saver.store is None else "nothing was trained yet"
            onward = f"There is no checkpoint: {why}."
        return Interruption(reason, loop.epoch, loop.batch, checkpoint, f"Interrupted ({reason}) {where}. {onward}")
