"""Rules of embedding and attention.

The weights are saved, the scores are not. Both results of `attention` have a gradient, as both may be used.
"""

from __future__ import annotations

from minburn.backends.autodiff.modules.recorded import RecordedModules
from minburn.backends.autodiff.rule import Recorded, Value, at_once, composed, operands, unary_with
from minburn.backends.default.attention import DefaultAttention
from minburn.backends.module_ops import AttentionOptions


class AutodiffAttention(RecordedModules, DefaultAttention):
    @unary_with
    def embedding(self, weight: Value, indices: Value) -> Recorded:
        ops, rows = self.inner, weight.shape[0]
        return ops.embedding(weight, indices), lambda g: ops.embedding_backward(g, indices, rows)

    @operands(0, 1, 3)
    def attention_weights(
        self, query: Value, key: Value, mask: Value, bias: Value | None, options: AttentionOptions
    ) -> Recorded:
        ops = self.inner
        weights = ops.attention_weights(query, key, mask, bias, options)
        pulls = at_once(lambda g: ops.attention_weights_backward(query, key, mask, weights, g, options), 3)
        return weights, *(pulls[:2] if bias is None else pulls)

    @operands(0, 1, 2, 4)
    def attention(
        self, query: Value, key: Value, value: Value, mask: Value, bias: Value | None, options: AttentionOptions
    ) -> Recorded:
        ops = self.inner
        output, weights = ops.attention(query, key, value, mask, bias, options)
        of_output = at_once(lambda g: ops.attention_backward(query, key, value, mask, weights, output, g, options), 4)
        pulls = at_once(lambda g: ops.attention_weights_backward(query, key, mask, weights, g, options), 3)
        of_weights = (*pulls[:2], None, pulls[2])  # they do not depend on the value
        count = 3 if bias is None else 4
        return (output, weights), of_output[:count], of_weights[:count]

    embedding_backward = composed(DefaultAttention.embedding_backward)
    attention_weights_backward = composed(DefaultAttention.attention_weights_backward)
    attention_backward = composed(DefaultAttention.attention_backward)
