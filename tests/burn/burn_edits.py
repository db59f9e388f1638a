"""Ways to damage a record file: each takes good bytes and returns others.

cut(-1)(good)                                   the last byte is missing
put("shape", [9])(good)                         another shape for one tensor, the file laid out anew
tree(lambda metadata: …)(good)                  any change of the decoded metadata
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import cbor2

Tree = dict[str, Any]
HEADER = 10
ALIGNMENT = 256

# A file as its parts, and back.


def data_start(metadata_size: int) -> int:
    return -(-(HEADER + metadata_size) // ALIGNMENT) * ALIGNMENT


def split(good: bytes) -> tuple[bytes, bytes]:
    """The metadata's CBOR and the data section."""
    size = int.from_bytes(good[6:HEADER], "little")
    return good[HEADER : HEADER + size], good[data_start(size) :]


def join(metadata: bytes, data: bytes, size: int | None = None) -> bytes:
    declared = len(metadata) if size is None else size
    head = b"NRUB" + struct.pack("<HI", 1, declared)
    return (head + metadata).ljust(data_start(len(metadata)), b"\0") + data


# What can be done to a file.


def header(start: int, patch: bytes) -> Callable[[bytes], bytes]:
    """Other bytes at a place."""
    return lambda good: good[:start] + patch + good[start + len(patch) :]


def cut(end: int) -> Callable[[bytes], bytes]:
    return lambda good: good[:end]


def append(more: bytes) -> Callable[[bytes], bytes]:
    return lambda good: good + more


def declared(change: int) -> Callable[[bytes], bytes]:
    """Another metadata size in the header, the same bytes after it."""

    def damage(good: bytes) -> bytes:
        size = int.from_bytes(good[6:HEADER], "little")
        return good[:6] + struct.pack("<I", size + change) + good[HEADER:]

    return damage


def cbor(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Other metadata bytes, the file laid out anew around them."""

    def damage(good: bytes) -> bytes:
        metadata, data = split(good)
        return join(change(metadata), data)

    return damage


def tree(change: Callable[[Tree], Any]) -> Callable[[bytes], bytes]:
    """The decoded metadata changed in place, or another value in their stead."""

    def damage(metadata: bytes) -> bytes:
        decoded = cbor2.loads(metadata)
        changed = change(decoded)
        return cbor2.dumps(decoded if changed is None else changed)

    return cbor(damage)


def entry(change: Callable[[Tree], Any], name: str = "stem.bias") -> Callable[[bytes], bytes]:
    """One tensor's descriptor changed in place, or replaced."""

    def damage(decoded: Tree) -> None:
        changed = change(decoded["tensors"][name])
        if changed is not None:
            decoded["tensors"][name] = changed

    return tree(damage)


def put(field: str, value: Any, name: str = "stem.bias") -> Callable[[bytes], bytes]:
    def change(descriptor: Tree) -> None:
        descriptor[field] = value

    return entry(change, name)


def drop(field: str) -> Callable[[bytes], bytes]:
    def change(descriptor: Tree) -> None:
        del descriptor[field]

    return entry(change)


def offsets(change: Callable[[int, int], Any], name: str = "stem.bias") -> Callable[[bytes], bytes]:
    def damage(descriptor: Tree) -> None:
        descriptor["data_offsets"] = list(change(*descriptor["data_offsets"]))

    return entry(damage, name)


def rename(old: str, new: str) -> Callable[[bytes], bytes]:
    def change(decoded: Tree) -> None:
        decoded["tensors"][new] = decoded["tensors"].pop(old)

    return tree(change)


def remove(name: str) -> Callable[[bytes], bytes]:
    def change(decoded: Tree) -> None:
        del decoded["tensors"][name]

    return tree(change)


def extra(name: str, like: str = "stem.bias") -> Callable[[bytes], bytes]:
    def change(decoded: Tree) -> None:
        decoded["tensors"][name] = dict(decoded["tensors"][like])

    return tree(change)


def top(key: str, value: Any) -> Callable[[bytes], bytes]:
    def change(decoded: Tree) -> None:
        decoded[key] = value

    return tree(change)


def scalars(change: Callable[[Tree], Any]) -> Callable[[bytes], bytes]:
    def damage(decoded: Tree) -> None:
        change(decoded["scalars"])

    return tree(damage)


def replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    """Bytes of the metadata replaced where they first come."""

    def change(metadata: bytes) -> bytes:
        assert old in metadata
        return metadata.replace(old, new, 1)

    return cbor(change)


def value(name: str, raw: bytes) -> Callable[[bytes], bytes]:
    """Other bytes at the start of a tensor's data."""

    def damage(good: bytes) -> bytes:
        metadata, data = split(good)
        start = cbor2.loads(metadata)["tensors"][name]["data_offsets"][0]
        return join(metadata, data[:start] + raw + data[start + len(raw) :])

    return damage


def leaf(suffix: str, change: Callable[[Tree, str], Any]) -> Callable[[bytes], bytes]:
    """A scalar of an optimizer's or a schedule's record, found by the end of its name."""

    def damage(table: Tree) -> None:
        change(table, next(name for name in table if name.endswith(suffix)))

    return scalars(damage)


def state(suffix: str, change: Callable[[Tree], Any]) -> Callable[[bytes], bytes]:
    """A tensor's descriptor of an optimizer's record, found by the end of its name."""

    def damage(decoded: Tree) -> None:
        change(next(found for name, found in decoded["tensors"].items() if name.endswith(suffix)))

    return tree(damage)


def set_leaf(new: Any) -> Callable[[Tree, str], None]:
    def change(table: Tree, name: str) -> None:
        table[name] = new

    return change


def del_leaf(table: Tree, name: str) -> None:
    del table[name]


def same(good: bytes) -> bytes:
    return good


def one_entry_twice(metadata: bytes) -> bytes:
    """The map of tensors with the same first entry twice: no decoder gives such a map, so it is made of bytes."""
    head = b"\x67tensors\xb8"  # a map of 24 to 255 entries
    start = metadata.index(head) + len(head) + 1
    first = metadata[start : metadata.index(b"param_id", start) + 8 + 9]  # the id is a number of eight bytes
    return metadata[: start - 1] + bytes([metadata[start - 1] + 1]) + first + metadata[start:]
