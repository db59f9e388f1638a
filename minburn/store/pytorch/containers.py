"""The containers that PyTorch has used: each holds one pickle, and storages that the pickle refers to by key.

    zip      since 1.6      {root}data.pkl, {root}data/{key}, {root}byteorder
    legacy   0.1.10 to 1.5  pickles of a magic number, a version, a system description, the object and the list of
                            keys; then for each key an i64 count and the elements
    tar      before         members storages, tensors, pickle, each a sequence of pickles and binary parts
    pickle                  nothing but a pickle, so that it can hold no tensors

Everything is little-endian; big-endian files are refused.

Burn: the crate `pytorch-reader`.
"""

from __future__ import annotations

from typing import Any

from minburn.store.files import Cursor, Source
from minburn.store.pytorch.calls import Calls
from minburn.store.pytorch.machine import MAX_PICKLE, Machine
from minburn.store.pytorch.objects import STORAGES, Bytes, Global, Storage
from minburn.store.zip import Member, read_members

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001

_MAGIC_BYTES = bytes.fromhex("6cfc9c46f9206aa85019")
_MAGIC_TEXT = b"119547037146038801333356"
_MAX_TEXT = 4096


def read_object(source: Source, skip_unknown_calls: bool) -> tuple[str, Any]:
    """(format, the object in stand-ins). StoreError for what is none of the formats."""
    head = source.view[:64].tobytes()
    calls = Calls(source.name, skip_unknown_calls)
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return "zip", _read_zip(source, calls)
    if source.view[257:262].tobytes() == b"ustar":
        from minburn.store.pytorch.tar import read_tar

        return "tar", read_tar(source, calls)
    if _MAGIC_BYTES in head or _MAGIC_TEXT in head:
        return "legacy", _read_legacy(source, calls)
    if head[:1] in (b"\x80", b"(", b"}", b"]", b"c") and not _looks_like_safetensors(head):
        return "pickle", Machine(source.name, calls).run(Cursor(source))
    raise source.error("not a PyTorch file: it begins neither as a zip, tar or legacy checkpoint nor as a pickle.")


def _looks_like_safetensors(head: bytes) -> bool:
    return head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= 100_000_000


# zip


def _read_zip(source: Source, calls: Calls) -> Any:
    members = read_members(source)
    roots = [name.removesuffix("data.pkl") for name in members if name == "data.pkl" or name.endswith("/data.pkl")]
    if not roots:
        raise source.error("a zip file without a data.pkl: not what PyTorch saves.")
    root = min(roots, key=len)
    order = members.get(f"{root}byteorder")
    if order is not None and (found := _text(order)) != "little":
        raise source.error(f"its byte order is {found!r}; only little-endian files are read.")
    storages: dict[str, Storage] = {}

    def load(id: Any) -> object:
        dtype, item, key, count = _storage_id(calls, id)[:4]
        if key not in storages:
            member = members.get(f"{root}data/{key}")
            if member is None:
                raise source.error(f"storage {key!r} is not in the file.")
            if count * item > member.size:
                raise source.error(f"storage {key!r} has {member.size} bytes, the pickle expects {count * item}.")
            storages[key] = Storage(dtype, item, count, member.read)
        known = storages[key]
        if (known.dtype, known.count) != (dtype, count):
            raise calls.error(f"storage {key!r} is described in two ways")
        return known

    pickle = members[f"{root}data.pkl"]
    if pickle.size > MAX_PICKLE:
        raise source.error(f"its pickle has {pickle.size} bytes; the limit is {MAX_PICKLE}.")
    return Machine(source.name, calls, load).run(Cursor(Source(source.name, pickle.read())))


def _text(member: Member) -> str:
    return member.read(0, min(member.size, _MAX_TEXT)).tobytes().decode("ascii", "replace").strip()


# legacy


def _read_legacy(source: Source, calls: Calls) -> Any:
    cursor = Cursor(source)
    plain = Machine(source.name, calls)
    magic, protocol, system = plain.run(cursor), plain.run(cursor), plain.run(cursor)
    if magic != MAGIC or protocol != PROTOCOL:
        raise source.error(f"not a legacy checkpoint of version {PROTOCOL}.")
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise source.error("it does not say that it is little-endian; only such files are read.")
    places = _Places(source)
    found: dict[str, Storage] = {}

    def load(id: Any) -> object:
        if isinstance(id, tuple) and len(id) >= 2 and id[0] == "module":  # (…, class, its file, its source)
            return id[1]
        dtype, item, key, count, view = _storage_id(calls, id)
        storage = found.setdefault(key, Storage(dtype, item, count, places.reader(key)))
        if (storage.dtype, storage.count) != (dtype, count):
            raise calls.error(f"storage {key!r} is described in two ways")
        return storage if view is None else _storage_view(calls, storage, view)

    root = Machine(source.name, calls, load).run(cursor)
    keys = plain.run(cursor)
    if not isinstance(keys, list) or set(map(str, keys)) != found.keys() or len(keys) != len(found):
        raise source.error("its list of storages and those that its pickle refers to differ.")
    for key in map(str, keys):
        places.skip(cursor, f"storage {key!r}", key, found[key])
    return root


class _Places:
    """Where the storages lie, which is known only after the pickle that refers to them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._starts: dict[str, int] = {}

    def reader(self, key: str) -> Bytes:
        def read(start: int, length: int) -> memoryview:
            return self._source.slice(f"storage {key!r}", self._starts[key] + start, length)

        return read

    def skip(self, cursor: Cursor, what: str, key: str, storage: Storage) -> None:
        """Reads the count of the storage at the cursor, and steps over its elements."""
        count = int.from_bytes(self._source.slice(what, cursor.position, 8), "little", signed=True)
        if count != storage.count:
            raise self._source.error(f"{what} has {count} elements, the pickle expects {storage.count}.")
        self._starts[key] = cursor.position + 8
        self._source.slice(what, cursor.position + 8, count * storage.item)
        cursor.position += 8 + count * storage.item


# Persistent ids


def _storage_id(calls: Calls, id: Any) -> tuple[str, int, str, int, Any]:
    """(dtype, bytes of an element, key, elements, view) of ("storage", class, key, location, elements[, view])."""
    if not isinstance(id, tuple) or len(id) < 5 or id[0] != "storage" or not isinstance(id[2], (str, int)):
        raise calls.error("it refers to something that is no storage")
    dtype, item = storage_type(calls, id[1])
    count = id[4]
    if type(count) is not int or not 0 <= count < 2**60:
        raise calls.error("a storage has an impossible number of elements")
    return dtype, item, str(id[2]), count, id[5] if len(id) > 5 else None


def storage_type(calls: Calls, cls: Any) -> tuple[str, int]:
    """The dtype and bytes of the elements of a class of storages, `torch.FloatStorage`."""
    known = STORAGES.get(cls.name) if isinstance(cls, Global) and cls.module.split(".")[0] == "torch" else None
    if known is None:
        what = cls if isinstance(cls, Global) else f"a {type(cls).__name__}"
        raise calls.error(f"{what} is no kind of storage that is known")
    return known


def _storage_view(calls: Calls, storage: Storage, view: Any) -> Storage:
    """(key, offset, elements): old versions could save a part of a storage."""
    if not isinstance(view, tuple) or len(view) != 3 or not all(type(v) is int and v >= 0 for v in view[1:]):
        raise calls.error("a storage is viewed in a way that makes no sense")
    if view[1] + view[2] > storage.count:
        raise calls.error(f"a view of {view[2]} elements at {view[1]} leaves its storage of {storage.count}")
    return storage.view(view[1], view[2])
