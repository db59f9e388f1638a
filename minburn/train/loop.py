"""The order of events, for one device.

    for every epoch:
        for every batch:  train_step → [accumulate] → schedule → optimizer step → readings
                          every so many batches a checkpoint
        validation on model.valid(): inference_step → readings
        history → early stopping → checkpointing strategy → checkpoint

The schedule advances once per optimizer step, just before it. Accumulated gradients are summed; what is left of a
group is applied at the last batch of the epoch. Whatever is read in between, a save comes after all losses before it
were looked at, and never stores a NaN.

`epoch` and `batch` say where the run is: `batch` batches of that epoch are trained. All that changes with them is in
`state()`, and `restore()` puts it back: the two are the whole of exact resuming.

Burn: `crates/burn-train/src/learner/supervised/strategies/single/{strategy,epoch}.rs`.
"""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from minburn.module import Module
from minburn.optim import GradientsAccumulator, GradientsParams, ModuleLearningRate
from minburn.tensor import Tensor
from minburn.train.checkpoint import CheckpointSet, RunState
from minburn.train.error import TrainingError
from minburn.train.history import History
from minburn.train.interrupt import Interrupter
from minburn.train.learner import Learner
from minburn.train.log import MetricLog
from minburn.train.meter import NanLoss, SplitMeter
from minburn.train.metric import MetricMetadata
from minburn.train.options import Options, open_batches
from minburn.train.output import TrainOutput
from minburn.train.render import Progress, Renderer
from minburn.train.saver import Saver
from minburn.train.streams import RunStreams
from minburn.train.vocabulary import Split

M = TypeVar("M", bound=Module)

DISPLAY_INTERVAL = 0.1  # seconds


