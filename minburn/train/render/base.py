"""What a run tells while it goes on. A renderer shows it; the base class keeps quiet.

    start(run) → [ progress(…)* → epoch_ended(…) ]* → end()           and message(…) at any time

Called from the training loop, at most ten times a second, never for every batch.

Burn: `MetricsRenderer` in `crates/burn-train/src/renderer/base.rs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from minburn.train.metric import MetricEntry
from minburn.train.vocabulary import Split

Entries = Mapping[str, MetricEntry]


class RunInfo(NamedTuple):
    run_dir: Path
    num_epochs: int
    epoch: int
    """The first one to be trained, from 1."""
    label: str


class Progress(NamedTuple):
    """Where the run is: `batch` of `batches` of one split are done.

    Burn: `burn_core::data::dataloader::Progress`, `DataLoaderIterator::progress` in
    `crates/burn-core/src/data/dataloader/base.rs`.
    """

    split: Split
    epoch: int
    num_epochs: int
    batch: int
    batches: int
    entries: Entries
    """The metrics' latest texts by name."""


class Renderer:
    """Shows nothing. Override what you want to see.

    Burn: `MetricsRenderer`, `MetricsRendererTraining` in `crates/burn-train/src/renderer/base.rs`.
    """

    def start(self, run: RunInfo) -> None: ...
    def progress(self, progress: Progress) -> None:
        """Burn: `MetricsRendererTraining::update_train` and `MetricsRendererTraining::update_valid`."""

    def epoch_ended(self, epoch: int, num_epochs: int, values: Mapping[Split, Mapping[str, float]]) -> None:
        """An epoch is trained and validated; its checkpoint is written next."""

    def message(self, text: str) -> None:
        """Something to know: where the run goes on, why it stops."""

    def end(self) -> None:
        """Always the last call, after an error too. Burn: `MetricsRendererTraining::on_train_end`."""
