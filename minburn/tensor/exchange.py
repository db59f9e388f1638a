"""How a tensor is copied, pickled, and handed to other array libraries.

A tensor never changes, so a copy of one is that tensor. What `copy.deepcopy` and `pickle` keep apart is the graph:

    |                      | copy   | deepcopy               | pickle                                | array, DLPack |
    |----------------------|--------|------------------------|---------------------------------------|---------------|
    | not recorded         | itself | itself                 | the values and the backend            | the values    |
    | a leaf               | itself | a leaf of its own      | the same; a leaf again when loaded    | the values    |
    | computed from leaves | itself | refused: detach first  | refused: detach first                 | the values    |

The backend is no part of the value: a deep copy stays on it, with its random streams. A pickle describes it (its class,
seed, dtypes and the state of its streams), and tensors that were pickled together share one backend again.

What other libraries read lies outside any graph, as with `numpy()`, and cannot be written through: arrays are read-only
views, and DLPack, whose consumers need not honour that, gets a copy unless it promises to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minburn.dtype import DType
from minburn.tensor import creation
from minburn.tensor.check import GradError, show
from minburn.tensor.data import TensorData
from minburn.tensor.layout import Layout

if TYPE_CHECKING:
    from minburn.backends.base import Backend

HostArray = np.ndarray[Any, Any]


def deep_copy(tensor: Any) -> Any:
    """`copy.deepcopy`. Errors: GradError for a tensor that was computed from leaves."""
    return tensor.detach() if _is_own_leaf("deepcopy", tensor) else tensor


def reduce(tensor: Layout) -> tuple[Any, ...]:
    """For `pickle`. Errors: GradError for a tensor that was computed from leaves."""
    leaf = _is_own_leaf("pickle", tensor)
    return _load, (tensor.into_data(), tensor.backend, leaf)


def _load(data: TensorData, backend: Backend, leaf: bool) -> Any:
    tensor = creation.from_data(data, backend, data.dtype)
    return tensor.require_grad() if leaf else tensor


def _is_own_leaf(name: str, tensor: Any) -> bool:
    """Whether it is a leaf; refuses what hangs on other tensors through a graph, at any level of autodiff."""
    if tensor.kind != "float" or not tensor.backend.is_autodiff:
        return False
    below, hangs = tensor.inner(), tensor.is_tracked and not tensor.is_require_grad
    while not hangs and below.backend.is_autodiff:
        below, hangs = below.inner(), below.is_tracked
    if hangs:
        raise GradError(
            f"{name}: this tensor of shape {show(tensor.shape)} was computed from leaves, and a copy would lose the "
            "way to them. Copy detach() of it, or the leaves."
        )
    return tensor.is_require_grad  # type: ignore[no-any-return]


def as_array(tensor: Layout, dtype: Any, copy: bool | None) -> HostArray:
    """`numpy.asarray`: read-only unless it had to be copied. copy=False refuses to copy, as NumPy says it."""
    array = tensor.numpy()
    if copy:
        return np.array(array, dtype)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(f"numpy: reading a tensor of {tensor.dtype} as {np.dtype(dtype)} needs a copy.")
        return array.astype(dtype)
    if copy is False and array.size and not np.may_share_memory(array, _plain(tensor)):
        raise ValueError("numpy: the elements of this tensor do not lie row by row: reading them needs a copy.")
    return array


def to_dlpack(
    tensor: Layout, stream: Any, max_version: tuple[int, int] | None, dl_device: Any, copy: bool | None
) -> Any:
    """A capsule over a copy of the values in host memory; over the values themselves, read-only, for copy=False.

    Errors: BufferError for BF16, for another device than the CPU, and where copy=False cannot be had.
    """
    if stream is not None or not (dl_device is None or (type(dl_device) is tuple and dl_device == dlpack_device())):
        raise BufferError(f"dlpack: a tensor is handed out in host memory, {dlpack_device()}, not on {dl_device}.")
    if tensor.dtype == DType.BF16:
        raise BufferError("dlpack: NumPy hands out no BF16. Use cast(DType.F32) first.")
    if copy is False and (max_version is None or max_version[0] < 1):
        raise BufferError("dlpack: only DLPack 1.0 can say that memory is read-only; copy=False needs max_version.")
    array: Any = as_array(tensor, None, copy is not False)
    return array.__dlpack__(max_version=max_version)


def dlpack_device() -> tuple[int, int]:
    return (1, 0)  # kDLCPU


def _plain(tensor: Layout) -> Any:
    """The primitive below all autodiff levels."""
    below: Any = tensor
    while below.backend.is_autodiff:
        below = below.inner()
    return below.primitive
