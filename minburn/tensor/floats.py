"""Float tensors: mathematics, statistics, and gradients.

On a plain backend a float tensor is numbers. On `Autodiff(backend)` it may be recorded: `require_grad()` makes a leaf,
whatever is computed from it is tracked, `loss.backward()` gives the gradients of the leaves in a separate container,
and `leaf.grad(gradients)` reads one, on the inner backend. Nothing is stored on a tensor.

Burn: `crates/burn-tensor/src/tensor/api/float.rs`, `autodiff.rs`.
"""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING, Any, ClassVar

from minburn.backends.autodiff import Gradients
from minburn.backends.base import FloatTensorOps
from minburn.backends.rng import Distribution
from minburn.dtype import DType, QuantScheme
from minburn.tensor import creation, kinds
from minburn.tensor.bools import BoolTensor
from minburn.tensor.check import (
    DTypeError,
    GradError,
    KindError,
    ShapeError,
    TensorError,
    as_int,
    check_broadcast,
    resolve_dim,
    show,
)
from minburn.tensor.ints import IntTensor, python_number
from minburn.tensor.layout import Layout
from minburn.tensor.lift import align
from minburn.tensor.numeric import NumericTensor

if TYPE_CHECKING:
    from typing import Self  # Python 3.11

    from minburn.tensor.data import TensorData
    from minburn.tensor.functional.grid import SampleMode, SamplePadding


