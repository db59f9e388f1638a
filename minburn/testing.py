"""Checks for what users write themselves.

    check_gradients(lambda x, w: my_op(x, w).tanh(), x, w)

compares the gradients that `backward()` finds with differences of the function itself, in F64, element by element.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minburn.backends import Autodiff
from minburn.dtype import DType
from minburn.tensor import FloatTensor, KindError, ShapeError, Tensor, creation
from minburn.tensor.check import as_int

Function = Callable[..., FloatTensor]


@dataclass(frozen=True)
class GradientReport:
    """How many elements were compared, and the one that fits worst: its tensor, its place, and what was found there."""

    elements: int
    tensor: int
    place: tuple[int, ...]
    gradient: float
    difference: float
    error: float
    """|gradient - difference|, in units of what is tolerated."""

    def __str__(self) -> str:
        return (
            f"the worst of {self.elements} elements is {list(self.place)} of float tensor {self.tensor}: "
            f"the gradient is {self.gradient:.9g}, the difference quotient {self.difference:.9g} "
            f"({self.error:.2g} times the tolerance)"
        )


class GradientMismatch(AssertionError):
    """A gradient is not the derivative of its function. `report` says where and by how much."""

    def __init__(self, message: str, report: GradientReport) -> None:
        super().__init__(message)
        self.report = report


def check_gradients(
    function: Function,
    *tensors: Tensor,
    order: int = 1,
    step: float = 1e-5,
    rtol: float = 1e-6,
    atol: float = 1e-7,
    max_elements: int = 200,
    seed: int = 0,
) -> GradientReport:
    """Compare the gradients of `function(*tensors)` with (f(x + h) - f(x - h)) / 2h, where f weighs the results.

    The float tensors are taken to F64 and lifted onto Autodiff; the function must work there and on the plain backend.
    f = Σ w · function(x), with random weights w. h is `step` times the size of the element, at least `step`. Of a
    tensor with more than `max_elements` elements a random selection is looked at. order=2 checks the derivative of
    the gradient instead (of its product with random directions), on Autodiff(Autodiff(backend)).

    Choose points at which the function is smooth: at the kink of a relu the two are not the same.

    Errors: GradientMismatch with a report of the worst element; KindError unless a float tensor is given.
    """
    if not callable(function):
        raise KindError(f"check_gradients: expected a function of tensors, but got {type(function).__name__}.")
    _check_settings(order, max_elements, seed, {"step": step, "rtol": rtol, "atol": atol})
    floats = [place for place, tensor in enumerate(tensors) if isinstance(tensor, FloatTensor)]
    if not floats or not all(isinstance(tensor, Tensor) for tensor in tensors):
        raise KindError(f"check_gradients: expected tensors, a float one among them, but got {_types(tensors)}.")
    backend: Any = tensors[floats[0]].backend
    while backend.is_autodiff:
        backend = backend.inner
    backend = backend.with_dtypes(float_dtype=DType.F64)
    arrays = [tensors[place].numpy().astype(np.float64) for place in floats]
    checked = function if order == 1 else _directional(function, floats, seed)
    report = _compare(_Point(checked, tensors, floats, backend, seed), arrays, step, rtol, atol, max_elements)
    if report.error > 1:
        what = "the gradient is not the derivative" if order == 1 else "the derivative of the gradient is another"
        raise GradientMismatch(f"check_gradients: {what}: {report}.", report)
    return report


class _Point:
    """A function at some values of its float tensors, as one number."""

    def __init__(
        self, function: Function, tensors: tuple[Tensor, ...], floats: list[int], backend: Any, seed: int
    ) -> None:
        self.function = function
        self.tensors = tensors
        self.floats = floats
        self.backend = backend
        self.seed = seed

    def value(self, arrays: list[Any]) -> float:
        return float(self._weighed(self.backend, [Tensor.from_data(a, self.backend) for a in arrays]).item())

    def gradients(self, arrays: list[Any]) -> list[Any]:
        backend = Autodiff(self.backend)
        leaves = [Tensor.from_data(array, backend).require_grad() for array in arrays]
        loss = self._weighed(backend, leaves)
        if not loss.is_tracked:
            return [np.zeros_like(array) for array in arrays]
        gradients = loss.backward()
        found = [leaf.grad(gradients) for leaf in leaves]
        return [np.zeros_like(a) if g is None else g.numpy() for a, g in zip(arrays, found, strict=True)]

    def _weighed(self, backend: Any, operands: list[Any]) -> FloatTensor:
        rest = iter(operands)
        arguments = [next(rest) if place in self.floats else _on(t, backend) for place, t in enumerate(self.tensors)]
        result = self.function(*arguments)
        if not isinstance(result, FloatTensor):
            raise KindError(f"check_gradients: the function returned {type(result).__name__}, not a float tensor.")
        return weighed(result, np.random.default_rng(self.seed))


def weighed(tensor: FloatTensor, rng: np.random.Generator) -> FloatTensor:
    """Σ tensor · w, with w from U[1/2, 3/2) and a random sign: no element is lost in the others."""
    weights = (rng.random(tensor.shape) + 0.5) * rng.choice([-1.0, 1.0], tensor.shape)
    constant: FloatTensor = Tensor.from_floats(weights, tensor.backend)
    return (tensor * constant).sum()


def _directional(function: Function, floats: list[int], seed: int) -> Function:
    """The sum of the gradients' products with random directions: a function whose gradient needs second derivatives."""

    def slope(*tensors: Any) -> FloatTensor:
        outer = Autodiff(tensors[floats[0]].backend)
        lifted = [tensor.autodiff(outer) for tensor in tensors]
        for place in floats:
            lifted[place] = lifted[place].require_grad()
        rng = np.random.default_rng(seed + 1)
        loss = weighed(function(*lifted), rng)
        total = Tensor.zeros([1], outer.inner)
        if not loss.is_tracked:
            return total
        gradients = loss.backward()
        for place in floats:
            gradient = lifted[place].grad(gradients)
            if gradient is not None:
                total = total + weighed(gradient, rng)
        return total

    return slope


