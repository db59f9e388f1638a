"""How tensors are made. `Tensor` and its kinds offer these functions as static methods.

A dtype decides two things: the kind, and the sibling of the backend whose default it is. So a tensor's backend always
is one whose default dtype the tensor has, and what is computed from it stays in that dtype.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from minburn.backends.array.philox import words_needed
from minburn.backends.rng import Distribution
from minburn.dtype import DType
from minburn.tensor import kinds
from minburn.tensor.check import DeviceError, DTypeError, KindError, ShapeError, as_int, as_shape
from minburn.tensor.data import FROM_NUMPY, TensorData, check_fits, nested_to_array
from minburn.tensor.layout import Layout
from minburn.tensor.lift import lifted_primitive

if TYPE_CHECKING:
    from minburn.backends.base import Backend

HostArray = np.ndarray[Any, Any]


def table_of(dtype: DType, backend: Backend) -> tuple[Any, Any, Backend]:
    """The class of tensors of this dtype, their table, and the backend whose default the dtype is."""
    if dtype.is_float:
        sibling = backend if backend.float_dtype == dtype else backend.with_dtypes(float_dtype=dtype)
        return kinds.FloatTensor, sibling.floats, sibling
    if dtype.is_int:
        sibling = backend if backend.int_dtype == dtype else backend.with_dtypes(int_dtype=dtype)
        return kinds.IntTensor, sibling.ints, sibling
    if dtype.is_bool:  # whatever store was asked for: a backend has one
        return kinds.BoolTensor, backend.bools, backend
    raise DTypeError(f"tensor: {dtype} is a storage format. Tensors are made of floats, ints or bools.")


def wanted(name: str, dtype: DType | None, like: DType, backend: Backend) -> DType:
    """The dtype that was asked for; without one, the backend's default for the kind of `like`."""
    check_backend(name, backend)
    if dtype is None:
        return default_dtype(like, backend)
    check_dtype(name, dtype)
    return dtype


def check_backend(name: str, backend: object) -> None:
    if not hasattr(backend, "floats"):
        raise KindError(f"{name}: expected a backend such as NumPy(), but got {type(backend).__name__} {backend!r}.")


def check_dtype(name: str, dtype: object) -> None:
    if not isinstance(dtype, DType):
        raise KindError(f"{name}: expected a dtype such as DType.F32, but got {type(dtype).__name__} {dtype!r}.")


def default_dtype(source: DType, backend: Backend) -> DType:
    """What data of `source` becomes when no dtype is asked for."""
    if source.is_float:
        return backend.float_dtype
    return backend.int_dtype if source.is_int else DType.Bool


def from_data(data: Any, backend: Backend, dtype: DType | None) -> Any:
    if isinstance(data, TensorData):
        return from_tensor_data(data, backend, dtype)
    if isinstance(data, Layout) or (isinstance(data, (list, tuple)) and data and isinstance(data[0], Layout)):
        raise KindError("from_data: expected numbers, but got tensors. Use Tensor.stack or Tensor.cat to join them.")
    if isinstance(data, np.ndarray):
        array = data
    else:
        array = from_dlpack(data) if hasattr(data, "__dlpack__") else nested_to_array(data)
    source = FROM_NUMPY.get(array.dtype.name)
    if source is None:
        raise KindError(f"from_data: a NumPy array of {array.dtype} holds no numbers. Convert it with astype().")
    target = wanted("from_data", dtype, source, backend)
    if target == DType.BF16 or source == DType.BF16:
        return from_tensor_data(TensorData.from_numpy(array), backend, target)
    return from_array(array, target, backend)


def from_dlpack(data: Any) -> HostArray:
    """A view of another library's array. Errors: KindError saying why there is none."""
    try:
        return np.from_dlpack(data)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise KindError(
            f"from_data: this {type(data).__name__} cannot be read through DLPack: {error} "
            "Convert it to a NumPy array first, outside any graph of its library."
        ) from error


