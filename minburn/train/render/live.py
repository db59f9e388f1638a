"""Bars and numbers that move, in a terminal. Uses rich, which is imported when such a renderer starts.

Burn: the `tui` renderer in `crates/burn-train/src/renderer/tui/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from minburn.train.render.base import Progress, Renderer, RunInfo
from minburn.train.render.plain import epoch_line
from minburn.train.vocabulary import Split, epochs_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID


class LiveRenderer(Renderer):
    """A line per finished epoch, and below them one bar for the run and one for the split in progress.

    Burn: `TuiMetricsRendererWrapper` in `crates/burn-train/src/renderer/tui/renderer.rs`.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console
        self._bars: Bars | None = None
        self._run: TaskID | None = None
        self._split: TaskID | None = None

    def start(self, run: RunInfo) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        self._console = self._console or Console()
        self._console.print(f"{run.label.capitalize()}: {epochs_text(run.num_epochs)} in {run.run_dir}", markup=False)
        self._bars = Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[numbers]}", markup=False),
            console=self._console,
            auto_refresh=False,
            transient=True,
        )
        self._run = self._bars.add_task(
            escape(run.label), total=run.num_epochs, completed=min(run.epoch - 1, run.num_epochs), numbers=""
        )
        self._split = self._bars.add_task("train", total=None, numbers="")
        self._bars.start()

    def progress(self, progress: Progress) -> None:
        if self._bars is None or self._split is None:
            return
        self._bars.update(
            self._split,
            description=progress.split.value,
            total=progress.batches,
            completed=progress.batch,
            numbers="   ".join(f"{name}: {entry.formatted}" for name, entry in progress.entries.items()),
        )
        self._bars.refresh()

    def epoch_ended(self, epoch: int, num_epochs: int, values: Mapping[Split, Mapping[str, float]]) -> None:
        self.message(epoch_line(epoch, num_epochs, values))
        if self._bars is not None and self._run is not None:
            self._bars.update(self._run, completed=epoch)

    def message(self, text: str) -> None:
        if self._console is None:
            from rich.console import Console

            self._console = Console()
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def end(self) -> None:
        bars, self._bars = self._bars, None
        if bars is not None:
            bars.stop()
