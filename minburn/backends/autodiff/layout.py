"""Rules of the ops that move elements about: shapes, slices, indices, masks."""

from __future__ import annotations

from typing import Any

from minburn.backends.autodiff.graph import Pullback, Tracked
from minburn.backends.autodiff.parts import Part, Parts
from minburn.backends.autodiff.rule import Recorded, Value, constant, operands, unary_with, untracked
from minburn.backends.base import IndexUpdate, Shape, Slices


class LayoutRules:
    """Burn: `crates/burn-autodiff/src/ops/tensor.rs`.

    inner: the table below. ints: the int table, shared with it, to make indices with.
    """

    def __init__(self, inner: Any, ints: Any) -> None:
        self.inner = inner
        self.inner_floats = inner  # what the graph adds and sums gradients with
        self.ints = ints
        self.dtype = inner.dtype
        self.device = inner.device

    def __repr__(self) -> str:
        return f"Autodiff({self.inner!r})"

    def shape(self, tensor: Tracked) -> tuple[int, ...]:
        return tensor.value.shape  # type: ignore[no-any-return]

    from_data = constant("from_data")

    def into_data(self, tensor: Tracked) -> Any:
        return self.inner.into_data(tensor.value)

    def take_from(self, tensor: Any, source: Any) -> Tracked:
        if isinstance(tensor, Tracked):
            tensor, source = tensor.value, source.inner
        return Tracked(self.inner.take_from(tensor, source))

    zeros = constant("zeros")
    ones = constant("ones")
    equal = untracked("equal")
    not_equal = untracked("not_equal")
    equal_elem = untracked("equal_elem")
    not_equal_elem = untracked("not_equal_elem")
    any = untracked("any")
    any_dim = untracked("any_dim")
    all = untracked("all")
    all_dim = untracked("all_dim")

    @unary_with
    def reshape(self, x: Value, shape: Shape) -> Recorded:
        ops, before = self.inner, x.shape
        return ops.reshape(x, shape), lambda g: ops.reshape(g, before)

    @unary_with
    def swap_dims(self, x: Value, dim1: int, dim2: int) -> Recorded:
        ops = self.inner
        return ops.swap_dims(x, dim1, dim2), lambda g: ops.swap_dims(g, dim1, dim2)

    @unary_with
    def permute(self, x: Value, axes: tuple[int, ...]) -> Recorded:
        ops = self.inner
        back = tuple(axes.index(dim) for dim in range(len(axes)))
        return ops.permute(x, axes), lambda g: ops.permute(g, back)

    @unary_with
    def flip(self, x: Value, axes: tuple[int, ...]) -> Recorded:
        ops = self.inner
        return ops.flip(x, axes), lambda g: ops.flip(g, axes)

    @unary_with
    def expand(self, x: Value, shape: Shape) -> Recorded:
        ops, before = self.inner, x.shape
        added = len(shape) - len(before)

        def pullback(g: Value) -> Value:
            if not added:
                return g  # the engine sums over the stretched dimensions
            g = ops.sum_dims(g, tuple(range(added)))
            return ops.reshape(g, g.shape[added:])

        return ops.expand(x, shape), pullback

    @unary_with
    def repeat_dim(self, x: Value, dim: int, times: int) -> Recorded:
        ops, before = self.inner, x.shape

        def pullback(g: Value) -> Value:
            copies = ops.reshape(g, (*before[:dim], times, *before[dim:]))
            return ops.reshape(ops.sum_dim(copies, dim), before)

        return ops.repeat_dim(x, dim, times), pullback

    @unary_with
    def slice(self, x: Value, slices: Slices) -> Recorded:
        ops, before = self.inner, x.shape
        return ops.slice(x, slices), lambda g: Parts(ops, before, [Part(slices, g)])

    @operands(0, 1)
    def slice_assign(self, x: Value, value: Value, slices: Slices) -> Recorded:
        ops, shape = self.inner, value.shape
        return (
            ops.slice_assign(x, value, slices),
            lambda g: ops.slice_assign(g, ops.zeros(shape), slices),
            lambda g: ops.slice(g, slices),
        )

    @operands(0)
    def cat(self, tensors: list[Value], dim: int) -> Recorded:
        ops = self.inner
        pullbacks, start = [], 0
        for tensor in tensors:
            end = start + tensor.shape[dim]
            pullbacks.append(_take_range(ops, dim, start, end))
            start = end
        return ops.cat(tensors, dim), *pullbacks

    @unary_with
    def gather(self, x: Value, indices: Value, dim: int) -> Recorded:
        ops, before = self.inner, x.shape
        return ops.gather(x, indices, dim), lambda g: ops.scatter(ops.zeros(before), indices, g, dim, "add")

    @unary_with
    def select(self, x: Value, indices: Value, dim: int) -> Recorded:
        ops, before = self.inner, x.shape
        return ops.select(x, indices, dim), lambda g: ops.select_assign(ops.zeros(before), indices, g, dim, "add")

    @operands(0, 2)
    def scatter(self, x: Value, indices: Value, value: Value, dim: int, update: IndexUpdate) -> Recorded:
        ops = self.inner

        def take(source: Value) -> Value:
            return ops.gather(source, indices, dim)

        def put(target: Value, part: Value, how: str) -> Value:
            return ops.scatter(target, indices, part, dim, how)

        return ops.scatter(x, indices, value, dim, update), *_update_pullbacks(ops, x, value, take, put, update)

    @operands(0, 2)
    def select_assign(self, x: Value, indices: Value, value: Value, dim: int, update: IndexUpdate) -> Recorded:
        ops = self.inner

        def take(source: Value) -> Value:
            return ops.select(source, indices, dim)

        def put(target: Value, part: Value, how: str) -> Value:
            return ops.select_assign(target, indices, part, dim, how)

        result = ops.select_assign(x, indices, value, dim, update)
        return result, *_update_pullbacks(ops, x, value, take, put, update)

    @operands(0, 2)
    def mask_where(self, x: Value, mask: Value, value: Value) -> Recorded:
        ops = self.inner

        def pullback_value(g: Value) -> Value:
            return ops.mask_where(ops.zeros(g.shape), mask, g)

        return ops.mask_where(x, mask, value), lambda g: ops.mask_fill(g, mask, 0.0), pullback_value

    @unary_with
    def mask_fill(self, x: Value, mask: Value, value: float) -> Recorded:
        ops = self.inner
        return ops.mask_fill(x, mask, value), lambda g: ops.mask_fill(g, mask, 0.0)


