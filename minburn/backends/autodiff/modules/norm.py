"""Rules of normalizations."""

from __future__ import annotations

import math

from minburn.backends.autodiff.modules.recorded import RecordedModules
from minburn.backends.autodiff.rule import Recorded, Value, at_once, composed, operands
from minburn.backends.default.norm import DefaultNorm


class AutodiffNorm(RecordedModules, DefaultNorm):
    @operands(0, 1, 2)
    def layer_norm(self, x: Value, gamma: Value, beta: Value | None, epsilon: float) -> Recorded:
        ops = self.inner
        out, normalized, recip_std = ops.layer_norm_train(x, gamma, beta, epsilon)
        count = 2 if beta is None else 3
        return out, *at_once(lambda g: ops.layer_norm_backward(normalized, recip_std, gamma, g), count)

    @operands(0, 1)
    def rms_norm(self, x: Value, gamma: Value, epsilon: float) -> Recorded:
        ops = self.inner
        out, normalized, recip_rms = ops.rms_norm_train(x, gamma, epsilon)
        return out, *at_once(lambda g: ops.rms_norm_backward(normalized, recip_rms, gamma, g), 2)

    @operands(0, 1, 2)
    def batch_norm_train(self, x: Value, gamma: Value, beta: Value, epsilon: float) -> Recorded:
        ops, floats = self.inner, self.inner_floats
        out, mean, variance = ops.batch_norm_train(x, gamma, beta, epsilon)
        shape = floats.shape(x)
        count = max(1, math.prod(shape) // max(1, shape[1]))

        def spread(g: Value) -> Value:
            """g [C] / count at every element of x."""
            return floats.expand(self._channels(floats.div_scalar(g, float(count)), len(shape)), shape)

        def of_variance(g: Value) -> Value:
            return floats.mul(spread(floats.mul_scalar(g, 2.0)), floats.sub(x, self._channels(mean, len(shape))))

        return (
            (out, mean, variance),
            at_once(lambda g: ops.batch_norm_train_backward(x, gamma, mean, variance, g, epsilon), 3),
            (spread, None, None),
            (of_variance, None, None),
        )

    def _channels(self, values: Value, rank: int) -> Value:
        """values [C] of the inner backend as [1, C, 1, …]."""
        shape = self.inner_floats.shape(values)
        return self.inner_floats.reshape(values, (1, *shape, *(1 for _ in range(rank - 2))))

    layer_norm_train = composed(DefaultNorm.layer_norm_train)
    layer_norm_backward = composed(DefaultNorm.layer_norm_backward)
    rms_norm_train = composed(DefaultNorm.rms_norm_train)
    rms_norm_backward = composed(DefaultNorm.rms_norm_backward)
    batch_norm = composed(DefaultNorm.batch_norm)
    batch_norm_train_backward = composed(DefaultNorm.batch_norm_train_backward)
