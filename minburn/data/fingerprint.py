"""What a dataset holds, in one short text: a resumed run compares it with the one it was started on.

A digest is SHA-256 over a canonical form of the items: kind, length, content. Numbers, text, bytes, arrays, tensors,
lists, tuples, dicts and dataclasses of them are covered. Of any other object only its class is seen: such a dataset
should say in its own `fingerprint()` what its items come from. Burn has none of this.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from minburn.tensor import Tensor, TensorData


class Hasher(Protocol):
    """What of a hashlib object is used here."""

    def update(self, data: bytes, /) -> None: ...


def digest(values: Iterable[Any]) -> str:
    """The SHA-256 of the values' canonical form, in hexadecimal. They need not be in memory at once."""
    hasher = hashlib.sha256()
    for value in values:
        feed(hasher, value)
    return hasher.hexdigest()


def spread(length: int, most: int) -> list[int]:
    """At most `most` (≥ 2) indices below `length`, evenly spaced, the first and the last among them."""
    if length <= most:
        return list(range(length))
    return [i * (length - 1) // (most - 1) for i in range(most)]


def feed(hasher: Hasher, value: Any) -> None:
    """Hash one value; lengths and kinds are hashed with it, so that no two values look alike."""
    if isinstance(value, (bool, int, float, complex, type(None))):
        _feed_bytes(hasher, type(value).__name__, repr(value).encode())
    elif isinstance(value, str):
        _feed_bytes(hasher, "str", value.encode("utf-8", "surrogatepass"))
    elif isinstance(value, (bytes, bytearray, memoryview)):
        _feed_bytes(hasher, "bytes", bytes(value))
    elif isinstance(value, (Tensor, TensorData)):
        data = value if isinstance(value, TensorData) else value.to_data()
        _feed_bytes(hasher, f"tensor{data.dtype.name}{data.shape}", bytes(data.bytes))
    elif isinstance(value, (np.ndarray, np.generic)):
        _feed_array(hasher, np.asarray(value))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        _feed_many(hasher, type(value).__qualname__, [getattr(value, name) for name in names])
    elif isinstance(value, (list, tuple)):
        _feed_many(hasher, "list", value)
    elif isinstance(value, dict):
        _feed_many(hasher, "dict", [part for pair in value.items() for part in pair])
    elif isinstance(value, (set, frozenset)):
        _feed_many(hasher, "set", sorted(digest([part]) for part in value))
    else:
        _feed_bytes(hasher, "object", type(value).__qualname__.encode())


def _feed_bytes(hasher: Hasher, kind: str, content: bytes) -> None:
    hasher.update(f"{kind}:{len(content)}:".encode())
    hasher.update(content)


def _feed_array(hasher: Hasher, array: np.ndarray[Any, Any]) -> None:
    if array.dtype.hasobject:
        _feed_many(hasher, f"array{array.shape}", array.ravel().tolist())
        return
    # Little-endian on every machine: a run may be moved.
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    _feed_bytes(hasher, f"array{array.dtype.str}{array.shape}", array.tobytes())


def _feed_many(hasher: Hasher, kind: str, values: Any) -> None:
    hasher.update(f"{kind}:{len(values)}[".encode())
    for value in values:
        feed(hasher, value)
    hasher.update(b"]")
