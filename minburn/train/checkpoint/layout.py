"""The names of a run's checkpoint files, and nothing else.

    {run}/checkpoint/model-3.bpk  optim-3.bpk  scheduler-3.bpk     Burn's three, by epoch
                     state-3.bpk                                   the rest of the run's state
                     set-3.json                                    what belongs together: there last, gone first
    {run}/checkpoint/steps/model-120.bpk …                         the same inside an epoch, by global step

On the way: `*.bpk.next` is a file that will replace another one (`commit.py`), `*.{pid}-{n}.tmp` one being written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from minburn.train.checkpoint.error import CheckpointError, reason
from minburn.train.checkpoint.file import check_number

Kind = Literal["epoch", "step"]
Part = Literal["model", "optim", "scheduler", "state"]

RECORDS: tuple[Part, ...] = ("model", "optim", "scheduler")
STATE: Part = "state"
PARTS: tuple[Part, ...] = (STATE, *RECORDS)
"""In the order of writing. The state is there first and gone last: records without one beside them are Burn's."""

FOLDER = "checkpoint"
STEPS_FOLDER = "steps"
NEXT = ".next"

_NUMBER = r"(0|[1-9][0-9]*)"
_FILE = re.compile(rf"({'|'.join(PARTS)})-{_NUMBER}\.bpk(\.next)?(\.[0-9]+-[0-9]+\.tmp)?")
_MANIFEST = re.compile(rf"set-{_NUMBER}\.json(\.[0-9]+-[0-9]+\.tmp)?")


@dataclass(frozen=True, slots=True)
class SetId:
    """Which set: the end of an epoch, or a global step."""

    kind: Kind
    number: int

    @staticmethod
    def epoch(number: int) -> SetId:
        check_number("epoch", number)
        return SetId("epoch", number)

    @staticmethod
    def step(number: int) -> SetId:
        check_number("step", number)
        return SetId("step", number)

    def file(self, part: Part) -> str:
        return f"{part}-{self.number}.bpk"

    @property
    def manifest(self) -> str:
        return f"set-{self.number}.json"

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"


def folder_of(folder: Path, kind: Kind) -> Path:
    return folder if kind == "epoch" else folder / STEPS_FOLDER


@dataclass(slots=True)
class Found:
    """The files of one number in one folder."""

    parts: set[Part]
    staged: set[Part]
    scratch: list[str]
    manifest: bool = False
    state_begun: bool = False

    @property
    def is_ours(self) -> bool:
        """Burn writes neither states nor manifests, so a number that has one is ours, however little else it has."""
        return self.manifest or self.state_begun


def scan(folder: Path) -> dict[int, Found]:
    """The numbers that have files in a folder, in order. Everything else in it is not looked at."""
    found: dict[int, Found] = {}
    for name in _names(folder):
        if match := _FILE.fullmatch(name):
            part, number, staged, scratch = match[1], int(match[2]), match[3], match[4]
            entry = found.setdefault(number, Found(set(), set(), []))
            entry.state_begun |= part == STATE
            if scratch:
                entry.scratch.append(name)
            else:
                (entry.staged if staged else entry.parts).add(_PARTS_BY_NAME[part])
        elif match := _MANIFEST.fullmatch(name):
            entry = found.setdefault(int(match[1]), Found(set(), set(), []))
            if match[2]:
                entry.scratch.append(name)
                entry.state_begun = True  # a manifest comes after a state
            else:
                entry.manifest = True
    return dict(sorted(found.items()))


_PARTS_BY_NAME: dict[str, Part] = {part: part for part in PARTS}


def _names(folder: Path) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                yield entry.name
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot be listed: {reason(error)}.") from error


def sync_folder(folder: Path) -> None:
    """What was created or deleted in a folder so far survives a power loss."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
