"""The metrics' log files, in Burn's layout.

    {run}/train/epoch-1/Loss.log            a line `value,count` for every batch, and `mean,final` at the end
    {run}/valid/epoch-1/Learning_Rate.log   spaces in a metric's name become `_`

Lines are gathered and written when the display is due and before every checkpoint. A checkpoint records how long the
files of its epoch were; a run that goes on from it cuts off what was written after, so that its logs end like those of
a run that was never stopped.

Burn: `crates/burn-train/src/logger/{file,metric}.rs`.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from minburn.train.error import TrainingError
from minburn.train.history import History
from minburn.train.vocabulary import Split

EPOCH_FOLDER = re.compile(r"epoch-([1-9][0-9]*)")


def log_name(metric: str) -> str:
    return f"{metric.replace(' ', '_')}.log"


class MetricLog:
    """Writes the log files of one run. TrainingError if the system refuses.

    Burn: `FileLogger`, `FileMetricLogger`, `MetricLogger` in `crates/burn-train/src/logger`.
    """

    def __init__(self, run_dir: str | os.PathLike[str]) -> None:
        self.run_dir = Path(run_dir)
        self._lines: dict[str, list[str]] = {}
        self._files: dict[str, BinaryIO] = {}

    def write(self, split: Split, epoch: int, metric: str, line: str) -> None:
        """Burn: `MetricLogger::log`."""
        name = f"{split.value}/epoch-{epoch}/{log_name(metric)}"
        lines = self._lines.get(name)
        if lines is None:
            lines = self._lines[name] = []
        lines.append(f"{line}\n")

    def flush(self) -> None:
        """Hands all lines to the system."""
        for name, lines in self._lines.items():
            if lines:
                with self._refusals(name):
                    self._open(name).write("".join(lines).encode())
                lines.clear()

    def close(self) -> None:
        """Flushes and closes the files: the end of a split."""
        try:
            self.flush()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Closes the files and drops the lines not yet written."""
        self._lines.clear()
        files, self._files = self._files, {}
        for file in files.values():
            with contextlib.suppress(OSError):
                file.close()

    def lengths(self) -> dict[str, int]:
        """Bytes of every file that is open now, by its path in the run."""
        self.flush()
        return {name: file.tell() for name, file in sorted(self._files.items())}

    def rewind(self, epoch: int, lengths: Mapping[str, int]) -> list[str]:
        """Back to where the files of `epoch` had these lengths: what came later is deleted.

        Returns the files that are shorter than that, because someone removed them or the machine went down.
        """
        self.abandon()
        for number, path in self._logs():
            name = path.relative_to(self.run_dir).as_posix()
            if number > epoch or (number == epoch and name not in lengths):
                with self._refusals(name):
                    path.unlink()
                with contextlib.suppress(OSError):
                    path.parent.rmdir()  # refused unless it is empty
        short = []
        for name, length in lengths.items():
            with self._refusals(name):
                file = self._open(name)
                if file.tell() < length:
                    short.append(name)
                else:
                    file.truncate(length)
                    file.seek(length)
        return short

    def read_history(self, epochs: int) -> History:
        """The epochs' values as the last lines of the files have them, for a run that left nothing else.

        A metric's name comes back with a space for every `_`.

        Burn: `MetricLogger::read_numeric`.
        """
        found: dict[int, dict[str, dict[str, float]]] = {}
        for number, path in self._logs():
            if number <= epochs:
                with self._refusals(path.name):
                    value = final_value(path.read_text(encoding="utf-8", errors="replace"))
                if value is not None:
                    split, metric = path.parent.parent.name, path.stem.replace("_", " ")
                    found.setdefault(number, {}).setdefault(split, {})[metric] = value
        history = History()
        for number in sorted(found):
            history.add_epoch(number, found[number])
        return history

    def _logs(self) -> Iterator[tuple[int, Path]]:
        for split in Split:
            for path in sorted((self.run_dir / split.value).glob("epoch-*/*.log")):
                match = EPOCH_FOLDER.fullmatch(path.parent.name)
                if match:
                    yield int(match[1]), path

    def _open(self, name: str) -> BinaryIO:
        file = self._files.get(name)
        if file is None:
            path = self.run_dir / name
            path.parent.mkdir(parents=True, exist_ok=True)
            file = self._files[name] = open(path, "ab", buffering=0)  # noqa: SIM115 - closed at the end of the split
        return file

    @contextlib.contextmanager
    def _refusals(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise TrainingError(
                f"{self.run_dir / name}: cannot write the log: {error.strerror or error}. "
                "Make room or change the permissions; the checkpoints are as they were."
            ) from error


def final_value(text: str) -> float | None:
    """The number of the last line if it says `final`, else the mean of the lines weighted by their counts."""
    total, weight = 0.0, 0.0
    rows = [line.split(",") for line in text.splitlines() if line]
    try:
        if rows and rows[-1][1:] == ["final"]:
            return float(rows[-1][0])
        for value, *count in rows:
            number = float(count[0]) if count else 1.0
            if number > 0:
                total += float(value) * number
                weight += number
    except ValueError:
        return None
    return total / weight if weight else (math.nan if rows else None)
