"""Activation functions. The common ones are one op of the backend each, so that a backend may fuse them; the others are
composed of tensor operations. All keep NaN, and their gradients are finite wherever their values are.

Burn: `crates/burn-tensor/src/tensor/activation/base.rs`.
"""

from __future__ import annotations

import math
from typing import Any

from minburn.dtype import DType
from minburn.tensor.check import KindError, ShapeError, TensorError, resolve_dim, show
from minburn.tensor.kinds import BoolTensor, FloatTensor
from minburn.tensor.lift import align

SELU_ALPHA = 1.6732632423543772
SELU_GAMMA = 1.0507009873554805
SOFTPLUS_THRESHOLD = 20.0
LARGEST_EXPONENT = {DType.F32: 88.0, DType.BF16: 88.0, DType.F64: 709.0, DType.F16: 11.0}
"""Where e^x still is finite."""


def op(name: str, x: FloatTensor, *args: Any) -> FloatTensor:
    """The activation op of that name on x."""
    check_float(name, x)
    return FloatTensor(getattr(x.backend.activations, name)(x.primitive, *args), x.ops, x.backend)


# Rectifiers


def relu(x: FloatTensor) -> FloatTensor:
    """max(x, 0). The gradient at 0 is 0."""
    check_float("relu", x)
    return FloatTensor(x.backend.activations.relu(x.primitive), x.ops, x.backend)


def relu6(x: FloatTensor) -> FloatTensor:
    """min(max(x, 0), 6). The gradient at 0 and 6 is 1. Howard et al. 2017."""
    check_float("relu6", x)
    return x.clamp(0.0, 6.0)


def leaky_relu(x: FloatTensor, negative_slope: float = 0.01) -> FloatTensor:
    """negative_slope · x where x < 0, else x. Maas et al. 2013."""
    return op("leaky_relu", x, number("leaky_relu", "negative_slope", negative_slope))


def prelu(x: FloatTensor, alpha: FloatTensor) -> FloatTensor:
    """alpha · x where x < 0, else x, with a learned alpha: [1], or one for each channel. He et al. 2015."""
    check_float("prelu", x)
    check_float("prelu", alpha)
    channels = x.shape[1] if x.rank > 1 else 1
    if alpha.shape not in ((1,), (channels,)):
        allowed = "[1]" if channels == 1 else f"[1] or [{channels}], as x has {channels} channels in dimension 1"
        raise ShapeError(
            f"prelu: x has shape {show(x.shape)}, alpha {show(alpha.shape)}. alpha must have shape {allowed}."
        )
    spread = alpha.reshape([-1 if dim == min(1, x.rank - 1) else 1 for dim in range(x.rank)])
    x, spread = align("prelu", x, spread)
    return x._with(x.backend.activations.prelu(x.primitive, spread.primitive))


def thresholded_relu(x: FloatTensor, alpha: float = 1.0) -> FloatTensor:
    """x where x > alpha, else 0. Konda et al. 2014."""
    return threshold(x, alpha, 0.0)


def threshold(x: FloatTensor, threshold: float, value: float) -> FloatTensor:
    """x where x > threshold, else value."""
    check_float("threshold", x)
    return x.mask_fill(x.lower_equal_scalar(threshold), value)


def hardtanh(x: FloatTensor, min_val: float = -1.0, max_val: float = 1.0) -> FloatTensor:
    """x between the bounds."""
    check_float("hardtanh", x)
    return x.clamp(min_val, max_val)


# Exponential ones


def elu(x: FloatTensor, alpha: float = 1.0) -> FloatTensor:
    """x where x > 0, else alpha · (eˣ - 1). Clevert et al. 2015."""
    check_float("elu", x)
    return _exponential_below(x, x.greater_scalar(0.0), 1.0, number("elu", "alpha", alpha))


