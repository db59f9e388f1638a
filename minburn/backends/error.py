"""What goes wrong below the tensor layer."""


class BackendError(ValueError):
    """An op was given what it cannot work on: an index out of range, a zero divisor, a dtype the device lacks."""


class NotRecordable(BackendError):
    """A function cannot be recorded: the text says what it does, as the middle of a sentence.

    Burn: `GraphUnsupported` in `crates/burn-backend/src/backend/base.rs`.
    """


class AutodiffError(ValueError):
    """A gradient was asked of a tensor that has none: it was not recorded, or its graph is gone."""
