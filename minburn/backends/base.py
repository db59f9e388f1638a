"""What a backend is: a value bound to one device that holds one table of plain ops per kind of work.

    backend.floats       FloatTensorOps      backend.modules      ModuleOps (linear, cross-entropy …)
    backend.ints         IntTensorOps        backend.activations  ActivationOps (relu, softmax …)
    backend.bools        BoolTensorOps

Burn's `B::float_add` is `backend.floats.add`. A *primitive* is a backend's own value (a NumPy array, an autodiff node
and its value …); a *tensor* is the user's. Kinds are ordered float → int → bool: float ops may mention int and bool
primitives, int ops bool ones, bool ops none; so `Autodiff` replaces the float tables and reuses the others.

Rules every op obeys, so that a decorator can wrap a whole table without knowing its ops: primitives come first and
positionally (a list of them only in `cat` and `run_elementwise`), then plain Python values; the result is one
primitive or a fixed tuple of them; nothing is mutated and nothing is called back. Dimensions are non-negative, shapes
and slices are resolved: the tensor layer has checked them. Elementwise binary ops broadcast over size-1 dimensions of
equal ranks. Reductions keep the reduced dimension with size 1; full reductions give shape [1].

"Differentiable" is read from these annotations: takes an `F`, returns an `F`.

Burn: `crates/burn-backend/src/backend/{base.rs,ops}`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import numpy as np

from minburn.backends.rng import Distribution, Streams
from minburn.dtype import DType

if TYPE_CHECKING:
    from minburn.backends.module_ops import ActivationOps, ModuleOps

F = TypeVar("F")
I = TypeVar("I")  # noqa: E741 - the letter of the int kind
B = TypeVar("B")
T = TypeVar("T")
P = TypeVar("P")  # the table's own primitive: F, I or B
# All invariant, although some protocols use one as an argument or a result only: a table is matched exactly.

Shape = tuple[int, ...]
Slices = tuple[tuple[int, int, int], ...]
"""One (start, end, step) per dimension, 0 ≤ start ≤ end ≤ size. A negative step walks the same range from its last
element backwards (Burn's rule)."""

HostArray = np.ndarray[Any, Any]
IndexUpdate = Literal["assign", "add", "mul", "min", "max"]
"""Burn: `IndexingUpdateOp` in `crates/burn-std/src/ops.rs`."""
PadMode = Literal["constant", "reflect", "edge"]


@dataclass(frozen=True, slots=True)
class Device:
    """A compute resource: `cpu`, or `cuda` and its index. Autodiff does not change the device."""

    kind: str = "cpu"
    """Burn: `DeviceType`."""
    index: int = 0

    def __str__(self) -> str:
        return self.kind if self.kind == "cpu" else f"{self.kind}:{self.index}"


class BasicOps(Protocol[P, I, B]):  # type: ignore[misc]
    """What float, int and bool tensors all do."""

    dtype: DType
    device: Device

    def from_data(self, data: HostArray) -> P:
        """A copy of the host array, converted to the table's dtype."""

    def into_data(self, tensor: P) -> HostArray:
        """A C-contiguous host array that nobody may write to. Leaves the device."""

    def take_from(self, tensor: Any, source: BasicOps[Any, Any, Any]) -> P:
        """A copy of a primitive of another table with this dtype: here, wherever it was."""

    def shape(self, tensor: P) -> Shape: ...
    def zeros(self, shape: Shape) -> P: ...
    def ones(self, shape: Shape) -> P: ...
    def reshape(self, tensor: P, shape: Shape) -> P: ...
    def swap_dims(self, tensor: P, dim1: int, dim2: int) -> P: ...
    def permute(self, tensor: P, axes: tuple[int, ...]) -> P: ...
    def flip(self, tensor: P, axes: tuple[int, ...]) -> P: ...
    def expand(self, tensor: P, shape: Shape) -> P:
        """Broadcast size-1 dimensions; leading dimensions may be added."""

    def repeat_dim(self, tensor: P, dim: int, times: int) -> P: ...
    def slice(self, tensor: P, slices: Slices) -> P: ...
    def slice_assign(self, tensor: P, value: P, slices: Slices) -> P: ...
    def cat(self, tensors: Sequence[P], dim: int) -> P: ...
    def gather(self, tensor: P, indices: I, dim: int) -> P:
        """out[..i..] = tensor[..indices[..i..]..] along dim; out has the shape of indices."""

    def select(self, tensor: P, indices: I, dim: int) -> P:
        """Rows of `tensor` along dim; indices have rank 1."""

    def scatter(self, tensor: P, indices: I, value: P, dim: int, update: IndexUpdate) -> P:
        """The inverse of gather: tensor[..indices[..i..]..] op= value[..i..]. "add" sums repeated indices.

        Of bools, "add" and "max" are or, "mul" and "min" and.

        Burn: `BoolTensorOps::bool_scatter_or`.
        """

    def select_assign(self, tensor: P, indices: I, value: P, dim: int, update: IndexUpdate) -> P:
        """The inverse of select: rows of tensor along dim op= rows of value. Burn: `BoolTensorOps::bool_select_or`."""

    def mask_where(self, tensor: P, mask: B, value: P) -> P:
        """value where the mask is true, tensor elsewhere."""

    def mask_fill(self, tensor: P, mask: B, value: float) -> P: ...
    def equal(self, lhs: P, rhs: P) -> B: ...
    def not_equal(self, lhs: P, rhs: P) -> B: ...
    def equal_elem(self, lhs: P, rhs: float) -> B: ...
    def not_equal_elem(self, lhs: P, rhs: float) -> B: ...
    def any(self, tensor: P) -> B: ...
    def any_dim(self, tensor: P, dim: int) -> B: ...
    def all(self, tensor: P) -> B: ...
    def all_dim(self, tensor: P, dim: int) -> B: ...


class NumericOps(BasicOps[P, I, B], Protocol[P, I, B]):
    """What float and int tensors share."""

    def full(self, shape: Shape, value: float) -> P: ...
    def random(self, shape: Shape, distribution: Distribution, key: int, counter: int) -> P:
        """Draws from the Philox stream `key`, starting at block `counter`."""

    def add(self, lhs: P, rhs: P) -> P: ...
    def add_scalar(self, lhs: P, rhs: float) -> P: ...
    def sub(self, lhs: P, rhs: P) -> P: ...
    def sub_scalar(self, lhs: P, rhs: float) -> P: ...
    def mul(self, lhs: P, rhs: P) -> P: ...
    def mul_scalar(self, lhs: P, rhs: float) -> P: ...
    def div(self, lhs: P, rhs: P) -> P:
        """Integers truncate toward zero; an integer zero divisor is refused."""

    def div_scalar(self, lhs: P, rhs: float) -> P: ...
    def remainder(self, lhs: P, rhs: P) -> P:
        """Floor modulo: the sign of the divisor."""

    def remainder_scalar(self, lhs: P, rhs: float) -> P: ...
    def neg(self, tensor: P) -> P: ...
    def abs(self, tensor: P) -> P: ...
    def sign(self, tensor: P) -> P:
        """-1, 0 or 1; ±0 and NaN give 0."""

    def powi_scalar(self, tensor: P, exponent: int) -> P: ...
    def matmul(self, lhs: P, rhs: P) -> P:
        """[…, m, k] × [… , k, n] → […, m, n]; leading dimensions broadcast."""

    def clamp(self, tensor: P, min: float, max: float) -> P:
        """min ≤ tensor ≤ max; NaN stays NaN."""

    def clamp_min(self, tensor: P, min: float) -> P: ...
    def clamp_max(self, tensor: P, max: float) -> P: ...
    def sum(self, tensor: P) -> P: ...
    def sum_dim(self, tensor: P, dim: int) -> P: ...
    def sum_dims(self, tensor: P, dims: tuple[int, ...]) -> P: ...
    def mean(self, tensor: P) -> P:
        """Integers truncate toward zero."""

    def mean_dim(self, tensor: P, dim: int) -> P: ...
    def prod(self, tensor: P) -> P: ...
    def prod_dim(self, tensor: P, dim: int) -> P: ...
    def max(self, tensor: P) -> P: ...
    def max_dim(self, tensor: P, dim: int) -> P: ...
    def min(self, tensor: P) -> P: ...
    def min_dim(self, tensor: P, dim: int) -> P: ...
    def argmax(self, tensor: P, dim: int, dtype: DType) -> I:
        """The first index of the maximum, as integers of `dtype`; a NaN wins."""

    def argmin(self, tensor: P, dim: int, dtype: DType) -> I: ...
    def argsort(self, tensor: P, dim: int, descending: bool, dtype: DType) -> I:
        """Where the sorted elements stand along dim. Equal ones keep their order; NaN is the largest, -0 below 0."""

    def cumsum(self, tensor: P, dim: int) -> P: ...
    def cumprod(self, tensor: P, dim: int) -> P: ...
    def cummax(self, tensor: P, dim: int) -> P:
        """The largest element so far along dim; after a NaN it is NaN."""

    def cummin(self, tensor: P, dim: int) -> P: ...
    def greater(self, lhs: P, rhs: P) -> B: ...
    def greater_elem(self, lhs: P, rhs: float) -> B: ...
    def greater_equal(self, lhs: P, rhs: P) -> B: ...
    def greater_equal_elem(self, lhs: P, rhs: float) -> B: ...
    def lower(self, lhs: P, rhs: P) -> B: ...
    def lower_elem(self, lhs: P, rhs: float) -> B: ...
    def lower_equal(self, lhs: P, rhs: P) -> B: ...
    def lower_equal_elem(self, lhs: P, rhs: float) -> B: ...
    def pad(self, tensor: P, padding: tuple[tuple[int, int], ...], mode: PadMode, value: float) -> P:
        """One (before, after) pair per dimension; `value` is used by "constant" only."""


class FloatTensorOps(NumericOps[F, I, B], Protocol[F, I, B]):
    """Burn: `FloatTensorOps`, prefix `float_`."""

    def into_int(self, tensor: F, dtype: DType) -> I:
        """Truncates toward zero, saturates, NaN → 0. The result belongs to the int table of `dtype`."""

    def cast(self, tensor: F, dtype: DType) -> F:
        """The result belongs to the table of that dtype (`backend.with_dtypes(float_dtype=dtype).floats`)."""

    def fmod(self, lhs: F, rhs: F) -> F:
        """The remainder of a division that truncates: the sign of lhs."""

    def exp(self, tensor: F) -> F: ...
    def log(self, tensor: F) -> F: ...
    def log1p(self, tensor: F) -> F: ...
    def sqrt(self, tensor: F) -> F: ...
    def recip(self, tensor: F) -> F: ...
    def powf(self, lhs: F, rhs: F) -> F: ...
    def powf_scalar(self, tensor: F, exponent: float) -> F: ...
    def cos(self, tensor: F) -> F: ...
    def sin(self, tensor: F) -> F: ...
    def tan(self, tensor: F) -> F: ...
    def cosh(self, tensor: F) -> F: ...
    def sinh(self, tensor: F) -> F: ...
    def tanh(self, tensor: F) -> F: ...
    def tanh_backward(self, output: F, grad: F) -> F:
        """grad · (1 - output²)."""

    def acos(self, tensor: F) -> F: ...
    def asin(self, tensor: F) -> F: ...
    def atan(self, tensor: F) -> F: ...
    def acosh(self, tensor: F) -> F: ...
    def asinh(self, tensor: F) -> F: ...
    def atanh(self, tensor: F) -> F: ...
    def atan2(self, lhs: F, rhs: F) -> F:
        """The angle of the point (x = rhs, y = lhs)."""

    def hypot(self, lhs: F, rhs: F) -> F: ...
    def erf(self, tensor: F) -> F: ...
    def round(self, tensor: F) -> F:
        """To the nearest, halves to even."""

    def floor(self, tensor: F) -> F: ...
    def ceil(self, tensor: F) -> F: ...
    def trunc(self, tensor: F) -> F: ...
    def var_dim(self, tensor: F, dim: int, correction: int) -> F:
        """Σ(x - mean)² / (n - correction) over dim; a zero divisor gives NaN."""

    def is_nan(self, tensor: F) -> B: ...
    def is_inf(self, tensor: F) -> B: ...
    def detach(self, tensor: F) -> F:
        """The same value outside any graph; the identity unless autodiff."""

    def run_elementwise(self, columns: Sequence[Sequence[F]], program: Any, scalars: tuple[float, ...]) -> Any:
        """An `ElementwiseProgram` over many tensors at once: `columns[c][t]` is input c for tensor t, all of one shape.

        Returns a list per output of a list per tensor. Not differentiable: optimizers use it.
        """


class IntTensorOps(NumericOps[I, I, B], Protocol[I, B]):
    """Burn: `IntTensorOps`, prefix `int_`. Arithmetic wraps around."""

    def into_float(self, tensor: I, dtype: DType) -> Any:
        """The same values as an array of float dtype `dtype` (a plain primitive, also under autodiff)."""

    def cast(self, tensor: I, dtype: DType) -> I: ...
    def arange(self, start: int, end: int, step: int) -> I: ...
    def powi(self, lhs: I, rhs: I) -> I:
        """lhs to the power of rhs; a negative one gives the reciprocal, truncated."""

    def bitwise_and(self, lhs: I, rhs: I) -> I: ...
    def bitwise_or(self, lhs: I, rhs: I) -> I: ...
    def bitwise_xor(self, lhs: I, rhs: I) -> I: ...
    def bitwise_not(self, tensor: I) -> I: ...
    def bitwise_left_shift(self, lhs: I, rhs: I) -> I:
        """By rhs modulo the bits of the dtype."""

    def bitwise_right_shift(self, lhs: I, rhs: I) -> I:
        """By rhs modulo the bits of the dtype; signed ints keep their sign."""


class BoolTensorOps(BasicOps[B, Any, B], Protocol[B]):
    """Burn: `BoolTensorOps`, prefix `bool_`."""

    def into_int(self, tensor: B, dtype: DType) -> Any: ...
    def into_float(self, tensor: B, dtype: DType) -> Any: ...
    def not_(self, tensor: B) -> B: ...
    def and_(self, lhs: B, rhs: B) -> B: ...
    def or_(self, lhs: B, rhs: B) -> B: ...
    def xor(self, lhs: B, rhs: B) -> B: ...
    def argwhere(self, tensor: B, dtype: DType) -> Any:
        """The coordinates of the true elements, row by row: ints [count, rank] of `dtype`."""


class Backend(Protocol):
    """A device, its default dtypes, its op tables and its random streams.

    Tables are stateless and shared: two `NumPy()` values have the same ones, so their tensors interoperate. What a
    value owns is its seed and its streams.

    Burn: `Backend` and `Device`.
    """

    @property
    def name(self) -> str: ...
    @property
    def device(self) -> Device:
        """Burn: `Device::identity`."""

    @property
    def is_autodiff(self) -> bool:
        """Burn: `Backend::ad_enabled`."""

    @property
    def inner(self) -> Backend:
        """The decorated backend; the backend itself if it decorates none. Burn: `Device::without_autodiff`."""

    @property
    def float_dtype(self) -> DType:
        """Burn: `Device::settings`, `DeviceSettings::float_dtype`, and `DeviceConfig::float_dtype`."""

    @property
    def int_dtype(self) -> DType:
        """Burn: `DeviceSettings::int_dtype` and `DeviceConfig::int_dtype`."""

    @property
    def streams(self) -> Streams: ...
    @property
    def floats(self) -> FloatTensorOps[Any, Any, Any]: ...
    @property
    def ints(self) -> IntTensorOps[Any, Any]: ...
    @property
    def bools(self) -> BoolTensorOps[Any]: ...
    @property
    def modules(self) -> ModuleOps[Any, Any, Any]: ...
    @property
    def activations(self) -> ActivationOps[Any, Any]: ...
    def with_dtypes(self, float_dtype: DType | None = None, int_dtype: DType | None = None) -> Backend:
        """A sibling with other default dtypes and the same device and streams.

        Burn: `Device::configure`, `DeviceSettings::with_dtypes`, and `set_default_dtypes`.
        """

    def sync(self) -> None:
        """Wait until the device has finished what it was given."""


class Recorder(Protocol):
    """Records what a function gives to a device, and gives it there again without calling the function.

    The same ops run on the same memory each time: what is to change lies in held primitives, which the owner writes to
    between replays, in random streams, and in the scalars of elementwise programs. Everything else is as it was.

    Burn: `Graph` and `BackendGraph`, in `crates/burn-tensor/src/tensor/api/graph.rs` and
    `crates/burn-backend/src/backend/base.rs`.
    """

    scalars: tuple[float, ...]
    """What elementwise programs were given while the function was recorded, one program after the other."""

    def hold(self, primitives: Sequence[Any]) -> list[Any]:
        """Copies in memory that stays. A recorded elementwise program writes its result over what it reads there."""

    def holds(self, primitives: Sequence[Any]) -> bool:
        """Whether all of these lie in such memory."""

    def copies(self, primitives: Sequence[Any]) -> list[Any]:
        """Copies in memory of their own, made on the device as far as possible in one go."""

    def copy(self, sources: Sequence[Any], targets: Sequence[Any]) -> None:
        """The values of each source into the memory of its target, which is of its shape and dtype."""

    def record(self, function: Callable[[], T]) -> T:
        """Run the function twice, the second time without executing its ops, and return what that gave: primitives
        whose values the next replay writes. Random streams stay where they are.

        Errors: NotRecordable.

        Burn: `capture`, `Backend::graph_start_capture`, `Backend::graph_stop_capture`.
        """

    def replay(self, scalars: Sequence[float]) -> None:
        """What the function would do now, with these scalars. Random streams move on as they would.

        Burn: `Graph::replay`, `Backend::graph_replay`.
        """

    def different(self, ones: Sequence[Any], others: Sequence[Any]) -> list[int]:
        """The numbers of the pairs that are not the same to the last bit. Waits for the device."""


class RecordingBackend(Backend, Protocol):
    """A backend that can be recorded."""

    def recorder(self, streams: Sequence[Streams]) -> Recorder:
        """streams: those that a recorded function may draw from. Burn: `Backend::graph_prepare`."""