def celu(x: FloatTensor, alpha: float = 1.0) -> FloatTensor:
    """x where x > 0, else alpha · (e^(x/alpha) - 1); alpha may be negative, but not 0. Barron 2017."""
    check_float("celu", x)
    alpha = number("celu", "alpha", alpha)
    if alpha == 0.0 or not math.isfinite(alpha):
        raise TensorError(f"celu: alpha must be finite and not 0, but got {alpha}.")
    return _exponential_below(x, x.greater_scalar(0.0), alpha, alpha)


def selu(x: FloatTensor) -> FloatTensor:
    """γ · (x where x ≥ 0, else α · (eˣ - 1)), γ = 1.0507…, α = 1.6733…. Klambauer et al. 2017."""
    check_float("selu", x)
    return _exponential_below(x, x.greater_equal_scalar(0.0), 1.0, SELU_ALPHA) * SELU_GAMMA


def _exponential_below(x: FloatTensor, linear: BoolTensor, divisor: float, factor: float) -> FloatTensor:
    """x where linear, else factor · (e^(x/divisor) - 1). Nothing linear is exponentiated: its gradient would be NaN."""
    below = x.mask_fill(linear, 0.0)
    if divisor != 1.0:
        below = below / divisor
    return ((below.exp() - 1.0) * factor).mask_where(linear, x)


# Sigmoids


def sigmoid(x: FloatTensor) -> FloatTensor:
    """1 / (1 + e⁻ˣ)."""
    check_float("sigmoid", x)
    return FloatTensor(x.backend.activations.sigmoid(x.primitive), x.ops, x.backend)


def log_sigmoid(x: FloatTensor) -> FloatTensor:
    """-log(1 + e⁻ˣ), without overflow."""
    return op("log_sigmoid", x)


def hard_sigmoid(x: FloatTensor, alpha: float = 0.2, beta: float = 0.5) -> FloatTensor:
    """alpha·x + beta, clamped to [0, 1]."""
    return op("hard_sigmoid", x, number("hard_sigmoid", "alpha", alpha), number("hard_sigmoid", "beta", beta))


def tanh(x: FloatTensor) -> FloatTensor:
    check_float("tanh", x)
    return x.tanh()


def tanhshrink(x: FloatTensor) -> FloatTensor:
    """x - tanh(x)."""
    check_float("tanhshrink", x)
    return x - x.tanh()


def softsign(x: FloatTensor) -> FloatTensor:
    """x / (1 + |x|)."""
    check_float("softsign", x)
    return x / (x.abs() + 1.0)


# Smooth rectifiers


def gelu(x: FloatTensor) -> FloatTensor:
    """x · Φ(x), where Φ is the normal distribution function, by erf. Hendrycks & Gimpel 2016."""
    check_float("gelu", x)
    return FloatTensor(x.backend.activations.gelu(x.primitive), x.ops, x.backend)


def gelu_approximate(x: FloatTensor) -> FloatTensor:
    """x · (1 + tanh(√(2/π) · (x + 0.044715·x³))) / 2."""
    return op("gelu_approximate", x)


def silu(x: FloatTensor) -> FloatTensor:
    """x · sigmoid(x), also called swish. Elfwing et al. 2017."""
    return op("silu", x)


def hard_swish(x: FloatTensor) -> FloatTensor:
    """x · clamp(x/6 + 1/2, 0, 1). Howard et al. 2019."""
    return x * hard_sigmoid(x, 1.0 / 6.0, 0.5)


def softplus(x: FloatTensor, beta: float = 1.0) -> FloatTensor:
    """log(1 + e^(beta·x)) / beta, and x itself where beta·x > 20: there they are equal."""
    return softplus_with_threshold(x, beta, SOFTPLUS_THRESHOLD)


