"""PyTorch's files that lie, are damaged or would do harm: refused, by the name of what they wanted."""

from __future__ import annotations

import io
import os
import pickle
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from models_store import check_damaged, two
from pickles_store import (
    EMPTY_TUPLE,
    FALSE,
    NONE,
    STOP,
    call,
    dict_of,
    integer,
    legacy,
    list_of,
    make,
    name,
    pt,
    sizes,
    storage,
    tar_checkpoint,
    tarred,
    tensor,
    text,
    tuple_of,
    zipped,
)

from minburn.store import PytorchReader, PytorchStore, StoreError

GOLDEN = Path(__file__).parent.parent / "golden" / "store" / "pytorch"
FLOATS = {"0": struct.pack("<6f", *range(6))}


class Evil:
    def __init__(self, function: object, *arguments: object) -> None:
        self.call = function, arguments

    def __reduce__(self) -> object:
        return self.call


EXPLOITS = {
    f"{os.system.__module__}.system": Evil(os.system, "touch {path}"),
    "builtins.eval": Evil(eval, "open({path!r}, 'w')"),
    "builtins.exec": Evil(exec, "open({path!r}, 'w')"),
    "subprocess.Popen": Evil(subprocess.Popen, ["touch", "{path}"]),
    f"{open.__module__}.open": Evil(open, "{path}", "w"),
}


@pytest.mark.parametrize("wanted", EXPLOITS)
@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("wrap", ["plain", "zip", "legacy"])
def test_a_hostile_pickle_is_refused_by_the_name_of_what_it_wanted(
    wanted: str, protocol: int, wrap: str, tmp_path: Path
) -> None:
    target = tmp_path / "pwned"
    function, arguments = EXPLOITS[wanted].call

    def at_target(value: object) -> object:
        if isinstance(value, list):
            return [at_target(item) for item in value]
        return value.format(path=str(target)) if isinstance(value, str) else value

    data = pickle.dumps({"w": Evil(function, *map(at_target, arguments))}, protocol, fix_imports=False)
    if wrap == "zip":
        data = zipped({"m/data.pkl": data})
    elif wrap == "legacy":
        data = legacy(b"", {}).replace(b"\x80\x02" + STOP, data, 1)
    with pytest.raises(StoreError, match=rf"wants to call {wanted}\. Nothing in a file is executed"):
        PytorchReader(data)
    reader = PytorchReader(data, skip_unknown_calls=True)
    assert len(reader) == 0
    assert not target.exists()


