"""Are all checkpoints of a run as they were written?

    minburn verify runs/digits

Every set of files has a manifest with their sizes and SHA-256 digests; each file is read and compared. Nothing is
changed. Files without a set, which a killed save leaves behind, are named; so are Burn's, which have no digests. The
exit status is 1 if a set is damaged or there is none.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from minburn.cli.error import CommandError
from minburn.cli.files import size_text

if TYPE_CHECKING:
    from minburn.train.checkpoint.layout import Found, Kind

HELP = "are the checkpoints of a run as they were written?"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_dir", help="the folder of the run")


def run(args: argparse.Namespace) -> int:
    from minburn.train.checkpoint.layout import FOLDER, folder_of, scan

    base = Path(args.run_dir) / FOLDER
    if not base.is_dir():
        raise CommandError(f"{args.run_dir}: there is no run; it has no folder {FOLDER!r}.", status=1)
    good, damaged = 0, 0
    kinds: tuple[Kind, ...] = ("epoch", "step")
    for kind in kinds:
        folder = folder_of(base, kind)
        for number, found in scan(folder).items():
            right, line = one(folder, kind, number, found)
            print(line)
            good += right is True
            damaged += right is False
    print(f"{args.run_dir}: {good} good, {damaged} damaged")
    return 0 if good and not damaged else 1


def one(folder: Path, kind: Kind, number: int, found: Found) -> tuple[bool | None, str]:
    """Whether a set is good (None: it is no set), and the line about it."""
    from minburn.train.checkpoint.error import CheckpointError
    from minburn.train.checkpoint.layout import SetId
    from minburn.train.checkpoint.manifest import read_manifest, verify

    id = SetId(kind, number)
    if not found.manifest:
        names = ", ".join(sorted(found.parts | found.staged))
        whose = "left behind by a killed save" if found.is_ours else "as Burn writes them: without digests"
        return None, f"{id}: no set; {names or 'scratch files'}, {whose}"
    try:
        manifest = read_manifest(folder, id)
        verify(folder, manifest)
    except CheckpointError as error:
        return False, f"{id}: DAMAGED: {error}"
    return True, f"{id}: good, step {manifest.global_step}, {size_text(manifest.size)}"
