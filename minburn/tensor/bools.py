"""Bool tensors: masks.

Burn: `crates/burn-tensor/src/tensor/api/bool.rs`.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from minburn.backends.base import BoolTensorOps
from minburn.dtype import DType
from minburn.tensor import creation, kinds
from minburn.tensor.check import KindError, check_broadcast
from minburn.tensor.layout import Layout
from minburn.tensor.lift import align
from minburn.tensor.tensor import Sizes, Tensor

if TYPE_CHECKING:
    from minburn.backends.base import Backend
    from minburn.tensor.floats import FloatTensor
    from minburn.tensor.ints import IntTensor


class BoolTensor(Tensor):
    """True and False. `& | ^ ~` combine them, `mask_where` and `mask_fill` use them.

    Burn: `Tensor` and `Bool`.
    """

    __slots__ = ()

    kind: ClassVar[str] = "bool"

    if not TYPE_CHECKING:
        __init__ = Layout.__init__
    ops: BoolTensorOps[Any]

    @staticmethod
    def zeros(shape: Sizes, backend: Backend, dtype: DType | None = None) -> BoolTensor:  # type: ignore[override]
        """False everywhere."""
        return creation.zeros(shape, backend, bool_dtype("zeros", backend, dtype))  # type: ignore[no-any-return]

    @staticmethod
    def ones(shape: Sizes, backend: Backend, dtype: DType | None = None) -> BoolTensor:  # type: ignore[override]
        """True everywhere."""
        return creation.ones(shape, backend, bool_dtype("ones", backend, dtype))  # type: ignore[no-any-return]

    @staticmethod
    def full(shape: Sizes, value: builtins.bool, backend: Backend, dtype: DType | None = None) -> BoolTensor:  # type: ignore[override]
        """`value` everywhere."""
        return creation.full(shape, value, backend, bool_dtype("full", backend, dtype))  # type: ignore[no-any-return]

    @staticmethod
    def tril_mask(shape: Sizes, diagonal: builtins.int, backend: Backend) -> BoolTensor:
        """False on the lower triangle (what mask_fill keeps), True above the diagonal."""
        creation.check_backend("tril_mask", backend)
        column, crossing = creation.triangle("tril_mask", shape, diagonal)
        return creation.from_array(column > crossing, DType.Bool, backend)  # type: ignore[no-any-return]

    @staticmethod
    def triu_mask(shape: Sizes, diagonal: builtins.int, backend: Backend) -> BoolTensor:
        """False on the upper triangle (what mask_fill keeps), True below the diagonal."""
        creation.check_backend("triu_mask", backend)
        column, crossing = creation.triangle("triu_mask", shape, diagonal)
        return creation.from_array(column < crossing, DType.Bool, backend)  # type: ignore[no-any-return]

    @staticmethod
    def diag_mask(shape: Sizes, diagonal: builtins.int, backend: Backend) -> BoolTensor:
        """False on the diagonal (what mask_fill keeps), True elsewhere."""
        creation.check_backend("diag_mask", backend)
        column, crossing = creation.triangle("diag_mask", shape, diagonal)
        return creation.from_array(column != crossing, DType.Bool, backend)  # type: ignore[no-any-return]

    def bool_not(self) -> BoolTensor:
        return self._with(self.ops.not_(self.primitive))

    def bool_and(self, other: BoolTensor) -> BoolTensor:
        lhs, rhs = align("bool_and", self, other)
        check_broadcast("bool_and", lhs.shape, rhs.shape)
        return self._with(self.ops.and_(lhs.primitive, rhs.primitive))

    def bool_or(self, other: BoolTensor) -> BoolTensor:
        lhs, rhs = align("bool_or", self, other)
        check_broadcast("bool_or", lhs.shape, rhs.shape)
        return self._with(self.ops.or_(lhs.primitive, rhs.primitive))

    def bool_xor(self, other: BoolTensor) -> BoolTensor:
        lhs, rhs = align("bool_xor", self, other)
        check_broadcast("bool_xor", lhs.shape, rhs.shape)
        return self._with(self.ops.xor(lhs.primitive, rhs.primitive))

    __invert__ = bool_not
    __and__ = bool_and
    __or__ = bool_or
    __xor__ = bool_xor

    def argwhere(self) -> IntTensor:
        """The coordinates of the true elements, row by row: [count, rank]."""
        backend = self.backend
        return kinds.IntTensor(self.ops.argwhere(self.primitive, backend.int_dtype), backend.ints, backend)

    def nonzero(self) -> list[IntTensor]:
        """argwhere() by dimension: a vector of indices for each."""
        places = self.argwhere()
        return [places.select_dim(1, dim) for dim in range(self.rank)]

    def int(self) -> IntTensor:
        """1 for True, 0 for False."""
        backend = self.backend
        return kinds.IntTensor(self.ops.into_int(self.primitive, backend.int_dtype), backend.ints, backend)

    def float(self) -> FloatTensor:
        """1.0 for True, 0.0 for False: a constant, on the backend of this tensor."""
        backend = self.backend
        primitive = self.ops.into_float(self.primitive, backend.float_dtype)
        return creation.float_constant(primitive, backend)  # type: ignore[no-any-return]

    def bool(self) -> BoolTensor:
        return self

    def cast(self, dtype: DType) -> Any:
        """The same truth as numbers of another dtype, 0 and 1."""
        return creation.cast(self, dtype)

    def _scalar(self, name: str, value: Any) -> Any:
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
        raise KindError(f"{name}: a bool tensor meets True and False, not {type(value).__name__} {value!r}.")


def bool_dtype(name: str, backend: Backend, dtype: DType | None) -> DType:
    """The dtype of a bool tensor: a backend has one store, so another bool dtype means that one too."""
    if not creation.wanted(name, dtype, DType.Bool, backend).is_bool:
        raise KindError(f"{name}: a bool tensor cannot have dtype {dtype}. Call Tensor.{name} for numbers.")
    return DType.Bool