REBUILD_EVIL = call("torch._tensor", "_rebuild_from_type_v2", name("os", "system"), NONE, tuple_of(text("x")), NONE)
REBUILD_V3 = call(
    "torch._utils", "_rebuild_tensor_v3", storage(), integer(0), sizes(), sizes(), FALSE, NONE, name("os", "float32")
)
WIDE_VIEW = tuple_of(text("v"), integer(4), integer(3))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"(S'touch x'\nios\nsystem\n", r"wants to call os\.system"),  # INST
        (b"(cos\nsystem\nS'touch x'\no", r"wants to call os\.system"),  # OBJ
        (b"\x8c\x02os\x8c\x06system\x93" + tuple_of(text("x")) + b"R", r"wants to call os\.system"),  # STACK_GLOBAL
        (call("builtins", "getattr", name("os", "x"), text("y")) + tuple_of(text("z")) + b"R", r"to call os\.x\.y\."),
        (call("builtins", "getattr", text("os"), text("system")), "arguments that make no sense"),
        (call("torch", "load", text("x")), r"wants to call torch\.load"),
        (call("collections", "OrderedDict", integer(3)), "OrderedDict with arguments that make no sense"),
        (call("copyreg", "_reconstructor", text("x"), NONE, NONE), "is no class"),
        (name("torch.storage", "UntypedStorage") + dict_of(a=NONE) + b"b", "sets attributes of torch.storage.Untyped"),
        (text("x") + EMPTY_TUPLE + b"R", "calls a str, which is no name"),
        (name("os", "system") + list_of() + b"R", "calls os.system with a list"),
        (text("x") + EMPTY_TUPLE + b"\x81", "makes an object of a str"),
        (b"\x82\x01", "EXT1"),
        (b"\x97", "NEXT_BUFFER"),
        (b"R", "empty stack"),
        (b"t", "mark that is not there"),
        (b"(.", "empty stack"),
        (b"h\x07", "asks for value 7"),
        (b"r\xff\xff\xff\x7f", "empty stack"),  # where Python's machine would allocate 16 GiB
        (NONE + b"r\xff\xff\xff\x7f" + b"j\xff\xff\xff\x7f", "expected a dict"),
        (integer(1) + integer(2) + b"a", "appends to a int"),
        (integer(1) + integer(2) + integer(3) + b"s", "sets items of a int"),
        (b"}(" + integer(1) + b"u", "sets items of a dict"),
        (b"\xff", "cannot be decoded"),
        (b"B\xff\xff\xff\xffab", "cannot be decoded"),
        (b"\x8e" + b"\xff" * 7 + b"\x7f", "cannot be decoded"),
        (b"\x8b\xff\xff\xff\x7f", "cannot be decoded"),
        (b"I" + b"9" * 5000 + b"\n", "cannot be decoded"),
        (b"P0\n", "something that is no storage"),
        (dict_of(a=tensor(storage(kind="FloatTensor"))), "torch.FloatTensor is no kind of storage"),
        (dict_of(a=tensor(storage(module="evil"))), "evil.FloatStorage is no kind of storage"),
        (dict_of(a=tensor(storage(key="../1"))), "storage '../1' is not in the file"),
        (dict_of(a=tensor(storage(count=-1))), "impossible number of elements"),
        (dict_of(a=tensor(storage(count=7))), "storage '0' has 24 bytes, the pickle expects 28"),
        (dict_of(a=tensor(), b=tensor(storage(count=5))), "'0' is described in two ways"),
        (dict_of(a=tensor(offset=1)), "tensor 'a' ends at element 7 of a storage that has 6"),
        (dict_of(a=tensor(shape=(2, 4))), "tensor 'a' ends at element 7"),
        (dict_of(a=tensor(stride=(4, 1))), "tensor 'a' ends at element 7"),
        (dict_of(a=tensor(shape=(0, 3), offset=7)), "tensor 'a' ends at element 7"),
        (dict_of(a=tensor(stride=(-1, 1))), "expected sizes"),
        (dict_of(a=tensor(offset=-1)), "expected sizes"),
        (dict_of(a=tensor(shape=(6,))), "1 sizes and 2 strides"),
        (dict_of(a=tensor(shape=(1,) * 65, stride=(1,) * 65)), "65 sizes and 65 strides"),
        (dict_of(a=tensor(shape=(1 << 30, 1 << 30), stride=(0, 0))), "tensor 'a' has .* bytes; the limit"),
        (dict_of(a=tensor(shape=(1 << 30,) * 9 + (0,), stride=(0,) * 10)), None),
        (dict_of(**{"x.y": tensor(), "x": dict_of(y=tensor())}), r"tensor 'x\.y' comes twice"),
        (b"}(" + integer(1) + tensor() + text("1") + tensor() + b"u", "tensor '1' comes twice"),
        (b"}(" + NONE + tensor() + b"u", "a key that is neither text nor an integer"),
        (b"}(" + list_of() + tensor() + b"u", "a key that is neither"),
        (b"]q\0h\0a", "nest deeper than 1000"),
        (b"]q\0" + b"(h\0h\0e" * 40, "or are more than 1000000"),
        (b"](" + NONE * 3000 + b"eq\0" + (b"0cbuiltins\nlist\nh\0\x85R") * 4000, "more than 5000000 values"),
        (call("torch._utils", "_rebuild_parameter", text("x")), "a parameter of a str"),
        (REBUILD_EVIL, "no function that makes a tensor"),
        (REBUILD_V3, "no dtype"),
    ],
)  # fmt: skip
def test_what_a_pickle_may_not_do(value: bytes, text: str | None) -> None:
    data = pt(value, FLOATS)
    if text is None:
        assert PytorchReader(data)["a"].bytes() == b""
        return
    with pytest.raises(StoreError, match=rf"^<bytes>: .*{text}") as caught:
        PytorchReader(data)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 1000


