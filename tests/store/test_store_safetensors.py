"""SafeTensors: as Burn and the safetensors package write it; what is damaged is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from models_store import check_damaged, two, values, zoo

from minburn.dtype import PLAIN_DTYPES, BlockScale, DType, QuantScheme
from minburn.pack import TensorEntry
from minburn.store import BurnToPyTorchAdapter, PyTorchToBurnAdapter, SafetensorsStore, StoreError
from minburn.store.safetensors import DTYPES, safetensors_pieces

GOLDEN = Path(__file__).parent.parent / "golden" / "store" / "via_safetensors_store.safetensors"
NUMPY = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u1", "?"]
FROM_NUMPY = {
    "f8": DType.F64, "f4": DType.F32, "f2": DType.F16, "i8": DType.I64, "i4": DType.I32, "i2": DType.I16,
    "i1": DType.I8, "u8": DType.U64, "u4": DType.U32, "u1": DType.U8, "?": DType.Bool,
}  # fmt: skip


def file_of(header: object, data: bytes = b"", pad: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += pad
    return len(text).to_bytes(8, "little") + text + data


def entry(dtype: str, start: int, end: int, *shape: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}


def test_burns_file_loads_and_is_written_again_byte_for_byte() -> None:
    loaded, result = SafetensorsStore(GOLDEN).apply_to(model := two())
    assert result.is_success
    assert np.allclose(loaded.a.bias.value.numpy(), [-0.4795, 0.556, -0.1075, 0.544])
    assert loaded.a.weight.id == model.a.weight.id  # the format has no ids
    assert SafetensorsStore(b"").collect_into_bytes(loaded) == GOLDEN.read_bytes()


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(lambda n: n != "__metadata__"),
        st.tuples(st.sampled_from(NUMPY), st.lists(st.integers(0, 3), max_size=3)),
        max_size=6,
    ),
    st.dictionaries(st.just("key"), st.text(st.characters(exclude_categories=["Cs"]), max_size=5)),
)
def test_our_bytes_are_those_of_the_safetensors_package(
    tensors: dict[str, tuple[str, list[int]]], metadata: dict[str, str]
) -> None:
    rng = np.random.default_rng(len(tensors))
    arrays = {name: rng.integers(0, 2, shape).astype(kind) for name, (kind, shape) in tensors.items()}
    entries = [
        TensorEntry(name, FROM_NUMPY[tensors[name][0]], array.shape, np.ascontiguousarray(array))
        for name, array in arrays.items()
    ]
    ours = b"".join(safetensors_pieces(entries, metadata))
    assert ours == safetensors.numpy.save(arrays, metadata or None)
    found = SafetensorsStore(ours).get_all_tensors()
    assert {name: (str(e.dtype), e.shape, e.bytes()) for name, e in found.items()} == {
        e.name: (str(e.dtype), e.shape, e.bytes()) for e in entries
    }


def test_modules_round_trip_through_files(tmp_path: Path) -> None:
    model = zoo()
    path = tmp_path / "model.safetensors"
    SafetensorsStore(path, remap=[("^", "model.")], to_adapter=BurnToPyTorchAdapter()).collect_from(model)
    assert safetensors.numpy.load_file(path)["model.layers.0.weight"].shape == (3, 4)
    store = SafetensorsStore(path, remap=[(r"^model\.", "")], from_adapter=PyTorchToBurnAdapter())
    loaded, result = store.apply_to(zoo(2))
    assert result.is_success
    assert values(loaded) == values(model)
    with pytest.raises(StoreError, match="already exists"):
        store.collect_from(model)
    assert [file.name for file in tmp_path.iterdir()] == ["model.safetensors"]


@pytest.mark.parametrize("dtype", PLAIN_DTYPES, ids=str)
def test_every_dtype_is_written_and_read_or_refused(dtype: DType) -> None:
    entries = [TensorEntry("x", dtype, (2,), bytes(2 * dtype.size)), TensorEntry("y", dtype, (), bytes(dtype.size))]
    if dtype == DType.U16:
        with pytest.raises(StoreError, match="tensor 'x': U16 cannot be saved as safetensors"):
            safetensors_pieces(entries, {})
        return
    found = SafetensorsStore(b"".join(safetensors_pieces(entries, {}))).get_all_tensors()
    stored = {DType.Flex32: DType.F32, DType.BoolU8: DType.U8, DType.BoolU32: DType.U32}.get(dtype, dtype)
    assert [(e.dtype, e.shape) for e in found.values()] == [(stored, (2,)), (stored, ())]


def test_quantized_tensors_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    dtype = DType.qfloat(QuantScheme("Q8S", block=BlockScale((32,), "F32")))
    with pytest.raises(StoreError, match="tensor 'q': QFloat cannot be saved"):
        safetensors_pieces([TensorEntry("q", dtype, (2,), b"abcdef")], {})


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "too short"),
        (b"\0" * 7, "too short"),
        (bytes(8), "does not begin with '{'"),
        (b"\xff" * 16, "would have 18446744073709551615 bytes"),
        ((100_000_001).to_bytes(8, "little") + b"{}", "at most 100000000"),
        ((50).to_bytes(8, "little") + b"{}", "header: truncated"),
        (file_of(b"[]"), "does not begin"),
        (file_of(b"{"), "not valid"),
        (file_of(b'{"a": NaN}'), "NaN is no JSON"),
        (file_of(b"{\xff}"), "not valid"),
        (file_of(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "not valid"),
        (file_of(b'{"a":[' + b"[]," * 1_000_001 + b"[]]}"), "nests more than"),
        (file_of(b'{"a":' + b"9" * 5000 + b"}"), "not valid"),
        (file_of(b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":1}'), "'a' comes twice"),
        (file_of({"__metadata__": {"a": 1}}), "must map texts to texts"),
        (file_of({"__metadata__": []}), "must map texts to texts"),
        (file_of({"a": 1}), "tensor 'a': expected dtype"),
        (file_of({"a": {"dtype": "U8", "shape": [0]}}), "tensor 'a': expected dtype"),
        (file_of({"a": entry("F8_E4M3", 0, 1, 1)}, b"x"), "tensor 'a': unsupported dtype F8_E4M3"),
        (file_of({"a": {"dtype": [], "shape": [0], "data_offsets": [0, 0]}}), "unsupported dtype"),
        (file_of({"a": entry("U8", 0, 1, -1)}, b"x"), "not lists of sizes"),
        (file_of({"a": {"dtype": "U8", "shape": [1.0], "data_offsets": [0, 1]}}, b"x"), "not lists of sizes"),
        (file_of({"a": {"dtype": "U8", "shape": [True], "data_offsets": [0, 1]}}, b"x"), "not lists of sizes"),
        (file_of({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1, 2]}}, b"x"), "not lists of sizes"),
        (file_of({"a": entry("U8", 0, 2, 1)}, b"xx"), "has 2 bytes, but its shape"),
        (file_of({"a": entry("U8", 2, 1, 1)}, b"xx"), "has -1 bytes"),
        (file_of({"a": entry("F32", 0, 0, 1 << 63, 2, 0)}), "overflows 64 bits"),
        (file_of({"a": entry("U8", 0, 1 << 40, 1 << 40)}, b"x"), "the limit is"),
        (file_of({"a": entry("U8", 0, 9, 9)}, b"x"), "tensor 'a': truncated"),
        (file_of({"a": entry("U8", 1, 2, 1)}, b"xx"), "tensor 'a': it starts at 1, but 0 bytes"),
        (file_of({"a": entry("U8", 0, 2, 2), "b": entry("U8", 1, 2, 1)}, b"xx"), "tensor 'b': it starts at 1, but 2"),
        (file_of({"a": entry("U8", 0, 1, 1)}, b"xx"), "end at byte .*, the file has"),
        (file_of({}, b"x"), "the file has"),
    ],
)
def test_damaged_files_are_refused(data: bytes, text: str) -> None:
    with pytest.raises(StoreError, match=rf"^<bytes>: .*{text}"):
        SafetensorsStore(data).keys()


def test_unusual_files_are_read() -> None:
    assert SafetensorsStore(file_of({})).keys() == []
    found = SafetensorsStore(
        file_of({"z": entry("U8", 0, 1, 1), "a": entry("F32", 1, 5, 1), "e": entry("F32", 5, 5, 0)}, b"abcde", b"   ")
    ).get_all_tensors()
    assert list(found) == ["z", "a", "e"]
    assert found["a"].bytes() == b"bcde"  # not aligned
    assert set(DTYPES) == {str(dtype).upper().partition("(")[0] for dtype in found_dtypes()}


def found_dtypes() -> list[DType]:
    left_out = (DType.U16, DType.Flex32, DType.BoolU8, DType.BoolU32)
    return [dtype for dtype in PLAIN_DTYPES if dtype not in left_out]


def fuzz(rounds: int, seed: int) -> None:
    whole, model = SafetensorsStore(b"").collect_into_bytes(zoo()), zoo(2)
    check_damaged(
        [whole, GOLDEN.read_bytes()],
        lambda data: SafetensorsStore(data, allow_partial=True, validate=False).apply_to(model),
        rounds,
        seed,
    )


def test_damage_is_a_store_error() -> None:
    fuzz(300, seed=1)


@pytest.mark.heavy
def test_much_damage_is_a_store_error() -> None:
    fuzz(30_000, seed=2)
