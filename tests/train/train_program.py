"""A small run on real data, for the tests of training: 15 batches an epoch, dropout, any model and optimizer."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from train_models import FAMILIES

from minburn import Module, ModuleVisitor, Param, ParamGroup
from minburn.backends import Autodiff, Backend, NumPy
from minburn.data import DataLoader, PartialDataset
from minburn.optim import (
    AdamConfig,
    AdamWConfig,
    ConstantLr,
    CosineAnnealingLrSchedulerConfig,
    ExponentialLrSchedulerConfig,
    GradientClippingConfig,
    LinearLrSchedulerConfig,
    LionConfig,
    ModuleLrScheduler,
    ModuleLrSchedulerConfig,
    MomentumConfig,
    NoamLrSchedulerConfig,
    OptimizerAdaptor,
    SgdConfig,
    StepLrSchedulerConfig,
)
from minburn.train import (
    AccuracyMetric,
    Interrupter,
    Learner,
    LearningRateMetric,
    LossMetric,
    PlainRenderer,
    SupervisedTraining,
)


class Grouped:
    """Three rules: for convolutions (and what other models have), for biases, and for what is left."""

    def init(self) -> OptimizerAdaptor:
        matrices = ParamGroup.from_any_predicates(["conv", "query", "hidden"])
        return (
            SgdConfig(momentum=MomentumConfig(momentum=0.9))
            .init()
            .with_group(matrices, AdamConfig().build(), GradientClippingConfig.Norm(0.05))
            .with_group(ParamGroup.from_regex(r"bias$").exclude(matrices), LionConfig().build())
        )


def grouped_schedule(lr: float, steps: int) -> ModuleLrScheduler:
    weights = ParamGroup.from_regex(r"^(fc|head|output)\.weight$")
    config = ModuleLrSchedulerConfig(CosineAnnealingLrSchedulerConfig(lr, num_iters=steps))
    return config.with_group(weights, StepLrSchedulerConfig(lr, 7, gamma=0.5)).init()


OPTIMIZERS: dict[str, Any] = {
    "adam": AdamConfig(),
    "adamw": AdamWConfig(),
    "sgd": SgdConfig(momentum=MomentumConfig(momentum=0.9)),
    "adamw clipped": AdamWConfig(grad_clipping=GradientClippingConfig.Norm(0.05)),
    "adam clipped": AdamConfig(grad_clipping=GradientClippingConfig.Norm(0.05)),
    "sgd clipped": SgdConfig(
        momentum=MomentumConfig(momentum=0.9, nesterov=True), gradient_clipping=GradientClippingConfig.Value(0.01)
    ),
    "groups": Grouped(),
}
SCHEDULES: dict[str, Callable[[float, int], Any]] = {
    "constant": lambda lr, steps: ConstantLr(lr),
    "linear": lambda lr, steps: LinearLrSchedulerConfig(lr, lr / 10, steps).init(),
    "cosine": lambda lr, steps: CosineAnnealingLrSchedulerConfig(lr, num_iters=steps).init(),
    "exponential": lambda lr, steps: ExponentialLrSchedulerConfig(lr, 0.97).init(),
    "step": lambda lr, steps: StepLrSchedulerConfig(lr, 7, gamma=0.5).init(),
    "groups": grouped_schedule,
    "noam": lambda lr, steps: NoamLrSchedulerConfig(lr, warmup_steps=20, model_size=16).init(),
}
"""By (initial rate, number of steps)."""
EPOCHS = 4
STEPS = 60  # of four epochs


class Watched:
    """A loader that calls `watch(batch number in the run, from 1)` before it hands out a batch."""

    def __init__(self, loader: DataLoader[Any], watch: Callable[[int], Any]) -> None:
        self.loader = loader
        self.watch = watch

    def __len__(self) -> int:
        return len(self.loader)

    def fingerprint(self) -> dict[str, Any]:
        return self.loader.fingerprint()

    def iter_epoch(self, epoch: int, start_batch: int = 0) -> Iterator[Any]:
        for number, batch in enumerate(self.loader.iter_epoch(epoch, start_batch), start=start_batch + 1):
            self.watch((epoch - 1) * len(self) + number)
            yield batch


@dataclasses.dataclass
class Program:
    """What a user's script builds. `launch` builds everything anew, as a new process would, except for the first model
    if `model` is given: parameter ids come from a counter of the process, and equal files need equal ids. It is forked,
    because running values would be shared."""

    run_dir: Path
    model: Module | None = None
    family: str = "mlp"
    optimizer: str = "adam"
    schedule: str = "cosine"
    lr: float = 0.01
    epochs: int = EPOCHS
    batch_size: int = 16
    seed: int = 42
    data_seed: int = 1
    items: int = 240
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    watch: Callable[[int], Any] | None = None
    interrupter: Interrupter | None = None
    capture: bool = False
    shown: io.StringIO = dataclasses.field(default_factory=io.StringIO)

    def learner(self, backend: Backend) -> Learner[Any]:
        model: Any = FAMILIES[self.family].new_model(backend) if self.model is None else self.model.fork(backend)
        optimizer, schedule = OPTIMIZERS[self.optimizer].init(), SCHEDULES[self.schedule](self.lr, STEPS)
        return Learner(model, optimizer, schedule, capture=self.capture)

    def training(self, backend: Backend, **options: Any) -> SupervisedTraining:
        family = FAMILIES[self.family]
        train, valid = family.split()
        train_loader: Any = DataLoader(
            PartialDataset(train, 0, self.items),
            family.batcher(backend),
            batch_size=self.batch_size,
            shuffle=True,
            seed=self.data_seed,
        )
        valid_loader = DataLoader(PartialDataset(valid, 0, 80), family.batcher(backend.inner), batch_size=32)
        if self.watch is not None:
            train_loader = Watched(train_loader, self.watch)
        settings = {
            "num_epochs": self.epochs,
            "metrics": [LossMetric(), AccuracyMetric(), LearningRateMetric()],
            "resume": "auto",
            "renderer": PlainRenderer(self.shown),
            "interrupter": self.interrupter,
            **self.options,
            **options,
        }
        return SupervisedTraining(self.run_dir, train_loader, valid_loader, **settings)

    def launch(self, **options: Any) -> Any:
        backend = self.backend()
        return self.training(backend, **options).launch(self.learner(backend))

    def backend(self) -> Backend:
        """A new one, or the model's with its streams where a new process has them."""
        if self.model is None:
            return Autodiff(NumPy(seed=self.seed))
        backend = parameters(self.model)[0].backend
        backend.streams.load_state({})
        return backend

    @property
    def text(self) -> str:
        return self.shown.getvalue()


class Parameters(ModuleVisitor):
    def __init__(self) -> None:
        self.found: list[Param[Any]] = []

    def visit_float(self, param: Param[Any]) -> None:
        self.found.append(param)


def parameters(model: Module) -> list[Param[Any]]:
    visitor = Parameters()
    model.visit(visitor)
    return visitor.found


def new_model(family: str = "mlp", seed: int = 42) -> Any:
    return FAMILIES[family].new_model(Autodiff(NumPy(seed=seed)))


def files_of(run_dir: Path) -> dict[str, bytes]:
    """Everything in a run's folder, folders too."""
    return {
        path.relative_to(run_dir).as_posix(): path.read_bytes() if path.is_file() else b""
        for path in sorted(run_dir.rglob("*"))
    }


def assert_same_run(run_dir: Path, expected: Path) -> None:
    """Byte for byte, with the first difference named."""
    found, wanted = files_of(run_dir), files_of(expected)
    assert sorted(found) == sorted(wanted)
    different = [name for name, content in wanted.items() if found[name] != content]
    assert not different
