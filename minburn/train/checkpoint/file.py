"""One kind of record, one file an epoch: `{directory}/{name}-{epoch}.bpk`.

    checkpointer = FileCheckpointer("run/checkpoint", "model")
    checkpointer.save(3, model.into_record())                   run/checkpoint/model-3.bpk
    model = model.load_record(checkpointer.restore(3, ModuleRecord))

Files have Burn's names and Burn's content, in both directions. What a training run needs beyond one file, several that
belong together and are there all or not at all, is `CheckpointStore`.

Burn: `crates/burn-train/src/checkpoint/file.rs`.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Protocol, TypeVar

from minburn.module.fields import describe
from minburn.train.checkpoint.error import CheckpointError, reason

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Saveable(Protocol):
    """A record: writes itself to a file, all or nothing."""

    def save(self, path: Path, /) -> object: ...


class Loadable(Protocol[R_co]):
    """The class of a record, whose `load` reads such a file."""

    def load(self, path: Path, /) -> R_co: ...


class FileCheckpointer:
    """Saves, restores and deletes the file of an epoch.

    directory: made if it is not there (that this failed is reported by the first save). name: of the files.

    Burn: `Checkpointer`.
    """

    def __init__(self, directory: str | os.PathLike[str], name: str) -> None:
        if not isinstance(directory, (str, os.PathLike)) or "\0" in str(directory):
            raise CheckpointError(f"FileCheckpointer: directory must be a path, but got {directory!r}.")
        if not isinstance(name, str) or not name or name != os.path.basename(name) or "\0" in name:
            raise CheckpointError(f"FileCheckpointer: name {name!r} cannot begin a file name. Use a word, as 'model'.")
        self.directory = Path(directory)
        self.name = name
        with contextlib.suppress(OSError):
            self.directory.mkdir(parents=True, exist_ok=True)

    def path(self, epoch: int) -> Path:
        """Where the file of an epoch is, or would be."""
        check_number("epoch", epoch)
        return self.directory / f"{self.name}-{epoch}.bpk"

    def save(self, epoch: int, record: Saveable) -> Path:
        """Write the record, replacing an older file of that epoch. CheckpointError if the system refuses."""
        path = self.path(epoch)
        if isinstance(record, type) or not callable(getattr(record, "save", None)):
            raise CheckpointError(f"save: expected a record, as model.into_record(), but got {type(record).__name__}.")
        try:
            record.save(path)
        except (ValueError, OSError) as error:
            raise CheckpointError(f"{path}: not saved: {reason(error)}. An older file is as it was.") from error
        return path

    def restore(self, epoch: int, record_type: Loadable[R]) -> R:
        """Read it back: `restore(3, ModuleRecord)`. CheckpointError if there is none, or it is damaged."""
        path = self.path(epoch)
        if not isinstance(record_type, type) or not callable(getattr(record_type, "load", None)):
            raise CheckpointError(f"restore: expected a class of records, as ModuleRecord, but got {record_type!r}.")
        if not path.exists():
            raise CheckpointError(f"{path}: there is no such checkpoint. {self._available()}")
        try:
            return record_type.load(path)
        except (ValueError, OSError) as error:
            raise CheckpointError(f"{path}: cannot be restored: {error}") from error

    def delete(self, epoch: int) -> None:
        """Remove the file; that there is none is no error."""
        path = self.path(epoch)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be deleted: {reason(error)}.") from error

    def epochs(self) -> list[int]:
        """The epochs that have a file, in order."""
        found = []
        with contextlib.suppress(OSError):
            for path in self.directory.iterdir():
                number = path.name.removeprefix(f"{self.name}-").removesuffix(".bpk")
                if number.isascii() and number.isdigit() and path == self.directory / f"{self.name}-{int(number)}.bpk":
                    found.append(int(number))
        return sorted(found)

    def _available(self) -> str:
        epochs = self.epochs()
        return f"There are epochs {', '.join(map(str, epochs))}." if epochs else f"{self.directory} holds none."

    def __repr__(self) -> str:
        return f"FileCheckpointer({str(self.directory)!r}, {self.name!r})"


def check_number(what: str, number: int) -> None:
    """Epochs and steps are numbers that count."""
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**64:
        raise CheckpointError(f"{what} must be an int of at least 0 and below 2**64, but got {describe(number)}.")
