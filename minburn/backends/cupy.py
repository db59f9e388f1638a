"""The CUDA backend: the array implementation over CuPy, one set of tables per device.

    backend = Autodiff(CuPy(device=0, seed=42))

CuPy is imported by the first `CuPy(...)`, never before. What CuPy does otherwise than NumPy, and the kernels that
replace chains of small steps, are in `cupy_ops/`; an override says why it is one.

Work is asynchronous: an op returns when it was given to the device. The host waits in `into_data` (so in `numpy()`,
printing, saving) and in `sync()`, nowhere else. A wrong index that was computed on the device is reported there.

Burn: `crates/burn-cuda`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from minburn.backends.array.dtypes import check_dtypes
from minburn.backends.base import Device, Recorder
from minburn.backends.error import BackendError
from minburn.backends.rng import Streams
from minburn.dtype import DType

T = TypeVar("T")


class OutOfDeviceMemory(BackendError, MemoryError):
    """A device has not enough memory for what an op needs."""


class CuPy:
    """Tensors on a CUDA device.

    device: its index; CuPy's current device is left as it was after every op.
    seed, float_dtype, int_dtype: as of NumPy(); the same seed draws the same bits.

    Errors: BackendError if CuPy is not installed, if there is no such device, and for dtypes of the wrong kind.
    """

    def __init__(
        self,
        device: int = 0,
        seed: int | None = None,
        float_dtype: DType = DType.F32,
        int_dtype: DType = DType.I32,
    ) -> None:
        check_dtypes("CuPy", float_dtype, int_dtype)
        self._build(device, Streams(seed), float_dtype, int_dtype)

    def _build(self, device: int, streams: Streams, float_dtype: DType, int_dtype: DType) -> None:
        tables = _tables(_checked(device))
        self.device = tables.device
        self.streams = streams
        self.float_dtype = float_dtype
        self.int_dtype = int_dtype
        self.is_autodiff = False
        self.floats = tables.floats(float_dtype)
        self.ints = tables.ints(int_dtype)
        self.bools = tables.bools
        self.modules = tables.modules(float_dtype)
        self.activations = tables.activations(float_dtype)

    @staticmethod
    def devices() -> list[Device]:
        """All CUDA devices of this machine."""
        from minburn.backends.cupy_ops.library import device_count

        return [Device("cuda", index) for index in range(device_count())]

    @property
    def name(self) -> str:
        return "cupy"

    @property
    def inner(self) -> CuPy:
        return self

    def with_dtypes(self, float_dtype: DType | None = None, int_dtype: DType | None = None) -> CuPy:
        float_dtype = self.float_dtype if float_dtype is None else float_dtype
        int_dtype = self.int_dtype if int_dtype is None else int_dtype
        check_dtypes("CuPy", float_dtype, int_dtype)
        if (float_dtype, int_dtype) == (self.float_dtype, self.int_dtype):
            return self
        return _restored(self.device.index, self.streams, float_dtype, int_dtype)

    def sync(self) -> None:
        """Wait until the device has finished. Raises BackendError for a wrong index that it has met."""
        _tables(self.device.index).sync()

    def recorder(self, streams: Sequence[Streams]) -> Recorder:
        """Records ops of this device as a CUDA graph. streams: those that the recorded function may draw from."""
        return _tables(self.device.index).recorder(self.device.index, streams)

    def __deepcopy__(self, memo: dict[int, object]) -> CuPy:
        """Itself: what is copied stays on its device and goes on with the same streams."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self.device.index, self.streams, self.float_dtype, self.int_dtype)

    def __repr__(self) -> str:
        return (
            f"CuPy(device={self.device.index}, seed={self.streams.seed}, float_dtype={self.float_dtype}, "
            f"int_dtype={self.int_dtype})"
        )


