"""A run's checkpoints: sets of four files, whole or not there, and the newest of them that is undamaged.

    with RunLock(run):
        store = CheckpointStore(run)
        found = store.recover()                                    start of every run
        if found:
            model = model.load_record(found.load("model", ModuleRecord))
        ...
        store.save_epoch(3, model=…, optim=…, scheduler=…, state=…, keep=[2, 3])

`layout.py` has the names, `commit.py` how a set comes and goes. What may be deleted is decided by whoever saves and
written into the set, so that a run killed between the save and the deletion finishes it at its next start: a run's
folder does not tell how often it was killed.

The methods that write assume that no other process does: hold the run's lock.

Burn: `crates/burn-train/src/learner/supervised/step/` restores by epoch number whatever lies there.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from minburn.train.checkpoint.commit import Record, delete_set, sweep_number, write_set
from minburn.train.checkpoint.error import CheckpointError, CheckpointWarning, reason
from minburn.train.checkpoint.file import Loadable, check_number
from minburn.train.checkpoint.layout import FOLDER, RECORDS, STATE, Kind, Part, SetId, folder_of, scan
from minburn.train.checkpoint.manifest import FileInfo, Manifest, read_manifest, verify
from minburn.train.checkpoint.run_state import RunState
from minburn.train.environment import environment

R = TypeVar("R")

KINDS: tuple[Kind, ...] = ("epoch", "step")
STEP_SETS_KEPT = 2  # should the newest be damaged, the one before it costs a few steps instead of an epoch


@dataclass(frozen=True, slots=True)
class CheckpointSet:
    """A set that was there and undamaged when it was looked at."""

    id: SetId
    state: RunState | None
    """None: the three files are Burn's, which saves none."""
    manifest: Manifest | None = field(repr=False)
    paths: Mapping[Part, Path] = field(repr=False)

    @property
    def epoch(self) -> int:
        """The epoch that it ends, or is in the middle of."""
        return self.id.number if self.id.kind == "epoch" or self.state is None else self.state.epoch

    @property
    def global_step(self) -> int | None:
        return None if self.manifest is None else self.manifest.global_step

    @property
    def environment(self) -> Mapping[str, Any] | None:
        """Where it was made; see `minburn.train.environment`."""
        return None if self.manifest is None else self.manifest.environment

    def path(self, part: Part) -> Path:
        return self.paths[part]

    def load(self, part: Part, record_type: Loadable[R]) -> R:
        """One of its records: `load("model", ModuleRecord)`. CheckpointError if the file holds something else."""
        path = self.paths[part]
        try:
            return record_type.load(path)
        except (ValueError, OSError) as error:
            raise CheckpointError(f"{path}: cannot be restored: {error}") from error