def from_tensor_data(data: TensorData, backend: Backend, dtype: DType | None) -> Any:
    target = wanted("from_data", dtype, data.dtype, backend)
    if data.dtype.is_bool and target.is_bool:
        target = data.dtype
    return from_array(data.cast(target).numpy(), target, backend)


def from_array(array: HostArray, target: DType, backend: Backend) -> Any:
    """Converts where the value keeps its meaning: rounds floats, truncates to ints that fit, ≠ 0 for bools."""
    kind, ops, sibling = table_of(target, backend)
    if target.is_int:
        check_fits("from_data", array, target)
    elif target.is_bool:
        array = array != 0
    with np.errstate(over="ignore"):  # too large for the dtype rounds to infinity
        return kind(ops.from_data(array), ops, sibling)


def zeros(shape: int | Iterable[int], backend: Backend, dtype: DType) -> Any:
    kind, ops, sibling = table_of(dtype, backend)
    return kind(ops.zeros(as_shape("zeros", shape)), ops, sibling)


def ones(shape: int | Iterable[int], backend: Backend, dtype: DType) -> Any:
    kind, ops, sibling = table_of(dtype, backend)
    return kind(ops.ones(as_shape("ones", shape)), ops, sibling)


def full(shape: int | Iterable[int], value: Any, backend: Backend, dtype: DType) -> Any:
    kind, ops, sibling = table_of(dtype, backend)
    sizes = as_shape("full", shape)
    if dtype.is_bool:
        if not isinstance(value, (bool, np.bool_)):
            raise KindError(f"full: a bool tensor is filled with True or False, not with {value!r}.")
        return kind(ops.ones(sizes) if value else ops.zeros(sizes), ops, sibling)
    blank = kind(None, ops, sibling)
    return kind(ops.full(sizes, blank._scalar("full", value)), ops, sibling)


def random(shape: int | Iterable[int], backend: Backend, distribution: Distribution, stream: str, dtype: DType) -> Any:
    if dtype.is_bool:
        raise KindError("random: there are no random bools. Draw floats and compare: Tensor.random(…) < 0.5.")
    if not isinstance(distribution, Distribution):
        raise KindError(f"random: expected a Distribution, but got {type(distribution).__name__} {distribution!r}.")
    kind, ops, sibling = table_of(dtype, backend)
    sizes = as_shape("random", shape)
    if not isinstance(stream, str):
        raise KindError(f"random: a stream is named by a str, but got {type(stream).__name__} {stream!r}.")
    source = sibling.streams.get(stream)
    counter = source.reserve(words_needed(sizes, distribution))
    return kind(ops.random(sizes, distribution, source.key, counter), ops, sibling)