class TrainingLoop(Generic[M]):
    """One launch.

    Burn: `SupervisedLearningStrategy` in `crates/burn-train/src/learner/supervised/strategies/base.rs`.
    """

    def __init__(
        self, options: Options, learner: Learner[M], saver: Saver, renderer: Renderer, interrupter: Interrupter
    ) -> None:
        self.options = options
        self.model = learner.model
        self.optim = learner.optim
        self.scheduler = learner.lr_scheduler
        self.backend = learner.backend
        self.streams = RunStreams(learner.backend)
        self.saver = saver
        self.renderer = renderer
        self.interrupter = interrupter
        self.log = MetricLog(options.run_dir)
        self.train = SplitMeter(Split.Train, options.metrics, self.log)
        self.valid = SplitMeter(Split.Valid, options.metrics, self.log)
        self.history = History()
        self.epoch, self.batch, self.global_step, self.optimizer_steps = 1, 0, 0, 0
        self.last_lr = 0.0
        self.accumulator, self.accumulated = GradientsAccumulator(), 0
        self.early_stopping = copy.deepcopy(options.early_stopping)  # it remembers: every launch has its own
        self.stopped_early = False
        self.batches = len(options.train_loader)
        self._metrics_state: dict[str, Any] = {}
        self._next_display = 0.0
        self._optimize = getattr(self.model, "optimize", None)

    @property
    def done(self) -> bool:
        return self.stopped_early or self.epoch > self.options.num_epochs

    # Where the run is

    def state(self) -> RunState:
        """All that decides what comes next, beside the three records. Call it when all readings are recorded."""
        inside = self.batch > 0
        early = self.early_stopping
        sums = self.accumulator.grads()
        self.accumulator.accumulate(self.model, sums)
        return RunState(
            epoch=self.epoch,
            batch=self.batch,
            global_step=self.global_step,
            optimizer_steps=self.optimizer_steps,
            last_lr=self.last_lr,
            finished=self.stopped_early,
            streams=self.streams.state(),
            early_stopping=None if early is None else early.into_state(),
            history=self.history.into_dict(),
            metrics=self.train.state() if inside else {},
            accumulated={str(int(id)): sums.get(id) for id in sums},  # type: ignore[misc]
            accumulated_count=self.accumulated,
            logs=self.log.lengths() if inside else {},
        )

    def start(self) -> None:
        """At the beginning. Logs that an earlier attempt left are cleared away."""
        self.log.rewind(0, {})

    def restore(self, found: CheckpointSet) -> list[str]:
        """Where the checkpoint was made. Returns what could not be put back, as sentences."""
        self.model, self.optim, self.scheduler = self.saver.load_records(found, self.model, self.optim, self.scheduler)
        state = found.state
        if state is None:
            return self._restore_burn(found)
        self.epoch, self.batch = state.epoch, state.batch
        self.global_step, self.optimizer_steps = state.global_step, state.optimizer_steps
        self.last_lr = state.last_lr
        # Asked for an epoch by number, the run goes on from it, even if it had been stopped early there.
        self.stopped_early = state.finished and self.options.resume == "auto"
        self.streams.load_state(state.streams)
        self.history = History(state.history).in_order(metric.name for metric in self.options.metrics)
        self._metrics_state = dict(state.metrics)
        sums = GradientsParams()
        for id, data in state.accumulated.items():
            sums.register(int(id), Tensor.from_data(data, self.backend.inner, data.dtype))
        self.accumulator.accumulate(self.model, sums)
        self.accumulated = state.accumulated_count
        early = self.early_stopping
        if early is not None and state.early_stopping is not None:
            early.load_state(state.early_stopping)
        if self.done:
            return []
        short = self.log.rewind(self.epoch, state.logs)
        return [f"{self.options.run_dir / name}: lines before the checkpoint are missing." for name in short]

    def _restore_burn(self, found: CheckpointSet) -> list[str]:
        self.epoch = found.epoch + 1
        self.global_step = found.epoch * self.batches
        self.optimizer_steps = found.epoch * -(-self.batches // (self.options.grads_accumulation or 1))
        self.history = self.log.read_history(found.epoch)
        self.log.rewind(found.epoch + 1, {})
        return ["The checkpoint is Burn's: random streams and early stopping start from the beginning."]

    # The events

    def run(self) -> bool:
        """To the end, or to an interruption. True if there was one; a checkpoint has been written then.

        Burn: `SupervisedLearningStrategy::train` and `SupervisedLearningStrategy::fit`.
        """
        while not self.done:
            if not self._train_split():
                self.saver.save_step(self.model, self.optim, self.scheduler, self.state)
                return True
            if not self._valid_split():
                return True
            if self.interrupter.should_stop() and not self.done:
                return True
        self.saver.tidy()
        return False

    def _train_split(self) -> bool:
        """The rest of the epoch's batches. False if interrupted; all readings are recorded in any case."""
        self.train.begin(self.epoch, self._metrics_state if self.batch else None)
        every, due = self.options.checkpoint_every_steps, False
        with self._context("training"), self._nan_check():
            with open_batches(self.options.train_loader, self.epoch, self.batch) as batches:
                while self.batch < self.batches:
                    if self.interrupter.should_stop():
                        break
                    batch = next(batches, None)
                    if batch is None:
                        raise TrainingError(
                            f"the train loader ended after {self.batch} batches, but its len() is {self.batches}."
                        )
                    if due:  # now the device computes the step before, and has the next batch
                        self._display(self.train, self.batch, self.batches)
                    self._step(batch)
                    if every and self.global_step % every == 0:
                        self.train.drain()
                        self.saver.save_step(self.model, self.optim, self.scheduler, self.state)
                    due = time.monotonic() >= self._next_display
            if due:
                self._display(self.train, self.batch, self.batches)
            self.train.drain()
        return not self.interrupter.should_stop()

    def _step(self, batch: Any) -> Any:
        """One batch. Returns the item, whose readings are pending."""
        self.streams.look(batch)
        output = self.model.train_step(batch)  # type: ignore[attr-defined]  # Learner has checked it
        if not isinstance(output, TrainOutput):
            raise TrainingError(
                f"{type(self.model).__name__}.train_step must return a TrainOutput, but returned "
                f"{type(output).__name__}. Write: return TrainOutput(self, item.loss.backward(), item)."
            )
        self.batch += 1
        self.global_step += 1
        group = self.options.grads_accumulation
        if group is None:
            self._update(output.grads)
        else:
            self.accumulator.accumulate(self.model, output.grads)
            self.accumulated += 1
            if self.accumulated == group or self.batch == self.batches:
                self._update(self.accumulator.grads())
                self.accumulated = 0
        self.train.push(output.item, MetricMetadata(self.batch, self.last_lr))
        return output.item

    def _update(self, grads: GradientsParams) -> None:
        lr = self._advance_schedule()
        if self._optimize is None:
            self.model = self.optim.step(lr, self.model, grads)
        else:
            model = self.model.optimize(self.optim, lr, grads)  # type: ignore[attr-defined]
            if not isinstance(model, type(self.model)):
                raise TrainingError(
                    f"{type(self.model).__name__}.optimize must return the model of the next step, but returned "
                    f"{type(model).__name__}. Write: return optim.step(lr, self, grads)."
                )
            self.model = model

    def _advance_schedule(self) -> ModuleLearningRate:
        """The rate of the next optimizer step, which is counted."""
        lr = self.scheduler.step()
        self.last_lr = lr.base()
        self.optimizer_steps += 1
        return lr

    def _valid_split(self) -> bool:
        """Validation, and the end of the epoch. False if interrupted before its last batch."""
        before = self.state()  # a stop during validation goes back to where it began
        train_values, _ = self.train.finish()
        model: Any = self.model.valid()
        loader = self.options.valid_loader
        count = len(loader)
        self.valid.begin(self.epoch)
        with self._context("validation"), open_batches(loader, self.epoch) as batches:
            for number, batch in enumerate(batches, start=1):
                self.valid.push(model.inference_step(batch), MetricMetadata(number, self.last_lr))
                if time.monotonic() >= self._next_display:
                    self._display(self.valid, number, count)
                if number < count and self.interrupter.should_stop():
                    self.log.close()
                    self.saver.save_step(self.model, self.optim, self.scheduler, lambda: before)
                    return False
            valid_values, _ = self.valid.finish()
        self._end_epoch({Split.Train: train_values, Split.Valid: valid_values})
        return True

    def _end_epoch(self, values: dict[Split, dict[str, float]]) -> None:
        done = self.epoch
        self.history.add_epoch(done, values)
        self.renderer.epoch_ended(done, self.options.num_epochs, values)
        self.epoch, self.batch = done + 1, 0
        early = self.early_stopping
        self.stopped_early = early is not None and early.should_stop(done, self.history)
        self.saver.save_epoch(done, self.history, self.model, self.optim, self.scheduler, self.state)
        if self.stopped_early and not self.epoch > self.options.num_epochs:
            self.renderer.message(f"Stopped early after epoch {done}: {early!r} saw no improvement.")

    # Around them

    def _display(self, meter: SplitMeter, batch: int, batches: int) -> None:
        meter.drain()
        self.renderer.progress(
            Progress(meter.split, self.epoch, self.options.num_epochs, batch, batches, meter.entries())
        )
        self._next_display = time.monotonic() + DISPLAY_INTERVAL

    @contextlib.contextmanager
    def _context(self, doing: str) -> Iterator[None]:
        """Errors pass as they are, with a note that says where the run was."""
        try:
            yield
        except TrainingError:
            raise
        except Exception as error:
            last = self.saver.last
            where = f"In the {doing} of epoch {self.epoch}, after {self.batch} trained batches."
            kept = f" The last checkpoint is as it was: {last.path('model')}." if last else ""
            error.add_note(where + kept)
            raise

    @contextlib.contextmanager
    def _nan_check(self) -> Iterator[None]:
        try:
            yield
        except NanLoss as error:
            step = self.global_step - self.batch + error.iteration
            raise TrainingError(
                f"{error} of epoch {self.epoch} (step {step}). {self.saver.last_good()} "
                "Try a smaller learning rate or GradientClippingConfig.Norm(1.0) in the optimizer's config, and look "
                "for NaN in the data of that batch. Settings other than before need resume=<epoch> or another folder."
            ) from None
