"""Reading `torch.save` files: what PyTorch wrote, what it wrote long ago, and what an attacker would write."""

from __future__ import annotations

import io
import json
import operator
import os
import pickle
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models_store import check_damaged, two
from pickles_store import (
    EMPTY_TUPLE,
    FALSE,
    NONE,
    STOP,
    TRUE,
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

from minburn.backends import NumPy
from minburn.dtype import DType
from minburn.module import Module
from minburn.nn import (
    BatchNorm,
    BatchNormConfig,
    Embedding,
    EmbeddingConfig,
    LayerNorm,
    LayerNormConfig,
    Linear,
    LinearConfig,
)
from minburn.store import FloatCastAdapter, PytorchReader, PytorchStore, StoreError
from minburn.store.pytorch.objects import DTYPES

GOLDEN = Path(__file__).parent.parent / "golden" / "store" / "pytorch"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())
FLOATS = {"0": struct.pack("<6f", *range(6))}


def held(reader: PytorchReader) -> dict[str, tuple[str, list[int], str]]:
    return {name: (str(entry.dtype), list(entry.shape), entry.bytes().hex()) for name, entry in reader.items()}


def numbers(data: bytes, key: str = "a", **options: object) -> list[float]:
    entry = PytorchReader(data, **options)[key]  # type: ignore[arg-type]
    return np.frombuffer(entry.view(), "f4").tolist()


# What PyTorch writes


@pytest.mark.parametrize(
    "file", sorted(path.name for path in GOLDEN.glob("*.pt") if path.name.split(".")[0] in EXPECTED)
)
def test_every_tensor_is_as_pytorch_has_it(file: str) -> None:
    reader = PytorchReader(GOLDEN / file)
    wanted = EXPECTED[file.split(".")[0]]
    assert held(reader) == {
        key: (str(DTYPES[dtype.removeprefix("torch.")]), shape, data) for key, (dtype, shape, data) in wanted.items()
    }
    assert list(reader) == list(wanted)
    assert reader.format == file.split(".")[-2]


def test_scalars_lie_beside_the_tensors_and_an_entry_can_be_chosen() -> None:
    reader = PytorchReader(GOLDEN / "nested.zip.pt")
    assert reader.scalars["epoch"] == 3
    assert reader.scalars["lr"] == 0.1
    assert reader.scalars["optimizer_state_dict.param_groups.0.betas.1"] == 0.999
    assert reader.scalars["hyper.big"] == 2**70
    assert not any(name.startswith(("hyper.np", "hyper.ns", "hyper.dev")) for name in reader.scalars)
    state = PytorchReader(GOLDEN / "nested.zip.pt", "model_state_dict")
    assert list(state) == list(EXPECTED["model"])
    with pytest.raises(StoreError, match=r"no top level key 'state'\. There are 'epoch', 'lr', 'model_state_dict'"):
        PytorchReader(GOLDEN / "nested.zip.pt", "state")
    with pytest.raises(StoreError, match=r"expected a dict of tensors or a whole model, but found a int\."):
        PytorchReader(GOLDEN / "nested.zip.pt", "epoch")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("sparse.zip.pt", "torch._utils._rebuild_sparse_tensor holds tensors in a form that cannot be read"),
        ("quant.zip.pt", "torch._utils._rebuild_qtensor holds tensors in a form"),
        ("complex.zip.pt", "tensor 'c': complex64 has no counterpart here"),
    ],
)
def test_tensors_that_cannot_be_held_refuse_the_file(file: str, text: str) -> None:
    for skip in (False, True):
        with pytest.raises(StoreError, match=rf"{file}: .*{text}"):
            PytorchReader(GOLDEN / file, skip_unknown_calls=skip)


def test_numpy_arrays_are_no_tensors() -> None:
    assert len(PytorchReader(GOLDEN / "numpy.zip.pt")) == 0


class Block(Module):
    fc: Linear
    bn: BatchNorm


class Net(Module):
    embed: Embedding
    seq: list[Linear]
    blocks: list[Block]
    norm: LayerNorm
    head: Linear


