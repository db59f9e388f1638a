"""Embedding and attention, composed from `floats`.

    scores = softcap(query · keyᵀ · scale) ──> hidden keys: fill ──> + bias ──> softmax ──> weights · value

Query heads that share a head of key and value are folded into its rows, [n, h, s, d] → [n, h_kv, h / h_kv · s, d], so
that one product serves them all.

Burn: `crates/burn-backend/src/backend/ops/modules/attention.rs`; grouped heads as in its flex backend.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minburn.backends.default.composed import Composed
from minburn.backends.module_ops import AttentionOptions

LIMITS = {
    "F64": (1.7976931348623157e308, 2.0**-1022),
    "F32": (3.4028234663852886e38, 2.0**-126),
    "BF16": (3.3895313892515355e38, 2.0**-126),
    "F16": (65504.0, 2.0**-14),
}
"""By dtype name: the largest number, and the smallest with all its digits."""


def scale_of(options: AttentionOptions, head_size: int) -> float:
    return 1.0 / math.sqrt(max(head_size, 1)) if options.scale is None else options.scale


class DefaultAttention(Composed):
    """Burn: `attention_fallback`."""

    def embedding(self, weight: Any, indices: Any) -> Any:
        ops, shape = self.floats, self.ints.shape(indices)
        rows = ops.select(weight, self.ints.reshape(indices, (math.prod(shape),)), 0)
        return ops.reshape(rows, (*shape, ops.shape(weight)[1]))

    def embedding_backward(self, grad: Any, indices: Any, n_embedding: int) -> Any:
        ops, size = self.floats, self.floats.shape(grad)[-1]
        flat = self.ints.reshape(indices, (math.prod(self.ints.shape(indices)),))
        rows = ops.reshape(grad, (math.prod(ops.shape(grad)[:-1]), size))
        return ops.select_assign(ops.zeros((n_embedding, size)), flat, rows, 0, "add")

    def attention_weights(
        self, query: Any, key: Any, mask: Any | None, bias: Any | None, options: AttentionOptions
    ) -> Any:
        ops = self.floats
        scores, _ = self._scores(query, key, options)
        scores = self._hide(scores, mask, options, options.fill)
        if bias is not None:
            scores = ops.add(scores, bias)
        if ops.shape(scores)[3] == 0:
            return scores  # no keys: nothing to weigh
        # NaN-safe: a row of -inf must not become -inf - -inf, nor 0 / 0.
        largest, tiny = LIMITS[ops.dtype.name]
        top = ops.clamp_min(ops.detach(ops.max_dim(scores, 3)), 0.0 if options.is_quiet else -largest)
        raised = ops.exp(ops.sub(scores, top))
        total = ops.sum_dim(raised, 3)
        if options.is_quiet:
            total = ops.add(total, ops.exp(ops.neg(top)))
        return ops.div(raised, ops.clamp_min(total, tiny))

    def attention_weights_backward(
        self, query: Any, key: Any, mask: Any | None, weights: Any, grad: Any, options: AttentionOptions
    ) -> tuple[Any, Any, Any]:
        ops = self.floats
        carried = ops.sum_dim(ops.mul(grad, weights), 3)
        return self._scores_backward(query, key, mask, ops.mul(weights, ops.sub(grad, carried)), options)

    def attention(
        self, query: Any, key: Any, value: Any, mask: Any | None, bias: Any | None, options: AttentionOptions
    ) -> tuple[Any, Any]:
        ops = self.floats
        weights = self.attention_weights(query, key, mask, bias, options)
        folded = self._fold(weights, ops.shape(value)[1])
        output = ops.matmul(folded, value)
        return ops.reshape(output, (*ops.shape(query)[:3], ops.shape(value)[3])), weights

    def attention_backward(
        self,
        query: Any,
        key: Any,
        value: Any,
        mask: Any | None,
        weights: Any,
        output: Any,
        grad: Any,
        options: AttentionOptions,
    ) -> tuple[Any, Any, Any, Any]:
        ops, heads = self.floats, self.floats.shape(value)[1]
        folded = self._fold(grad, heads)
        for_value = ops.matmul(ops.swap_dims(self._fold(weights, heads), 2, 3), folded)
        for_weights = ops.reshape(ops.matmul(folded, ops.swap_dims(value, 2, 3)), ops.shape(weights))
        # Σ over keys of weights · for_weights, which is shorter over the size of a value.
        carried = ops.sum_dim(ops.mul(grad, output), 3)
        for_scores = ops.mul(weights, ops.sub(for_weights, carried))
        for_query, for_key, for_bias = self._scores_backward(query, key, mask, for_scores, options)
        return for_query, for_key, for_value, for_bias

    def _fold(self, x: Any, heads: int) -> Any:
        """[n, h, s, d] as [n, heads, h / heads · s, d]."""
        n, h, s, d = self.floats.shape(x)
        return x if h == heads else self.floats.reshape(x, (n, heads, h // heads * s, d))

    def _scores(self, query: Any, key: Any, options: AttentionOptions) -> tuple[Any, Any | None]:
        """The scores before masks and bias, and with a softcap the tanh in it."""
        ops = self.floats
        n, h, s_q, d = ops.shape(query)
        folded = self._fold(query, ops.shape(key)[1])
        scores = ops.matmul(folded, ops.swap_dims(key, 2, 3))
        scores = ops.mul_scalar(ops.reshape(scores, (n, h, s_q, ops.shape(key)[2])), scale_of(options, d))
        if options.softcap is None:
            return scores, None
        bent = ops.tanh(ops.div_scalar(scores, options.softcap))
        return ops.mul_scalar(bent, options.softcap), bent

    def _scores_backward(
        self, query: Any, key: Any, mask: Any | None, grad: Any, options: AttentionOptions
    ) -> tuple[Any, Any, Any]:
        """From the gradient of the masked scores with bias to those of query, key and bias."""
        ops, for_bias = self.floats, grad
        if options.fill != -math.inf:  # the weight of a hidden key is 0 without it, and so is its gradient
            grad = self._hide(grad, mask, options, 0.0)
        if options.softcap is not None:
            _, bent = self._scores(query, key, options)
            grad = ops.mul(grad, ops.add_scalar(ops.neg(ops.mul(bent, bent)), 1.0))
        heads = ops.shape(key)[1]
        grad = self._fold(ops.mul_scalar(grad, scale_of(options, ops.shape(query)[3])), heads)
        for_query = ops.reshape(ops.matmul(grad, key), ops.shape(query))
        for_key = ops.matmul(ops.swap_dims(grad, 2, 3), self._fold(query, heads))
        return for_query, for_key, for_bias

    def _hide(self, scores: Any, mask: Any | None, options: AttentionOptions, value: float) -> Any:
        """`value` in place of the scores of hidden keys."""
        ops = self.floats
        if mask is not None:
            scores = ops.mask_fill(scores, mask, value)
        if options.is_causal:
            later = ops.from_data(later_keys(*ops.shape(scores)[2:])[None, None])
            scores = ops.mask_fill(scores, ops.not_equal_elem(later, 0.0), value)
        return scores


def later_keys(s_q: int, s_k: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """[s_q, s_k], true where the key comes after the query; the last query is at the last key."""
    return np.tri(s_q, s_k, s_k - s_q, dtype=np.bool_) ^ True
