"""Rules of resizing, unfolding and folding. Each op is linear, and the adjoint of another one."""

from __future__ import annotations

from minburn.backends.autodiff.modules.recorded import RecordedModules
from minburn.backends.autodiff.rule import Recorded, Value, unary_with
from minburn.backends.base import Shape
from minburn.backends.default.resample import DefaultResample
from minburn.backends.interpolate_options import InterpolateOptions
from minburn.backends.pool_options import PoolOptions


class AutodiffResample(RecordedModules, DefaultResample):
    @unary_with
    def interpolate(self, x: Value, output_size: Shape, options: InterpolateOptions) -> Recorded:
        ops, size = self.inner, x.shape[2:]
        return ops.interpolate(x, output_size, options), lambda g: ops.interpolate_backward(g, size, options)

    @unary_with
    def interpolate_backward(self, grad: Value, size: Shape, options: InterpolateOptions) -> Recorded:
        ops, output_size = self.inner, grad.shape[2:]
        return ops.interpolate_backward(grad, size, options), lambda g: ops.interpolate(g, output_size, options)

    @unary_with
    def unfold4d(self, x: Value, options: PoolOptions) -> Recorded:
        ops, size = self.inner, x.shape[2:]
        return ops.unfold4d(x, options), lambda g: ops.fold4d(g, size, options)

    @unary_with
    def fold4d(self, columns: Value, size: Shape, options: PoolOptions) -> Recorded:
        ops = self.inner
        return ops.fold4d(columns, size, options), lambda g: ops.unfold4d(g, options)