def _take_range(ops: Any, dim: int, start: int, end: int) -> Pullback:
    def pullback(g: Value) -> Value:
        slices = tuple((start, end, 1) if d == dim else (0, size, 1) for d, size in enumerate(g.shape))
        return ops.slice(g, slices)

    return pullback


def _update_pullbacks(ops: Any, x: Any, value: Any, take: Any, put: Any, update: str) -> tuple[Pullback, Pullback]:
    """The pullbacks of target and value of an indexed update. Mul, min and max assume unique indices, as in Burn.

    A tie of min or max gives its gradient to both.
    """
    if update == "add":
        return lambda g: g, take
    if update == "assign":
        shape = value.shape
        return lambda g: put(g, ops.zeros(shape), "assign"), take
    if update == "mul":
        return lambda g: put(g, value, "mul"), lambda g: ops.mul(take(g), take(x))
    target_wins = ops.lower_equal(take(x), value) if update == "min" else ops.greater_equal(take(x), value)
    value_wins = ops.greater_equal(take(x), value) if update == "min" else ops.lower_equal(take(x), value)

    def pullback_target(g: Value) -> Value:
        taken = take(g)
        return put(g, ops.mask_where(ops.zeros(taken.shape), target_wins, taken), "assign")

    def pullback_value(g: Value) -> Value:
        taken = take(g)
        return ops.mask_where(ops.zeros(taken.shape), value_wins, taken)

    return pullback_target, pullback_value
