"""From a window on a storage to a tensor of a file: checked now, its bytes gathered when they are asked for."""

from __future__ import annotations

import math

import numpy as np

from minburn.dtype import DType
from minburn.pack import TensorEntry
from minburn.store.error import StoreError
from minburn.store.files import MAX_TENSOR_SIZE
from minburn.store.pytorch.objects import DTYPES, TensorRef


def entry_of(where: str, name: str, tensor: TensorRef) -> TensorEntry:
    """StoreError naming the tensor if its dtype has no counterpart or its window leaves the storage."""
    what = f"{where}: tensor {name!r}"
    dtype = DTYPES.get(tensor.dtype)
    if dtype is None:
        raise StoreError(f"{what}: {tensor.dtype or 'an untyped storage'} has no counterpart here.")
    size = dtype.size
    available = tensor.storage.count * tensor.storage.item // size
    elements = math.prod(tensor.shape)
    if elements * size > MAX_TENSOR_SIZE:
        raise StoreError(f"{what} has {elements * size} bytes; the limit is {MAX_TENSOR_SIZE}.")
    last = tensor.offset
    if elements:
        last += sum((dim - 1) * step for dim, step in zip(tensor.shape, tensor.stride, strict=True)) + 1
    if last > available:
        raise StoreError(f"{what} ends at element {last} of a storage that has {available}.")

    def produce() -> object:
        return _gather(tensor, dtype, elements, last)

    return TensorEntry.checked(name, dtype, tensor.shape, None, elements * size, None, produce)


def _gather(tensor: TensorRef, dtype: DType, elements: int, last: int) -> object:
    """The elements in row-major order: a view of the storage where they lie so, otherwise a copy."""
    if not elements:
        return b""
    size = dtype.size
    data = tensor.storage.bytes(tensor.offset * size, (last - tensor.offset) * size)
    if not _is_contiguous(tensor):
        flat = np.frombuffer(data, f"<u{size}")
        strides = [step * size for step in tensor.stride]
        strided = np.lib.stride_tricks.as_strided(flat, tensor.shape, strides, writeable=False)
        data = np.ascontiguousarray(strided).reshape(-1).view(np.uint8).data
    if dtype.is_bool:  # PyTorch takes any other byte than 0 for True
        data = (np.frombuffer(data, np.uint8) != 0).view(np.uint8).data
    return data


def _is_contiguous(tensor: TensorRef) -> bool:
    expected = 1
    for dim, step in zip(reversed(tensor.shape), reversed(tensor.stride), strict=True):
        if dim != 1 and step != expected:
            return False
        expected *= dim
    return True