class CheckpointStore:
    """The checkpoints of the run in `run_dir`. Nothing is made before the first save."""

    def __init__(self, run_dir: str | os.PathLike[str]) -> None:
        self.run_dir = Path(run_dir)
        self.folder = self.run_dir / FOLDER

    # Finding

    def ids(self) -> list[SetId]:
        """The committed sets, from the oldest to the newest; before them those whose manifests cannot be read."""
        readable = [manifest.id for manifest in self._manifests()[0]]
        every = [SetId(kind, number) for kind in KINDS for number in self._numbers(kind)]
        return [id for id in every if id not in readable] + readable

    def burn_epochs(self) -> list[int]:
        """Epochs with Burn's three files and nothing of ours: to be resumed by number."""
        return [n for n, found in scan(self.folder).items() if not found.is_ours and found.parts == set(RECORDS)]

    def latest(self) -> CheckpointSet | None:
        """The newest undamaged set, None if there is none. A CheckpointWarning for every damaged one before it."""
        manifests, damaged = self._manifests()
        for error in damaged:
            self._warn(error)
        for manifest in reversed(manifests):
            try:
                return self._open(manifest)
            except CheckpointError as error:
                self._warn(error)
        return None

    def load(self, which: SetId | int) -> CheckpointSet:
        """The set, or that of an epoch, every file compared with its digest. What Burn saved is taken as it is.

        CheckpointError if it is not there or damaged.
        """
        id = which if isinstance(which, SetId) else SetId.epoch(which)
        found = scan(folder_of(self.folder, id.kind)).get(id.number)
        if found is not None and found.manifest:
            return self._open(read_manifest(folder_of(self.folder, id.kind), id))
        if id.kind == "epoch" and found is not None and not found.is_ours and found.parts >= set(RECORDS):
            return CheckpointSet(id, None, None, {part: self.folder / id.file(part) for part in RECORDS})
        raise CheckpointError(f"{self.folder}: {self._why_not(id, found is not None)}. {self._available()}")

    # Writing

    def recover(self) -> CheckpointSet | None:
        """What every run begins with: `sweep`, `latest`, and the deletions that the latest set's save had begun."""
        self.sweep()
        found = self.latest()
        if found is not None and found.manifest is not None:
            self._prune(found.manifest)
        return found

    def sweep(self) -> list[Path]:
        """Deletes what killed saves and deletions left behind, and says what. Foreign files and sets that Burn wrote
        are not touched."""
        swept: list[Path] = []
        for kind in KINDS:
            folder = folder_of(self.folder, kind)
            for number, found in scan(folder).items():
                with _Explained(folder, f"{kind} {number}: what is left of it"):
                    swept += sweep_number(folder, SetId(kind, number), found)
        return swept

    def save_epoch(
        self,
        epoch: int,
        *,
        model: Record,
        optim: Record,
        scheduler: Record,
        state: RunState,
        keep: Iterable[int] | None = None,
    ) -> CheckpointSet:
        """Saves the end of an epoch, then deletes the sets inside epochs, and those of older epochs not in `keep`.

        keep: epochs, None for all. CheckpointError if the system refuses; then nothing was deleted, and nothing of the
        new set is there.
        """
        records = _checked(state, model, optim, scheduler)
        id = SetId.epoch(epoch)
        kept = None if keep is None else tuple(keep)
        for number in kept or ():
            check_number("keep", number)
        return self._save(id, records, state, None if kept is None else tuple(sorted({*kept, epoch})))

    def save_step(self, *, model: Record, optim: Record, scheduler: Record, state: RunState) -> CheckpointSet:
        """Saves a place inside an epoch, by `state.global_step`, and deletes all such sets but it and the one before.

        Errors: as `save_epoch`.
        """
        records = _checked(state, model, optim, scheduler)
        return self._save(SetId.step(state.global_step), records, state, None)

    def delete(self, which: SetId | int) -> None:
        """Deletes a set, or that of an epoch, also one that Burn saved; nothing if there is nothing."""
        id = which if isinstance(which, SetId) else SetId.epoch(which)
        folder = folder_of(self.folder, id.kind)
        with _Explained(folder, str(id)):
            delete_set(folder, id)

    def discard_after(self, kept: CheckpointSet) -> list[SetId]:
        """Deletes the sets that are further than `kept`, the furthest first, and says which: a run that goes on from
        there by its user's choice must not find them later."""
        if kept.manifest is None:
            later = [id for id in self.ids() if id.kind == "step" or id.number > kept.id.number]
        else:
            position = kept.manifest.position
            later = [manifest.id for manifest in self._manifests()[0] if manifest.position > position]
        for id in reversed(later):
            self.delete(id)
        return later

    def _save(
        self, id: SetId, records: Mapping[Part, Record], state: RunState, keep: tuple[int, ...] | None
    ) -> CheckpointSet:
        folder = folder_of(self.folder, id.kind)

        def describe(files: dict[Part, FileInfo]) -> Manifest:
            return Manifest(id, state.global_step, files, keep, environment())

        manifest = write_set(folder, id, records, describe)
        self._prune(manifest)
        return CheckpointSet(id, state, manifest, {part: folder / info.name for part, info in manifest.files.items()})

    def _prune(self, newest: Manifest) -> None:
        """Deletes what the set `newest` made superfluous: nothing newer than it, and nothing that Burn wrote."""
        for number in self._numbers("epoch"):
            if newest.keep_epochs is not None and number < newest.id.number and number not in newest.keep_epochs:
                self.delete(SetId.epoch(number))
        steps = [number for number in self._numbers("step") if number <= newest.global_step]
        for number in steps if newest.id.kind == "epoch" else steps[:-STEP_SETS_KEPT]:
            self.delete(SetId.step(number))
        if newest.id.kind == "epoch":
            # Else a run that was once interrupted inside an epoch would keep an empty folder that others have not.
            with contextlib.suppress(OSError):  # not there, or something foreign is in it
                folder_of(self.folder, "step").rmdir()

    def _numbers(self, kind: Kind) -> list[int]:
        return [number for number, found in scan(folder_of(self.folder, kind)).items() if found.manifest]

    def _manifests(self) -> tuple[list[Manifest], list[CheckpointError]]:
        """All that can be read, from the oldest to the newest, and what is wrong with the others."""
        manifests: list[Manifest] = []
        damaged: list[CheckpointError] = []
        for kind in KINDS:
            for number in self._numbers(kind):
                try:
                    manifests.append(read_manifest(folder_of(self.folder, kind), SetId(kind, number)))
                except CheckpointError as error:
                    damaged.append(error)
        manifests.sort(key=lambda manifest: manifest.position)
        return manifests, damaged

    def _open(self, manifest: Manifest) -> CheckpointSet:
        paths = verify(folder_of(self.folder, manifest.id.kind), manifest)
        return CheckpointSet(manifest.id, RunState.load(paths[STATE]), manifest, paths)

    def _why_not(self, id: SetId, is_there: bool) -> str:
        if is_there:
            return f"the checkpoint of {id} is incomplete: its save was not finished, or its files come from elsewhere"
        return f"there is no checkpoint of {id}"

    def _available(self) -> str:
        sets = [str(id) for id in self.ids()] + [f"epoch {epoch} (written by Burn)" for epoch in self.burn_epochs()]
        return f"There are: {', '.join(sets)}." if sets else "There are no others."

    def _warn(self, error: CheckpointError) -> None:
        message = f"{error} An older checkpoint is looked for. Delete the damaged one if you do not need it."
        warnings.warn(message, CheckpointWarning, stacklevel=4)

    def __repr__(self) -> str:
        return f"CheckpointStore({str(self.run_dir)!r})"


def _checked(state: RunState, model: Record, optim: Record, scheduler: Record) -> dict[Part, Record]:
    """The records of a set by name; CheckpointError for what is none."""
    if not isinstance(state, RunState):
        raise CheckpointError(f"save: state must be a RunState, but got {type(state).__name__}.")
    records: dict[Part, Record] = {STATE: state, "model": model, "optim": optim, "scheduler": scheduler}
    for part, record in records.items():
        if not hasattr(record, "save"):
            raise CheckpointError(f"save: {part} must be a record, but got {type(record).__name__}.")
    return records


class _Explained:
    """Turns the system's refusal to delete into a CheckpointError."""

    def __init__(self, folder: Path, what: str) -> None:
        self.folder = folder
        self.what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, OSError):
            raise CheckpointError(
                f"{self.folder}: {self.what} cannot be deleted: {reason(error)}. The checkpoints are intact."
            ) from error
