"""`TensorData`: numbers on the host, outside any backend.

    bytes   C-contiguous, little-endian elements
    shape   sizes, outermost first
    dtype   what an element is

It is how tensors enter and leave a backend, a record or a file. Its length always is Π shape · dtype size (quantized
payloads excepted: their scheme lays them out). It never changes; the bytes may be produced on first use, so that a
record of a large model costs nothing until it is read.

BF16 is the upper half of F32, so its conversions are bit operations here and need no NumPy type.

Burn: `crates/burn-std/src/data/tensor/`.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from minburn.backends.array.dtypes import to_numpy
from minburn.dtype import DType
from minburn.tensor.check import DTypeError, KindError, ShapeError, as_shape, show
from minburn.tensor.compare import Tolerance, assert_approx_eq, assert_eq, assert_within

if TYPE_CHECKING:
    Buffer = bytes | bytearray | memoryview | np.ndarray[Any, Any]

HostArray = np.ndarray[Any, Any]
BALANCED = Tolerance()

# What an element's bytes are in NumPy. BF16 has no NumPy type: these are its bits.
STORAGE: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
    "Flex32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "Bool(Native)": np.dtype("u1"),
    "Bool(U8)": np.dtype("u1"),
    "Bool(U32)": np.dtype("<u4"),
}

FROM_NUMPY: dict[str, DType] = {
    "float64": DType.F64,
    "float32": DType.F32,
    "float16": DType.F16,
    "bfloat16": DType.BF16,
    "int64": DType.I64,
    "int32": DType.I32,
    "int16": DType.I16,
    "int8": DType.I8,
    "uint64": DType.U64,
    "uint32": DType.U32,
    "uint16": DType.U16,
    "uint8": DType.U8,
    "bool": DType.Bool,
}


class TensorData:
    """Bytes, a shape and a dtype, checked to agree.

    bytes: any C-contiguous buffer (kept, not copied), or a function without arguments that returns one: it is called
    once, on first use, from whichever thread comes first.

    Errors: ShapeError if the length is not Π shape · dtype size.

    Burn: `TensorData::from_bytes`, `TensorData::from_bytes_vec`, `TensorData::quantized`.
    """

    __slots__ = ("_buffer", "_lock", "_produce", "dtype", "shape")

    dtype: DType
    shape: tuple[int, ...]
    _buffer: memoryview | None
    _produce: Callable[[], Buffer] | None
    _lock: threading.Lock

    def __init__(self, bytes: Buffer | Callable[[], Buffer], shape: Iterable[int], dtype: DType) -> None:
        set_once = object.__setattr__
        set_once(self, "shape", as_shape("TensorData", shape))
        set_once(self, "dtype", as_dtype(dtype))
        if callable(bytes):
            set_once(self, "_lock", threading.Lock())
            set_once(self, "_produce", bytes)
            set_once(self, "_buffer", None)
        else:
            set_once(self, "_buffer", self._checked(bytes))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"TensorData is immutable: {name} cannot be set. Build a new one.")

    @staticmethod
    def from_nested(values: Any, dtype: DType | None = None) -> TensorData:
        """From (nested lists of) bools, ints or floats: Bool, I64 or F64, or cast to `dtype`. A scalar has shape [1].

        Errors: ShapeError for ragged lists, KindError for what is no number, DTypeError for numbers that do not fit.
        """
        data = TensorData.from_numpy(nested_to_array(values))
        return data if dtype is None else data.cast(dtype)

    @staticmethod
    def zeros(shape: Iterable[int], dtype: DType = DType.F32) -> TensorData:
        return TensorData.full(shape, 0, dtype)

    @staticmethod
    def ones(shape: Iterable[int], dtype: DType = DType.F32) -> TensorData:
        return TensorData.full(shape, 1, dtype)

    @staticmethod
    def full(shape: Iterable[int], value: float, dtype: DType = DType.F32) -> TensorData:
        """`value` everywhere. Burn: `TensorData::full_dtype`."""
        if not isinstance(value, (bool, int, float, np.generic)):
            raise KindError(f"TensorData.full: expected a number, but got {type(value).__name__} {value!r}.")
        return TensorData.from_numpy(np.full(as_shape("TensorData", shape), nested_to_array(value)[0]), dtype)

    @staticmethod
    def from_numpy(array: HostArray, dtype: DType | None = None) -> TensorData:
        """A copy of an array with the dtype it has, or cast to `dtype`."""
        if not isinstance(array, (np.ndarray, np.generic)):
            raise KindError(f"TensorData: expected a NumPy array, but got {type(array).__name__} {array!r}.")
        array = np.asarray(array)
        source = FROM_NUMPY.get(array.dtype.name)
        if source is None:
            raise KindError(
                f"TensorData: there is no dtype for a NumPy array of {array.dtype}. Convert it with astype()."
            )
        stored = array.view("<u2") if source == DType.BF16 else array
        little = stored.astype(stored.dtype.newbyteorder("<"), order="C", copy=True)
        little.flags.writeable = False
        data = TensorData(little, array.shape, source)
        return data if dtype is None else data.cast(dtype)

    @property
    def bytes(self) -> memoryview:
        """The elements, read-only. Produces them if that was put off.

        Burn: `TensorData::as_bytes`, `TensorData::into_bytes`, `TensorData::into_parts`.
        """
        if self._buffer is not None:
            return self._buffer
        with self._lock:
            if self._produce is not None:
                object.__setattr__(self, "_buffer", self._checked(self._produce()))
                object.__setattr__(self, "_produce", None)
        assert self._buffer is not None
        return self._buffer

    @property
    def rank(self) -> int:
        return len(self.shape)

    def num_elements(self) -> int:
        return math.prod(self.shape)

    def numpy(self) -> HostArray:
        """A read-only array over the same bytes; bool stores become NumPy bools.

        Errors: DTypeError for BF16 unless ml_dtypes is installed, for quantized data, and for bools other than 0 and 1.

        Burn: `TensorData::as_slice`, `TensorData::to_vec`, `TensorData::into_vec`, `TensorData::iter`,
        `TensorData::view`.
        """
        stored = self._storage()
        if self.dtype.is_bool:
            if stored.size and int(stored.max()) > 1:
                raise DTypeError(f"TensorData: a {self.dtype} element is {int(stored.max())}: only 0 and 1 are bools.")
            stored = stored.view(np.bool_) if stored.itemsize == 1 else stored.astype(np.bool_)
        elif self.dtype == DType.BF16:
            stored = stored.view(bfloat16())
        stored.flags.writeable = False
        return stored

    def cast(self, dtype: DType) -> TensorData:
        """The same numbers in another dtype. Floats round to nearest even; float → int truncates; → bool is ≠ 0.

        Errors: DTypeError for a number that the integer dtype cannot hold (NaN too), and for quantized data.

        Burn: `TensorData::convert`, `TensorData::convert_dtype`, `Tensor::into_data_as`, `Tensor::into_data_dtype`,
        `Tensor::to_data_as`, `Tensor::to_data_dtype`.
        """
        if as_dtype(dtype) == self.dtype:
            return self
        if dtype.name not in STORAGE:
            raise DTypeError(f"TensorData: cannot cast {self.dtype} to {dtype}: a tensor's quantize_dynamic() can.")
        stored = self._storage()
        values = bf16_to_f32(stored) if self.dtype == DType.BF16 else stored
        if self.dtype.is_bool:
            values = values != 0
        target = STORAGE[dtype.name]
        if dtype == DType.BF16:
            result = f32_to_bf16(values)
        elif dtype.is_bool:
            result = (values != 0).astype(target)
        elif dtype.is_int:
            check_fits("cast", values, dtype)
            result = values.astype(target)
        else:
            with np.errstate(over="ignore"):  # too large for F32 or F16 rounds to infinity
                result = values.astype(target)
        result.flags.writeable = False
        return TensorData(result, self.shape, dtype)

    def assert_eq(self, other: TensorData, strict: bool = True) -> None:
        """AssertionError, naming up to five places, unless shapes and elements are equal, and the dtypes if strict."""
        assert_eq(self, as_data("assert_eq", other), strict)

    def assert_approx_eq(self, other: TensorData, tolerance: Tolerance = BALANCED) -> None:
        """AssertionError, naming up to five places, unless shapes are equal and elements within the tolerance.

        NaN counts as equal to NaN. The tolerance is that of this data's dtype, of F64 for ints and bools.
        """
        assert_approx_eq(self, as_data("assert_approx_eq", other), tolerance)

    def assert_within_range(self, low: float, high: float) -> None:
        """AssertionError unless low ≤ x < high for every element."""
        assert_within(self, low, high, False)

    def assert_within_range_inclusive(self, low: float, high: float) -> None:
        """AssertionError unless low ≤ x ≤ high for every element."""
        assert_within(self, low, high, True)

    def dequantize(self) -> TensorData:
        """Quantized data as F32. See `quantized.py`. Burn: `Tensor::dequantize`, `QTensorOps::dequantize`."""
        from minburn.tensor.quantized import dequantize

        return TensorData.from_numpy(dequantize(self))

    def __eq__(self, other: object) -> bool:
        """Same dtype, shape and bytes (so NaN equals NaN)."""
        if not isinstance(other, TensorData):
            return NotImplemented
        return self.dtype == other.dtype and self.shape == other.shape and self.bytes == other.bytes

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorData, (self.bytes.tobytes(), self.shape, self.dtype)

    def __repr__(self) -> str:
        return f"TensorData(shape={show(self.shape)}, dtype={self.dtype})"

    def _checked(self, buffer: Any) -> memoryview:
        if isinstance(buffer, np.ndarray):
            # Through bytes: a memoryview of an array may have a format that Python cannot read.
            view = np.ascontiguousarray(buffer).reshape(-1).view(np.uint8).data.toreadonly()
        else:
            try:
                view = memoryview(buffer).toreadonly()
            except TypeError:
                raise KindError(f"TensorData: expected bytes, but got {type(buffer).__name__}.") from None
            if view.format != "B" or view.ndim != 1:
                view = view.cast("B")
        expected = self.num_elements() * self.dtype.size
        if self.dtype.kind != "qfloat" and view.nbytes != expected:
            raise ShapeError(
                f"TensorData: shape {show(self.shape)} with dtype {self.dtype} needs {expected} bytes, "
                f"but got {view.nbytes}."
            )
        return view

    def _storage(self) -> HostArray:
        if self.dtype.name not in STORAGE:
            raise DTypeError(f"TensorData: {self.dtype} is quantized: NumPy cannot show it. Use dequantize().")
        return np.frombuffer(self.bytes, STORAGE[self.dtype.name]).reshape(self.shape)


def as_data(name: str, data: object) -> TensorData:
    if not isinstance(data, TensorData):
        raise KindError(f"{name}: expected TensorData, but got {type(data).__name__} {data!r}. into_data() gives some.")
    return data


def as_dtype(dtype: object) -> DType:
    if not isinstance(dtype, DType):
        raise KindError(f"TensorData: expected a dtype such as DType.F32, but got {type(dtype).__name__} {dtype!r}.")
    return dtype


def nested_to_array(values: Any) -> HostArray:
    """NumPy's reading of nested lists, with bools, ints and floats only. A scalar has shape [1]."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ShapeError(f"from_data: the nested lists are ragged: {ragged_place(values)}.") from error
    if array.dtype.kind == "O":
        number = first_large_int(values)
        if number is not None:
            raise DTypeError(f"from_data: {number} does not fit a 64-bit integer.")
    if array.dtype.kind not in "fiub":
        raise KindError(f"from_data: expected bools, ints or floats, but got {_describe(values)}.")
    return array.reshape(1) if array.ndim == 0 else array


