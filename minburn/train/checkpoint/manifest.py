"""`set-{n}.json`: which files make a checkpoint, their sizes and SHA-256, and where it was made.

A set exists when this file does and every file in it is as it says. The manifest has a digest of its own, so that
a changed byte anywhere in a set is noticed.

    {"format": "minburn checkpoint set", "version": 1, "kind": "epoch", "number": 3, "global_step": 69,
     "keep_epochs": [2, 3], "files": {"model": {"name": "model-3.bpk", "size": 2572, "sha256": "…"}, …},
     "environment": {…}, "sha256": "…"}
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minburn.train.checkpoint.error import CheckpointError, reason
from minburn.train.checkpoint.layout import NEXT, PARTS, Part, SetId

FORMAT = "minburn checkpoint set"
VERSION = 1
MAX_SIZE = 16 << 20


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file of a set, as it was written."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """A set: where in the run it is, its files, and which epochs' sets were to stay (None: all)."""

    id: SetId
    global_step: int
    files: Mapping[Part, FileInfo]
    keep_epochs: tuple[int, ...] | None
    environment: Mapping[str, Any]

    @property
    def position(self) -> tuple[int, bool]:
        """Sorts sets by how far the run was: an epoch's end comes after its last step."""
        return self.global_step, self.id.kind == "epoch"

    @property
    def size(self) -> int:
        return sum(info.size for info in self.files.values())

    def into_text(self) -> str:
        keep = None if self.keep_epochs is None else list(self.keep_epochs)
        content = {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.id.kind,
            "number": self.id.number,
            "global_step": self.global_step,
            "keep_epochs": keep,
            "files": {
                part: {"name": info.name, "size": info.size, "sha256": info.sha256} for part, info in self.files.items()
            },
            "environment": self.environment,
        }
        content["sha256"] = _digest(content)
        return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def read_manifest(folder: Path, id: SetId) -> Manifest:
    """CheckpointError, saying why, unless the manifest is there and is what `into_text` wrote."""
    path = folder / id.manifest
    try:
        with open(path, "rb") as file:
            text = file.read(MAX_SIZE)
    except FileNotFoundError:
        raise CheckpointError(f"{folder}: there is no checkpoint of {id}.") from None
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {reason(error)}.") from error
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise CheckpointError(f"{path}: damaged: it is not JSON ({len(text)} bytes).") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CheckpointError(f"{path}: not a checkpoint set: its format is not {FORMAT!r}.")
    if content.get("version") != VERSION:
        raise CheckpointError(
            f"{path}: a set of version {content.get('version')!r}; this version of minburn reads {VERSION}. "
            "Use the version that wrote it."
        )
    if content.pop("sha256", None) != _digest(content):
        raise CheckpointError(f"{path}: damaged: its content does not have the digest that it names.")
    if (content.get("kind"), content.get("number")) != (id.kind, id.number):
        raise CheckpointError(f"{path}: it describes {content.get('kind')} {content.get('number')}. Was it renamed?")
    return _from_content(path, id, content)


def verify(folder: Path, manifest: Manifest) -> dict[Part, Path]:
    """Where each file of a set is. CheckpointError naming the first that is missing or not as it was written.

    A file that was to replace another one may still have its `.next` name (a killed save); that one counts.
    """
    paths: dict[Part, Path] = {}
    for part, info in manifest.files.items():
        staged = folder / (info.name + NEXT)
        paths[part] = staged if difference(staged, info) is None else folder / info.name
        if paths[part] != staged and (why := difference(paths[part], info)) is not None:
            raise CheckpointError(f"{folder}: the checkpoint of {manifest.id} is damaged: {info.name} {why}.")
    return paths


def difference(path: Path, info: FileInfo) -> str | None:
    """Why a file is not the one that was written: `is missing`, …; None if it is."""
    try:
        size = os.stat(path).st_size
        if size != info.size:
            return f"has {size} bytes instead of {info.size}"
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {reason(error)}"
    return None if found == info.sha256 else "has changed: its SHA-256 is not the one that was written"


def _from_content(path: Path, id: SetId, content: dict[str, Any]) -> Manifest:
    """From JSON whose digest is right: only another program's could still be malformed."""
    try:
        files = {part: FileInfo(**content["files"][part]) for part in PARTS}
        keep = content["keep_epochs"]
        manifest = Manifest(
            id,
            int(content["global_step"]),
            files,
            None if keep is None else tuple(map(int, keep)),
            dict(content["environment"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: not a checkpoint set: {type(error).__name__}: {error}.") from None
    for part, info in files.items():
        if info.name != id.file(part):
            raise CheckpointError(f"{path}: not a checkpoint set: its {part} is {info.name!r}, not {id.file(part)!r}.")
    return manifest


def _digest(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
