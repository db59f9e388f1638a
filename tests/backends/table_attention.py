"""The rows of embedding and attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rows import Rows, b, f

from minburn.backends.module_ops import AttentionOptions

ROWS = Rows("modules")
row = ROWS.add

WORDS = np.array([[3, 1, 3], [3, 0, 3]])
NONE = np.zeros((2, 0), np.int64)


def embedding_backward(grad: Any, indices: Any, n: int) -> Any:
    out = np.zeros((n, grad.shape[-1]))
    for index, row_of_grad in zip(indices.ravel(), grad.reshape(-1, grad.shape[-1]), strict=True):
        out[index] += row_of_grad
    return out


row("embedding", [(f(4, 2), WORDS), (f(2, 4).T, WORDS), (f(4, 2), WORDS[0]), (f(1, 1), WORDS * 0), (f(4, 2), NONE)],
    lambda w, i: w[i])  # fmt: skip
row("embedding_backward", [(f(2, 3, 2), WORDS, 4), (f(2, 6).T, WORDS.reshape(-1), 4), (f(2, 3, 1), WORDS * 0, 1),
    (f(2, 0, 3), NONE, 4), (f(2, 3, 2), WORDS, 600)], embedding_backward)  # fmt: skip


def hidden(mask: Any, options: AttentionOptions, shape: tuple[int, ...]) -> Any:
    s_q, s_k = shape[2:]
    out = np.zeros(shape, bool) if mask is None else np.broadcast_to(mask, shape).copy()
    if options.is_causal:
        for query in range(s_q):
            out[:, :, query, max(query + s_k - s_q + 1, 0) :] = True
    return out


def weights(q: Any, k: Any, mask: Any, bias: Any, o: AttentionOptions) -> Any:
    """Row by row, as it is written down."""
    (n, h, s_q, d), s_k = q.shape, k.shape[2]
    out = np.zeros((n, h, s_q, s_k))
    away = hidden(mask, o, out.shape)
    added = np.zeros(out.shape) if bias is None else np.broadcast_to(bias, out.shape)
    for at in np.ndindex(n, h, s_q):
        if not s_k:
            continue
        scores = k[at[0], at[1] // (h // k.shape[1])] @ q[at] * (d**-0.5 if o.scale is None else o.scale)
        if o.softcap is not None:
            scores = o.softcap * np.tanh(scores / o.softcap)
        scores = np.where(away[at], o.fill, scores) + added[at]
        top = max(scores.max(), 0.0) if o.is_quiet else scores.max()
        if math.isfinite(top):
            out[at] = np.exp(scores - top) / (np.exp(scores - top).sum() + (np.exp(-top) if o.is_quiet else 0.0))
    return out


def attention(q: Any, k: Any, v: Any, mask: Any, bias: Any, o: AttentionOptions) -> Any:
    w = weights(q, k, mask, bias, o)
    return w @ np.repeat(v, q.shape[1] // v.shape[1], axis=1), w


def heads(n: int, s: int, h: int, d: int) -> Any:
    return f(n, s, h, d).transpose(0, 2, 1, 3)


PLAIN, CAUSAL = AttentionOptions(), AttentionOptions(is_causal=True)
FILLED = AttentionOptions(fill=-3.0)
FAR = AttentionOptions(fill=-1e4, scale=40.0)
QUIET = AttentionOptions(fill=-1e4, is_quiet=True, is_causal=True)
CAPPED = AttentionOptions(scale=0.7, softcap=1.5, is_causal=True)
ALL = np.ones((1, 1, 1, 1), bool)
FIRST = np.array([[[[True, True, True], [False, True, False]]]])
"""Hides all keys from the first query."""
KEYS: list[tuple[Any, ...]] = [
    (f(2, 2, 3, 4), f(2, 2, 3, 4), None, None, PLAIN),
    (heads(2, 3, 2, 4), heads(2, 5, 2, 4), b(2, 1, 3, 5), None, PLAIN),
    (f(1, 1, 1, 1), f(1, 1, 1, 1), None, None, CAUSAL),
    (f(1, 2, 2, 3), f(1, 2, 5, 3), None, None, CAUSAL),
    (f(1, 2, 5, 3), f(1, 2, 2, 3), None, None, CAUSAL),
    (f(2, 2, 2, 3), f(2, 2, 3, 3), FIRST, f(1, 2, 2, 3), PLAIN),
    (f(2, 2, 2, 3), f(2, 2, 3, 3), FIRST, f(2, 1, 2, 1), FILLED),
    (f(2, 2, 2, 3), f(2, 2, 3, 3), FIRST, None, FAR),
    (f(2, 2, 2, 3), f(2, 2, 3, 3), ALL, None, QUIET),
    (f(1, 2, 3, 2), f(1, 2, 4, 2), b(1, 1, 1, 4), f(1, 2, 3, 4), CAPPED),
    (f(2, 4, 3, 2), f(2, 2, 3, 2), b(2, 4, 3, 3), f(1, 1, 3, 3), CAPPED),
    (f(2, 6, 1, 2), f(2, 1, 3, 2), None, None, QUIET),
    (f(2, 2, 3, 4), f(2, 2, 0, 4), None, None, CAUSAL),
    (f(2, 2, 0, 4), f(2, 2, 3, 4), None, f(1, 1, 1, 1), PLAIN),
    (f(0, 2, 3, 4), f(0, 2, 3, 4), None, None, PLAIN),
]
row("attention_weights", KEYS, weights)
TRIPLES = [(q, k, f(*k.shape[:3], 3), *rest) for q, k, *rest in KEYS]
row("attention", TRIPLES, attention)
WEIGHED = [(q, k, mask, weights(q, k, mask, bias, o), f(*q.shape[:3], k.shape[2]), o) for q, k, mask, bias, o in KEYS]
row("attention_weights_backward", WEIGHED)
row("attention_backward", [
    (q, k, v, mask, *attention(q, k, v, mask, bias, o)[::-1], f(*q.shape[:3], v.shape[3]), o)
    for q, k, v, mask, bias, o in TRIPLES
])  # fmt: skip
