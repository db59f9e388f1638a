"""One line per epoch, for files, pipes and logs. Burn: `crates/burn-train/src/renderer/cli.rs`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TextIO

from minburn.train.render.base import Renderer, RunInfo
from minburn.train.vocabulary import Split, epochs_text


class PlainRenderer(Renderer):
    """`epoch 3/40   train Loss 0.2134, Accuracy 93.7   valid Loss 0.1502, Accuracy 95.26`.

    Burn: `CliMetricsRenderer` in `crates/burn-train/src/renderer/cli.rs`.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def start(self, run: RunInfo) -> None:
        self.message(f"Starting {run.label} for {epochs_text(run.num_epochs)} in {run.run_dir}.")

    def epoch_ended(self, epoch: int, num_epochs: int, values: Mapping[Split, Mapping[str, float]]) -> None:
        self.message(epoch_line(epoch, num_epochs, values))

    def message(self, text: str) -> None:
        # sys.stdout is looked up now: it may have been redirected since.
        print(text, file=self._stream or sys.stdout, flush=True)


def epoch_line(epoch: int, num_epochs: int, values: Mapping[Split, Mapping[str, float]]) -> str:
    parts = [f"epoch {epoch:>{len(str(num_epochs))}}/{num_epochs}"]
    for split, metrics in values.items():
        if metrics:
            parts.append(f"{split.value} " + ", ".join(f"{name} {value:.4g}" for name, value in metrics.items()))
    return "   ".join(parts)
