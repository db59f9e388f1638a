"""Pickles and containers written opcode by opcode, as PyTorch writes them or as an attacker would."""

from __future__ import annotations

import io
import pickle
import struct
import tarfile
import zipfile

MARK, NONE, FALSE, TRUE, EMPTY_TUPLE, STOP = b"(", b"N", b"\x89", b"\x88", b")", b"."


def name(module: str, attribute: str) -> bytes:
    return f"c{module}\n{attribute}\n".encode()


def integer(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def tuple_of(*parts: bytes) -> bytes:
    return MARK + b"".join(parts) + b"t"


def list_of(*parts: bytes) -> bytes:
    return b"](" + b"".join(parts) + b"e"


def dict_of(**items: bytes) -> bytes:
    return b"}(" + b"".join(text(key) + value for key, value in items.items()) + b"u"


def call(module: str, attribute: str, *arguments: bytes) -> bytes:
    return name(module, attribute) + tuple_of(*arguments) + b"R"


def make(module: str, attribute: str, state: bytes) -> bytes:
    """An object of a class with a state."""
    return name(module, attribute) + EMPTY_TUPLE + b"\x81" + state + b"b"


def storage(
    key: str = "0", count: int = 6, kind: str = "FloatStorage", module: str = "torch", view: bytes = b""
) -> bytes:
    return tuple_of(text("storage"), name(module, kind), text(key), text("cpu"), integer(count), view) + b"Q"


def sizes(*values: int) -> bytes:
    return tuple_of(*map(integer, values))


def tensor(
    held: bytes = storage(), offset: int = 0, shape: tuple[int, ...] = (2, 3), stride: tuple[int, ...] = (3, 1)
) -> bytes:
    hooks = call("collections", "OrderedDict")
    return call(
        "torch._utils", "_rebuild_tensor_v2", held, integer(offset), sizes(*shape), sizes(*stride), FALSE, hooks
    )


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return file.getvalue()


def pt(value: bytes, storages: dict[str, bytes] | None = None, method: int = zipfile.ZIP_STORED) -> bytes:
    """A zip checkpoint of a pickle (without its STOP)."""
    data = {f"m/data/{key}": content for key, content in (storages or {}).items()}
    return zipped({"m/data.pkl": b"\x80\x02" + value + STOP, "m/byteorder": b"little", **data}, method)


def legacy(value: bytes, storages: dict[str, tuple[int, bytes]]) -> bytes:
    """A checkpoint of PyTorch 0.1.10 to 1.5; storages: key → (elements, bytes)."""
    system = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    head = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, system)]
    tail = [struct.pack("<q", count) + data for count, data in storages.values()]
    return b"".join([*head, b"\x80\x02" + value + STOP, pickle.dumps(list(storages), 2), *tail])


def tarred(storages: bytes, tensors: bytes, value: bytes, prefix: str = "") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for member, data in (("storages", storages), ("tensors", tensors), ("pickle", value)):
            info = tarfile.TarInfo(prefix + member)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


def tar_checkpoint(prefix: str = "") -> bytes:
    """Two tensors on one storage of six floats, one of them on a view of it."""
    floats = struct.pack("<6f", *range(6))
    storages = (
        pickle.dumps(1, 2)
        + b"\x80\x02" + tuple_of(integer(11), text("cpu"), name("torch", "FloatStorage")) + STOP
        + struct.pack("<q", 6) + floats
        + pickle.dumps([(12, 11, 2, 3)], 2)
    )  # fmt: skip
    tensors = pickle.dumps(2, 2)
    for key, held, shape, stride, offset in ((1, 11, (2, 3), (3, 1), 0), (2, 12, (2,), (1,), 1)):
        described = tuple_of(integer(key), integer(held), name("torch", "FloatTensor"))
        tensors += b"\x80\x02" + described + STOP + struct.pack("<ii", len(shape), 0)
        tensors += struct.pack(f"<{2 * len(shape) + 1}q", *shape, *stride, offset)
    value = b"\x80\x02" + dict_of(a=integer(1) + b"Q", b=text("2") + b"Q") + STOP
    return tarred(storages, tensors, value, prefix)
