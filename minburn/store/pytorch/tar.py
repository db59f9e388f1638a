"""PyTorch's first container: a tar archive of `storages`, `tensors` and `pickle`.

storages  the pickle of a count; for each a pickle (key, location, class), i64 elements, the elements;
          then the pickle of a list of views (key, root key, offset, elements)
tensors   the pickle of a count; for each a pickle (key, storage key, class), i32 rank, 4 bytes, rank × i64 sizes,
          rank × i64 strides, i64 offset
pickle    the object; tensors and storages are persistent ids, their keys
"""

from __future__ import annotations

import struct
import tarfile
from functools import partial
from typing import Any

from minburn.store.files import Cursor, Source
from minburn.store.pytorch.calls import MAX_RANK, Calls
from minburn.store.pytorch.containers import storage_type
from minburn.store.pytorch.machine import Machine
from minburn.store.pytorch.objects import Global, Storage, TensorRef

_MAX_MEMBERS = 100


def read_tar(source: Source, calls: Calls) -> Any:
    members = _members(source)
    missing = [name for name in ("storages", "tensors", "pickle") if name not in members]
    if missing:
        raise source.error(f"a tar file without {' and '.join(missing)}: not what PyTorch saved.")
    known: dict[str, Storage | TensorRef] = {}
    _read_storages(members["storages"], calls, known)
    _read_tensors(members["tensors"], calls, known)

    def load(id: Any) -> object:
        if isinstance(id, tuple) and id and isinstance(id[0], Global):  # a class and its source
            return id[0]
        if not isinstance(id, (str, int)) or str(id) not in known:
            raise calls.error("it refers to a tensor that is not in the file")
        return known[str(id)]

    return Machine(source.name, calls, load).run(Cursor(members["pickle"]))


def _members(source: Source) -> dict[str, Source]:
    found: dict[str, Source] = {}
    try:
        with tarfile.open(fileobj=Cursor(source), mode="r:") as archive:  # type: ignore[call-overload]
            for count, member in enumerate(archive):
                if count >= _MAX_MEMBERS:
                    raise source.error(f"more than {_MAX_MEMBERS} members.")
                name = member.name.removeprefix("./")
                if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
                    continue
                if name in found:
                    raise source.error(f"member {name!r} comes twice.")
                data = source.slice(f"member {name!r}", member.offset_data, member.size)
                found[name] = Source(source.name, data)
    except (tarfile.TarError, EOFError, OSError, OverflowError) as error:
        raise source.error(f"not a tar file that can be read: {str(error)[:200]}.") from error
    return found


def _count(calls: Calls, value: Any) -> int:
    if type(value) is not int or not 0 <= value <= 1_000_000:
        raise calls.error("an impossible number of storages or tensors")
    return value


def _description(calls: Calls, value: Any) -> tuple[str, Any, Any]:
    if not isinstance(value, tuple) or len(value) != 3 or not isinstance(value[0], (str, int)):
        raise calls.error("a storage or tensor is not described by a key and two values")
    return str(value[0]), value[1], value[2]


def _read_storages(source: Source, calls: Calls, known: dict[str, Storage | TensorRef]) -> None:
    cursor, machine = Cursor(source), Machine(source.name, calls)
    for _ in range(_count(calls, machine.run(cursor))):
        key, _, cls = _description(calls, machine.run(cursor))
        dtype, item = storage_type(calls, cls)
        (count,) = _integers(source, cursor, 1)
        data = Source(source.name, source.slice(f"storage {key}", cursor.position, count * item))
        cursor.position += count * item
        if key in known:
            raise calls.error(f"storage {key} comes twice")
        known[key] = Storage(dtype, item, count, partial(data.slice, f"storage {key}"))
    views = machine.run(cursor)
    for view in views if isinstance(views, (list, tuple)) else ():
        if not isinstance(view, tuple) or len(view) != 4 or str(view[0]) in known:
            raise calls.error("a view of a storage makes no sense")
        root = known.get(str(view[1])) if isinstance(view[1], (str, int)) else None
        offset, count = view[2:]
        if not isinstance(root, Storage) or not all(type(v) is int and v >= 0 for v in (offset, count)):
            raise calls.error("a view of a storage makes no sense")
        if offset + count > root.count:
            raise calls.error(f"a view of {count} elements at {offset} leaves its storage of {root.count}")
        known[str(view[0])] = root.view(offset, count)


def _read_tensors(source: Source, calls: Calls, known: dict[str, Storage | TensorRef]) -> None:
    cursor, machine = Cursor(source), Machine(source.name, calls)
    for _ in range(_count(calls, machine.run(cursor))):
        key, storage_key, _ = _description(calls, machine.run(cursor))
        storage = known.get(str(storage_key)) if isinstance(storage_key, (str, int)) else None
        (rank,) = struct.unpack("<i", source.slice(f"tensor {key}", cursor.position, 4))
        cursor.position += 8
        if not 0 <= rank <= MAX_RANK or not isinstance(storage, Storage) or key in known:
            raise calls.error(f"tensor {key} has rank {rank}, no storage, or comes twice")
        shape, stride = _integers(source, cursor, rank), _integers(source, cursor, rank)
        (offset,) = _integers(source, cursor, 1)
        known[key] = calls.tensor(storage, offset, shape, stride)


def _integers(source: Source, cursor: Cursor, count: int) -> tuple[int, ...]:
    """`count` sizes of 64 bits."""
    values = struct.unpack(f"<{count}q", source.slice("a size", cursor.position, 8 * count))
    cursor.position += 8 * count
    if any(value < 0 for value in values):
        raise source.error(f"a size or offset is negative: {min(values)}.")
    return values
