"""What an optimizer refuses; a record that cannot be read is a `RecordError` of the module package."""

from __future__ import annotations

__all__ = ["OptimizerError", "RecordWarning"]


class OptimizerError(ValueError):
    """A step, an optimizer or a schedule was given what it cannot work with."""


class RecordWarning(UserWarning):
    """A record was loaded, but a part of it does not fit and starts from the beginning. Burn does so silently."""