def check_fits(name: str, values: HostArray, dtype: DType) -> None:
    """DTypeError naming the first value that an integer dtype cannot hold after truncation."""
    if not values.size or values.dtype.kind == "b":
        return
    info = np.iinfo(STORAGE[dtype.name])
    if values.dtype.kind == "f":
        # Powers of two, so the bounds are exact in every float dtype wide enough to reach them.
        wide = np.trunc(values.astype(np.float64))
        fits = (wide >= float(info.min)) & (wide < float(int(info.max) + 1))
        if fits.all():
            return
    else:
        if int(values.min()) >= info.min and int(values.max()) <= info.max:
            return
        fits = np.array([info.min <= int(value) <= info.max for value in values.flat]).reshape(values.shape)
    where = [int(index) for index in np.argwhere(~fits)[0]]
    value = values[tuple(where)]
    value = value if isinstance(value, int) else value.item()  # an int beyond 64 bits stays Python's
    raise DTypeError(
        f"{name}: {value} (at {where}) does not fit {dtype}, which holds {info.min} to {info.max}. "
        "Give another dtype, or clamp first."
    )


def bf16_to_f32(bits: HostArray) -> HostArray:
    """Exact: BF16 is the upper 16 bits of F32."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def f32_to_bf16(values: HostArray) -> HostArray:
    """The bits of the nearest BF16, ties to even; NaN stays NaN. Wider numbers are rounded once, not twice."""
    if values.dtype == np.float32:
        bits = values.view(np.uint32)
    else:
        wide = values.astype(np.float64)
        with np.errstate(over="ignore"):
            near = wide.astype(np.float32)
        bits = near.view(np.uint32)
        # Round to odd first: cut the magnitude toward zero and set the last bit where anything was lost. Those bits
        # lie beyond BF16's, so the second rounding sees on which side of a tie the number was.
        lost = (near.astype(np.float64) != wide) & ~np.isnan(wide)
        above = np.abs(near.astype(np.float64)) > np.abs(wide)
        bits = np.where(lost, (bits - above.astype(np.uint32)) | np.uint32(1), bits)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet_nan = (bits >> np.uint32(16)) | np.uint32(0x0040)
    is_nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    return np.where(is_nan, quiet_nan, rounded).astype(np.uint16)


def bfloat16() -> np.dtype[Any]:
    """ml_dtypes' BF16, if it is installed."""
    try:
        return to_numpy(DType.BF16)
    except ValueError as error:
        raise DTypeError("BF16: NumPy has no such type. Use cast(DType.F32), or install minburn[bf16].") from error


def ragged_place(values: Any, place: str = "") -> str:
    """Where the first list stands whose length differs from its neighbour's."""
    if not isinstance(values, (list, tuple)) or not values:
        return "the depths differ"
    lengths = [len(value) if isinstance(value, (list, tuple)) else -1 for value in values]
    for index, length in enumerate(lengths):
        if length != lengths[0]:
            at = f"{place}[{index}]"
            if -1 in (length, lengths[0]):
                return f"entry {at} is nested deeper or less deep than entry {place}[0]"
            return f"entry {at} has length {length}, entry {place}[0] has {lengths[0]}"
    for index, value in enumerate(values):
        found = ragged_place(value, f"{place}[{index}]")
        if found != "the depths differ":
            return found
    return "the depths differ"


def first_large_int(values: Any) -> int | None:
    if isinstance(values, int) and not -(2**63) <= values < 2**64:
        return values
    if isinstance(values, (list, tuple)):
        for value in values:
            found = first_large_int(value)
            if found is not None:
                return found
    return None


def _describe(values: Any) -> str:
    while isinstance(values, (list, tuple)) and values:
        values = values[0]
    return f"{type(values).__name__} {values!r}"
