"""NumPy's archives: numpy.load reads ours, we read numpy.savez's; what is damaged or no tensor is refused."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models_store import check_damaged, two, values, zoo
from pickles_store import zipped

from minburn.dtype import PLAIN_DTYPES, DType
from minburn.pack import TensorEntry
from minburn.store import FloatCastAdapter, NpzStore, StoreError
from minburn.tensor import TensorData

KINDS = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]


def saved(*, compressed: bool = False, **arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **arrays)
    return file.getvalue()


def array_of(entry: TensorEntry) -> np.ndarray:
    return TensorData(entry.view(), entry.shape, entry.dtype).numpy()


def npy(header: bytes, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    size = len(header).to_bytes(2 if version == b"\x01\x00" else 4, "little")
    return zipped({"a.npy": b"\x93NUMPY" + version + size + header + data})


@pytest.mark.parametrize("compress", [False, True])
def test_numpy_reads_what_we_write(compress: bool, tmp_path: Path) -> None:
    model = zoo()
    path = tmp_path / "model.npz"
    NpzStore(path, compress=compress, remap=[("^", "m.")]).collect_from(model)
    with np.load(path) as found:
        assert sorted(found) == sorted(f"m.{entry.path}" for entry in model.into_record())
        for entry in model.into_record():
            expected = entry.data.numpy()
            assert found[f"m.{entry.path}"].dtype == expected.dtype
            assert (found[f"m.{entry.path}"] == expected).all()
    loaded, result = NpzStore(path, remap=[(r"^m\.", "")]).apply_to(zoo(2))
    assert result.is_success
    assert values(loaded) == values(model)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
    again = NpzStore(b"", compress=compress, remap=[("^", "m.")]).collect_into_bytes(model)
    assert again == path.read_bytes()
    with pytest.raises(StoreError, match="already exists"):
        NpzStore(path).collect_from(model)


@given(
    st.sampled_from(KINDS),
    st.lists(st.integers(0, 4), max_size=4),
    st.sampled_from("<>"),
    st.booleans(),
    st.booleans(),
)
def test_we_read_what_numpy_writes(kind: str, shape: list[int], order: str, fortran: bool, compressed: bool) -> None:
    array = np.random.default_rng(1).integers(0, 2, shape).astype(kind)
    stored = array.astype(array.dtype.newbyteorder(order))
    if fortran and shape:
        stored = np.asfortranarray(stored)
    entry = NpzStore(saved(compressed=compressed, a=stored)).get_tensor("a")
    assert entry.shape == array.shape
    found = array_of(entry)
    assert found.dtype == array.dtype
    assert (found == array).all()


@pytest.mark.parametrize("dtype", PLAIN_DTYPES, ids=str)
def test_every_dtype_is_written_or_refused(dtype: DType) -> None:
    entry = TensorEntry("x", dtype, (2,), bytes(2 * dtype.size))
    store = NpzStore(b"")
    if dtype == DType.BF16:
        with pytest.raises(StoreError, match=r"tensor 'x': BF16 cannot be saved as npz\. Cast it first"):
            store.pieces([entry])
        return
    found = NpzStore(b"".join(store.pieces([entry]))).get_tensor("x")
    stored = {DType.Flex32: DType.F32, DType.BoolU8: DType.Bool, DType.BoolU32: DType.U32}.get(dtype, dtype)
    assert (found.dtype, found.shape, found.bytes()) == (stored, (2,), bytes(2 * stored.size))


def test_what_cannot_be_saved_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"tensor 'a\.weight': BF16"):
        NpzStore(tmp_path / "x.npz", to_adapter=FloatCastAdapter(DType.BF16)).collect_from(two())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreError, match="no place for metadata"):
        NpzStore(tmp_path / "x.npz", metadata={"a": "b"})
    with pytest.raises(StoreError, match="a name comes twice"):
        NpzStore(tmp_path / "x.npz", remap=[(".*", "x")]).collect_into_bytes(two())


HEADER = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}\n"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "not a zip file"),
        (b"PK\x03\x04", "not a zip file"),
        (saved(a=np.zeros(3))[:-40], "not a zip file"),
        (saved(a=np.array(["text"])), "tensor 'a': NumPy's <U4 has no counterpart"),
        (saved(a=np.array([1 + 2j])), "tensor 'a': NumPy's <c16 has no counterpart"),
        (saved(a=np.zeros(2, [("x", "f4")])), "tensor 'a': it is no plain array"),
        (npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", b"cos\nsystem\n"), r"NumPy's \|O has no"),
        (npy(HEADER, b"12345678", b"\x04\x00"), "is no array that can be read"),
        (npy(HEADER, b"1234567"), "tensor 'a' has 7 bytes, but its shape and dtype need 8"),
        (npy(HEADER, b"123456789"), "has 9 bytes"),
        (npy(HEADER.replace(b"(2,)", b"(-2,)"), b""), "it is no plain array"),
        (npy(HEADER.replace(b"(2,)", b"(1<<40,)"), b""), "it is no plain array"),
        (npy(HEADER.replace(b"(2,)", b"(" + b"1, " * 65 + b")"), b"1234"), "is too large"),
        (npy(HEADER.replace(b"(2,)", b"(%d,)" % (1 << 59))), "is too large"),
        (npy(HEADER.replace(b"(2,)", b"(%d,)" % (1 << 62))), "is too large"),
        (npy(HEADER.replace(b"<f4", b"zz")), "it is no plain array"),
        (npy(HEADER.replace(b"<f4", b"<f3")), "NumPy's <f3 has no counterpart"),
        (npy(b"__import__('os').system('x')"), "it is no plain array"),
        (npy(b"(" * 5000), "it is no plain array"),
        (npy(HEADER.replace(b")", b" " * 16_000 + b"x)")), "it is no plain array"),
        (npy(HEADER.replace(b"2,", b"1" * 16_000)), "it is no plain array"),
        (npy(b" " * 20_000), "is no array that can be read"),
        (zipped({"a.npy": b"junk"}), "is no array that can be read"),
        (zipped({"a.npy": b""}), "is no array that can be read"),
        (zipped({"readme": b"junk"}), "member 'readme' is no array"),
    ],
)
def test_damaged_files_are_refused(data: bytes, text: str) -> None:
    with pytest.raises(StoreError, match=rf"^<bytes>: .*({text})"):
        NpzStore(data).keys()


def test_names_that_come_twice_are_refused() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", b"")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.npy", b"")
    with pytest.raises(StoreError, match=r"'a\.npy' comes twice"):
        NpzStore(file.getvalue()).keys()


def test_a_changed_element_is_noticed() -> None:
    data = saved(a=np.arange(5, dtype="f4"))
    changed = data.replace(np.float32(3).tobytes(), np.float32(7).tobytes())
    with pytest.raises(StoreError, match=r"member 'a\.npy': damaged: its checksum"):
        NpzStore(changed).get_tensor("a").view()


def test_damage_is_a_store_error() -> None:
    fuzz(300, seed=1)


@pytest.mark.heavy
def test_much_damage_is_a_store_error() -> None:
    fuzz(20_000, seed=2)


def fuzz(rounds: int, seed: int) -> None:
    files = [NpzStore(b"", compress=compress).collect_into_bytes(two()) for compress in (False, True)]
    model = two(2)
    check_damaged(files, lambda data: NpzStore(data, allow_partial=True).apply_to(model), rounds, seed)
