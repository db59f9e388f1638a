"""What this package raises."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from minburn.module import RecordError
from minburn.pack import PackError
from minburn.tensor import TensorError

if TYPE_CHECKING:
    from minburn.store.result import ApplyResult

__all__ = ["StoreError"]


class StoreError(PackError):
    """A file is damaged, hostile or not what it claims to be, or it does not fit the module, or cannot be written.

    result: where loading failed because file and module do not fit, what fitted and what did not.

    Burn: `PytorchStoreError` and `SafetensorsStoreError`.
    """

    def __init__(self, message: str, result: ApplyResult | None = None) -> None:
        super().__init__(message)
        self.result = result


@contextlib.contextmanager
def told_as(where: str) -> Iterator[None]:
    """Errors of the layers below become a StoreError that begins with `where`."""
    try:
        yield
    except StoreError:
        raise
    except (PackError, TensorError, RecordError) as error:
        text = str(error)
        raise StoreError(text if text.startswith(f"{where}:") else f"{where}: {text}") from error