def _restored(device: int, streams: Streams, float_dtype: DType, int_dtype: DType) -> CuPy:
    """With streams that exist already: a sibling, or what was pickled."""
    backend = CuPy.__new__(CuPy)
    backend._build(device, streams, float_dtype, int_dtype)
    return backend


def _checked(device: int) -> int:
    from minburn.backends.cupy_ops.library import device_count

    if isinstance(device, bool) or not isinstance(device, int):
        raise BackendError(f"CuPy: device is the index of a CUDA device, but got {device!r}.")
    count = device_count()
    if not 0 <= device < count:
        there = "there is none" if count == 0 else f"there are {count}: 0 to {count - 1}" if count > 1 else "there is 0"
        raise BackendError(f"CuPy: there is no CUDA device {device}; {there}.")
    return device


@functools.cache
def _tables(index: int) -> _Tables:
    return _Tables(index)


class _Tables:
    """The tables of one device, one per dtype, so that any two CuPy() values of a device interoperate."""

    def __init__(self, index: int) -> None:
        from minburn.backends.cupy_ops import tables
        from minburn.backends.cupy_ops.activations import CuPyActivations
        from minburn.backends.cupy_ops.blas import library
        from minburn.backends.cupy_ops.capture import CuPyRecorder
        from minburn.backends.cupy_ops.library import cp
        from minburn.backends.cupy_ops.modules import CuPyModules
        from minburn.backends.cupy_ops.refusals import refusals_of

        self.cp = cp
        self.device = device = Device("cuda", index)
        self.cuda = cp.cuda.Device(index)
        with self.cuda:
            self.refusals = refusals_of(index)
        bind = functools.partial(_on_device, cp, index)
        floats, ints, bools = bind(tables.CuPyFloats), bind(tables.CuPyInts), bind(tables.CuPyBools)
        bfloats = bind(tables.CuPyBFloat16)
        modules, activations = bind(CuPyModules), bind(CuPyActivations)
        xp = library()
        self.recorder = bind(CuPyRecorder)
        self.bools = bools(xp, device, DType.Bool)
        self.floats = functools.cache(lambda dtype: (bfloats if dtype is DType.BF16 else floats)(xp, device, dtype))
        self.ints = functools.cache(lambda dtype: ints(xp, device, dtype))
        self.modules = functools.cache(lambda dtype: modules(self.floats(dtype), self.ints(DType.I32)))
        self.activations = functools.cache(lambda dtype: activations(self.floats(dtype)))

    def sync(self) -> None:
        with self.cuda:
            self.cp.cuda.get_current_stream().synchronize()
        self.refusals.check()


def _on_device(cp: Any, index: int, table: type[T]) -> type[T]:
    """The table with every op run on its device, and a lack of memory reported with its sizes.

    Device 0 is what CuPy uses unless told otherwise: there, nothing has to be switched.
    """
    ops = {
        name: _op_on_device(cp, index, op)
        for name, op in inspect.getmembers(table, inspect.isfunction)
        if not name.startswith("_")
    }
    return type(table.__name__, (table,), ops)


def _op_on_device(cp: Any, index: int, op: Callable[..., Any]) -> Callable[..., Any]:
    device, full = cp.cuda.Device(index), cp.cuda.memory.OutOfMemoryError

    def refused(error: MemoryError) -> OutOfDeviceMemory:
        free, total = device.mem_info
        held = cp.get_default_memory_pool().total_bytes()
        return OutOfDeviceMemory(
            f"{op.__name__}: cuda:{index} is out of memory: {error} The device has {total:,} bytes, {free:,} of them "
            f"free; minburn holds {held:,}. Use smaller batches, or BalancedCheckpointing."
        )

    @functools.wraps(op)
    def here(*args: Any, **kwargs: Any) -> Any:
        try:
            return op(*args, **kwargs)
        except full as error:
            raise refused(error) from error

    @functools.wraps(op)
    def there(*args: Any, **kwargs: Any) -> Any:
        with device:
            return here(*args, **kwargs)

    return here if index == 0 else there