def _compare(
    point: _Point, arrays: list[Any], step: float, rtol: float, atol: float, max_elements: int
) -> GradientReport:
    gradients = point.gradients(arrays)
    rng = np.random.default_rng(point.seed)
    worst: GradientReport | None = None
    count = 0
    for number, (array, gradient) in enumerate(zip(arrays, gradients, strict=True)):
        for flat in sorted(rng.permutation(array.size)[:max_elements].tolist()):
            place = tuple(int(index) for index in np.unravel_index(flat, array.shape))
            width = step * max(1.0, abs(float(array[place])))
            ends = []
            for sign in (1.0, -1.0):
                moved = [other.copy() for other in arrays]
                moved[number][place] += sign * width
                ends.append((float(moved[number][place]), point.value(moved)))
            difference = (ends[0][1] - ends[1][1]) / (ends[0][0] - ends[1][0])
            found = float(gradient[place])
            error = abs(found - difference) / (atol + rtol * max(abs(found), abs(difference)))
            count += 1
            if math.isnan(error):
                error = math.inf
            if worst is None or error > worst.error:
                worst = GradientReport(0, number, place, found, difference, error)
    if worst is None:
        raise ShapeError("check_gradients: the float tensors have no elements. Give it some to compare.")
    return GradientReport(count, worst.tensor, worst.place, worst.gradient, worst.difference, worst.error)


def _on(tensor: Tensor, backend: Any) -> Any:
    """An int or bool tensor on another level of its backend."""
    _, ops, sibling = creation.table_of(tensor.dtype, backend)
    return type(tensor)(tensor.primitive, ops, sibling)


def _types(tensors: tuple[Any, ...]) -> str:
    return ", ".join(type(tensor).__name__ for tensor in tensors) or "nothing"


def _check_settings(order: int, max_elements: int, seed: int, numbers: dict[str, float]) -> None:
    if as_int("check_gradients", "order", order) not in (1, 2):
        raise ValueError(f"check_gradients: order is 1 or 2, but got {order!r}.")
    if as_int("check_gradients", "max_elements", max_elements) < 1:
        raise ValueError(f"check_gradients: max_elements is at least 1, but got {max_elements}.")
    if as_int("check_gradients", "seed", seed) < 0:
        raise ValueError(f"check_gradients: seed is 0 or more, but got {seed}.")
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1e300:
            raise ValueError(f"check_gradients: {name} is a number of 0 or more, but got {value!r}.")
    if not numbers["step"] or not numbers["rtol"] + numbers["atol"]:
        raise ValueError("check_gradients: step and one of rtol and atol must be above 0.")
