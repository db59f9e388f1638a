"""What a module refuses.

A wrong constructor call is a TypeError, as for any class; `RecordError` and `ConfigError` stand beside their causes.
"""

from __future__ import annotations


class ModuleError(ValueError):
    """A module is put together, or asked for something, in a way that makes no sense."""
