"""Several files that become a checkpoint at once, or not at all.

    a new number        state, model, optim, scheduler under their names, each whole and durable; then the manifest
    an existing one     the same with `.next` behind the names; the manifest; then `.next` is dropped from the names
    deleting            the manifest; then the records; the state last

The manifest's rename is the moment at which a set comes to be, or another content takes the place of the old. Whatever
moment a process dies at, what is on the disk is told apart by three questions:

    is there a manifest?     yes: a set; its files are those, `.next` or not, that have the digests in it
    else, a state?           yes: the rest of a save or a deletion of ours, to be swept
    else                     Burn's, or the user's: not touched

Burn saves three files one after the other, and knows no sets.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from minburn.pack import AtomicFile, WriteReport
from minburn.train.checkpoint.error import CheckpointError, is_full, reason
from minburn.train.checkpoint.layout import NEXT, PARTS, RECORDS, STATE, Found, Part, SetId, scan, sync_folder
from minburn.train.checkpoint.manifest import FileInfo, Manifest, difference, read_manifest


class Record(Protocol):
    """One file of a set. Burn: `Checkpoint` in `crates/burn-train/src/checkpoint/base.rs`."""

    def save(self, path: Path, /, *, digest: bool) -> WriteReport: ...

    def into_bytes(self) -> bytes: ...


def write_set(
    folder: Path, id: SetId, records: Mapping[Part, Record], describe: Callable[[dict[Part, FileInfo]], Manifest]
) -> Manifest:
    """Writes and commits a set. After an error nothing of it is left, and a set that was there is as it was."""
    written: list[Path] = []
    files: dict[Part, FileInfo] = {}
    text: str | None = None
    doing = f"making {folder}"
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            sync_folder(folder.parent)
        existing = scan(folder).get(id.number)
        suffix = NEXT if existing is not None and existing.parts else ""
        for part in PARTS:
            name = id.file(part)
            doing = f"writing {name}"
            written.append(folder / (name + suffix))
            report = records[part].save(written[-1], digest=True)
            if getattr(report, "sha256", None) is None:
                raise CheckpointError(f"the record of the {part} told no digest. Its save(path, digest=True) must.")
            files[part] = FileInfo(name, report.size, str(report.sha256))
        doing = f"writing {id.manifest}"
        manifest = describe(files)
        text = manifest.into_text()
        with AtomicFile(folder / id.manifest) as file:
            file.write(text.encode())
            file.commit()
        doing = f"renaming the files of {id}"
        if suffix:
            settle(folder, id)
    except BaseException as error:
        committed = text is not None and _holds(folder / id.manifest, text)
        if committed:
            with contextlib.suppress(OSError):
                settle(folder, id)
        else:
            _remove(reversed(written))
        if isinstance(error, ValueError | OSError):
            raise _not_saved(folder, id, records, error, doing, committed) from error
        raise
    return manifest


def settle(folder: Path, id: SetId) -> None:
    """Drops `.next` from the names of a committed set's files; deletes those that were never committed.

    Killed and called again it does the rest. OSError if the system refuses.
    """
    found = scan(folder).get(id.number)
    if found is None or not found.staged:
        return
    try:
        manifest = read_manifest(folder, id)
    except CheckpointError:
        manifest = None
    rejected: list[Path] = []
    for part in filter(found.staged.__contains__, PARTS):
        path = folder / (id.file(part) + NEXT)
        if manifest is not None and difference(path, manifest.files[part]) is None:
            os.replace(path, folder / id.file(part))
        else:
            rejected.insert(0, path)  # the state's comes last
    for path in rejected:
        os.unlink(path)
    sync_folder(folder)


def delete_set(folder: Path, id: SetId) -> bool:
    """Deletes a set, its manifest first; whether there was one. Without a manifest also the three files that Burn
    wrote. OSError if the system refuses; called again it does the rest."""
    settle(folder, id)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(folder / id.manifest)
        sync_folder(folder)
    return _delete_parts(folder, id, (*RECORDS, STATE))


def sweep_number(folder: Path, id: SetId, found: Found) -> list[Path]:
    """Deletes what a killed save or deletion of ours left of one number; what was deleted. OSError as above."""
    if not found.is_ours:
        return []
    swept = [folder / name for name in found.scratch]
    for path in swept:
        path.unlink(missing_ok=True)
    if found.manifest:
        settle(folder, id)
        return swept
    for part in (*RECORDS, STATE):
        if part in found.staged:
            path = folder / (id.file(part) + NEXT)
            path.unlink(missing_ok=True)
            swept.append(path)
    if STATE in found.parts:
        swept += [folder / id.file(part) for part in PARTS if part in found.parts]
        _delete_parts(folder, id, (*RECORDS, STATE))
    return swept


def _delete_parts(folder: Path, id: SetId, parts: tuple[Part, ...]) -> bool:
    deleted = False
    for part in parts:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(folder / id.file(part))
            deleted = True
    if deleted:
        sync_folder(folder)
    return deleted


def _remove(paths: Iterable[Path]) -> None:
    """After a failed save; what the system does not let go of now is swept at the next start."""
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False


def _not_saved(
    folder: Path, id: SetId, records: Mapping[Part, Record], error: Exception, doing: str, committed: bool
) -> CheckpointError:
    if committed and scan(folder)[id.number].staged:
        return CheckpointError(
            f"{folder}: {id} was written, but not all of its files could take their names: {reason(error)} while "
            f"{doing}. Mend that, then the next start finishes it."
        )
    if committed:
        return CheckpointError(
            f"{folder}: {id} was saved, but may not survive a power loss: {reason(error)} while {doing}. "
            "Check the disk; the checkpoint can be used."
        )
    what = f"{folder}: {id} was not saved: {reason(error)} while {doing}."
    if is_full(error):
        what = f"{what[:-1]}: {_room(folder, records)}. Make room, then"
    else:
        what = f"{what} Mend that, then"
    return CheckpointError(f'{what} resume="auto" goes on from the last checkpoint: those before are untouched.')


def _room(folder: Path, records: Mapping[Part, Record]) -> str:
    try:
        needed = sum(len(records[part].into_bytes()) for part in PARTS)
        return f"the checkpoint needs {needed:,} bytes, {shutil.disk_usage(folder).free:,} are free"
    except (OSError, ValueError, MemoryError):
        return "the disk is full"
