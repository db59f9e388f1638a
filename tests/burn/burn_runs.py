"""Trainings as `src/main.rs` does them, in minburn: the same steps, the same files, the same answers.

A cell of the matrix is a model, an optimizer, a schedule and a dtype. Each is trained by both sides, with files after
STEPS steps and after as many more; then each side goes on from the other's first files, on the other's batches.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from burn_driver import send
from burn_models import MODELS, Arrays

from minburn.backends import Autodiff, Backend, NumPy
from minburn.dtype import DType
from minburn.module import ModuleRecord
from minburn.optim import (
    AdaGradConfig,
    AdamConfig,
    AdamWConfig,
    AdanConfig,
    ComposedLrSchedulerConfig,
    ConstantLr,
    ConstantLrConfig,
    CosineAnnealingLrSchedulerConfig,
    ExponentialLrSchedulerConfig,
    GradientClippingConfig,
    GradientsParams,
    LinearLrSchedulerConfig,
    LrSchedulerRecord,
    MomentumConfig,
    NoamLrSchedulerConfig,
    OptimizerRecord,
    SchedulerReduction,
    SequentialLrSchedulerConfig,
    SgdConfig,
    StepLrSchedulerConfig,
    WeightDecayConfig,
)
from minburn.train.checkpoint import FileCheckpointer

STEPS = 3
DTYPES = {"f32": DType.F32, "f64": DType.F64, "f16": DType.F16, "bf16": DType.BF16}

# One line each: a config whose JSON Burn reads as it is.
OPTIMIZERS: dict[str, Any] = {
    "sgd": SgdConfig(weight_decay=WeightDecayConfig(0.01)),
    "momentum": SgdConfig(momentum=MomentumConfig(momentum=0.9, nesterov=True)),
    # Not with cautious decay: a key's bias has no gradient but rounding, whose sign would decide.
    # Float16 cannot hold the squares of small gradients: with the default epsilon the updates would be noise there.
    "adam": AdamConfig(
        epsilon=1e-3, weight_decay=WeightDecayConfig(0.01), grad_clipping=GradientClippingConfig.Norm(0.5)
    ),
    "adamw": AdamWConfig(epsilon=1e-3, weight_decay=0.05, amsgrad=True),
    "adagrad": AdaGradConfig(epsilon=1e-3, lr_decay=0.1),
    # Not here: LAMB and RMSProp, which divide what is only rounding noise by its size, and Adafactor, which Burn cannot
    # resume in half precision. Their trajectories are those of tests/parity.
    "adan": AdanConfig(epsilon=1e-3, weight_decay=0.05),
}
SCHEDULES: dict[str, Any] = {
    "constant": ConstantLr(0.01),
    "linear": LinearLrSchedulerConfig(0.02, 0.001, 5),
    "cosine": CosineAnnealingLrSchedulerConfig(0.02, 5, min_lr=0.001),
    "exponential": ExponentialLrSchedulerConfig(0.02, 0.8),
    "step": StepLrSchedulerConfig(0.02, 2, gamma=0.5),
    "noam": NoamLrSchedulerConfig(0.05, warmup_steps=4, model_size=8),
    "composed": ComposedLrSchedulerConfig(
        [LinearLrSchedulerConfig(0.2, 0.1, 4), ConstantLrConfig(0.1)], SchedulerReduction.Prod
    ),
    "sequential": SequentialLrSchedulerConfig(
        [LinearLrSchedulerConfig(0.001, 0.02, 2), CosineAnnealingLrSchedulerConfig(0.02, 4)], [2]
    ),
}


class Cell(NamedTuple):
    model: str
    optimizer: str
    schedule: str

    def __str__(self) -> str:
        return "-".join(self)


CELLS = [Cell(*names) for names in np.array(np.meshgrid([*MODELS], [*OPTIMIZERS], [*SCHEDULES])).T.reshape(-1, 3)]


def in_burns_json(config: Any) -> Any:
    """A config under the name of its variant in Burn's enum: `{"Adam": {…}}`."""
    if isinstance(config, ConstantLr):
        return {"Constant": config.lr}
    name = type(config).__name__.removesuffix("Config").removesuffix("LrScheduler").removesuffix("Annealing")
    return {name: json.loads(config.to_json())}


def batches(cell: Cell) -> list[Arrays]:
    """Those of both halves of a run: the same every time, others for every cell."""
    rng = np.random.default_rng(zlib.crc32(str(cell).encode()))
    return [MODELS[cell.model].batch(rng) for _ in range(2 * STEPS)]


class Checkpoint(NamedTuple):
    """The three files of an epoch; an epoch is a number of steps here."""

    directory: Path
    epoch: int


class Training(NamedTuple):
    """One step a batch, from a checkpoint or from the start; checkpoints go to `directory` after the steps `save`."""

    cell: Cell
    batches: list[Arrays]
    directory: Path
    save: list[int]
    start: Checkpoint | None = None

    def job(self) -> dict[str, Any]:
        """For Burn."""
        start = None if self.start is None else {"directory": str(self.start.directory), "epoch": self.start.epoch}
        return {
            "train": {
                "model": self.cell.model,
                "optimizer": in_burns_json(OPTIMIZERS[self.cell.optimizer]),
                "scheduler": in_burns_json(SCHEDULES[self.cell.schedule]),
                "from": start,
                "batches": [{name: send(array) for name, array in batch.items()} for batch in self.batches],
                "directory": str(self.directory),
                "save": self.save,
            }
        }

    def run(self, backend: Backend) -> list[dict[str, float]]:
        """Here. The steps are what Burn answers about its own."""
        model = MODELS[self.cell.model].make(backend)
        optim = OPTIMIZERS[self.cell.optimizer].init()
        scheduler = SCHEDULES[self.cell.schedule].init()
        step = 0
        if self.start is not None:
            directory, step = self.start
            model = model.load_record(FileCheckpointer(directory, "model").restore(step, ModuleRecord))
            optim = optim.load_record(FileCheckpointer(directory, "optim").restore(step, OptimizerRecord))
            scheduler = scheduler.load_record(FileCheckpointer(directory, "scheduler").restore(step, LrSchedulerRecord))
        steps: list[dict[str, float]] = []
        for batch in [*self.batches, None]:
            if step in self.save:
                model.valid()  # commits the running statistics, as a training loop does before it saves
                for name, what in (("model", model), ("optim", optim), ("scheduler", scheduler)):
                    FileCheckpointer(self.directory, name).save(step, what.into_record())
            if batch is not None:
                loss = model.loss(batch, backend)
                grads = GradientsParams.from_grads(loss.backward(), model)
                lr = scheduler.step()
                steps.append({"loss": float(loss.item()), "lr": float(lr)})
                model = optim.step(lr, model, grads)
                step += 1
        return steps


def backend_of(dtype: str, seed: int = 0) -> Autodiff:
    return Autodiff(NumPy(seed=seed, float_dtype=DTYPES[dtype]))
