"""What a module refuses.

A wrong constructor call is a TypeError, as for any class; `RecordError` and `ConfigError` stand beside their causes.
"""

from __future__ import annotations

from minburn.backends import Backend


class ModuleError(ValueError):
    """A module is put together, or asked for something, in a way that makes no sense."""


def check_backend(owner: str, backend: Backend) -> Backend:
    """`backend` itself; ModuleError for what is none."""
    if isinstance(backend, type) or not hasattr(backend, "streams"):
        raise ModuleError(f"{owner}: expected a backend such as NumPy(), but got {type(backend).__name__} {backend!r}.")
    return backend
