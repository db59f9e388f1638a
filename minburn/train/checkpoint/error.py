"""What goes wrong with checkpoints, and the sentence for a disk that refuses.

Burn: `CheckpointerError` in `crates/burn-train/src/checkpoint/base.rs`.
"""

from __future__ import annotations

import errno

from minburn.train.error import TrainingError


class CheckpointError(TrainingError, ValueError):
    """A checkpoint cannot be written, read or deleted. What was there before is untouched.

    Burn: `CheckpointerError` in `crates/burn-train/src/checkpoint/base.rs`.
    """


class CheckpointWarning(UserWarning):
    """A checkpoint on the disk is damaged, and an older one was used."""


NO_ROOM = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


def system_error(error: BaseException) -> OSError | None:
    """The operating system's refusal behind an error, if that is what it was."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError):
            return cause
        cause = cause.__cause__
    return None


def is_full(error: BaseException) -> bool:
    cause = system_error(error)
    return cause is not None and cause.errno in NO_ROOM


def reason(error: BaseException) -> str:
    """The system's own words, or the error's."""
    cause = system_error(error)
    return (cause.strerror or str(cause)) if cause is not None else str(error)
