"""Where a launch starts: afresh, at the newest checkpoint, or at the end of a given epoch.

    resume=None     a new run. A folder that has checkpoints is refused, unless overwrite=True clears it
    resume="auto"   the newest checkpoint that is whole, if it is of this very run; a new run if there is none
    resume=3        the end of epoch 3, as in Burn: with whatever settings there are now, and from Burn's files too

Going back to an epoch while later ones are there would end in a folder with two runs in it: refused, unless
overwrite=True deletes the later ones.

Burn: `SupervisedTraining::checkpoint` knows the last form and overwrites what it meets.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from minburn.train.checkpoint import CheckpointSet, CheckpointStore, SetId, describe_changes
from minburn.train.environment import describe_difference, environment
from minburn.train.error import TrainingError
from minburn.train.options import Options

MOST_CHANGES = 12


class TrainingWarning(UserWarning):
    """The run goes on, but something is not as it was."""


def choose_start(options: Options, store: CheckpointStore, fingerprint: Mapping[str, Any]) -> CheckpointSet | None:
    """The checkpoint to go on from; None to start afresh. TrainingError for every refusal, with the ways out."""
    if options.resume is None:
        _start_afresh(options, store)
        return None
    if options.resume == "auto":
        return _newest(options, store, fingerprint)
    return _epoch(options, store, options.resume)


def _start_afresh(options: Options, store: CheckpointStore) -> None:
    present = [*store.ids(), *map(SetId.epoch, store.burn_epochs())]
    if present and not options.overwrite:
        raise TrainingError(
            f"{options.run_dir}: this folder has checkpoints already ({_names(present)}). "
            'Use resume="auto" to go on with them, another folder, or overwrite=True to delete them.'
        )
    store.sweep()
    for id in present:
        store.delete(id)


def _newest(options: Options, store: CheckpointStore, fingerprint: Mapping[str, Any]) -> CheckpointSet | None:
    found = store.recover()
    if found is None:
        damaged, burn = store.ids(), store.burn_epochs()
        if damaged:
            raise TrainingError(
                f"{options.run_dir}: none of its checkpoints is whole ({_names(damaged)}). "
                "Restore one from a copy, or start again: in another folder, or with resume=None and overwrite=True."
            )
        if burn:
            raise TrainingError(
                f"{options.run_dir}: these checkpoints were written by Burn ({_names(map(SetId.epoch, burn))}), which "
                f"leaves no state to go on from exactly. Use resume={burn[-1]} to go on after that epoch."
            )
        return None
    changes = describe_changes(found.state.fingerprint, fingerprint) if found.state is not None else []
    if changes:
        shown = [*changes[:MOST_CHANGES], *([f"{len(changes) - MOST_CHANGES} more"] if changes[MOST_CHANGES:] else [])]
        raise TrainingError(
            f"{options.run_dir}: {found.id} is of another run: {'; '.join(shown)}. "
            'Undo the changes, use another folder, or resume="auto" no longer: resume=<epoch> goes on with the new '
            "settings."
        )
    _warn_elsewhere(found)
    return found


def _epoch(options: Options, store: CheckpointStore, epoch: int) -> CheckpointSet:
    store.sweep()
    found = store.load(SetId.epoch(epoch))
    step = found.global_step
    later = [
        id for id in store.ids() if id.number > (epoch if id.kind == "epoch" else step if step is not None else -1)
    ]
    later += [SetId.epoch(number) for number in store.burn_epochs() if number > epoch]
    if later and not options.overwrite:
        raise TrainingError(
            f"{options.run_dir}: going back to epoch {epoch} would leave later checkpoints beside the new ones "
            f'({_names(later)}). Use resume="auto" to go on with the newest, copy what you need to another folder, '
            "or overwrite=True to delete the later ones."
        )
    for id in reversed(later):  # the newest first: whatever is left after a kill is one run
        store.delete(id)
    _warn_elsewhere(found)
    return found


def _warn_elsewhere(found: CheckpointSet) -> None:
    difference = describe_difference(found.environment, environment())
    if difference:
        warnings.warn(difference, TrainingWarning, stacklevel=5)


def _names(ids: Any) -> str:
    names = [str(id) for id in ids]
    return ", ".join(names if len(names) <= 6 else [*names[:3], "…", *names[-2:]])