def arange(start: int, end: int, backend: Backend, step: int) -> Any:
    first, last, stride = (as_int("arange", "start, end and step", value) for value in (start, end, step))
    if stride == 0:
        raise ShapeError("arange: the step is 0. Use 1 or more, or a negative step to count down.")
    dtype = wanted("arange", None, DType.I32, backend)
    kind, ops, sibling = table_of(dtype, backend)
    numbers = range(first, last, stride)
    if not numbers:
        return kind(ops.arange(0, 0, 1), ops, sibling)
    check_fits("arange", np.array([numbers[0], numbers[-1]]), dtype)
    as_shape("arange", ((numbers[-1] - first) // stride + 1,))
    return kind(ops.arange(first, last, stride), ops, sibling)


def triangle(name: str, shape: int | Iterable[int], diagonal: int) -> tuple[HostArray, HostArray]:
    """For every element of `shape` its column, and the column where the diagonal crosses its row."""
    sizes = as_shape(name, shape)
    if len(sizes) < 2:
        raise ShapeError(f"{name}: it needs rows and columns, but shape {list(sizes)} has rank {len(sizes)}.")
    rows, columns = np.indices(sizes[-2:], sparse=True)
    reach = sum(sizes[-2:])  # beyond it nothing changes
    crossing = rows + min(max(as_int(name, "diagonal", diagonal), -reach), reach)
    return np.broadcast_to(columns, sizes), np.broadcast_to(crossing, sizes)


def eye(size: int, backend: Backend) -> Any:
    count = as_int("eye", "size", size)
    if count < 0:
        raise ShapeError(f"eye: size {count} is negative. Use 0 or more.")
    as_shape("eye", (count, count))
    return from_array(np.eye(count), wanted("eye", None, DType.F32, backend), backend)


def from_inner(tensor: Any, backend: Backend) -> Any:
    if not isinstance(tensor, Layout):
        raise KindError(f"from_inner: expected a tensor, but got {type(tensor).__name__} {tensor!r}.")
    check_backend("from_inner", backend)
    kind, ops, sibling = table_of(tensor.dtype, backend)
    primitive = tensor.primitive if ops is tensor.ops else None
    if primitive is None and tensor.kind == "float":
        primitive = lifted_primitive(tensor, sibling)
    if primitive is None:
        raise DeviceError(
            f"from_inner: {tensor.backend.name} is not below {backend.name}. "
            "Pass Autodiff(b), where b is the backend of the tensor."
        )
    return kind(primitive, ops, sibling)


def float_constant(primitive: Any, backend: Backend) -> Any:
    """A float tensor of a plain primitive, wrapped to the autodiff level of `backend`."""
    return kinds.FloatTensor(_wrapped(primitive, backend), backend.floats, backend)


def _wrapped(primitive: Any, level: Any) -> Any:
    # Not a function within: one that calls itself is a cycle, and would keep the primitive's memory for a while.
    return level.floats.from_inner(_wrapped(primitive, level.inner)) if level.is_autodiff else primitive


def cast(tensor: Any, dtype: DType) -> Any:
    """Another dtype, of this kind or another. Floats truncate and saturate to ints, ints wrap to narrower ones."""
    check_dtype("cast", dtype)
    if dtype == tensor.dtype or (dtype.is_bool and tensor.kind == "bool"):
        return tensor
    kind, ops, sibling = table_of(dtype, tensor.backend)
    if dtype.is_bool:
        return tensor.bool()
    if dtype.is_int:
        if tensor.kind == "int":
            return kind(tensor.ops.cast(tensor.primitive, dtype), ops, sibling)
        return kind(tensor.ops.into_int(tensor.primitive, dtype), ops, sibling)
    if tensor.kind == "float":
        return kind(tensor.ops.cast(tensor.primitive, dtype), ops, sibling)
    return float_constant(tensor.ops.into_float(tensor.primitive, dtype), sibling)


def move(tensor: Any, backend: Backend) -> Any:
    """`Tensor.to_device`."""
    check_backend("to_device", backend)
    if tensor.kind != "float":
        kind, ops, sibling = table_of(tensor.dtype, backend)
        if ops is tensor.ops:
            return kind(tensor.primitive, ops, sibling)
        return kind(ops.take_from(tensor.primitive, tensor.ops), ops, sibling)
    if tensor.backend.is_autodiff and not backend.is_autodiff:
        raise DeviceError(
            f"to_device: this tensor belongs to {tensor.backend.name}, the target {backend.name} records nothing. "
            "Pass Autodiff(target) to keep the gradients, or call inner() first."
        )
    while backend.is_autodiff and not tensor.backend.is_autodiff:
        backend = backend.inner  # a plain tensor stays plain: the target says where, not how
    kind, ops, sibling = table_of(tensor.dtype, backend)
    if ops is tensor.ops:
        return kind(tensor.primitive, ops, sibling)
    if tensor.backend.is_autodiff and tensor.is_tracked:
        raise DeviceError(
            f"to_device: a tensor that is part of a graph cannot leave {tensor.device}. "
            "Move detach() of it, and require_grad() the copy."
        )
    return kind(ops.take_from(tensor.primitive, tensor.ops), ops, sibling)
