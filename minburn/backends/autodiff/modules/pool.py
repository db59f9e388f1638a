"""Rules of pooling, one for all ranks. A mean needs nothing of its input but the size."""

from __future__ import annotations

from minburn.backends.autodiff.graph import Node, Tracked
from minburn.backends.autodiff.modules.recorded import RecordedModules
from minburn.backends.autodiff.rule import Recorded, Rule, Value, composed, has_rule, unary_with
from minburn.backends.base import Shape
from minburn.backends.default.pool import DefaultPool
from minburn.backends.pool_options import PoolOptions
from minburn.dtype import DType


def _max_pool(rank: int) -> Rule:
    name = f"max_pool{rank}d"

    def rule(self: RecordedModules, x: Value, options: PoolOptions) -> Recorded:
        output = getattr(self.inner, name)(x, options)
        backward = getattr(self.inner, f"{name}_backward")
        return output, lambda g: backward(x, output, g, options)

    rule.__name__ = name
    return unary_with(rule)


def _max_pool_with_indices(rank: int) -> Rule:
    name = f"max_pool{rank}d_with_indices"

    # Written out: the indices that come with the result are no float tensor.
    def op(self: RecordedModules, x: Tracked, options: PoolOptions, indices_dtype: DType) -> tuple[Tracked, Value]:
        output, indices = getattr(self.inner, name)(x.value, options, indices_dtype)
        if x.node is None:
            return Tracked(output), indices
        backward, size = getattr(self.inner, f"{name}_backward"), x.shape[2:]
        node = Node(self.inner_floats, output.shape, (x.node,), (lambda g: backward(g, indices, size),))
        return Tracked(output, node), indices

    op.__name__ = name
    return has_rule(op)


def _avg_pool(rank: int) -> Rule:
    name = f"avg_pool{rank}d"

    def rule(self: RecordedModules, x: Value, options: PoolOptions, count_include_pad: bool) -> Recorded:
        backward, size = getattr(self.inner, f"{name}_backward"), x.shape[2:]
        output = getattr(self.inner, name)(x, options, count_include_pad)
        return output, lambda g: backward(g, size, options, count_include_pad)

    rule.__name__ = name
    return unary_with(rule)


def _adaptive_avg_pool(rank: int) -> Rule:
    name = f"adaptive_avg_pool{rank}d"

    def rule(self: RecordedModules, x: Value, output_size: Shape) -> Recorded:
        backward, size = getattr(self.inner, f"{name}_backward"), x.shape[2:]
        return getattr(self.inner, name)(x, output_size), lambda g: backward(g, size)

    rule.__name__ = name
    return unary_with(rule)


class AutodiffPool(RecordedModules, DefaultPool):
    max_pool1d, max_pool2d = _max_pool(1), _max_pool(2)
    max_pool1d_backward, max_pool2d_backward = (
        composed(DefaultPool._max_pool_backward, f"max_pool{rank}d_backward") for rank in (1, 2)
    )
    max_pool1d_with_indices, max_pool2d_with_indices = _max_pool_with_indices(1), _max_pool_with_indices(2)
    max_pool1d_with_indices_backward, max_pool2d_with_indices_backward = (
        composed(DefaultPool._max_pool_with_indices_backward, f"max_pool{rank}d_with_indices_backward")
        for rank in (1, 2)
    )
    avg_pool1d, avg_pool2d = _avg_pool(1), _avg_pool(2)
    avg_pool1d_backward, avg_pool2d_backward = (
        composed(DefaultPool._avg_pool_backward, f"avg_pool{rank}d_backward") for rank in (1, 2)
    )
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive_avg_pool(rank) for rank in (1, 2, 3))
    adaptive_avg_pool1d_backward, adaptive_avg_pool2d_backward, adaptive_avg_pool3d_backward = (
        composed(DefaultPool._adaptive_avg_pool_backward, f"adaptive_avg_pool{rank}d_backward") for rank in (1, 2, 3)
    )