def net() -> Net:
    backend = NumPy(seed=1)

    def block() -> Block:
        return Block(fc=LinearConfig(4, 3).init(backend), bn=BatchNormConfig(3).init(backend))

    return Net(
        embed=EmbeddingConfig(5, 4).init(backend),
        seq=[LinearConfig(4, 4).init(backend), LinearConfig(4, 4).init(backend)],
        blocks=[block(), block()],
        norm=LayerNormConfig(4).init(backend),
        head=LinearConfig(4, 5, bias=False).init(backend),
    )


@pytest.mark.parametrize(
    ("file", "key"), [("model.zip.pt", None), ("model.legacy.pt", None), ("nested.zip.pt", "model_state_dict")]
)
def test_a_whole_network_loads(file: str, key: str | None) -> None:
    """A Sequential with a gap, batch norms, an embedding, a tied weight: nothing has to be said."""
    loaded, result = PytorchStore(GOLDEN / file, top_level_key=key).apply_to(net())
    assert result.is_success
    assert result.unused == ["blocks.0.bn.num_batches_tracked", "blocks.1.bn.num_batches_tracked"]

    def wanted(path: str) -> np.ndarray:
        _, shape, data = EXPECTED["model"][path]
        return np.frombuffer(bytes.fromhex(data), "f4").reshape(shape)

    assert (loaded.seq[1].weight.value.numpy() == wanted("seq.2.weight").T).all()
    assert (loaded.blocks[1].fc.bias.value.numpy() == wanted("blocks.1.fc.bias")).all()
    assert (loaded.blocks[1].bn.running_var.value().numpy() == wanted("blocks.1.bn.running_var")).all()
    assert (loaded.norm.gamma.value.numpy() == wanted("norm.weight")).all()
    assert (loaded.embed.weight.value.numpy() == wanted("embed.weight")).all()
    assert (loaded.head.weight.value.numpy() == wanted("embed.weight").T).all()


def test_a_file_in_half_precision_is_cast_on_the_way() -> None:
    bits = np.array([[1.0, 2.0, 3.0]] * 4, "f4").view("u4") >> 16
    data = pt(
        dict_of(**{"a.weight": tensor(storage(count=12, kind="BFloat16Storage"), 0, (4, 3), (3, 1))}),
        {"0": bits.astype("u2").tobytes()},
    )
    store = PytorchStore(data, from_adapter=FloatCastAdapter(DType.F32), allow_partial=True)
    loaded, _ = store.apply_to(two())
    assert loaded.a.weight.value.numpy()[:, 0].tolist() == [1.0, 2.0, 3.0]


def test_saving_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="BurnToPyTorchAdapter"):
        PytorchStore(tmp_path / "x.pt").collect_from(two())
    assert list(tmp_path.iterdir()) == []


# Older containers, and forms that today's PyTorch no longer writes


@pytest.mark.parametrize("prefix", ["", "./"])
def test_the_first_container(prefix: str) -> None:
    reader = PytorchReader(tar_checkpoint(prefix))
    assert reader.format == "tar"
    assert {key: (entry.shape, np.frombuffer(entry.view(), "f4").tolist()) for key, entry in reader.items()} == {
        "a": ((2, 3), [0, 1, 2, 3, 4, 5]),
        "b": ((2,), [3, 4]),
    }


def test_a_view_of_a_legacy_storage() -> None:
    view = tuple_of(text("v"), integer(2), integer(3))
    data = legacy(dict_of(a=tensor(storage(view=view), 1, (2,), (1,))), {"0": (6, FLOATS["0"])})
    assert numbers(data) == [3, 4]


def test_the_oldest_tensor_and_a_plain_pickle() -> None:
    old = call("torch._utils", "_rebuild_tensor", storage(), integer(0), sizes(6), sizes(1))
    assert numbers(pt(dict_of(a=old), FLOATS)) == [0, 1, 2, 3, 4, 5]
    reader = PytorchReader(pickle.dumps({"epoch": 3, "names": ["x", None]}))
    assert (reader.format, len(reader), dict(reader.scalars)) == (
        "pickle",
        0,
        {"epoch": 3, "names.0": "x", "names.1": None},
    )


