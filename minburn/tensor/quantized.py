"""Quantized numbers: small integers and scales, value = integer · scale.

A quantized dtype carries its scheme (`DType.qfloat(scheme)`), because the scheme decides how the payload is laid out:
the integers, then a scale per block (or a single one), then, if there are both, one of the whole tensor. The integers
are a byte each as Burn's CPU backends write them, or, as its GPU backends do, several in a 32-bit word, the first in
the low bits, along one axis whose lines are filled up to whole words.

Nothing is computed with such tensors here: they are made from floats, carried through files, and made floats again.

Burn: `crates/burn-std/src/tensor/quantization.rs`, `crates/burn-backend/src/backend/ops/qtensor.rs`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minburn.dtype import DType, QuantScheme
from minburn.tensor.check import DTypeError, KindError, ShapeError, TensorError, show
from minburn.tensor.data import STORAGE, HostArray, TensorData, bf16_to_f32

RANGES = {"Q8S": (-127, 127), "Q8F": (-128, 127), "Q4S": (-7, 7), "Q4F": (-8, 7), "Q2S": (-1, 1), "Q2F": (-2, 1)}
"""The integers of a value type. S: symmetric, F: the full range."""

SCALE_BYTES = {"F32": 4, "F16": 2, "BF16": 2, "UE8M0": 1}


def quantize(values: HostArray, scheme: QuantScheme) -> TensorData:
    """Integers of `scheme.value` with one F32 scale, which takes the largest |value| to the end of the range.

    scale = 2 max|x| / (high - low), q = x / scale, rounded. Stored a byte each whatever store the scheme asks for, as
    Burn's CPU backend does; the dtype says so.

    Errors: DTypeError for other schemes, TensorError for values that are not finite.
    """
    if not isinstance(scheme, QuantScheme):
        raise KindError(f"quantize_dynamic: expected a QuantScheme, but got {type(scheme).__name__} {scheme!r}.")
    low, high = _range("quantize_dynamic", scheme)
    if scheme.block is not None or scheme.tensor not in (None, "F32"):
        raise DTypeError(f"quantize_dynamic: one F32 scale of the whole tensor is made, not what {scheme} asks for.")
    x = values.astype(np.float32)
    if not np.isfinite(x).all():
        raise TensorError("quantize_dynamic: some element is infinite or NaN.")
    largest = np.abs(x).max(initial=0.0)
    scale = np.float32(2) * largest / np.float32(high - low)
    integers = np.clip(np.rint(x / (scale if scale > 0 else np.float32(1))), low, high).astype(np.int8)
    stored = QuantScheme(scheme.value, tensor=scheme.tensor)
    return TensorData(integers.tobytes() + scale.astype("<f4").tobytes(), values.shape, DType.qfloat(stored))


def dequantize(data: TensorData) -> HostArray:
    """The numbers as F32.

    Errors: DTypeError for value and scale types that are no integers and no floats of 16 or 32 bits (or powers of two),
    ShapeError for a payload of another length.
    """
    scheme = data.dtype.scheme
    if scheme is None:
        raise DTypeError(f"dequantize: {data.dtype} data is not quantized. Use cast(DType.F32).")
    low, _ = _range("dequantize", scheme)
    payload = np.frombuffer(data.bytes, np.uint8)
    block = scheme.block.size if scheme.block is not None else None
    blocks = _block_counts(data.shape, block) if block is not None else ()
    parts = [(scheme.block.dtype if scheme.block is not None else scheme.tensor or "F32", math.prod(blocks))]
    if scheme.block is not None and scheme.tensor is not None:
        parts.append((scheme.tensor, 1))
    scales_at = payload.size - sum(count * _scale_size(name) for name, count in parts)
    integers = _integers(payload[: max(scales_at, 0)], data.shape, scheme, bits=_bits(low))
    (name, count), *whole = parts
    found = _scales(payload[scales_at : scales_at + count * _scale_size(name)], name).reshape(blocks)
    result = integers.astype(np.float32) * _spread(found, data.shape, block)
    for name, _ in whole:
        result *= _scales(payload[-_scale_size(name) :], name)
    return result


def _range(name: str, scheme: QuantScheme) -> tuple[int, int]:
    """The integers of a scheme that is understood."""
    block = scheme.block
    words = (scheme.value, scheme.store, scheme.mode, scheme.tensor or "F32", "F32" if block is None else block.dtype)
    sizes = (1,) if block is None else block.size
    is_read = (
        all(isinstance(word, str) for word in words)
        and type(scheme.store_dim) is int
        and isinstance(sizes, tuple)
        and all(type(size) is int for size in sizes)
    )
    if not is_read or scheme.value not in RANGES or scheme.mode != "Symmetric" or not sizes:
        raise DTypeError(
            f"{name}: {scheme.value} in mode {scheme.mode} is not known here, only {', '.join(RANGES)} in mode "
            f"Symmetric: {scheme!r:.200}."
        )
    return RANGES[scheme.value]


def _bits(low: int) -> int:
    """8, 4 or 2."""
    return 8 if low < -8 else 4 if low < -2 else 2


def _integers(payload: HostArray, shape: tuple[int, ...], scheme: QuantScheme, bits: int) -> HostArray:
    """A byte each, or words of several if the scheme says so and the length fits."""
    if payload.size == math.prod(shape):
        return payload.view(np.int8).reshape(shape)
    if scheme.store == "PackedU32" and shape:
        axis = len(shape) - 1 - scheme.store_dim
        each = 32 // bits
        words = tuple(-(-size // each) if dim == axis else size for dim, size in enumerate(shape))
        if axis >= 0 and payload.size == 4 * math.prod(words):
            packed = payload.view("<u4").reshape(words)
            places = np.arange(each, dtype=np.uint32) * np.uint32(bits)
            values = np.moveaxis((packed[..., None] >> places) & np.uint32(2**bits - 1), -1, axis + 1)
            values = values.reshape(*words[:axis], words[axis] * each, *words[axis + 1 :])
            signed: HostArray = values.astype(np.int32)
            signed -= (signed >= 2 ** (bits - 1)).astype(np.int32) << bits
            return np.take(signed, np.arange(shape[axis]), axis)
    raise ShapeError(
        f"dequantize: the payload has {payload.size} bytes of integers, which is not what shape {show(shape)} needs in "
        f"{scheme.value} with store {scheme.store}."
    )


def _scale_size(name: str) -> int:
    size = SCALE_BYTES.get(name)
    if size is None:
        raise DTypeError(f"dequantize: {name} scales are not known here, only {', '.join(SCALE_BYTES)}.")
    return size


def _scales(payload: HostArray, name: str) -> HostArray:
    if name == "UE8M0":  # an exponent
        powers: Any = np.exp2(payload.astype(np.float32) - np.float32(127))
        return np.where(payload == 255, np.float32(np.nan), powers)
    stored = payload.view(STORAGE[name])
    return bf16_to_f32(stored) if name == "BF16" else stored.astype(np.float32)


def _block_counts(shape: tuple[int, ...], block: tuple[int, ...]) -> tuple[int, ...]:
    """Blocks along each dimension; the sizes of a block belong to the last dimensions, the others have 1."""
    if len(block) > len(shape) or min(block) < 1:
        raise ShapeError(f"dequantize: blocks of {show(block)} in a tensor of shape {show(shape)}.")
    full = (1,) * (len(shape) - len(block)) + block
    return tuple(-(-size // step) for size, step in zip(shape, full, strict=True))


def _spread(scales: HostArray, shape: tuple[int, ...], block: tuple[int, ...] | None) -> HostArray:
    """A scale for every element."""
    if block is None:
        return scales
    full = (1,) * (len(shape) - len(block)) + block
    for dim, step in enumerate(full):
        scales = scales.repeat(step, axis=dim).take(np.arange(shape[dim]), axis=dim)
    return scales
