"""Reading `torch.save` files: what PyTorch wrote, what it wrote long ago, and what an attacker would write."""

from __future__ import annotations

import json
import operator
import pickle
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models_store import two
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
