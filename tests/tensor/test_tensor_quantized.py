"""Quantized data: what Burn wrote, what survives the way there and back, and the layouts by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minburn.backends import Autodiff, NumPy
from minburn.dtype import BlockScale, DType, QuantScheme
from minburn.module import ModuleRecord
from minburn.tensor import DTypeError, KindError, ShapeError, Tensor, TensorData, TensorError
from minburn.tensor.quantized import RANGES

plain = NumPy(seed=1)
GOLDEN = Path(__file__).parent.parent / "golden"


def packed(values: list[int], bits: int) -> bytes:
    """Words of 32 bits, the first value in the low ones."""
    each = 32 // bits
    lines = [values[start : start + each] for start in range(0, len(values), each)]
    words = [sum((value & (2**bits - 1)) << (bits * place) for place, value in enumerate(line)) for line in lines]
    return np.array(words, "<u4").tobytes()


def f32(*scales: float) -> bytes:
    return np.array(scales, "<f4").tobytes()


def test_what_burn_wrote() -> None:
    expected = json.loads((GOLDEN / "module" / "quantized.json").read_text())["cases"]
    for name in ("quant_q8s_tensor", "quant_q4s_tensor"):
        case = next(case for case in expected if case["name"] == name)
        record = ModuleRecord.load(GOLDEN / "pack" / "extra" / f"{name}.bpk")
        for entry, spec in zip(record, case["dequantized"], strict=True):
            found = entry.data.dequantize()
            assert found.dtype == DType.F32 and list(found.shape) == spec["shape"]
            np.testing.assert_allclose(found.numpy().ravel(), spec["data"], rtol=1e-6, atol=1e-7)


@given(st.sampled_from(sorted(RANGES)), st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=9))
def test_numbers_come_back_up_to_half_a_step(value: str, numbers: list[float]) -> None:
    x = Tensor.from_data(np.array(numbers, np.float32), plain)
    data = x.quantize_dynamic(QuantScheme(value))
    assert data.shape == x.shape and data.dtype.scheme == QuantScheme(value)
    low, high = RANGES[value]
    step = 2 * max(map(abs, numbers)) / (high - low)
    ends = step if low + high else step / 2  # the full range has no integer for the largest number
    assert np.abs(data.dequantize().numpy() - x.numpy()).max() <= ends * 1.001 + 1e-38
    again = Tensor.from_data(data.dequantize(), plain).quantize_dynamic(QuantScheme(value))
    assert np.allclose(again.dequantize().numpy(), data.dequantize().numpy(), atol=ends * 1.001)


def test_tracked_and_half_tensors_are_quantized_too() -> None:
    x = Tensor.from_data([1.0, -0.5], Autodiff(plain)).require_grad()
    assert x.quantize_dynamic(QuantScheme("Q8S")).dequantize().numpy().tolist() == pytest.approx([1, -0.5], abs=4e-3)
    assert x.cast(DType.F16).quantize_dynamic(QuantScheme("Q8S")) == x.quantize_dynamic(QuantScheme("Q8S"))


@pytest.mark.parametrize(("value", "bits"), [("Q8F", 8), ("Q4F", 4), ("Q2F", 2), ("Q4S", 4)])
def test_words_hold_several_integers_along_an_axis(value: str, bits: int) -> None:
    low, high = RANGES[value]
    integers = np.random.default_rng(1).integers(low, high + 1, size=(3, 21))
    lines = b"".join(packed(line.tolist(), bits) for line in integers)
    scheme = QuantScheme(value, "PackedU32", 0)
    data = TensorData(lines + f32(0.5), (3, 21), DType.qfloat(scheme))
    assert np.array_equal(data.dequantize().numpy(), integers * 0.5)
    # the other axis is packed: each word is of one column, and the words of a row of words stand side by side
    columns = [packed(column.tolist(), bits) for column in integers.T]
    assert len({len(column) for column in columns}) == 1
    payload = b"".join(column[:4] for column in columns)
    if len(columns[0]) == 4:
        data = TensorData(payload + f32(2.0), (3, 21), DType.qfloat(QuantScheme(value, "PackedU32", 1)))
        if bits < 8:
            assert np.array_equal(data.dequantize().numpy(), integers * 2.0)


def test_blocks_have_their_own_scales() -> None:
    integers = np.arange(-6, 6, dtype=np.int8).reshape(3, 4)
    scheme = QuantScheme("Q8S", block=BlockScale((2, 2), "F32"))  # the last line of blocks is cut off
    data = TensorData(integers.tobytes() + f32(1, 10, 100, 1000), (3, 4), DType.qfloat(scheme))
    scales = np.repeat(np.repeat([[1, 10], [100, 1000]], 2, 0), 2, 1)[:3]
    assert np.array_equal(data.dequantize().numpy(), integers * scales)
    rows = QuantScheme("Q8S", tensor="F32", block=BlockScale((4,), "F16"))  # two levels: blocks, then the tensor
    halves = np.array([1, 2, 4], "<f2").tobytes()
    data = TensorData(integers.tobytes() + halves + f32(0.5), (3, 4), DType.qfloat(rows))
    assert np.array_equal(data.dequantize().numpy(), integers * np.array([[0.5], [1], [2]]))


@pytest.mark.parametrize(("name", "stored"), [("BF16", b"\xc0\x3f"), ("UE8M0", b"\x80"), ("F16", b"\x00\x3e")])
def test_narrow_scales(name: str, stored: bytes) -> None:
    data = TensorData(b"\x02\xff" + stored, (2,), DType.qfloat(QuantScheme("Q4S", tensor=name)))
    scale = 2.0 if name == "UE8M0" else 1.5
    assert data.dequantize().numpy().tolist() == [2 * scale, -scale]


def test_what_is_refused() -> None:
    x = Tensor.from_data([1.0], plain)
    with pytest.raises(KindError, match="expected a QuantScheme, but got str 'Q8S'"):
        x.quantize_dynamic("Q8S")  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="E4M3 in mode Symmetric is not known here"):
        x.quantize_dynamic(QuantScheme("E4M3"))
    with pytest.raises(DTypeError, match="one F32 scale of the whole tensor is made"):
        x.quantize_dynamic(QuantScheme("Q8S", block=BlockScale((2,), "F32")))
    with pytest.raises(TensorError, match="some element is infinite or NaN"):
        (x / 0.0).quantize_dynamic(QuantScheme("Q8S"))
    with pytest.raises(DTypeError, match="F32 data is not quantized"):
        x.into_data().dequantize()
    with pytest.raises(ShapeError, match=r"the payload has 3 bytes of integers, which is not what shape \[2\] needs"):
        TensorData(bytes(7), (2,), DType.qfloat(QuantScheme("Q8S"))).dequantize()
    with pytest.raises(ShapeError, match="dequantize"):
        TensorData(b"", (2,), DType.qfloat(QuantScheme("Q8S"))).dequantize()
    with pytest.raises(DTypeError, match="UE4M3 scales are not known here"):
        TensorData(bytes(3), (2,), DType.qfloat(QuantScheme("Q8S", tensor="UE4M3"))).dequantize()
    scheme = QuantScheme("Q8S", block=BlockScale((2, 2), "F32"))
    with pytest.raises(ShapeError, match=r"blocks of \[2, 2\] in a tensor of shape \[2\]"):
        TensorData(bytes(6), (2,), DType.qfloat(scheme)).dequantize()
