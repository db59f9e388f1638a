"""What this package raises: `PackError`, and two kinds of it that a caller may want to tell apart.

A message is one line: the file (or `<bytes>`), the tensor if there is one, and the numbers that disagree. When the
operating system refused, its `OSError` is the `__cause__`.

Burn: `Error` in `crates/burn-pack/src/base.rs`.
"""

from __future__ import annotations


class PackError(ValueError):
    """A file is not what it claims to be, an argument cannot be written, or a read or write failed.

    Burn: `burn_pack::Error` in `crates/burn-pack/src/base.rs`.
    """


class AlreadyExistsError(PackError):
    """The destination exists and `overwrite=False` was asked for. Burn: `Error::AlreadyExists`."""


class TensorNotFoundError(PackError, KeyError):
    """The file has no tensor of that name. Burn: `Error::TensorNotFound`."""

    def __str__(self) -> str:  # KeyError would print the repr
        return str(self.args[0])
