"""Normalizations over `xp`: a few passes in place over what fits the cache, sums as matrix-vector products.

Batch norm works on x [N, C, …] in whatever order it lies in memory: seen as [before, C, after] it is contiguous, and
the result lies as x does. With the channels outermost (`before` is 1, as after a convolution) each channel is a row,
and all passes over a few rows run while they are in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from minburn.backends.array.basic import Array
from minburn.backends.array.floats import ArrayFloats
from minburn.backends.array.modules.linear import rows_of
from minburn.backends.array.rows import row_products
from minburn.backends.default.norm import DefaultNorm

BLOCK = 32 * 1024
"""Elements of one array in a block: three arrays of it stay in a core's cache."""


class ArrayNorm(DefaultNorm):
    floats: ArrayFloats

    def layer_norm(self, x: Array, gamma: Array, beta: Array | None, epsilon: float) -> Array:
        if self.floats.is_half or not x.size:
            return super().layer_norm(x, gamma, beta, epsilon)
        return self._row_norm(x, gamma, beta, epsilon, centred=True)

    def rms_norm(self, x: Array, gamma: Array, epsilon: float) -> Array:
        if self.floats.is_half or not x.size:
            return super().rms_norm(x, gamma, epsilon)
        return self._row_norm(x, gamma, None, epsilon, centred=False)

    def _row_norm(self, x: Array, gamma: Array, beta: Array | None, epsilon: float, centred: bool) -> Array:
        rows = rows_of(x)
        out = self.floats.empty(rows.shape)
        for part in blocks(*rows.shape):
            self._normalize_rows(rows[part], out[part], epsilon, centred)
            self._scale_rows(out[part], gamma, beta, out[part])
        return out.reshape(x.shape)

    def layer_norm_train(
        self, x: Array, gamma: Array, beta: Array | None, epsilon: float
    ) -> tuple[Array, Array, Array]:
        if self.floats.is_half or not x.size:
            return super().layer_norm_train(x, gamma, beta, epsilon)
        return self._row_norm_train(x, gamma, beta, epsilon, centred=True)

    def rms_norm_train(self, x: Array, gamma: Array, epsilon: float) -> tuple[Array, Array, Array]:
        if self.floats.is_half or not x.size:
            return super().rms_norm_train(x, gamma, epsilon)
        return self._row_norm_train(x, gamma, None, epsilon, centred=False)

    def _row_norm_train(
        self, x: Array, gamma: Array, beta: Array | None, epsilon: float, centred: bool
    ) -> tuple[Array, Array, Array]:
        table = self.floats
        rows = rows_of(x)
        out, normalized, recip_std = table.empty(rows.shape), table.empty(rows.shape), table.empty((rows.shape[0], 1))
        for part in blocks(*rows.shape):
            recip_std[part] = self._normalize_rows(rows[part], normalized[part], epsilon, centred)
            self._scale_rows(normalized[part], gamma, beta, out[part])
        return out.reshape(x.shape), normalized.reshape(x.shape), recip_std.reshape(*x.shape[:-1], 1)

    def _normalize_rows(self, rows: Array, out: Array, epsilon: float, centred: bool) -> Array:
        """out = (rows - mean) / std; returns 1 / std, [n, 1]. Not centred: the mean is left where it is."""
        xp, size = self.floats.xp, rows.shape[1]
        if centred:
            mean = rows.dot(self.floats.full((size,), 1.0 / size))
            xp.subtract(rows, mean[:, None], out)
        source = out if centred else rows
        recip_std = row_products(xp, source, source)
        recip_std /= size
        recip_std += epsilon
        xp.sqrt(recip_std, recip_std)
        xp.divide(1.0, recip_std, recip_std)
        xp.multiply(source, recip_std[:, None], out)
        return recip_std[:, None]

    def _scale_rows(self, normalized: Array, gamma: Array, beta: Array | None, out: Array) -> None:
        self.floats.xp.multiply(normalized, gamma, out)
        if beta is not None:
            self.floats.xp.add(out, beta, out)

    def layer_norm_backward(
        self, normalized: Array, recip_std: Array, gamma: Array, grad: Array
    ) -> tuple[Array, Array, Array]:
        if self.floats.is_half or not grad.size:
            return super().layer_norm_backward(normalized, recip_std, gamma, grad)
        return self._row_norm_backward(normalized, recip_std, gamma, grad, centred=True)

    def rms_norm_backward(self, normalized: Array, recip_rms: Array, gamma: Array, grad: Array) -> tuple[Array, Array]:
        if self.floats.is_half or not grad.size:
            return super().rms_norm_backward(normalized, recip_rms, gamma, grad)
        return self._row_norm_backward(normalized, recip_rms, gamma, grad, centred=False)[:2]

    def _row_norm_backward(
        self, normalized: Array, recip_std: Array, gamma: Array, grad: Array, centred: bool
    ) -> tuple[Array, Array, Array]:
        """x: 1/std · (g·gamma - normalized · mean(g·gamma·normalized) - mean(g·gamma), the last one if centred)."""
        table, xp = self.floats, self.floats.xp
        n, g, r = rows_of(normalized), rows_of(grad), recip_std.reshape(-1, 1)
        rows, size = g.shape
        mean_gamma = gamma / size
        ones = table.ones((rows,))
        x_grad = table.empty(g.shape)
        gamma_grad, beta_grad = table.zeros((size,)), table.zeros((size,))
        scratch = table.empty((min(rows, max(1, BLOCK // size)), size))
        for part in blocks(rows, size):
            n_part, g_part, out = n[part], g[part], x_grad[part]
            scaled = scratch[: len(out)]
            xp.multiply(g_part, n_part, out)
            gamma_grad += ones[part].dot(out)
            xp.multiply(n_part, out.dot(mean_gamma)[:, None], out)
            if centred:
                beta_grad += ones[part].dot(g_part)
                xp.add(out, g_part.dot(mean_gamma)[:, None], out)
            xp.multiply(g_part, gamma, scaled)
            xp.subtract(scaled, out, out)
            xp.multiply(out, r[part], out)
        return x_grad.reshape(grad.shape), gamma_grad, beta_grad

    def batch_norm(self, x: Array, gamma: Array, beta: Array, mean: Array, variance: Array, epsilon: float) -> Array:
        table, xp = self.floats, self.floats.xp
        if table.is_half or not x.size:
            return super().batch_norm(x, gamma, beta, mean, variance, epsilon)
        scale = gamma / xp.sqrt(variance + epsilon)
        view = ChannelView(table, x)
        out = table.empty(view.shape)
        for part in view.blocks():
            values, channels = out[part], part[1]
            xp.subtract(view.values[part], mean[channels, None], values)
            xp.multiply(values, scale[channels, None], values)
            xp.add(values, beta[channels, None], values)
        return view.restore(out)

    def batch_norm_train(self, x: Array, gamma: Array, beta: Array, epsilon: float) -> tuple[Array, Array, Array]:
        table, xp = self.floats, self.floats.xp
        if table.is_half or not x.size:
            return super().batch_norm_train(x, gamma, beta, epsilon)
        view = ChannelView(table, x)
        out = table.empty(view.shape)
        means, variances = table.empty(gamma.shape), table.empty(gamma.shape)
        for part in view.blocks():
            source, values, channels = view.values[part], out[part], part[1]
            mean = view.sums(source) / view.count
            xp.subtract(source, mean[:, None], values)
            variance = view.sums_of_products(values, values) / view.count
            scale = gamma[channels] / xp.sqrt(variance + epsilon)
            xp.multiply(values, scale[:, None], values)
            xp.add(values, beta[channels, None], values)
            means[channels], variances[channels] = mean, variance
        return view.restore(out), means, variances

    def batch_norm_train_backward(
        self, x: Array, gamma: Array, mean: Array, variance: Array, grad: Array, epsilon: float
    ) -> tuple[Array, Array, Array]:
        table, xp = self.floats, self.floats.xp
        if table.is_half or not x.size:
            return super().batch_norm_train_backward(x, gamma, mean, variance, grad, epsilon)
        view = ChannelView(table, x)
        grads = view.like(grad)
        recip_std = 1.0 / xp.sqrt(variance + epsilon)
        scale = gamma * recip_std
        x_grad = table.empty(view.shape)
        gamma_grad, beta_grad = table.empty(gamma.shape), table.empty(gamma.shape)
        for part in view.blocks():
            g, values, channels = grads[part], x_grad[part], part[1]
            xp.subtract(view.values[part], mean[channels, None], values)
            total = view.sums(g)
            product = view.sums_of_products(g, values) * recip_std[channels]
            gamma_grad[channels], beta_grad[channels] = product, total
            xp.multiply(values, (product * recip_std[channels] / view.count)[:, None], values)
            xp.add(values, (total / view.count)[:, None], values)
            xp.subtract(g, values, values)
            xp.multiply(values, scale[channels, None], values)
        return view.restore(x_grad), gamma_grad, beta_grad


def blocks(rows: int, size: int) -> Iterator[slice]:
    """Slices of rows that hold about BLOCK elements each."""
    step = max(1, BLOCK // size)
    for start in range(0, rows, step):
        yield slice(start, start + step)


class ChannelView:
    """x [N, C, …] as the contiguous array `values` [before, C, after], in the order in which it lies in memory.

    count: the elements of a channel.
    """

    def __init__(self, table: ArrayFloats, x: Array) -> None:
        self.table = table
        self.axes = list(range(x.ndim))
        if not x.flags.c_contiguous:
            by_stride = sorted(self.axes, key=lambda axis: -x.strides[axis])
            if x.transpose(by_stride).flags.c_contiguous:
                self.axes = by_stride
        place = self.axes.index(1)
        self.sizes = tuple(x.shape[axis] for axis in self.axes)
        self.shape = (math.prod(self.sizes[:place]), self.sizes[place], math.prod(self.sizes[place + 1 :]))
        self.count = self.shape[0] * self.shape[2]
        self.values = self.like(x)

    def like(self, other: Array) -> Array:
        """Another array of the same logical shape, seen in the same order; a copy if it lies otherwise."""
        ordered = other.transpose(self.axes)
        if not ordered.flags.c_contiguous:
            source, ordered = ordered, self.table.empty(self.sizes)
            ordered[...] = source
        return ordered.reshape(self.shape)

    def restore(self, values: Array) -> Array:
        """[before, C, after] in the logical shape of x."""
        return values.reshape(self.sizes).transpose([self.axes.index(axis) for axis in range(len(self.axes))])

    def blocks(self) -> Iterator[tuple[slice, slice]]:
        """Index pairs (before, channels) of parts that hold whole channels."""
        before, count, after = self.shape
        if before > 1:
            yield slice(None), slice(None)
        else:
            for part in blocks(count, after):
                yield slice(None), part

    def sums(self, values: Array) -> Array:
        """Of each channel."""
        before, channels, after = values.shape
        if after > 1:
            rows = values.reshape(before * channels, after).dot(self.table.ones((after,)))
            values = rows.reshape(before, channels, 1)
        return values[0, :, 0] if before == 1 else self.table.ones((before,)).dot(values[:, :, 0])

    def sums_of_products(self, lhs: Array, rhs: Array) -> Array:
        """Of each channel."""
        before, channels, after = lhs.shape
        if after == 1:
            return self.sums(lhs * rhs)
        rows = (before * channels, after)
        products = row_products(self.table.xp, lhs.reshape(rows), rhs.reshape(rows))
        return self.sums(products.reshape(before, channels, 1))