class FloatTensor(NumericTensor):
    """Real numbers. Burn: `Tensor`, `Float`, and `FloatMath`."""

    __slots__ = ()

    kind: ClassVar[str] = "float"
    ops: FloatTensorOps[Any, Any, Any]

    if not TYPE_CHECKING:
        __init__ = Layout.__init__

    # Element by element

    def exp(self) -> Self:
        return self._with(self.ops.exp(self.primitive))

    def log(self) -> Self:
        """The natural logarithm; NaN below 0, -inf at 0."""
        return self._with(self.ops.log(self.primitive))

    def log1p(self) -> Self:
        """log(1 + x), exact for small x."""
        return self._with(self.ops.log1p(self.primitive))

    def sqrt(self) -> Self:
        return self._with(self.ops.sqrt(self.primitive))

    def recip(self) -> Self:
        """1 / x."""
        return self._with(self.ops.recip(self.primitive))

    def powf(self, exponent: Self | float) -> Self:
        """x to the power of a tensor or a number."""
        if isinstance(exponent, NumericTensor):
            lhs, rhs = align("powf", self, exponent)
            check_broadcast("powf", lhs.shape, rhs.shape)
            return lhs._with(lhs.ops.powf(lhs.primitive, rhs.primitive))
        return self.powf_scalar(exponent)

    def powf_scalar(self, exponent: float) -> Self:
        return self._with(self.ops.powf_scalar(self.primitive, self._scalar("powf_scalar", exponent)))

    def __pow__(self, exponent: Self | float) -> Self:
        """powi_scalar for an int, powf otherwise."""
        if exponent.__class__ is builtins.int:
            return self.powi_scalar(exponent)
        return self.powf(exponent)

    def __rpow__(self, base: float) -> Self:
        return self._constant("powf", base).powf(self)

    def powi(self, exponent: IntTensor | Self | builtins.int) -> Self:
        """x to the power of integers: an int tensor, floats without fractions, or one int."""
        if isinstance(exponent, IntTensor):
            power = creation.cast(exponent, self.dtype)
            return self.powf(self.__class__(power.primitive, power.ops, power.backend))
        return self.powf(exponent) if isinstance(exponent, NumericTensor) else self.powi_scalar(exponent)

    def fmod(self, other: Self) -> Self:
        """The remainder of a division that truncates: it has the sign of self. `%` has the sign of the divisor."""
        lhs, rhs = align("fmod", self, other)
        check_broadcast("fmod", lhs.shape, rhs.shape)
        return lhs._with(lhs.ops.fmod(lhs.primitive, rhs.primitive))

    def fmod_scalar(self, other: builtins.float) -> Self:
        return self.fmod(self._constant("fmod_scalar", other))

    def cos(self) -> Self:
        return self._with(self.ops.cos(self.primitive))

    def sin(self) -> Self:
        return self._with(self.ops.sin(self.primitive))

    def tan(self) -> Self:
        return self._with(self.ops.tan(self.primitive))

    def cosh(self) -> Self:
        return self._with(self.ops.cosh(self.primitive))

    def sinh(self) -> Self:
        return self._with(self.ops.sinh(self.primitive))

    def tanh(self) -> Self:
        return self._with(self.ops.tanh(self.primitive))

    def acos(self) -> Self:
        return self._with(self.ops.acos(self.primitive))

    def asin(self) -> Self:
        return self._with(self.ops.asin(self.primitive))

    def atan(self) -> Self:
        return self._with(self.ops.atan(self.primitive))

    def acosh(self) -> Self:
        return self._with(self.ops.acosh(self.primitive))

    def asinh(self) -> Self:
        return self._with(self.ops.asinh(self.primitive))

    def atanh(self) -> Self:
        return self._with(self.ops.atanh(self.primitive))

    def atan2(self, x: Self) -> Self:
        """The angle of the point (x, y = self), in (-π, π]."""
        lhs, rhs = align("atan2", self, x)
        check_broadcast("atan2", lhs.shape, rhs.shape)
        return lhs._with(lhs.ops.atan2(lhs.primitive, rhs.primitive))

    def hypot(self, other: Self) -> Self:
        """√(x² + y²) without overflow."""
        lhs, rhs = align("hypot", self, other)
        check_broadcast("hypot", lhs.shape, rhs.shape)
        return lhs._with(lhs.ops.hypot(lhs.primitive, rhs.primitive))

    def erf(self) -> Self:
        """2/√π ∫₀ˣ e^(-t²) dt."""
        return self._with(self.ops.erf(self.primitive))

    def round(self) -> Self:
        """To the nearest integer, halves to even."""
        return self._with(self.ops.round(self.primitive))

    def floor(self) -> Self:
        return self._with(self.ops.floor(self.primitive))

    def ceil(self) -> Self:
        return self._with(self.ops.ceil(self.primitive))

    def trunc(self) -> Self:
        """Toward zero."""
        return self._with(self.ops.trunc(self.primitive))

    def deg2rad(self) -> Self:
        return self.mul_scalar(math.pi / 180)

    def rad2deg(self) -> Self:
        return self.mul_scalar(180 / math.pi)

    def cross(self, other: Self, dim: builtins.int) -> Self:
        """The cross product of the 3-vectors along dim; the other dimensions broadcast."""
        lhs, rhs = align("cross", self, other)
        place = resolve_dim("cross", dim, lhs.rank)
        if lhs.shape[place] != 3 or rhs.shape[place] != 3:
            raise ShapeError(
                f"cross: dimension {place} must have size 3 in both tensors, but has {lhs.shape[place]} and "
                f"{rhs.shape[place]}."
            )
        check_broadcast("cross", lhs.shape, rhs.shape)
        # (a₁b₂ - a₂b₁, a₂b₀ - a₀b₂, a₀b₁ - a₁b₀)
        first = lhs.roll_dim(-1, place) * rhs.roll_dim(-2, place)
        return first - lhs.roll_dim(-2, place) * rhs.roll_dim(-1, place)

    def grid_sample_2d(
        self,
        grid: Self,
        mode: SampleMode = "bilinear",
        padding_mode: SamplePadding = "zeros",
        align_corners: builtins.bool = False,
    ) -> FloatTensor:
        """These images at the places of a grid: see `functional.grid_sample_2d`."""
        from minburn.tensor.functional.grid import grid_sample_2d

        return grid_sample_2d(self, grid, mode, padding_mode, align_corners)

    # Statistics

    def var(self, dim: builtins.int) -> Self:
        """Σ(x - mean)² / (n - 1) along dim."""
        return self._with(self.ops.var_dim(self.primitive, resolve_dim("var", dim, self.rank), 1))

    def var_bias(self, dim: builtins.int) -> Self:
        """Σ(x - mean)² / n along dim."""
        return self._with(self.ops.var_dim(self.primitive, resolve_dim("var_bias", dim, self.rank), 0))

    def var_mean(self, dim: builtins.int) -> tuple[Self, Self]:
        """(var(dim), mean_dim(dim))."""
        return self.var(dim), self.mean_dim(dim)

    def var_mean_bias(self, dim: builtins.int) -> tuple[Self, Self]:
        """(var_bias(dim), mean_dim(dim))."""
        return self.var_bias(dim), self.mean_dim(dim)

    def median(self, dim: builtins.int) -> Self:
        """The middle element along dim, the lower one of an even number; NaN counts as the largest."""
        return self.median_with_indices(dim)[0]

    def median_with_indices(self, dim: builtins.int) -> tuple[Self, IntTensor]:
        """The median along dim, and where it stands."""
        place = self._check_not_empty("median", dim)
        indices = self.argsort(place).narrow(place, (self.shape[place] - 1) // 2, 1)
        return self._picked(place, indices), indices

    def cov(self, dim: builtins.int, correction: builtins.int = 1) -> Self:
        """Σ_k c[k, a] c[k, b] / (n - correction) for the n rows c of a matrix along dim 0, less their mean.

        In general (Burn's rule) dim trades places with dimension 0 after the mean over it was taken off; then every
        matrix of the last two dimensions is multiplied by its transpose from the left: [rows, a] → [a, a].
        """
        place = resolve_dim("cov", dim, self.rank)
        centred = (self - self.mean_dim(place)).swap_dims(place, 0)
        return centred.transpose().matmul(centred) / builtins.float(
            self.shape[place] - as_int("cov", "correction", correction)
        )

    def random_like(self, distribution: Distribution = Distribution.Default, stream: str = "random") -> FloatTensor:
        """Independent draws with the shape, dtype and backend of this tensor."""
        return kinds.FloatTensor.random(self.shape, self.backend, distribution, stream)

    def categorical(self, num_samples: builtins.int, stream: str = "random") -> IntTensor:
        """Draws of indices: […, categories] → […, num_samples], an index with the probability weight / Σ weights.

        The weights of the last dimension are not negative. Where the sum of those before exceeds a uniform number of
        the backend's stream, there is the index.
        """
        count = as_int("categorical", "num_samples", num_samples)
        if count < 1 or self.rank == 0 or 0 in self.shape:
            raise ShapeError(
                f"categorical: it draws 1 or more of a tensor's last dimension, but not {count} of {show(self.shape)}."
            )
        weights = self.detach().inner()
        ends = weights.cumsum(-1)
        total = ends.narrow(-1, self.shape[-1] - 1, 1)
        if not ((weights >= 0.0).all().item() and (total > 0.0).all().item()):
            raise TensorError("categorical: weights must be 0 or more, and their sum must be finite and above 0.")
        uniform = FloatTensor.random((*self.shape[:-1], count), weights.backend, stream=stream)
        below = ends.unsqueeze_dim(-1) <= (uniform * total).unsqueeze_dim(-2)
        found = below.int().sum_dim(-2).squeeze_dim(-2).clamp_max(self.shape[-1] - 1)
        return IntTensor(found.primitive, self.backend.ints, self.backend)

    # Questions

    def is_nan(self) -> BoolTensor:
        return BoolTensor(self.ops.is_nan(self.primitive), self.backend.bools, self.backend)

    def contains_nan(self) -> BoolTensor:
        """Whether some element is NaN; shape [1]."""
        return self.is_nan().any()

    def is_inf(self) -> BoolTensor:
        return BoolTensor(self.ops.is_inf(self.primitive), self.backend.bools, self.backend)

    def is_finite(self) -> BoolTensor:
        """Neither NaN nor infinite."""
        return ~(self.is_nan() | self.is_inf())

    def is_close(self, other: Self, rtol: float = 1e-5, atol: float = 1e-8) -> BoolTensor:
        """|a - b| ≤ atol + rtol·|b|; infinities are close to themselves, NaN to nothing."""
        lhs, rhs = align("is_close", self, other)
        check_broadcast("is_close", lhs.shape, rhs.shape)
        lhs, rhs = lhs.detach(), rhs.detach()
        finite = lhs.is_finite() & rhs.is_finite()
        difference = (lhs.mask_fill(~finite, 0.0) - rhs.mask_fill(~finite, 0.0)).abs()
        return ((difference <= rhs.abs() * rtol + atol) & finite) | (lhs == rhs)

    def all_close(self, other: Self, rtol: float = 1e-5, atol: float = 1e-8) -> builtins.bool:
        """Whether every element is_close."""
        return self.is_close(other, rtol, atol).all().item()  # type: ignore[no-any-return]

    # Other kinds and dtypes

    def int(self) -> IntTensor:
        """Truncates toward zero, saturates at the ends of the dtype, NaN → 0."""
        backend = self.backend
        return IntTensor(self.ops.into_int(self.primitive, backend.int_dtype), backend.ints, backend)

    def float(self) -> Self:
        return self

    def cast(self, dtype: DType) -> Any:
        """Another float dtype (differentiable), or int() or bool() of that dtype."""
        return creation.cast(self, dtype)

    def quantize_dynamic(self, scheme: QuantScheme) -> TensorData:
        """These numbers as small integers and a scale, which `TensorData.dequantize()` takes back. See `quantized.py`.

        Nothing is computed with quantized tensors: they are data, to be saved.

        Burn: `Tensor::quantize`, `QTensorOps::quantize`, `QTensorOps::quantize_dynamic`.
        """
        from minburn.tensor.quantized import quantize

        return quantize(self.cast(DType.F32).numpy(), scheme)

    def _scalar(self, name: str, value: Any) -> Any:
        if value.__class__ is builtins.float:
            return value
        number = python_number(name, value)
        try:
            return builtins.float(number)
        except OverflowError as error:
            raise DTypeError(f"{name}: the int {number} is too large for a float.") from error

    # Gradients

    def backward(self) -> Gradients:
        """The gradients of all leaves this tensor was computed from, for a gradient of ones. Consumes the graph.

        Errors: GradError on a plain backend; AutodiffError for a tensor that was not recorded or whose graph is gone.
        """
        if not self.backend.is_autodiff:
            raise GradError(
                f"backward: this tensor was not recorded: {self.backend.name} keeps no graph. "
                "Build the model on Autodiff(backend), or call require_grad() on an input there."
            )
        return self._autodiff_ops().backward(self.primitive)  # type: ignore[no-any-return]

    def grad(self, gradients: Gradients) -> FloatTensor | None:
        """This leaf's gradient, on the inner backend; None if backward() did not reach it, or on a plain backend."""
        return self._read_gradient(self._autodiff_ops().grad, gradients) if self.backend.is_autodiff else None

    def grad_remove(self, gradients: Gradients) -> FloatTensor | None:
        """grad(), and drops it from the container."""
        return self._read_gradient(self._autodiff_ops().grad_remove, gradients) if self.backend.is_autodiff else None

    def grad_replace(self, gradients: Gradients, grad: FloatTensor) -> None:
        """Puts another gradient in the place of this leaf's, or there if there was none.

        Errors: GradError unless this tensor is a leaf that requires a gradient and `grad` one of the inner backend, of
        its shape.
        """
        if not self.is_require_grad:
            raise GradError("grad_replace: this tensor is no leaf that requires a gradient.")
        if not isinstance(grad, FloatTensor) or grad.ops is not self.inner().ops or grad.shape != self.shape:
            raise GradError(
                f"grad_replace: the gradient of this leaf is a float tensor of shape {show(self.shape)} on "
                f"{self.backend.inner.name}, but got {grad!r}."
            )
        self._read_gradient(self._autodiff_ops().grad, gradients)
        self._autodiff_ops().grad_replace(self.primitive, gradients, grad.primitive)

    def require_grad(self) -> Self:
        """A leaf of the graph: backward() will find its gradient."""
        return self.set_require_grad(True)

    def set_require_grad(self, require_grad: builtins.bool) -> Self:
        """A leaf whose gradient is wanted, or a constant.

        Errors: GradError on a plain backend; AutodiffError for True on a tensor that was computed from leaves.
        """
        if not isinstance(require_grad, builtins.bool):
            raise KindError(f"set_require_grad: expected True or False, but got {type(require_grad).__name__}.")
        if not self.backend.is_autodiff:
            if not require_grad:
                return self
            raise GradError(
                f"require_grad: {self.backend.name} keeps no graph. Build the tensor on Autodiff(backend), or lift it "
                "with autodiff(Autodiff(backend)) first."
            )
        return self._with(self._autodiff_ops().set_require_grad(self.primitive, require_grad))

    @property
    def is_require_grad(self) -> builtins.bool:
        """Whether this tensor is a leaf whose gradient is wanted."""
        return self.backend.is_autodiff and self._autodiff_ops().is_require_grad(self.primitive)

    @property
    def is_tracked(self) -> builtins.bool:
        """Whether this tensor takes part in a graph."""
        return self.backend.is_autodiff and self._autodiff_ops().is_tracked(self.primitive)

    def detach(self) -> Self:
        """The same values outside any graph."""
        return self._with(self.ops.detach(self.primitive))

    def inner(self) -> Self:
        """The same values on the decorated backend, where nothing is recorded; a plain tensor stays."""
        backend = self.backend
        if not backend.is_autodiff:
            return self
        below = backend.inner
        return self.__class__(self._autodiff_ops().inner_of(self.primitive), below.floats, below)

    def without_autodiff(self) -> Self:
        """Burn's other name for inner()."""
        return self.inner()

    def _read_gradient(self, read: Any, gradients: Gradients) -> FloatTensor | None:
        if not isinstance(gradients, Gradients):
            raise KindError(
                f"grad: expected the Gradients that backward() returned, but got {type(gradients).__name__}."
            )
        below = self.backend.inner
        primitive = read(self.primitive, gradients)
        return None if primitive is None else FloatTensor(primitive, below.floats, below)

    def _autodiff_ops(self) -> Any:
        """The table, which has more ops on an autodiff backend than `FloatTensorOps` promises."""
        return self.ops
