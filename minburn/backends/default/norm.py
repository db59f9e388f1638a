"""Normalizations, composed from `floats`."""

from __future__ import annotations

from typing import Any

from minburn.backends.default.composed import Composed


class DefaultNorm(Composed):
    def layer_norm(self, x: Any, gamma: Any, beta: Any | None, epsilon: float) -> Any:
        return self.layer_norm_train(x, gamma, beta, epsilon)[0]

    def layer_norm_train(self, x: Any, gamma: Any, beta: Any | None, epsilon: float) -> tuple[Any, Any, Any]:
        ops = self.floats
        last = len(ops.shape(x)) - 1
        centred = ops.sub(x, ops.mean_dim(x, last))
        variance = ops.mean_dim(ops.mul(centred, centred), last)
        recip_std = ops.recip(ops.sqrt(ops.add_scalar(variance, epsilon)))
        normalized = ops.mul(centred, recip_std)
        out = ops.mul(normalized, self._along(last, gamma, x))
        return (out if beta is None else ops.add(out, self._along(last, beta, x))), normalized, recip_std

    def layer_norm_backward(self, normalized: Any, recip_std: Any, gamma: Any, grad: Any) -> tuple[Any, Any, Any]:
        ops = self.floats
        shape = ops.shape(grad)
        last = len(shape) - 1
        scaled = ops.mul(grad, self._along(last, gamma, grad))
        product = ops.mul(normalized, ops.mean_dim(ops.mul(scaled, normalized), last))
        x_grad = ops.mul(recip_std, ops.sub(ops.sub(scaled, ops.mean_dim(scaled, last)), product))
        rows = tuple(range(last))
        gamma_grad = ops.sum_dims(ops.mul(grad, normalized), rows)
        return x_grad, ops.reshape(gamma_grad, shape[-1:]), ops.reshape(ops.sum_dims(grad, rows), shape[-1:])

    def rms_norm(self, x: Any, gamma: Any, epsilon: float) -> Any:
        return self.rms_norm_train(x, gamma, epsilon)[0]

    def rms_norm_train(self, x: Any, gamma: Any, epsilon: float) -> tuple[Any, Any, Any]:
        ops = self.floats
        last = len(ops.shape(x)) - 1
        square = ops.mean_dim(ops.mul(x, x), last)
        recip_rms = ops.recip(ops.sqrt(ops.add_scalar(square, epsilon)))
        normalized = ops.mul(x, recip_rms)
        return ops.mul(normalized, self._along(last, gamma, x)), normalized, recip_rms

    def rms_norm_backward(self, normalized: Any, recip_rms: Any, gamma: Any, grad: Any) -> tuple[Any, Any]:
        ops = self.floats
        shape = ops.shape(grad)
        last = len(shape) - 1
        scaled = ops.mul(grad, self._along(last, gamma, grad))
        product = ops.mul(normalized, ops.mean_dim(ops.mul(scaled, normalized), last))
        gamma_grad = ops.sum_dims(ops.mul(grad, normalized), tuple(range(last)))
        return ops.mul(recip_rms, ops.sub(scaled, product)), ops.reshape(gamma_grad, shape[-1:])

    def batch_norm(self, x: Any, gamma: Any, beta: Any, mean: Any, variance: Any, epsilon: float) -> Any:
        ops = self.floats
        scale = ops.mul(gamma, ops.recip(ops.sqrt(ops.add_scalar(variance, epsilon))))
        scaled = ops.mul(ops.sub(x, self._along(1, mean, x)), self._along(1, scale, x))
        return ops.add(scaled, self._along(1, beta, x))

    def batch_norm_train(self, x: Any, gamma: Any, beta: Any, epsilon: float) -> tuple[Any, Any, Any]:
        ops = self.floats
        mean = self._channel_means(x)
        centred = ops.sub(x, mean)
        variance = self._channel_means(ops.mul(centred, centred))
        mean, variance = ops.reshape(mean, ops.shape(gamma)), ops.reshape(variance, ops.shape(gamma))
        return self.batch_norm(x, gamma, beta, mean, variance, epsilon), mean, variance

    def batch_norm_train_backward(
        self, x: Any, gamma: Any, mean: Any, variance: Any, grad: Any, epsilon: float
    ) -> tuple[Any, Any, Any]:
        ops = self.floats
        recip_std = self._along(1, ops.recip(ops.sqrt(ops.add_scalar(variance, epsilon))), x)
        normalized = ops.mul(ops.sub(x, self._along(1, mean, x)), recip_std)
        product = ops.mul(grad, normalized)
        rest = ops.add(self._channel_means(grad), ops.mul(normalized, self._channel_means(product)))
        x_grad = ops.mul(ops.mul(self._along(1, gamma, x), recip_std), ops.sub(grad, rest))
        rows = tuple(dim for dim in range(len(ops.shape(x))) if dim != 1)
        gamma_grad, beta_grad = ops.sum_dims(product, rows), ops.sum_dims(grad, rows)
        return x_grad, ops.reshape(gamma_grad, ops.shape(gamma)), ops.reshape(beta_grad, ops.shape(gamma))

    def _along(self, dim: int, values: Any, x: Any) -> Any:
        """values [n] with the rank of x, along dim."""
        sizes = [1] * len(self.floats.shape(x))
        sizes[dim] = -1
        return self.floats.reshape(values, tuple(self.floats.shape(values)[0] if n < 0 else 1 for n in sizes))

    def _channel_means(self, x: Any) -> Any:
        """The means over all dims but 1. Means of means: a sum of many halves would overflow."""
        ops = self.floats
        for dim in range(len(ops.shape(x))):
            if dim != 1:
                x = ops.mean_dim(x, dim)
        return x