def softplus_with_threshold(x: FloatTensor, beta: float, threshold: float) -> FloatTensor:
    """log(1 + e^(beta·x)) / beta, and x itself where beta·x > threshold.

    The threshold is lowered to where e^x is finite (88 in F32, 709 in F64, 11 in F16), so neither the value nor the
    gradient overflows.
    """
    check_float("softplus", x)
    beta = number("softplus", "beta", beta)
    if beta == 0.0:
        raise TensorError("softplus: beta divides, so it must not be 0.")
    limit = min(number("softplus", "threshold", threshold), LARGEST_EXPONENT[x.dtype])
    scaled = x * beta
    linear = scaled.greater_scalar(limit)
    return (scaled.mask_fill(linear, limit).exp().log1p() / beta).mask_where(linear, x)


def mish(x: FloatTensor) -> FloatTensor:
    """x · tanh(softplus(x)). Misra 2019."""
    check_float("mish", x)
    return x * softplus(x).tanh()


# Shrinking ones


def hard_shrink(x: FloatTensor, lambda_: float = 0.5) -> FloatTensor:
    """0 where |x| ≤ lambda, else x."""
    check_float("hard_shrink", x)
    return x.mask_fill(x.abs().lower_equal_scalar(lambda_), 0.0)


def soft_shrink(x: FloatTensor, lambda_: float = 0.5) -> FloatTensor:
    """0 where |x| ≤ lambda, else x moved towards 0 by lambda."""
    return shrink(x, lambda_, lambda_)


def shrink(x: FloatTensor, lambda_: float = 0.5, bias: float = 0.5) -> FloatTensor:
    """0 where |x| ≤ lambda, else x moved towards 0 by bias."""
    check_float("shrink", x)
    return (x - x.sign() * bias).mask_fill(x.abs().lower_equal_scalar(lambda_), 0.0)


# Along a dimension


def softmax(x: FloatTensor, dim: int) -> FloatTensor:
    """eˣ / Σ eˣ along dim, shifted by the maximum."""
    check_float("softmax", x)
    return op("softmax", x, resolve_dim("softmax", dim, x.rank))


def log_softmax(x: FloatTensor, dim: int) -> FloatTensor:
    """x - log Σ eˣ along dim, shifted by the maximum."""
    check_float("log_softmax", x)
    return op("log_softmax", x, resolve_dim("log_softmax", dim, x.rank))


def softmin(x: FloatTensor, dim: int) -> FloatTensor:
    """softmax(-x)."""
    check_float("softmin", x)
    return op("softmin", x, resolve_dim("softmin", dim, x.rank))


def quiet_softmax(x: FloatTensor, dim: int) -> FloatTensor:
    """eˣ / (1 + Σ eˣ) along dim: all may be near 0. Shifted by the maximum, or 0 if that is larger."""
    check_float("quiet_softmax", x)
    place = resolve_dim("quiet_softmax", dim, x.rank)
    if 0 in x.shape:  # what is empty has no maximum
        return x
    top = x.detach().max_dim(place).clamp_min(0.0)
    exp = (x - top).exp()
    return exp / (exp.sum_dim(place) + (-top).exp())


def glu(x: FloatTensor, dim: int) -> FloatTensor:
    """a · sigmoid(b), where a and b are the first and the second half of x along dim. Dauphin et al. 2016."""
    check_float("glu", x)
    place = resolve_dim("glu", dim, x.rank)
    half, odd = divmod(x.shape[place], 2)
    if odd:
        raise ShapeError(f"glu: dimension {dim} of shape {show(x.shape)} must have an even size: it is cut in halves.")
    return x.narrow(place, 0, half) * sigmoid(x.narrow(place, half, half))


def number(name: str, what: str, value: object) -> float:
    """A setting of an activation: a float, or an int."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise KindError(f"{name}: {what} must be a number, but got {type(value).__name__} {value!r}.")
    try:
        return float(value)
    except OverflowError:
        raise TensorError(f"{name}: {what} is an int that is too large for a float.") from None


def check_float(name: str, x: object) -> None:
    if not isinstance(x, FloatTensor):
        raise KindError(
            f"{name}: expected a float tensor, but got {type(x).__name__}. "
            + ("Is there a return in what made it?" if x is None else "Convert ints and bools with float().")
        )
