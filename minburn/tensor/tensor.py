"""`Tensor`: what float, int and bool tensors all do, and how a tensor is made.

    Tensor ⊃ NumericTensor ⊃ FloatTensor, IntTensor        Tensor ⊃ BoolTensor

A constructor takes the backend explicitly: there is no global one. The kind of the result follows from the data, from
the dtype asked for, or from the class it is called on (`IntTensor.zeros`); without any of these it is float.

Burn: `crates/burn-tensor/src/tensor/api/base.rs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from minburn.backends.rng import Distribution
from minburn.dtype import DType
from minburn.tensor import creation, exchange, kinds
from minburn.tensor.check import KindError, ShapeError, check_broadcast, check_same_but, resolve_dim, show
from minburn.tensor.lift import align, one_table
from minburn.tensor.placing import Placing

if TYPE_CHECKING:
    from typing import Self  # Python 3.11

    from numpy.typing import NDArray

    from minburn.backends.base import Backend
    from minburn.tensor.bools import BoolTensor
    from minburn.tensor.floats import FloatTensor
    from minburn.tensor.grid import GridIndexing
    from minburn.tensor.ints import IntTensor

E = TypeVar("E")
T = TypeVar("T", bound="Tensor")
Rows = Sequence[E] | Sequence[Sequence[E]] | Sequence[Sequence[Sequence[E]]] | Sequence[Sequence[Sequence[Sequence[E]]]]
"""Lists of numbers, up to four deep for type checkers; at run time as deep as you like."""

Sizes = int | Iterable[int]


class Tensor(Placing):
    """An n-dimensional array of one kind on one backend. Nothing changes it: every op gives a new tensor.

    Burn: `Tensor` and `Basic`.
    """

    __slots__ = ()

    if not TYPE_CHECKING:

        def __init__(self, *args: Any, **options: Any) -> None:
            raise TypeError(f"{type(self).__name__}(…) makes no tensor. Use Tensor.from_data([1.0, 2.0], backend).")

    # Making one

    @overload
    @staticmethod
    def from_data(data: bool | Rows[bool] | NDArray[np.bool_], backend: Backend) -> BoolTensor: ...  # type: ignore[overload-overlap]
    @overload
    @staticmethod
    def from_data(data: int | Rows[int] | NDArray[np.integer[Any]], backend: Backend) -> IntTensor: ...
    @overload
    @staticmethod
    def from_data(data: float | Rows[float] | NDArray[np.floating[Any]], backend: Backend) -> FloatTensor: ...
    @overload
    @staticmethod
    def from_data(data: object, backend: Backend, dtype: DType | None = None) -> Any: ...
    @staticmethod
    def from_data(data: object, backend: Backend, dtype: DType | None = None) -> Any:
        """A tensor of (nested lists of) numbers, a NumPy array, `TensorData`, or another library's array (DLPack).

        The kind is that of the data. The numbers are copied and converted to the backend's default dtype of that kind
        (F32 and I32 unless it was built with others) or to `dtype`, which may change the kind. A lone number has
        shape [1].

        Errors: ShapeError for ragged lists, KindError for what is no number, DTypeError naming a number that does not
        fit.

        Burn: `Tensor::from_bool`.
        """
        return creation.from_data(data, backend, dtype)

    @overload
    @staticmethod
    def zeros(shape: Sizes, backend: Backend, dtype: None = None) -> FloatTensor: ...
    @overload
    @staticmethod
    def zeros(shape: Sizes, backend: Backend, dtype: DType) -> Any: ...
    @staticmethod
    def zeros(shape: Sizes, backend: Backend, dtype: DType | None = None) -> Any:
        """0 everywhere, False for bools."""
        return creation.zeros(shape, backend, creation.wanted("zeros", dtype, DType.F32, backend))

    @overload
    @staticmethod
    def ones(shape: Sizes, backend: Backend, dtype: None = None) -> FloatTensor: ...
    @overload
    @staticmethod
    def ones(shape: Sizes, backend: Backend, dtype: DType) -> Any: ...
    @staticmethod
    def ones(shape: Sizes, backend: Backend, dtype: DType | None = None) -> Any:
        """1 everywhere, True for bools."""
        return creation.ones(shape, backend, creation.wanted("ones", dtype, DType.F32, backend))

    @overload
    @staticmethod
    def full(shape: Sizes, value: float, backend: Backend, dtype: None = None) -> FloatTensor: ...
    @overload
    @staticmethod
    def full(shape: Sizes, value: float, backend: Backend, dtype: DType) -> Any: ...
    @staticmethod
    def full(shape: Sizes, value: float, backend: Backend, dtype: DType | None = None) -> Any:
        """`value` everywhere."""
        return creation.full(shape, value, backend, creation.wanted("full", dtype, DType.F32, backend))

    @overload
    @staticmethod
    def random(
        shape: Sizes, backend: Backend, distribution: Distribution = ..., stream: str = ..., dtype: None = None
    ) -> FloatTensor: ...
    @overload
    @staticmethod
    def random(
        shape: Sizes, backend: Backend, distribution: Distribution = ..., stream: str = ..., *, dtype: DType
    ) -> Any: ...
    @staticmethod
    def random(
        shape: Sizes,
        backend: Backend,
        distribution: Distribution = Distribution.Default,
        stream: str = "random",
        dtype: DType | None = None,
    ) -> Any:
        """Independent draws; uniform in [0, 1) by default, truncated for ints.

        The numbers are a function of the backend's seed, the stream's name and how much was drawn from it before.

        Burn: `TensorData::random`.
        """
        return creation.random(
            shape, backend, distribution, stream, creation.wanted("random", dtype, DType.F32, backend)
        )

    @staticmethod
    def arange(start: int, end: int, backend: Backend, step: int = 1) -> IntTensor:
        """The ints start, start + step, … before end. Burn: `Tensor::arange_step`, `IntTensorOps::int_arange_step`."""
        return creation.arange(start, end, backend, step)  # type: ignore[no-any-return]

    @staticmethod
    def eye(size: int, backend: Backend) -> FloatTensor:
        """The identity matrix [size, size]."""
        return creation.eye(size, backend)  # type: ignore[no-any-return]

    @staticmethod
    def cat(tensors: Sequence[T], dim: int) -> T:
        """Joins tensors along an existing dimension; their other sizes are equal."""
        parts = joinable("cat", tensors)
        first = parts[0]
        place = resolve_dim("cat", dim, first.rank)
        for index, part in enumerate(parts):
            check_same_but("cat", first.shape, part.shape, place, ("tensor 0's", f"tensor {index}'s"))
        return first._with(first.ops.cat([part.primitive for part in parts], place))

    @staticmethod
    def stack(tensors: Sequence[T], dim: int = 0) -> T:
        """Joins tensors of one shape along a new dimension."""
        parts = joinable("stack", tensors)
        first = parts[0]
        place = resolve_dim("stack", dim, first.rank + 1)
        for index, part in enumerate(parts):
            if part.shape != first.shape:
                raise ShapeError(
                    f"stack: tensor 0 has shape {show(first.shape)}, tensor {index} {show(part.shape)}. "
                    "They must be equal; cat() joins tensors of different sizes."
                )
        raised = [part.unsqueeze_dim(place) for part in parts]
        return first._with(first.ops.cat([part.primitive for part in raised], place))

    @staticmethod
    def einsum(equation: str, operands: Sequence[T]) -> T:
        """Sums of products, told by labels: "ij,jk->ik" is a matrix product. See `einsum.py`.

        Without "->", the output is "..." and then the labels that occur once, in the order A-Z, a-z. A scalar result
        has shape [1]. Labels of size 1 broadcast. Operands are contracted from left to right.

        Errors: TensorError for what is no equation, ShapeError for sizes and ranks that do not fit it.
        """
        from minburn.tensor.einsum import einsum

        return einsum(equation, joinable("einsum", operands))  # type: ignore[no-any-return]

    @staticmethod
    def meshgrid(tensors: Sequence[T], indexing: GridIndexing = "matrix") -> list[T]:
        """Vectors as coordinates: result i has element [k₀, k₁, …] = tensors[i][kᵢ], shape [n₀, n₁, …].

        indexing: "matrix", or "cartesian", which swaps the first two dimensions of the results.
        """
        from minburn.tensor.grid import meshgrid

        return meshgrid(joinable("meshgrid", tensors), indexing)

    @staticmethod
    def meshgrid_stack(tensors: Sequence[T], indexing: GridIndexing = "matrix", dim: int = -1) -> T:
        """meshgrid(), its results stacked along a new dimension `dim`: Burn's IndexPos Last is -1, First 0.

        Burn: `meshgrid_stack` in `crates/burn-tensor/src/tensor/grid/meshgrid.rs`.
        """
        return Tensor.stack(Tensor.meshgrid(tensors, indexing), dim)

    @staticmethod
    def from_inner(tensor: T, backend: Backend) -> T:
        """The same values on an autodiff backend above the tensor's own, not yet recorded. Burn: `Tensor::from_inner`.

        Errors: DeviceError unless `backend` decorates the tensor's backend. A tensor that is already there stays.
        """
        return creation.from_inner(tensor, backend)  # type: ignore[no-any-return]

    @staticmethod
    def from_floats(data: object, backend: Backend) -> FloatTensor:
        """from_data that gives floats whatever the numbers are."""
        dtype = creation.wanted("from_floats", None, DType.F32, backend)
        return creation.from_data(data, backend, dtype)  # type: ignore[no-any-return]

    @staticmethod
    def from_ints(data: object, backend: Backend) -> IntTensor:
        """from_data that gives ints; floats are truncated."""
        dtype = creation.wanted("from_ints", None, DType.I32, backend)
        return creation.from_data(data, backend, dtype)  # type: ignore[no-any-return]

    @staticmethod
    def empty(shape: Sizes, backend: Backend, dtype: DType | None = None) -> Any:
        """0 everywhere (Burn leaves open what is there)."""
        return creation.zeros(shape, backend, creation.wanted("empty", dtype, DType.F32, backend))

    def empty_like(self) -> Self:
        return self.zeros_like()

    def zeros_like(self) -> Self:
        return self._with(self.ops.zeros(self.shape))

    def ones_like(self) -> Self:
        return self._with(self.ops.ones(self.shape))

    # Where it is

    def to_device(self, backend: Backend) -> Self:
        """The same values on the device of `backend`, in the same dtype. The tensor stays autodiff, or stays plain.

        Errors: DeviceError for an autodiff tensor and a plain backend, and for a tracked tensor and another device.

        Burn: `Tensor::with_gradient_checkpointing_strategy`.
        """
        return creation.move(self, backend)  # type: ignore[no-any-return]

    @property
    def is_autodiff(self) -> bool:
        """Whether the tensor's backend records. What is recorded: `is_tracked`."""
        return self.backend.is_autodiff

    def inner(self) -> Self:
        """The same values on the decorated backend; a tensor of a plain backend stays."""
        below = self.backend.inner
        return self if below is self.backend else self.__class__(self.primitive, self.ops, below)

    def autodiff(self, backend: Backend) -> Self:
        """`Tensor.from_inner(self, backend)`."""
        return creation.from_inner(self, backend)  # type: ignore[no-any-return]

    # Equality and truth

    def equal(self, other: Self | float) -> BoolTensor:
        """Elementwise ==, broadcasting dimensions of size 1."""
        backend = self.backend
        if isinstance(other, Tensor):
            lhs, rhs = align("equal", self, other)
            check_broadcast("equal", lhs.shape, rhs.shape)
            return kinds.BoolTensor(lhs.ops.equal(lhs.primitive, rhs.primitive), backend.bools, backend)
        scalar = self._scalar("equal", other)
        return kinds.BoolTensor(self.ops.equal_elem(self.primitive, scalar), backend.bools, backend)

    def not_equal(self, other: Self | float) -> BoolTensor:
        """Elementwise !=, broadcasting dimensions of size 1."""
        backend = self.backend
        if isinstance(other, Tensor):
            lhs, rhs = align("not_equal", self, other)
            check_broadcast("not_equal", lhs.shape, rhs.shape)
            return kinds.BoolTensor(lhs.ops.not_equal(lhs.primitive, rhs.primitive), backend.bools, backend)
        scalar = self._scalar("not_equal", other)
        return kinds.BoolTensor(self.ops.not_equal_elem(self.primitive, scalar), backend.bools, backend)

    def equal_scalar(self, other: float) -> BoolTensor:
        """Burn: `Tensor::equal_elem`."""
        return self.equal(other)

    def not_equal_scalar(self, other: float) -> BoolTensor:
        """Burn: `Tensor::not_equal_elem`."""
        return self.not_equal(other)

    def __eq__(self, other: object) -> BoolTensor:  # type: ignore[override]
        if not isinstance(other, (Tensor, int, float, np.generic, np.ndarray)):
            return NotImplemented
        return self.equal(other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> BoolTensor:  # type: ignore[override]
        if not isinstance(other, (Tensor, int, float, np.generic, np.ndarray)):
            return NotImplemented
        return self.not_equal(other)  # type: ignore[arg-type]

    __hash__ = Placing.__hash__  # by identity: == compares elements

    def any(self) -> BoolTensor:
        """Whether some element is not zero; shape [1]."""
        return kinds.BoolTensor(self.ops.any(self.primitive), self.backend.bools, self.backend)

    def any_dim(self, dim: int) -> BoolTensor:
        place = resolve_dim("any_dim", dim, self.rank)
        return kinds.BoolTensor(self.ops.any_dim(self.primitive, place), self.backend.bools, self.backend)

    def all(self) -> BoolTensor:
        """Whether no element is zero; shape [1]."""
        return kinds.BoolTensor(self.ops.all(self.primitive), self.backend.bools, self.backend)

    def all_dim(self, dim: int) -> BoolTensor:
        place = resolve_dim("all_dim", dim, self.rank)
        return kinds.BoolTensor(self.ops.all_dim(self.primitive, place), self.backend.bools, self.backend)

    def __repr__(self) -> str:
        from minburn.tensor.printing import tensor_repr

        return tensor_repr(self)

    # Copies and other libraries: see exchange.py

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return exchange.deep_copy(self)  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[Any, ...]:
        return exchange.reduce(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return exchange.as_array(self, dtype, copy)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        return exchange.to_dlpack(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return exchange.dlpack_device()


def joinable(name: str, tensors: Sequence[T]) -> list[T]:
    """At least one tensor, all of one table."""
    if not isinstance(tensors, (list, tuple)):
        raise KindError(f"{name}: expected a list of tensors, but got {type(tensors).__name__}.")
    parts = list(tensors)
    if not parts:
        raise ShapeError(f"{name}: there is nothing to join. Pass at least one tensor.")
    for part in parts:
        if not isinstance(part, Tensor):
            raise KindError(f"{name}: expected a list of tensors, but found {type(part).__name__} {part!r} in it.")
    return one_table(name, parts)