def test_a_tensor_of_a_type_of_its_own_is_the_tensor_it_holds() -> None:
    arguments = tuple_of(storage(), integer(2), sizes(3), sizes(1), FALSE, dict_of())
    rebuild = name("torch._utils", "_rebuild_tensor_v2")
    held = call(
        "torch._tensor", "_rebuild_from_type_v2", rebuild, name("my.lib", "Tagged"), arguments, dict_of(tag=NONE)
    )
    assert numbers(pt(dict_of(a=held), FLOATS)) == [2, 3, 4]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=4), st.integers(0, 6), st.integers(0, 12))
def test_any_window_on_a_storage_is_gathered_or_refused(axes: list[tuple[int, int]], offset: int, count: int) -> None:
    shape, stride = tuple(size for size, _ in axes), tuple(step for _, step in axes)
    elements = np.arange(count, dtype="f4")
    data = pt(dict_of(a=tensor(storage(count=count), offset, shape, stride)), {"0": elements.tobytes()})
    last = offset + sum((size - 1) * step for size, step in axes) + 1 if 0 not in shape else offset
    if last > count:
        with pytest.raises(StoreError, match=rf"tensor 'a' ends at element {last} of a storage that has {count}"):
            PytorchReader(data)
        return
    expected = [offset + sum(map(operator.mul, index, stride)) for index in np.ndindex(*shape)]
    assert numbers(data) == expected


def test_deflated_and_rootless_archives() -> None:
    assert numbers(pt(dict_of(a=tensor()), FLOATS, zipfile.ZIP_DEFLATED)) == [0, 1, 2, 3, 4, 5]
    members = {"data.pkl": dict_of(a=tensor()) + STOP, "data/0": FLOATS["0"]}
    assert numbers(zipped(members)) == [0, 1, 2, 3, 4, 5]
    assert numbers(zipped({**members, "deeper/data.pkl": b"junk"})) == [0, 1, 2, 3, 4, 5]


def test_objects_that_are_kinds_of_dicts_and_scripted_modules() -> None:
    odd = name("my.lib", "Config") + EMPTY_TUPLE + b"\x81(" + text("w") + tensor() + b"u"
    assert held(PytorchReader(pt(dict_of(cfg=odd), FLOATS))).keys() == {"cfg.w"}
    script = make("__torch__.Net", "Net", dict_of(weight=tensor(), training=TRUE))
    assert held(PytorchReader(pt(script, FLOATS))).keys() == {"weight"}


def test_a_module_object_reads_as_its_state_dict() -> None:
    def module(parameters: bytes, buffers: bytes, modules: bytes, hidden: bytes = list_of()) -> bytes:
        tables = {"_parameters": parameters, "_buffers": buffers, "_modules": modules}
        return make("__main__", "Net", dict_of(**tables, _non_persistent_buffers_set=hidden, other=tensor()))

    child = module(dict_of(weight=tensor(), bias=NONE), dict_of(), dict_of())
    whole = module(dict_of(), dict_of(mean=tensor(), tmp=tensor()), dict_of(fc=child, none=NONE), list_of(text("tmp")))
    assert list(PytorchReader(pt(whole, FLOATS))) == ["mean", "fc.weight"]
    twice = module(dict_of(x=tensor()), dict_of(x=tensor()), dict_of())
    with pytest.raises(StoreError, match="the model has two parts called 'x'"):
        PytorchReader(pt(twice, FLOATS))
    with pytest.raises(StoreError, match=r"fc should be a part of a model, not __main__.Other"):
        PytorchReader(pt(module(dict_of(), dict_of(), dict_of(fc=make("__main__", "Other", dict_of()))), FLOATS))


def test_a_large_file_is_not_read_before_it_is_used(tmp_path: Path) -> None:
    path = tmp_path / "big.pt"
    count = 4 << 20
    big = dict_of(
        a=tensor(storage(count=count), 0, (count,), (1,)),
        b=tensor(storage(count=count), 0, (count // 4, 4), (1, count // 4)),
    )
    path.write_bytes(pt(big, {"0": bytes(4 * count)}))
    tracemalloc.start()
    reader = PytorchReader(path)
    assert reader["a"].view().nbytes == 4 * count  # mapped
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20
    assert reader["b"].view().nbytes == 4 * count


# Hostile pickles


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