@pytest.mark.heavy
def test_a_pickle_of_millions_of_values_is_bounded() -> None:
    laughs = b"]q\0" + b"".join(b"](h%ch%ceq%c" % (n, n, n + 1) for n in range(60))
    with pytest.raises(StoreError, match="more than 1000000"):
        PytorchReader(pt(laughs))
    with pytest.raises(StoreError, match="more than 5000000 opcodes"):
        PytorchReader(pt(b"]0" * 2_500_001))
    with pytest.raises(StoreError, match="the limit is 104857600"):
        PytorchReader(pt(b"}" * (101 << 20)))


def test_deep_nesting_does_not_end_the_stack() -> None:
    deep = b"]" * 20_000 + b"a" * 19_999
    with pytest.raises(StoreError, match="nest deeper"):
        PytorchReader(pt(deep))


# Damaged containers


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "not a PyTorch file"),
        (b"hello, world", "not a PyTorch file"),
        ((100).to_bytes(8, "little") + b"{}", "not a PyTorch file"),
        (b"PK\x03\x04 and no more", "not a zip file that can be read"),
        (zipped({}), "without a data.pkl"),
        (zipped({"x/other": b""}), "without a data.pkl"),
        (zipped({"data.pkl": b"N.", "byteorder": b"big"}), "byte order is 'big'"),
        (zipped({"data.pkl": b"N"}), "cannot be decoded"),
        (zipped({"data.pkl": b"N."}), "expected a dict of tensors or a whole model, but found a NoneType"),
        (pt(dict_of(a=tensor()), FLOATS)[:-30], "not a zip file"),
        (legacy(dict_of(), {})[:40], "cannot be decoded"),
        (legacy(dict_of(), {"0": (6, FLOATS["0"])}), "its pickle refers to differ"),
        (legacy(dict_of(a=tensor()), {}), "its pickle refers to differ"),
        (legacy(dict_of(a=tensor()), {"0": (6, FLOATS["0"][:-1])}), "storage '0': truncated"),
        (legacy(dict_of(a=tensor()), {"0": (5, FLOATS["0"])}), "storage '0' has 5 elements, the pickle expects 6"),
        (legacy(dict_of(a=tensor()), {"0": (-6, FLOATS["0"])}), "storage '0' has -6 elements"),
        (legacy(dict_of(a=tensor(storage(view=WIDE_VIEW))), {"0": (6, FLOATS["0"])}), "leaves its storage of 6"),
        (legacy(dict_of(), {}).replace(b"\x88", b"\x89"), "does not say that it is little-endian"),
        (pickle.dumps(0x1950A86A20F9469CFC6C, 2) + b"N.N.", "not a legacy checkpoint of version 1001"),
        (tarred(b"", b"", b""), "cannot be decoded"),
        (tarred(pickle.dumps(10**9), b"", b""), "impossible number"),
        (tarred(pickle.dumps(0) + pickle.dumps([]), pickle.dumps(0), b"I7\nQ."), "a tensor that is not in the file"),
        (tar_checkpoint().replace(b"tensors", b"tensorz"), "a tar file without tensors and pickle"),
    ],
)  # fmt: skip
def test_damaged_containers_are_refused(data: bytes, text: str) -> None:
    with pytest.raises(StoreError, match=rf"^<bytes>: .*{text}"):
        PytorchReader(data)


