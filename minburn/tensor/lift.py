"""What happens when two tensors that meet have different tables.

A plain float is lifted onto the autodiff backend of its partner as a constant (Burn's rule), through as many levels as
it takes. Everything else is a mistake that gets explained: nothing is ever converted silently.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from minburn.tensor.check import DeviceError, DTypeError, KindError, check_broadcast
from minburn.tensor.layout import Layout

if TYPE_CHECKING:
    from minburn.backends.base import Backend

T = TypeVar("T", bound=Layout)


def align(name: str, lhs: T, rhs: T) -> tuple[T, T]:
    """Both tensors on one table and of one rank.

    Errors: KindError, DTypeError, DeviceError for tables that differ; ShapeError for ranks that do.
    """
    if not isinstance(rhs, Layout):
        raise KindError(f"{name}: expected a tensor, but got {type(rhs).__name__} {rhs!r}.")
    if lhs.ops is not rhs.ops:
        lhs, rhs = one_table(name, [lhs, rhs])
    if lhs.primitive.ndim != rhs.primitive.ndim:
        check_broadcast(name, lhs.shape, rhs.shape)
    return lhs, rhs


def one_table(name: str, tensors: Sequence[T]) -> list[T]:
    """The tensors with plain floats lifted to the highest autodiff level among them."""
    highest = tensors[0]
    for tensor in tensors[1:]:
        if tensor.ops is not highest.ops:
            check_agreement(name, tensors[0], tensor)
            if level(tensor.backend) > level(highest.backend):
                highest = tensor
    return [tensor if tensor.ops is highest.ops else lift(name, tensor, highest) for tensor in tensors]


def lift(name: str, tensor: T, onto: T) -> T:
    """`tensor` as a constant on the table of `onto`, with which it agrees in kind, dtype and device."""
    primitive = lifted_primitive(tensor, onto.backend)
    if primitive is None and level(tensor.backend) == level(onto.backend):
        raise DeviceError(
            f"{name}: a tensor of {tensor.backend.name} cannot meet one of {onto.backend.name}: tensors in one "
            "operation share a checkpointing strategy. Build both on one backend, or move one with to_device(backend)."
        )
    if primitive is None:
        raise DeviceError(
            f"{name}: a tensor of {tensor.backend.name} cannot meet one of {onto.backend.name}. "
            "Build both on the same backend, or use inner() and Tensor.from_inner() to change the level."
        )
    return onto.__class__(primitive, onto.ops, onto.backend)


def lifted_primitive(tensor: Layout, backend: Backend) -> Any | None:
    """The primitive of `tensor` wrapped up to the float table of `backend`; None if it is not found below."""
    floats: Any = backend.floats
    if floats is tensor.ops:
        return tensor.primitive
    if not backend.is_autodiff:
        return None
    inner = lifted_primitive(tensor, backend.inner)
    return None if inner is None else floats.from_inner(inner)


def level(backend: Backend) -> int:
    """How many autodiff decorators a backend has."""
    count = 0
    while backend.is_autodiff:
        backend, count = backend.inner, count + 1
    return count


def check_agreement(name: str, lhs: Layout, rhs: Layout) -> None:
    """One kind, one device, one dtype."""
    if lhs.kind != rhs.kind:
        raise KindError(
            f"{name}: {article(lhs)} and {article(rhs)} tensor do not mix. "
            "Convert one of them with float(), int() or bool()."
        )
    check_device(name, lhs, rhs)
    if lhs.ops.dtype != rhs.ops.dtype:
        raise DTypeError(
            f"{name}: dtypes {lhs.ops.dtype} and {rhs.ops.dtype} do not mix. "
            f"Convert one of them, for example with cast(DType.{lhs.ops.dtype})."
        )


def article(tensor: Layout) -> str:
    return "an int" if tensor.kind == "int" else f"a {tensor.kind}"


def check_device(name: str, lhs: Layout, rhs: Layout) -> None:
    if lhs.ops.device is not rhs.ops.device and lhs.ops.device != rhs.ops.device:
        raise DeviceError(
            f"{name}: one tensor is on {lhs.ops.device}, the other on {rhs.ops.device}. "
            "Move one of them with to_device(backend)."
        )
