"""Float, int and bool tables on CUDA: the array tables, and what CuPy does otherwise.

into_data            CuPy never converts by itself; here the host waits, so refusals are read here
from_data            converts on the host, where our warnings are silenced, and copies without a wait (uploads.py);
                     notes the range of integers, so that indices from the host are checked on the host
remainder            CuPy's loses digits where the quotient is large, and is NaN for an infinite divisor
take_from            from another GPU directly, without a wait
lend                 CuPy's arrays can always be written to: a copy
cummax, cummin       CuPy's ufuncs do not accumulate: one thread per line
cat                  CuPy copies addresses to the device first
mask_where           CuPy's gives float32 for bfloat16
take_known           CuPy's take has no mode
check_indices,       CuPy wraps a wrong index around; looking at the values would make the host wait
check_divisor
update_at …          CuPy's `ufunc.at` knows add only, by atomics, whose sums differ from run to run
random               drawn on the device, not copied to it
run_elementwise      one launch for all tensors (program.py)
matmul               CuPy has no batched product of BF16
surely_finite        would wait; "no" is always a right answer
empty_like, room     memory orders are kept at every size: CuPy's own results are always C-contiguous
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from minburn.backends.array.basic import Array, ArrayBasic
from minburn.backends.array.floats import ArrayFloats
from minburn.backends.array.ints import ArrayBools, ArrayInts
from minburn.backends.array.numeric import ArrayNumeric, rounded
from minburn.backends.base import BasicOps, Device, HostArray, IndexUpdate, Shape
from minburn.backends.cupy_ops import random, refusals
from minburn.backends.cupy_ops.kernels import elementwise
from minburn.backends.cupy_ops.lines import JOINED, join, running_extreme, update_lines
from minburn.backends.cupy_ops.program import run_program
from minburn.backends.cupy_ops.recording import recorder
from minburn.backends.cupy_ops.uploads import from_peer, uploads_of
from minburn.backends.elementwise import ElementwiseProgram
from minburn.backends.rng import Distribution
from minburn.dtype import DType

REMAINDER = """
const auto a = wide(x), b = wide(y);
auto rest = fmod(a, b);  // exact, with the sign of a
if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
z = T(rest == 0 ? copysign(rest, b) : rest);
"""


class CuPyBasic(ArrayBasic):
    def __init__(self, xp: Any, device: Device, dtype: DType) -> None:
        super().__init__(xp, device, dtype)
        self.refusals = refusals.refusals_of(device.index)
        self.uploads = uploads_of(device.index)

    def from_data(self, data: HostArray) -> Array:
        return self._to_device(np.asarray(data, self.np_dtype, order="C"))

    def _to_device(self, host: HostArray) -> Array:
        """In a recorded step it is a constant."""
        here = recorder()
        return self.uploads.to_device(host) if here is None else here.copied(host)

    def into_data(self, tensor: Array) -> HostArray:
        here = recorder()
        if here is not None:
            here.refuse("it asks for a value on the host")
        host: HostArray = tensor.get(order="C")
        self.refusals.check()
        host.flags.writeable = False
        return host

    def take_from(self, tensor: Any, source: BasicOps[Any, Any, Any]) -> Array:
        if not isinstance(source, CuPyBasic):
            return super().take_from(tensor, source)
        copied = from_peer(tensor, source.device.index)
        known = refusals.known_range(tensor)
        if known is not None:
            copied.data.mem.minburn_range = known
        return copied

    def empty_like(self, tensor: Array, shape: Shape | None = None) -> Array:
        if tensor.flags.c_contiguous:
            return self.xp.empty(tensor.shape if shape is None else shape, self.np_dtype)
        return super().empty_like(tensor, shape)

    def check_indices(self, op: str, indices: Array, size: int) -> None:
        refusals.check_indices(self.refusals, op, indices, size)

    def check_on_host(self, op: str, indices: Array, size: int) -> None:
        """For an op whose kernel checks indices by itself: refuse at once what is known to be wrong."""
        if not size or refusals.known_range(indices) is not None:
            refusals.check_indices(self.refusals, op, indices, size)

    def lend(self, tensor: Array) -> Array:
        return tensor.copy()

    def cat(self, tensors: Sequence[Array], dim: int) -> Array:
        if not 2 <= len(tensors) <= JOINED:
            return super().cat(tensors, dim)
        first = tensors[0]
        sizes = [tensor.shape[dim] for tensor in tensors]
        out = self.empty_like(first, (*first.shape[:dim], sum(sizes), *first.shape[dim + 1 :]))
        return join(tensors, sizes, math.prod(first.shape[dim + 1 :]), out)

    def take_known(self, tensor: Array, indices: HostArray, dim: int, shape: Shape) -> Array:
        return tensor.take(self._to_device(indices), axis=dim)

    def mask_where(self, tensor: Array, mask: Array, value: Array) -> Array:
        return elementwise("mask_where", "T x, bool mask, T v", "T y", "y = mask ? v : x")(tensor, mask, value)

    def mask_fill(self, tensor: Array, mask: Array, value: float) -> Array:
        kernel = elementwise("mask_fill", "T x, bool mask, T value", "T y", "y = mask ? value : x")
        return kernel(tensor, mask, self.np_dtype.type(value))

    def scatter(self, tensor: Array, indices: Array, value: Array, dim: int, update: IndexUpdate) -> Array:
        self.check_indices("scatter", indices, tensor.shape[dim])
        return update_lines(tensor, indices, value, dim, update, by_row=False)

    def select_assign(self, tensor: Array, indices: Array, value: Array, dim: int, update: IndexUpdate) -> Array:
        self.check_indices("select_assign", indices, tensor.shape[dim])
        return update_lines(tensor, indices, value, dim, update, by_row=True)

    def any(self, tensor: Array) -> Array:
        return tensor.any().reshape(1)

    def any_dim(self, tensor: Array, dim: int) -> Array:
        return tensor.any(axis=dim, keepdims=True)

    def all(self, tensor: Array) -> Array:
        return tensor.all().reshape(1)

    def all_dim(self, tensor: Array, dim: int) -> Array:
        return tensor.all(axis=dim, keepdims=True)


class CuPyNumeric(CuPyBasic, ArrayNumeric):
    def __init__(self, xp: Any, device: Device, dtype: DType) -> None:
        super().__init__(xp, device, dtype)
        self.large = sys.maxsize if self.is_half else 0

    def full(self, shape: Shape, value: float) -> Array:
        out = self.empty(shape)
        out.fill(value)
        return out

    def room(self, tensor: Array) -> Array | None:
        if self.dtype is DType.BF16:
            return self.empty_like(tensor)
        return None if tensor.flags.c_contiguous or self.is_half else self.empty_like(tensor)

    def clamp(self, tensor: Array, min: float, max: float) -> Array:
        kernel = elementwise("clamp", "T x, T low, T high", "T y", "y = x < low ? low : x; y = y > high ? high : y")
        return kernel(tensor, self.np_dtype.type(min), self.np_dtype.type(max), self.empty_like(tensor))

    def cummax(self, tensor: Array, dim: int) -> Array:
        return running_extreme(tensor, dim, ">")

    def cummin(self, tensor: Array, dim: int) -> Array:
        return running_extreme(tensor, dim, "<")


class CuPyFloats(CuPyNumeric, ArrayFloats):
    def matmul(self, lhs: Array, rhs: Array) -> Array:
        if self.dtype is DType.BF16 and lhs.ndim > 2:
            return self.narrow(self.xp.matmul(lhs.astype(self.sum_dtype), rhs.astype(self.sum_dtype)))
        return super().matmul(lhs, rhs)

    def remainder(self, lhs: Array, rhs: Array) -> Array:
        return elementwise("remainder", "T x, T y", "T z", REMAINDER)(lhs, rhs)

    def remainder_scalar(self, lhs: Array, rhs: float) -> Array:
        return self.remainder(lhs, self.np_dtype.type(rhs))

    def surely_finite(self, tensor: Array) -> bool:
        return False

    def tanh_backward(self, output: Array, grad: Array) -> Array:
        formula = "y = T(wide(grad) * (1 - wide(x) * wide(x)))"
        return elementwise("tanh_backward", "T x, T grad", "T y", formula)(output, grad, self.empty_like(output))

    def random(self, shape: Shape, distribution: Distribution, key: int, counter: int) -> Array:
        return random.draw(shape, distribution, key, counter, self.np_dtype)

    def run_elementwise(
        self, columns: Sequence[Sequence[Array]], program: ElementwiseProgram, scalars: tuple[float, ...]
    ) -> Sequence[Sequence[Array]]:
        if self.is_half:
            here = recorder()
            numbers: Any = scalars if here is None else here.numbers_at(scalars, self.np_dtype)
            return super().run_elementwise(columns, program, numbers)
        return run_program(self.np_dtype, columns, program, scalars)


class CuPyBFloat16(CuPyFloats):
    """CuPy gives float32 where a Python number takes part, unless it is given memory for the result."""

    remainder_scalar = rounded(CuPyFloats.remainder_scalar)
    powi_scalar = rounded(CuPyFloats.powi_scalar)
    powf_scalar = rounded(CuPyFloats.powf_scalar)
    clamp_min = rounded(CuPyFloats.clamp_min)
    clamp_max = rounded(CuPyFloats.clamp_max)


class CuPyInts(CuPyNumeric, ArrayInts):
    def from_data(self, data: HostArray) -> Array:
        tensor = super().from_data(data)
        refusals.note_range(tensor, data)
        return tensor

    def random(self, shape: Shape, distribution: Distribution, key: int, counter: int) -> Array:
        wide = random.draw(shape, distribution, key, counter, np.dtype(np.float64))
        return wide.astype(self.np_dtype)

    def check_divisor(self, op: str, rhs: Array) -> None:
        refusals.check_divisor(self.refusals, op, rhs)

    def div_scalar(self, lhs: Array, rhs: float) -> Array:
        return self.div(lhs, self.constant(rhs))

    def remainder_scalar(self, lhs: Array, rhs: float) -> Array:
        return self.remainder(lhs, self.constant(rhs))

    def constant(self, value: float) -> Array:
        """One number on the device, its value known here."""
        data = np.array(value, self.np_dtype)
        tensor = self.xp.full((), data)
        refusals.note_range(tensor, data)
        return tensor


class CuPyBools(CuPyBasic, ArrayBools):
    pass