def test_a_storage_that_was_changed_is_noticed_when_it_is_read() -> None:
    data = pt(dict_of(a=tensor()), FLOATS)
    changed = data.replace(FLOATS["0"], FLOATS["0"][:-1] + b"\x7f")
    with pytest.raises(StoreError, match=r"member 'm/data/0': damaged: its checksum"):
        PytorchReader(changed)["a"].view()


def test_a_zip_bomb_is_not_inflated() -> None:
    count = 16 << 20
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "data.pkl",
            dict_of(**{"a.bias": tensor(storage(count=count, kind="ByteStorage"), 0, (count,), (1,))}) + STOP,
        )
        archive.writestr("data/0", bytes(count))
    data = file.getvalue()
    assert len(data) < count // 500
    tracemalloc.start()
    with pytest.raises(StoreError, match="the parameter holds float values"):
        PytorchStore(data, allow_partial=True).apply_to(two())
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()
    lying = data.replace(struct.pack("<I", count), struct.pack("<I", 1 << 31))
    with pytest.raises(StoreError, match="announces 2147483648 bytes"):
        PytorchReader(lying)


def test_nothing_is_imported_for_a_name_in_a_pickle() -> None:
    program = (
        "import sys; from minburn.store import PytorchReader\n"
        "data = b'}(X\\x01\\0\\0\\0acwave\\nopen\\nX\\x01\\0\\0\\0bcminburn.demo\\nmain\\nu.'\n"
        "print(len(PytorchReader(data)), 'wave' in sys.modules, 'minburn.demo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["0", "False", "False"], done.stderr


FILES = [path.read_bytes() for path in sorted(GOLDEN.glob("*.pt"))] + [tar_checkpoint()]


def read_all(data: bytes) -> None:
    for entry in PytorchReader(data, skip_unknown_calls=True).values():
        entry.view()


def fuzz(rounds: int, seed: int) -> int:
    """Damaged files, and damaged pickles in a sound zip file, whose checksum would otherwise stop most of them."""
    sound = [pickle for file in FILES if file[:2] == b"PK" for pickle in [pickle_of(file)]] + [hostile_pickle()]
    refused = check_damaged(FILES, read_all, rounds, seed)
    return refused + check_damaged(
        sound, lambda data: read_all(zipped({"data.pkl": data, "data/0": bytes(96)})), rounds, seed
    )


def pickle_of(file: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        return archive.read(next(name for name in archive.namelist() if name.endswith("data.pkl")))


def hostile_pickle() -> bytes:
    calls = [call(*found.rsplit(".", 1), text("x")) for found in EXPLOITS]
    return dict_of(a=tensor(), b=list_of(*calls), c=make("os", "system", dict_of(a=tensor()))) + STOP


@pytest.mark.filterwarnings("ignore:invalid escape sequence")
def test_damage_is_a_store_error() -> None:
    assert fuzz(250, seed=1) > 100


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore:invalid escape sequence")
def test_much_damage_is_a_store_error() -> None:
    assert fuzz(8_000, seed=2) > 5_000


HARMLESS = {
    "builtins.id",
    "object.__getattr__",
    "object.__setattr__",
    "object.__delattr__",
    "sys._getframe",
    "code.__new__",
}


@pytest.mark.filterwarnings("ignore:invalid escape sequence")
def test_reading_does_nothing_that_python_would_audit() -> None:
    """No import, no open, no compile, no process: Python reports such events to a hook, whoever causes them."""
    fuzz(100, seed=3)  # codecs that are loaded on first use are loaded now
    watching = False
    events: set[str] = set()

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event not in HARMLESS:
            events.add(event)

    sys.addaudithook(hook)
    watching = True
    read_all(zipped({"data.pkl": hostile_pickle(), "data/0": FLOATS["0"]}))
    fuzz(100, seed=3)
    watching = False
    assert events == set()
    watching = True
    open(__file__).close()  # the hook sees what happens
    watching = False
    assert events == {"open"}
