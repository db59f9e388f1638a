"""TensorData: the length invariant, casts that refuse, BF16 by bits, lazy buffers."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minburn.dtype import PLAIN_DTYPES, BlockScale, DType, QuantScheme
from minburn.tensor import DTypeError, KindError, ShapeError, TensorData


def test_the_length_is_checked() -> None:
    assert TensorData(bytes(24), [2, 3], DType.F32).num_elements() == 6
    assert TensorData(b"", [0, 3], DType.F32).numpy().shape == (0, 3)
    assert TensorData(bytes(4), [], DType.F32).numpy().shape == ()
    with pytest.raises(ShapeError, match=r"shape \[2, 3\] with dtype F32 needs 24 bytes, but got 23"):
        TensorData(bytes(23), [2, 3], DType.F32)
    with pytest.raises(ShapeError, match="negative"):
        TensorData(b"", [-1], DType.F32)


def test_it_never_changes() -> None:
    source = bytearray(np.float32([1, 2]).tobytes())
    data = TensorData(bytes(source), [2], DType.F32)
    with pytest.raises(AttributeError, match="immutable"):
        data.shape = (1, 2)
    with pytest.raises(TypeError):
        data.bytes[0] = 1  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        data.numpy()[0] = 1
    array = np.zeros(2)
    copy = TensorData.from_numpy(array)
    array[0] = 1
    assert copy.numpy()[0] == 0
    with pytest.raises(TypeError):
        hash(data)


def test_any_buffer_will_do() -> None:
    values = np.arange(6, dtype="<i4").reshape(2, 3)
    for buffer in (values, values.tobytes(), memoryview(values), bytearray(values.tobytes()), values.T.copy().T):
        assert np.array_equal(TensorData(buffer, [2, 3], DType.I32).numpy(), values)
    big_endian = TensorData.from_numpy(values.astype(">i4"))
    assert np.array_equal(big_endian.numpy(), values)
    assert big_endian.dtype == DType.I32


def test_bytes_may_be_produced_on_first_use_and_once() -> None:
    calls: list[int] = []

    def produce() -> bytes:
        calls.append(1)
        return bytes(8)

    data = TensorData(produce, [2], DType.F32)
    assert data.shape == (2,)
    assert not calls
    threads = [threading.Thread(target=lambda: data.bytes) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert data.numpy().tolist() == [0.0, 0.0]
    assert calls == [1]
    with pytest.raises(ShapeError, match="needs 8 bytes"):
        _ = TensorData(lambda: b"", [2], DType.F32).bytes


def test_equality_and_pickling() -> None:
    data = TensorData.from_nested([float("nan"), 1.0])
    assert data == pickle.loads(pickle.dumps(data))
    assert data != TensorData.from_nested([float("nan"), 2.0])
    assert data != data.cast(DType.F32)
    assert data != 1
    assert repr(data) == "TensorData(shape=[2], dtype=F64)"


def test_quantized_payloads_are_carried_only() -> None:
    scheme = QuantScheme("Q8S", block=BlockScale((32,), "F32"))
    data = TensorData(bytes(7), [2, 2], DType.qfloat(scheme))
    assert len(data.bytes) == 7
    with pytest.raises(DTypeError, match="quantized"):
        data.numpy()
    with pytest.raises(DTypeError, match="quantized"):
        data.cast(DType.F32)
    with pytest.raises(DTypeError, match=r"a tensor.s quantize_dynamic\(\) can"):
        TensorData.from_nested([1.0]).cast(data.dtype)


@pytest.mark.parametrize("dtype", PLAIN_DTYPES, ids=str)
def test_small_numbers_survive_every_dtype(dtype: DType) -> None:
    data = TensorData.from_nested([[0, 1], [1, 0]]).cast(dtype)
    assert data.dtype == dtype
    assert len(data.bytes) == 4 * dtype.size
    for other in PLAIN_DTYPES:
        assert data.cast(other).cast(DType.I64).numpy().tolist() == [[0, 1], [1, 0]]


def test_casts_refuse_what_does_not_fit() -> None:
    assert TensorData.from_nested([1.9, -1.9]).cast(DType.I8).numpy().tolist() == [1, -1]
    assert TensorData.from_nested([0.0, 0.3, -0.0]).cast(DType.Bool).numpy().tolist() == [False, True, False]
    assert TensorData.from_nested([2.0**62]).cast(DType.I64).numpy().tolist() == [2**62]
    assert TensorData.from_nested([1e300]).cast(DType.F32).numpy().tolist() == [float("inf")]
    for values, dtype, text in [
        ([0.0, 128.0], DType.I8, r"128.0 \(at \[1\]\) does not fit I8"),
        ([float("nan")], DType.I32, "nan"),
        ([float("inf")], DType.U64, "inf"),
        ([2.0**63], DType.I64, "does not fit I64"),
        ([[300]], DType.U8, r"300 \(at \[0, 0\]\)"),
        ([2**63], DType.I64, str(2**63)),
        ([-1], DType.U64, "-1"),
    ]:
        with pytest.raises(DTypeError, match=text):
            TensorData.from_nested(values).cast(dtype)


def test_bools_are_checked_by_the_accessor() -> None:
    for dtype in (DType.Bool, DType.BoolU8, DType.BoolU32):
        data = TensorData.from_nested([True, False]).cast(dtype)
        assert data.numpy().dtype == np.bool_
        assert data.numpy().tolist() == [True, False]
    bad = TensorData(b"\x02", [1], DType.Bool)
    with pytest.raises(DTypeError, match="element is 2"):
        bad.numpy()
    with pytest.raises(KindError, match="complex128"):
        TensorData.from_numpy(np.ones(1, complex))


def nearest_bf16(value: float) -> set[float]:
    """The BF16 numbers nearest to value, by exact comparison with both neighbours."""
    bits = int(np.float32(value).view(np.uint32)) >> 16
    around = [b for b in (bits - 1, bits, bits + 1) if 0 <= b <= 0xFFFF]
    numbers = [float(np.uint32(b << 16).view(np.float32)) for b in around]
    finite = [n for n in numbers if np.isfinite(n)]
    best = min(abs(n - value) for n in finite)
    return {n for n in finite if abs(n - value) == best}


@settings(max_examples=150, deadline=None)
@given(st.floats(-1e38, 1e38))
def test_bf16_is_the_nearest_and_wide_numbers_are_rounded_once(value: float) -> None:
    data = TensorData.from_nested([value]).cast(DType.BF16)
    assert float(data.cast(DType.F64).numpy()[0]) in nearest_bf16(value)


def test_bf16_ties_go_to_even_and_specials_stay() -> None:
    tie = 1 + 2**-8  # between 1 and 1 + 2⁻⁷
    values = [tie, 1 + 3 * 2**-8, tie + 2**-40, tie - 2**-40, 3.4e38, float("inf"), -0.0]
    result = TensorData.from_nested(values).cast(DType.BF16).cast(DType.F32).numpy()
    inf = float("inf")
    assert result.tolist() == [1.0, 1 + 2**-6, 1 + 2**-7, 1.0, inf, inf, 0.0]
    assert np.signbit(result[-1])
    for bits in (0x7F800001, 0xFFC00000, 0x7FFFFFFF):
        nan = TensorData(np.uint32([bits]), [1], DType.F32).cast(DType.BF16).cast(DType.F32)
        assert np.isnan(nan.numpy()[0])
    every = TensorData(np.arange(2**16, dtype="<u2"), [2**16], DType.BF16)
    back = every.cast(DType.F32).cast(DType.BF16)
    same = np.frombuffer(every.bytes, "<u2") == np.frombuffer(back.bytes, "<u2")
    assert same[~np.isnan(every.cast(DType.F32).numpy())].all()


def test_bf16_arrays_come_back() -> None:  # without ml_dtypes: tests/test_without_extras.py
    data = TensorData.from_nested([1.0], DType.BF16)
    assert TensorData.from_numpy(data.numpy()) == data
