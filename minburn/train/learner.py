"""What is trained, with what: a model, its optimizer and its schedule.

Burn: `Learner` in `crates/burn-train/src/learner/base.rs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from minburn.backends import Backend
from minburn.module import Module, ModuleVisitor, Param, ParamGroup
from minburn.optim import LrScheduler, ModuleLrScheduler, OptimizerAdaptor
from minburn.tensor import FloatTensor
from minburn.train.error import TrainingError
from minburn.train.settings import ids_by_path, members, schedule_settings

M = TypeVar("M", bound=Module)

SHOWN = 6
"""How many paths an error lists."""


class Learner(Generic[M]):
    """A model on an autodiff backend, an optimizer, and a schedule or a constant learning rate.

    A launch uses the optimizer and the schedule up: they move on with it. The model is a value and stays what it is.
    A model has `train_step(batch) -> TrainOutput` and `inference_step(batch) -> item`. It may also have
    `optimize(optim, lr, grads) -> model`, which then replaces `optim.step(lr, model, grads)`.
    capture: on CuPy, record a training step as a CUDA graph and replay it, which takes no time of the host; same bits.
    Where that is not possible steps run as usual, and a CaptureWarning tells why: see captured.py.
    TrainingError unless it has the two steps and records gradients, and for a group that has none of its parameters.

    Burn: `TrainStep`, `TrainStep::step`, `TrainStep::optimize`, `InferenceStep`, `InferenceStep::step`, `LearnerModel`.
    """

    def __init__(
        self,
        model: M,
        optim: OptimizerAdaptor,
        lr_scheduler: LrScheduler | ModuleLrScheduler | float,
        *,
        capture: bool = False,
    ) -> None:
        if not isinstance(model, Module):
            raise TrainingError(f"Learner: model must be a Module, but got {type(model).__name__}.")
        for step in ("train_step", "inference_step"):
            if not callable(getattr(model, step, None)):
                raise TrainingError(
                    f"Learner: {type(model).__name__} has no {step}. Define train_step(batch), which returns "
                    "TrainOutput(self, loss.backward(), item), and inference_step(batch), which returns the item."
                )
        if not isinstance(optim, OptimizerAdaptor):
            raise TrainingError(
                f"Learner: optim must be an optimizer for modules, but got {type(optim).__name__}. "
                "AdamConfig().init() makes one; OptimizerAdaptor(rule) makes one of your rule."
            )
        if not isinstance(lr_scheduler, (int, float, LrScheduler, ModuleLrScheduler)) or isinstance(lr_scheduler, bool):
            raise TrainingError(
                f"Learner: lr_scheduler must be a schedule or a number, but got {type(lr_scheduler).__name__}. "
                "A schedule's Config makes one with .init()."
            )
        if not isinstance(capture, bool):
            raise TrainingError(
                f"Learner: capture must be True or False, but got {type(capture).__name__} {capture!r}."
            )
        self.model = model
        self.optim = optim
        self.lr_scheduler = ModuleLrScheduler.of(lr_scheduler)
        _check_groups("optimizer", [group.group for group in optim.groups[1:]], model)
        _check_groups("schedule", [group for group, _ in self.lr_scheduler.groups], model)
        # Now, as a launch moves it on: some schedules keep their rate where they keep their place.
        self.schedule_settings = schedule_settings(self.lr_scheduler, model)
        self.backend = _training_backend(model)
        self.capture = capture


def _check_groups(owner: str, groups: Sequence[ParamGroup], model: Module) -> None:
    """A group without parameters is a slip of the pen."""
    for number, group in enumerate(groups, start=1):
        if not members(group, model):
            paths = list(ids_by_path(model))
            raise TrainingError(
                f"Learner: group {number} of the {owner} matches no parameter of {type(model).__name__}: {group!r}. "
                f"It has {', '.join(paths[:SHOWN])}{', …' * (len(paths) > SHOWN)}."
            )


def _training_backend(model: Module) -> Backend:
    finder = _FindBackend()
    model.visit(finder)
    if finder.trained is None:
        reason = "has no parameter to train" if finder.plain is None else f"was built on {finder.plain!r}"
        raise TrainingError(
            f"Learner: {type(model).__name__} {reason}, so no gradient can reach it. "
            "Build it on Autodiff(backend), and leave some parameter unfrozen."
        )
    return finder.trained


class _FindBackend(ModuleVisitor):
    """The backend of the first parameter that is trained, without drawing it."""

    def __init__(self) -> None:
        self.trained: Backend | None = None
        self.plain: Backend | None = None

    def visit_float(self, param: Param[FloatTensor]) -> None:
        backend = param.backend
        if not backend.is_autodiff:
            self.plain = self.plain or backend
        elif param.is_require_grad:
            self.trained = self.trained or backend
