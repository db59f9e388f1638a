"""What can go wrong with a tensor, said so that the reader learns the rule.

A check costs nothing when it passes: the hot operators compare two integers and let the array library find shapes that
do not fit; the functions below then work out what happened. Every text says what happened with the values, then what
to do.

Burn: `crates/burn-tensor/src/tensor/api/check.rs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Shape = tuple[int, ...]


class TensorError(ValueError):
    """A tensor operation that cannot be done as asked.

    Burn: `DataError` in `crates/burn-std/src/data/tensor/base.rs`.
    """


class ShapeError(TensorError):
    """Sizes or ranks do not fit."""


class KindError(TensorError, TypeError):
    """A float, int or bool tensor (or scalar) where another kind is needed."""


class DTypeError(TensorError):
    """Dtypes differ, or a value does not fit a dtype."""


class DeviceError(TensorError):
    """Tensors live on different devices or autodiff levels."""


class GradError(TensorError):
    """Something asked of the graph of a tensor that takes part in none."""


class IndexOutOfBounds(TensorError, IndexError):
    """A dimension or an index beyond the end."""


def show(shape: Sequence[int]) -> str:
    """A shape as the messages write it: `[2, 3]`."""
    return str(list(shape))


def resolve_dim(name: str, dim: int, rank: int) -> int:
    """`dim` counted from the front. Negative ones count from the end."""
    if dim.__class__ is not int:
        dim = as_int(name, "dim", dim)
    resolved = dim + rank if dim < 0 else dim
    if not 0 <= resolved < rank:
        if rank == 0:
            raise IndexOutOfBounds(f"{name}: dimension {dim} does not exist: the tensor has rank 0.")
        raise IndexOutOfBounds(
            f"{name}: dimension {dim} does not exist in a tensor of rank {rank}. Use {-rank} to {rank - 1}."
        )
    return resolved


def resolve_dims(name: str, dims: Iterable[int], rank: int) -> Shape:
    """Several dimensions, each named once."""
    resolved = tuple(resolve_dim(name, dim, rank) for dim in items_of(name, "dimensions", dims))
    if len(set(resolved)) != len(resolved):
        raise ShapeError(f"{name}: a dimension is named twice in {show(resolved)}. Name each one once.")
    return resolved


def items_of(name: str, what: str, values: object) -> tuple[Any, ...]:
    """What a list (or another iterable) of `what` holds."""
    try:
        return tuple(values)  # type: ignore[arg-type]
    except TypeError:  # NumPy's arrays of rank 0 look iterable, and are not
        raise KindError(
            f"{name}: expected a list of {what}, but got {type(values).__name__} {short(values)}."
        ) from None


def as_int(name: str, what: str, value: object) -> int:
    """A Python int out of anything that is an integer (NumPy's integers too), but not out of a bool."""
    if not isinstance(value, bool):
        try:
            number = int(value.__index__())  # type: ignore[attr-defined]
        except (AttributeError, TypeError):
            pass
        else:
            if -MAX_INT <= number <= MAX_INT:
                return number
            raise KindError(f"{name}: {what} must be an int of at most 64 bits, but has {number.bit_length()}.")
    raise KindError(f"{name}: {what} must be an int, but got {type(value).__name__} {short(value)}.")


def one_of(value: object, names: Iterable[str]) -> bool:
    """Whether it is one of these names; what has elements of its own is not."""
    return isinstance(value, str) and value in names


def short(value: object) -> str:
    """As in Python, on one line of an error."""
    try:
        text = repr(value)
    except ValueError:  # an int of thousands of digits
        return "…"
    return text if len(text) <= 200 else f"{text[:200]}…"


MAX_INT = 2**63 - 1


def assert_shape(tensor: Any, *pattern: Any) -> None:
    """ShapeError unless the tensor's shape fits the pattern: `assert_shape(x, batch, None, 3)`.

    One entry per axis: a size, None for any, and at most one `...` for any number of axes. Burn: `assert_shape!`.
    """
    entries = [part if part is None or part is Ellipsis else as_int("assert_shape", "a size", part) for part in pattern]
    shape = getattr(tensor, "shape", None)
    if not isinstance(shape, tuple):
        raise KindError(f"assert_shape: expected a tensor, but got {type(tensor).__name__}.")
    told = "(" + ", ".join("..." if part is Ellipsis else str(part) for part in entries) + ")"
    gap = entries.count(Ellipsis)
    if gap > 1:
        raise ShapeError(f"assert_shape: {told} has more than one '...'.")
    if (len(shape) < len(entries) - 1) if gap else (len(shape) != len(entries)):
        least = f"at least {len(entries) - 1}" if gap else len(entries)
        raise ShapeError(f"assert_shape{told}: expected rank {least}, got {len(shape)} (shape {show(shape)}).")
    if gap:
        at = entries.index(Ellipsis)
        entries[at : at + 1] = [None] * (len(shape) - len(entries) + 1)
    for axis, (want, have) in enumerate(zip(entries, shape, strict=True)):
        if want is not None and want != have:
            raise ShapeError(f"assert_shape{told}: axis {axis} expected {want}, got {have} (shape {show(shape)}).")


MAX_ELEMENTS = (2**63 - 1) // 8
"""More numbers of 8 bytes have no address."""

MAX_RANK = 64
"""NumPy's limit."""


def as_shape(name: str, shape: int | Iterable[int]) -> Shape:
    """A tuple of non-negative ints; a single int is a shape of rank 1."""
    sizes = items_of(name, "sizes", shape) if isinstance(shape, Iterable) else (shape,)
    resolved = tuple(size if size.__class__ is int else as_int(name, "a size", size) for size in sizes)
    elements = 1
    for size in resolved:
        if size < 0:
            raise ShapeError(f"{name}: shape {list(resolved)} has a negative size. Sizes are 0 or more.")
        elements *= size or 1
    if elements > MAX_ELEMENTS or len(resolved) > MAX_RANK:
        raise ShapeError(
            f"{name}: a shape of rank {len(resolved)} with {elements} elements is too large: at most rank {MAX_RANK} "
            f"and {MAX_ELEMENTS} elements can be addressed."
        )
    return resolved


def check_broadcast(name: str, lhs: Shape, rhs: Shape) -> None:
    """Equal ranks, and in every dimension equal sizes or a 1."""
    if len(lhs) != len(rhs):
        raise ShapeError(
            f"{name}: the left tensor has rank {len(lhs)} (shape {show(lhs)}), the right rank {len(rhs)} "
            f"(shape {show(rhs)}). Use unsqueeze() to add the missing dimension."
        )
    for dim, (left, right) in enumerate(zip(lhs, rhs, strict=True)):
        if left != right and left != 1 and right != 1:
            raise ShapeError(
                f"{name}: shapes {show(lhs)} and {show(rhs)} do not broadcast: "
                f"dimension {dim} is {left} on the left, {right} on the right. Only a size of 1 is repeated."
            )


def check_matmul(name: str, lhs: Shape, rhs: Shape) -> None:
    """[…, m, k] × […, k, n] of equal ranks, leading dimensions equal or 1."""
    if len(lhs) != len(rhs):
        raise ShapeError(
            f"{name}: the left tensor has rank {len(lhs)} (shape {show(lhs)}), the right rank {len(rhs)} "
            f"(shape {show(rhs)}). Use unsqueeze() to add the missing dimension."
        )
    if len(lhs) < 2:
        raise ShapeError(
            f"{name}: it needs tensors with at least 2 dimensions, but got shapes {show(lhs)} and {show(rhs)}. "
            "Use dot() for two vectors, or unsqueeze() to add a dimension."
        )
    if lhs[-1] != rhs[-2]:
        raise ShapeError(
            f"{name}: shapes {show(lhs)} and {show(rhs)} do not multiply: the left one has {lhs[-1]} columns, "
            f"the right one {rhs[-2]} rows. They must be equal; transpose() swaps the last two dimensions."
        )
    for dim, (left, right) in enumerate(zip(lhs[:-2], rhs[:-2], strict=True)):
        if left != right and left != 1 and right != 1:
            raise ShapeError(
                f"{name}: shapes {show(lhs)} and {show(rhs)} do not broadcast along batch dimension {dim}: "
                f"it is {left} on the left, {right} on the right."
            )


def check_same_but(name: str, lhs: Shape, rhs: Shape, dim: int | None, roles: tuple[str, str]) -> None:
    """Equal ranks and equal sizes in every dimension (but `dim`)."""
    if len(lhs) != len(rhs):
        raise ShapeError(
            f"{name}: {roles[0]} rank is {len(lhs)} (shape {show(lhs)}), {roles[1]} rank {len(rhs)} "
            f"(shape {show(rhs)}). They must be equal."
        )
    for axis, (left, right) in enumerate(zip(lhs, rhs, strict=True)):
        if axis != dim and left != right:
            rule = "they must be equal" if dim is None else f"they may differ in dimension {dim} only"
            raise ShapeError(
                f"{name}: {roles[0]} shape is {show(lhs)}, {roles[1]} shape {show(rhs)}: {rule}, "
                f"but dimension {axis} is {left} and {right}."
            )
