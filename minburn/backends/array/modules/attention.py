"""Embedding and attention over `xp`: products on views of the heads, one pass after the other in place.

Heads are split off the last axis of [n, s, h · d] as a strided view [n, h, s, d], which a matrix product takes as it
is. Results are written into memory of the same order, so that the heads are merged again without a copy.
"""

from __future__ import annotations

import math
from typing import Any

from minburn.backends.array.basic import Array
from minburn.backends.array.floats import ArrayFloats
from minburn.backends.array.modules.linear import rows_of
from minburn.backends.base import Shape
from minburn.backends.default.attention import LIMITS, DefaultAttention, later_keys, scale_of
from minburn.backends.module_ops import AttentionOptions
from minburn.dtype import DType

SAFE_SCORE = 60.0
"""Up to here a softmax needs no shift: e⁶⁰ is far from the largest float32."""
SAFE_SUM = 1e-28
"""A row whose powers add up to less has lost digits, or all of them."""
FEW = 80
"""Up to so many rows an embedding's gradient is a product with a one-hot matrix; beyond, adding at places is faster."""
BLOCK = 64 * 1024
"""Elements that are added at once: their places take twice the memory of the gradient."""


class ArrayAttention(DefaultAttention):
    """Grouped heads are left to the composed ops. Halves are computed in single precision: a product of a query and a
    key may be no half where its scaled score is one."""

    floats: ArrayFloats

    def embedding(self, weight: Array, indices: Array) -> Array:
        table = self.floats
        table.check_indices("embedding", indices, weight.shape[0])
        out = table.empty((*indices.shape, weight.shape[1]))
        return table.xp.take(weight, indices, 0, out, "clip")  # other modes buffer; nothing is clipped

    def embedding_backward(self, grad: Array, indices: Array, n_embedding: int) -> Array:
        table, xp = self.floats, self.floats.xp
        table.check_indices("embedding", indices, n_embedding)
        rows, flat = rows_of(grad), indices.reshape(-1)
        if table.is_half:
            rows = rows.astype(table.sum_dtype)
        if n_embedding <= FEW:
            one_hot = xp.zeros((n_embedding, flat.size), rows.dtype)
            one_hot[flat, xp.arange(flat.size)] = 1
            out = xp.dot(one_hot, rows)
            if xp.isfinite(xp.add.reduce(out, axis=None)):
                return table.narrow(out)  # otherwise 0 · inf may have reached rows that nobody chose
        size = rows.shape[1]
        out, columns = xp.zeros((n_embedding, size), rows.dtype), xp.arange(size)
        step = max(BLOCK // max(size, 1), 1)
        for start in range(0, flat.size, step):  # element by element: four times faster than by rows
            places = flat[start : start + step, None].astype(columns.dtype) * size + columns
            xp.add.at(out.reshape(-1), places.reshape(-1), rows[start : start + step].reshape(-1))
        return table.narrow(out)

    def attention_weights(
        self, query: Array, key: Array, mask: Array | None, bias: Array | None, options: AttentionOptions
    ) -> Array:
        table, xp = self.floats, self.floats.xp
        if table.is_half:
            return self._in_single_precision("attention_weights", query, key, mask, bias, options)
        shape = (*query.shape[:3], key.shape[2])
        if self._is_left_to_default(query, key) or 0 in shape:
            return super().attention_weights(query, key, mask, bias, options)
        scores = xp.matmul(query, key.swapaxes(2, 3), out=table.empty(shape))
        xp.multiply(scores, scale_of(options, query.shape[3]), scores)
        if options.softcap is not None:
            xp.divide(scores, options.softcap, scores)
            xp.tanh(scores, scores)
            xp.multiply(scores, options.softcap, scores)
        hidden = self._hidden(mask, options, shape)
        if hidden is not None:
            xp.copyto(scores, options.fill, where=hidden)
        if bias is not None:
            xp.add(scores, bias, scores)
        return self._softmax(scores, options)

    def _softmax(self, scores: Array, options: AttentionOptions) -> Array:
        """Over the last axis. A row of -inf gives zeros."""
        table, xp = self.floats, self.floats.xp
        out = table.empty(scores.shape)
        rows, ones = out.reshape(-1, out.shape[3]), table.ones((out.shape[3],))
        if scores.max() <= SAFE_SCORE:  # the largest of all is ten times cheaper than that of each row
            xp.exp(scores, out)
            sums = xp.dot(rows, ones)
            if options.is_quiet:
                xp.add(sums, 1, sums)
            if sums.min() >= SAFE_SUM:
                xp.divide(rows, sums[:, None], rows)
                return out
        largest, tiny = LIMITS[table.dtype.name]
        top = xp.maximum(scores.max(axis=3, keepdims=True), 0 if options.is_quiet else -largest)
        xp.subtract(scores, top, out)
        xp.exp(out, out)
        sums = xp.dot(rows, ones)
        if options.is_quiet:
            xp.add(sums, xp.exp(-top.reshape(-1)), sums)
        xp.divide(rows, xp.maximum(sums, tiny)[:, None], rows)
        return out

    def attention_weights_backward(
        self, query: Array, key: Array, mask: Array | None, weights: Array, grad: Array, options: AttentionOptions
    ) -> tuple[Array, Array, Array]:
        table, xp = self.floats, self.floats.xp
        if table.is_half:
            return self._in_single_precision("attention_weights_backward", query, key, mask, weights, grad, options)  # type: ignore[no-any-return]
        if self._is_left_to_default(query, key) or not weights.size:
            return super().attention_weights_backward(query, key, mask, weights, grad, options)
        for_scores = xp.multiply(weights, grad, table.empty(weights.shape))
        carried = xp.dot(for_scores.reshape(-1, weights.shape[3]), table.ones((weights.shape[3],)))
        xp.subtract(grad, carried.reshape(*weights.shape[:3], 1), for_scores)
        xp.multiply(for_scores, weights, for_scores)
        return self._from_scores(query, key, mask, for_scores, options)

    def attention(
        self, query: Array, key: Array, value: Array, mask: Array | None, bias: Array | None, options: AttentionOptions
    ) -> tuple[Array, Array]:
        if self.floats.is_half:
            return self._in_single_precision("attention", query, key, value, mask, bias, options)  # type: ignore[no-any-return]
        if self._is_left_to_default(query, key):
            return super().attention(query, key, value, mask, bias, options)
        weights = self.attention_weights(query, key, mask, bias, options)
        output = self._empty_heads((*query.shape[:3], value.shape[3]))
        return self.floats.xp.matmul(weights, value, out=output), weights

    def attention_backward(
        self,
        query: Array,
        key: Array,
        value: Array,
        mask: Array | None,
        weights: Array,
        output: Array,
        grad: Array,
        options: AttentionOptions,
    ) -> tuple[Array, Array, Array, Array]:
        table, xp = self.floats, self.floats.xp
        if table.is_half:
            return self._in_single_precision(  # type: ignore[no-any-return]
                "attention_backward", query, key, value, mask, weights, output, grad, options
            )
        if self._is_left_to_default(query, key):
            return super().attention_backward(query, key, value, mask, weights, output, grad, options)
        for_value = xp.matmul(weights.swapaxes(2, 3), grad, out=self._empty_heads(value.shape))
        for_scores = xp.matmul(grad, value.swapaxes(2, 3), out=table.empty(weights.shape))
        carried = xp.einsum("nhsd,nhsd->nhs", grad, output)
        xp.subtract(for_scores, carried[..., None], for_scores)
        xp.multiply(for_scores, weights, for_scores)
        for_query, for_key, for_bias = self._from_scores(query, key, mask, for_scores, options)
        return for_query, for_key, for_value, for_bias

    def _from_scores(
        self, query: Array, key: Array, mask: Array | None, for_bias: Array, options: AttentionOptions
    ) -> tuple[Array, Array, Array]:
        """As `_scores_backward` of the default."""
        table, xp, scale = self.floats, self.floats.xp, scale_of(options, query.shape[3])
        grad = for_bias
        if options.softcap is not None:
            bent = xp.matmul(query, key.swapaxes(2, 3), out=table.empty(grad.shape))
            xp.multiply(bent, scale / options.softcap, bent)
            xp.tanh(bent, bent)
            xp.multiply(bent, bent, bent)
            xp.subtract(1, bent, bent)
            grad = xp.multiply(bent, grad, bent)
        hidden = None if options.fill == -math.inf else self._hidden(mask, options, grad.shape)
        if hidden is not None:
            grad = xp.multiply(grad, xp.logical_not(hidden), table.empty(grad.shape))
        for_query = xp.matmul(grad, key, out=self._empty_heads(query.shape))
        for_key = xp.matmul(grad.swapaxes(2, 3), query, out=self._empty_heads(key.shape))
        return xp.multiply(for_query, scale, for_query), xp.multiply(for_key, scale, for_key), for_bias

    def _hidden(self, mask: Array | None, options: AttentionOptions, shape: Shape) -> Array | None:
        """True at the keys that a query must not see, broadcastable to `shape`; None if it sees all."""
        if not options.is_causal:
            return mask
        later = self.floats.xp.asarray(later_keys(*shape[2:]))
        return later if mask is None else mask | later

    def _is_left_to_default(self, query: Array, key: Array) -> bool:
        return query.shape[1] != key.shape[1]  # type: ignore[no-any-return]

    def _in_single_precision(self, op: str, *args: Any) -> Any:
        """An op of halves, masks and options, computed on F32 arrays and narrowed."""
        table: Any = self.floats
        single = type(self)(type(table)(table.xp, table.device, DType.F32), self.ints)
        wide = [table.cast(a, DType.F32) if getattr(a, "dtype", None) == table.np_dtype else a for a in args]
        result = getattr(single, op)(*wide)
        return tuple(map(table.narrow, result)) if isinstance(result, tuple) else table.narrow(result)

    def _empty_heads(self, shape: Shape) -> Array:
        """Memory for [n, h, s, d] that lies as [n, s, h, d]."""
        n, h, s, d = shape
        return self.floats.empty((n, s, h, d)).swapaxes(1, 2)
