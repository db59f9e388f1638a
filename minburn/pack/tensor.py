"""A tensor as the container sees it: a name, a dtype, a shape, maybe an id, and bytes that it never looks into.

The bytes are either there (anything with the buffer protocol, used without a copy) or deferred: a function that makes
them when they are asked for, so a model larger than memory can be saved one tensor at a time.

Burn: `crates/burn-pack/src/tensor.rs`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable

from minburn.dtype import DType
from minburn.pack.checks import check_text, to_u64
from minburn.pack.errors import PackError
from minburn.pack.format import U64_MAX, byte_length, check_byte_length

Producer = Callable[[], object]
"""Makes a tensor's bytes: any object with the buffer protocol."""


class TensorEntry:
    """A named payload: elements in row-major order, little-endian, `nbytes` in all.

    name: unique within a file. shape: any rank, `()` is one element. param_id: unsigned 64 bits, or None.
    data: C-contiguous bytes-like object of shape × dtype bytes (quantized payloads may have any length).

    Burn: `burn_pack::Tensor` and `burn_pack::Tensor::byte_len` in `crates/burn-pack/src/tensor.rs`.
    """

    __slots__ = ("_data", "_produce", "dtype", "name", "nbytes", "param_id", "shape")

    name: str
    dtype: DType
    shape: tuple[int, ...]
    param_id: int | None
    nbytes: int
    _data: memoryview | None
    _produce: Producer | None

    def __init__(
        self, name: str, dtype: DType, shape: Iterable[int], data: object, param_id: int | None = None
    ) -> None:
        expected = self._describe(name, dtype, shape, param_id)
        self._data = view = _as_view(name, data)
        self._produce = None
        self.nbytes = nbytes = view.nbytes
        if nbytes != expected:
            check_byte_length(f"tensor {name!r}", dtype, self.shape, nbytes)

    @staticmethod
    def deferred(
        name: str,
        dtype: DType,
        shape: Iterable[int],
        producer: Producer,
        param_id: int | None = None,
        nbytes: int | None = None,
    ) -> TensorEntry:
        """A tensor whose bytes `producer()` returns when they are needed.

        nbytes: required for a quantized dtype, otherwise shape × dtype. The length is checked again on what the
        producer returns. A writer calls it once and drops the bytes before it calls the next.
        """
        entry = TensorEntry.__new__(TensorEntry)
        expected = entry._describe(name, dtype, shape, param_id)
        if not callable(producer):
            raise PackError(f"tensor {name!r}: the producer is {type(producer).__name__}, not callable.")
        if nbytes is None:
            if dtype.kind == "qfloat":
                raise PackError(f"tensor {name!r}: a deferred quantized tensor must say its length: nbytes=...")
            nbytes = expected
        else:
            nbytes = to_u64(f"tensor {name!r}: nbytes", nbytes)
            check_byte_length(f"tensor {name!r}", dtype, entry.shape, nbytes)
        entry._data = None
        entry._produce = producer
        entry.nbytes = nbytes
        return entry

    @staticmethod
    def checked(
        name: str,
        dtype: DType,
        shape: tuple[int, ...],
        param_id: int | None,
        nbytes: int,
        data: memoryview | None,
        producer: Producer | None,
    ) -> TensorEntry:
        """An entry from parts that a reader has checked already: flat read-only bytes, or their producer."""
        entry = TensorEntry.__new__(TensorEntry)
        entry.name = name
        entry.dtype = dtype
        entry.shape = shape
        entry.param_id = param_id
        entry.nbytes = nbytes
        entry._data = data
        entry._produce = producer
        return entry

    def view(self) -> memoryview:
        """The bytes as a flat read-only memoryview, without a copy where they are already in memory or mapped."""
        if self._data is not None:
            return self._data.toreadonly()
        assert self._produce is not None
        try:
            produced = self._produce()
        except PackError:
            raise
        except Exception as error:
            raise PackError(f"tensor {self.name!r}: its producer failed: {type(error).__name__}: {error}") from error
        view = _as_view(self.name, produced).toreadonly()
        if view.nbytes != self.nbytes:
            raise PackError(
                f"tensor {self.name!r}: its producer returned {view.nbytes} bytes, but {self.nbytes} were declared."
            )
        return view

    def bytes(self) -> bytes:
        """A copy of the bytes. Burn: `burn_pack::Tensor::to_bytes`, `burn_pack::Tensor::into_bytes`."""
        return self.view().tobytes()

    @property
    def is_deferred(self) -> bool:
        return self._produce is not None

    def __repr__(self) -> str:
        identity = "" if self.param_id is None else f", param_id={self.param_id}"
        state = ", deferred" if self.is_deferred else ""
        return f"TensorEntry({self.name!r}, {self.dtype}, {list(self.shape)}, {self.nbytes} bytes{identity}{state})"

    def _describe(self, name: str, dtype: DType, shape: Iterable[int], param_id: int | None) -> int:
        """Checks and keeps all but the data; returns the bytes that shape and dtype need."""
        check_text("tensor: the name", name)
        if not isinstance(dtype, DType):
            raise PackError(f"tensor {name!r}: dtype must be a DType, got {type(dtype).__name__} {dtype!r}.")
        self.name = name
        self.dtype = dtype
        try:
            self.shape = sizes = tuple(map(operator.index, shape))
        except TypeError:
            raise PackError(f"tensor {name!r}: shape must be integers, got {shape!r}.") from None
        nbytes = byte_length(dtype, sizes)
        if nbytes is None:
            what = "has a negative dimension" if min(sizes) < 0 else f"with dtype {dtype} overflows 64 bits"
            raise PackError(f"tensor {name!r}: shape {list(sizes)} {what}.")
        if param_id is not None and (type(param_id) is not int or not 0 <= param_id <= U64_MAX):
            param_id = to_u64(f"tensor {name!r}: param_id", param_id)
        self.param_id = param_id
        return nbytes


def _as_view(name: str, data: object) -> memoryview:
    """The flat bytes of any C-contiguous buffer, shared."""
    try:
        view = data if isinstance(data, memoryview) else memoryview(data)  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):
        raise PackError(
            f"tensor {name!r}: data must be bytes or have the buffer protocol, got {type(data).__name__}."
        ) from None
    if not view.nbytes:
        return memoryview(b"")  # an empty shape cannot be cast
    if view.itemsize > 1 and view.format[0] in ">!":
        raise PackError(f"tensor {name!r}: data has big-endian elements ({view.format!r}). Convert them first.")
    try:
        return view.cast("B")
    except (TypeError, ValueError):
        raise PackError(f"tensor {name!r}: data is not contiguous in row-major order. Copy it first.") from None
