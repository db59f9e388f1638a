"""A small GPT: 4 layers, width 128, 4 heads, context 64, 65 tokens, batch 16; norms first, tanh GELU, no dropout.

    x = tokens[ids] + positions
    4 times:  x += output(attention(norm1(x)));  x += outer(gelu(inner(norm2(x))))
    loss = cross_entropy(head(norm(x)))

Activations are [batch · time, features], so that every layer is one product; queries, keys and values are strided views
of one product's result, which BLAS takes as they are. x and its gradient are updated in place. Each part below makes a
forward and a backward function on arrays of its own; the scratch that lives for one call is shared by all layers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from floors.arrays import F32, FlatAdam, Ints, Step, Weights, aligned, cross_entropy, flat, row_maxima, scalar

LAYERS, WIDTH, HEADS, TIME, TOKENS, BATCH = 4, 128, 4, 64, 65, 16
ROWS, INNER, DEPTH = BATCH * TIME, 4 * WIDTH, WIDTH // HEADS
GELU_ROWS = 64
"""Rows of a block of GELU: its five arrays stay in the cache through fourteen operations."""

Forward = Callable[[], None]
Backward = Callable[[F32], None]
Part = tuple[Forward, Backward]

MEAN = np.full(WIDTH, 1 / WIDTH, np.float32)
ONES = np.ones(ROWS, np.float32)


def dense(x: F32, out: F32, p: dict[str, F32], g: dict[str, F32], name: str, x_grad: F32) -> Part:
    """out = x · weight + bias; backward writes the gradient of x to x_grad."""
    w, gw = p[f"{name}.weight"], g[f"{name}.weight"]
    b, gb = p.get(f"{name}.bias"), g.get(f"{name}.bias")
    x_t, w_t = x.T, w.T

    def forward() -> None:
        np.dot(x, w, out)
        if b is not None:
            np.add(out, b, out)

    def backward(d: F32) -> None:
        np.dot(x_t, d, gw)
        if gb is not None:
            np.dot(ONES, d, gb)
        np.matmul(d, w_t, out=x_grad)

    return forward, backward


def layer_norm(x: F32, out: F32, p: dict[str, F32], g: dict[str, F32], name: str, x_grad: F32, scratch: F32) -> Part:
    """backward adds to x_grad, and overwrites the gradient that it is given. Sums over features are products."""
    gamma, beta, g_gamma, g_beta = p[f"{name}.gamma"], p[f"{name}.beta"], g[f"{name}.gamma"], g[f"{name}.beta"]
    normed, scale, mean = aligned(ROWS, WIDTH), aligned(ROWS, 1), aligned(ROWS, 1)
    flat_scale, flat_mean = scale.reshape(-1), mean.reshape(-1)
    epsilon, one, count = scalar(1e-5), scalar(1), scalar(1 / WIDTH)
    weighted, first, second = aligned(WIDTH), aligned(ROWS, 1), aligned(ROWS, 1)
    flat_first, flat_second = first.reshape(-1), second.reshape(-1)

    def forward() -> None:
        np.dot(x, MEAN, flat_mean)
        np.subtract(x, mean, normed)
        np.einsum("ij,ij->i", normed, normed, out=flat_scale)
        np.multiply(scale, count, scale)
        np.add(scale, epsilon, scale)
        np.sqrt(scale, scale)
        np.divide(one, scale, scale)
        np.multiply(normed, scale, normed)
        np.multiply(normed, gamma, out)
        np.add(out, beta, out)

    def backward(d: F32) -> None:
        np.multiply(d, normed, scratch)
        np.dot(ONES, scratch, g_gamma)
        np.dot(ONES, d, g_beta)
        np.multiply(gamma, count, weighted)
        np.dot(scratch, weighted, flat_second)
        np.dot(d, weighted, flat_first)
        np.multiply(d, gamma, d)
        np.multiply(normed, second, scratch)
        np.subtract(d, scratch, d)
        np.subtract(d, first, d)
        np.multiply(d, scale, d)
        np.add(x_grad, d, x_grad)

    return forward, backward


def attention(qkv: F32, out: F32, qkv_grad: F32, scratch: F32) -> Part:
    """Causal, over qkv [rows, 3 · width]; backward takes the gradient of out and writes qkv_grad.

    scratch: [batch, heads, time, time].
    """
    split, split_grad = (a.reshape(BATCH, TIME, 3, HEADS, DEPTH).transpose(2, 0, 3, 1, 4) for a in (qkv, qkv_grad))
    (q, k, v), (dq, dk, dv) = split, split_grad
    q_rows, dq_rows = (a.reshape(ROWS, 3, WIDTH)[:, 0] for a in (qkv, qkv_grad))
    context = out.reshape(BATCH, TIME, HEADS, DEPTH)
    probs, inverse = aligned(BATCH, HEADS, TIME, TIME), aligned(BATCH * HEADS * TIME, 1)
    rows = probs.reshape(-1, TIME)
    maxima, ones, one = row_maxima(rows), np.ones(TIME, np.float32), scalar(1)
    mask = np.where(np.tri(TIME, dtype=bool), np.float32(0), np.float32(-np.inf))
    scale, dots = scalar(1 / math.sqrt(DEPTH)), aligned(BATCH, TIME, HEADS)
    k_t, v_t, probs_t, scratch_t = (a.swapaxes(2, 3) for a in (k, v, probs, scratch))

    def forward() -> None:
        np.multiply(q_rows, scale, q_rows)
        np.matmul(q, k_t, out=probs)
        np.add(probs, mask, probs)
        np.subtract(rows, maxima(), rows)
        np.exp(rows, rows)
        np.dot(rows, ones, inverse.reshape(-1))
        np.divide(one, inverse, inverse)
        np.multiply(rows, inverse, rows)
        np.matmul(probs, v, out=context.swapaxes(1, 2))

    def backward(d: F32) -> None:
        d_context = d.reshape(BATCH, TIME, HEADS, DEPTH)
        d_heads = d_context.swapaxes(1, 2)
        np.matmul(probs_t, d_heads, out=dv)
        np.matmul(d_heads, v_t, out=scratch)
        np.einsum("bthd,bthd->bth", d_context, context, out=dots)  # Σ probs · their gradient
        np.subtract(scratch, dots.swapaxes(1, 2)[..., None], scratch)
        np.multiply(scratch, probs, scratch)
        np.matmul(scratch, k, out=dq)
        np.matmul(scratch_t, q, out=dk)
        np.multiply(dq_rows, scale, dq_rows)

    return forward, backward


def gelu(x: F32, derivative: F32) -> Forward:
    """x := x · Φ(x) in place, and its derivative, with Φ(x) ≈ (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2.

    The derivative is Φ + x · Φ · (1 - Φ) · 2u', where u is the argument of tanh.
    """
    c = math.sqrt(2 / math.pi)
    cubic, linear, half, one = scalar(0.044715 * c), scalar(c), scalar(0.5), scalar(1)
    slope_cubic, slope_linear = scalar(6 * 0.044715 * c), scalar(2 * c)
    s, phi, t = (aligned(GELU_ROWS, INNER) for _ in range(3))
    blocks = [(x[i : i + GELU_ROWS], derivative[i : i + GELU_ROWS]) for i in range(0, len(x), GELU_ROWS)]

    def forward() -> None:
        for part, slope in blocks:
            np.multiply(part, part, s)
            np.multiply(s, cubic, phi)
            np.add(phi, linear, phi)
            np.multiply(phi, part, phi)
            np.tanh(phi, phi)
            np.multiply(phi, half, phi)
            np.add(phi, half, phi)
            np.multiply(part, phi, part)
            np.subtract(one, phi, t)
            np.multiply(t, part, t)
            np.multiply(s, slope_cubic, s)
            np.add(s, slope_linear, s)
            np.multiply(s, t, s)
            np.add(s, phi, slope)

    return forward


def gpt(weights: Weights, batches: Sequence[tuple[Ints, Ints]]) -> Step:
    weights = with_joined_projections(weights)
    params, p = flat({name: weight.shape for name, weight in weights.items()})
    grads, g = flat({name: weight.shape for name, weight in weights.items()})
    for name, part in p.items():
        part[...] = weights[name]
    x, x_grad, branch, branch_grad = (aligned(ROWS, WIDTH) for _ in range(4))
    scratch, qkv_grad, inner_grad = aligned(ROWS, WIDTH), aligned(ROWS, 3 * WIDTH), aligned(ROWS, INNER)
    scores = aligned(BATCH, HEADS, TIME, TIME)
    blocks = []
    for layer in range(LAYERS):
        name = f"blocks.{layer}."
        normed1, normed2, context = (aligned(ROWS, WIDTH) for _ in range(3))
        qkv, inner, slope = aligned(ROWS, 3 * WIDTH), aligned(ROWS, INNER), aligned(ROWS, INNER)
        blocks.append(
            block(
                layer_norm(x, normed1, p, g, name + "norm1", x_grad, scratch),
                dense(normed1, qkv, p, g, name + "attention.qkv", branch_grad),
                attention(qkv, context, qkv_grad, scores),
                dense(context, branch, p, g, name + "attention.output", branch_grad),
                layer_norm(x, normed2, p, g, name + "norm2", x_grad, scratch),
                dense(normed2, inner, p, g, name + "inner", branch_grad),
                gelu(inner, slope),
                dense(inner, branch, p, g, name + "outer", inner_grad),
                (x, x_grad, branch, branch_grad, qkv_grad, inner_grad, slope),
            )
        )
    normed, logits = aligned(ROWS, WIDTH), aligned(ROWS, TOKENS)
    last_norm, last_norm_back = layer_norm(x, normed, p, g, "norm", x_grad, scratch)
    head, head_back = dense(normed, logits, p, g, "head", branch_grad)
    loss_of, adam = cross_entropy(logits), FlatAdam(params, grads)
    one_hot, columns = aligned(TOKENS, ROWS), np.arange(ROWS)
    by_time, grad_by_time = x.reshape(BATCH, TIME, WIDTH), x_grad.reshape(BATCH, TIME, WIDTH)
    turns = itertools.cycle([(ids.reshape(-1), targets.reshape(-1)) for ids, targets in batches])

    def step() -> float:
        ids, targets = next(turns)
        p["tokens.weight"].take(ids, axis=0, out=x, mode="clip")
        np.add(by_time, p["positions.weight"], by_time)
        for forward, _ in blocks:
            forward()
        last_norm()
        head()
        loss = loss_of(targets)
        x_grad.fill(0)
        head_back(logits)
        last_norm_back(branch_grad)
        for _, backward in reversed(blocks):
            backward()
        np.add.reduce(grad_by_time, axis=0, out=g["positions.weight"])
        one_hot.fill(0)
        one_hot[ids, columns] = 1
        np.dot(one_hot, x_grad, g["tokens.weight"])
        adam.step()
        return loss

    return step


def block(
    norm1: Part,
    qkv: Part,
    attend: Part,
    output: Part,
    norm2: Part,
    inner: Part,
    activate: Forward,
    outer: Part,
    arrays: tuple[F32, F32, F32, F32, F32, F32, F32],
) -> tuple[Forward, Forward]:
    x, x_grad, branch, branch_grad, qkv_grad, inner_grad, slope = arrays

    def forward() -> None:
        for part in (norm1, qkv, attend, output):
            part[0]()
        np.add(x, branch, x)
        norm2[0]()
        inner[0]()
        activate()
        outer[0]()
        np.add(x, branch, x)

    def backward() -> None:
        outer[1](x_grad)
        np.multiply(inner_grad, slope, inner_grad)
        inner[1](inner_grad)
        norm2[1](branch_grad)
        output[1](x_grad)
        attend[1](branch_grad)
        qkv[1](qkv_grad)
        norm1[1](branch_grad)

    return forward, backward


def with_joined_projections(weights: Weights) -> dict[str, F32]:
    """Queries, keys and values from one layer: a product of three times the columns."""
    joined = {name: weight for name, weight in weights.items() if not any(f"attention.{key}" in name for key in QKV)}
    for name in weights:
        if "attention.query" in name:
            parts = [weights[name.replace("query", key)] for key in QKV]
            joined[name.replace("query", "qkv")] = np.concatenate(parts, axis=-1)
    return joined


QKV = ("query", "key", "value")
