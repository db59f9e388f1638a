"""Normalizations. Variances are biased: the mean of the squared distances from the mean.

Half floats are normalized in F32 and cast back: the square of 300 is no F16.

Burn: `layer_norm`, `batch_norm` and `batch_norm_train` of `crates/burn-tensor/src/tensor/module.rs`.
"""

from __future__ import annotations

import math

from minburn.dtype import DType
from minburn.tensor import activation
from minburn.tensor.check import ShapeError, TensorError, show
from minburn.tensor.kinds import FloatTensor
from minburn.tensor.lift import one_table

HALVES = (DType.F16, DType.BF16)


def layer_norm(
    x: FloatTensor, gamma: FloatTensor, beta: FloatTensor | None = None, epsilon: float = 1e-5
) -> FloatTensor:
    """(x - mean) / √(variance + epsilon) · gamma + beta, statistics over the last dimension. Ba et al. 2016.

    x [..., d], gamma [d], beta [d].

    Errors: ShapeError for sizes that do not fit, DTypeError and DeviceError for tensors that do not match.
    """
    given = [x, gamma] if beta is None else [x, gamma, beta]
    for tensor in given:
        activation.check_float("layer_norm", tensor)
    if x.rank == 0:
        raise ShapeError("layer_norm: x must have a last dimension, but has rank 0.")
    for name, tensor in zip(("gamma", "beta"), given[1:], strict=False):
        _check_size("layer_norm", name, tensor, x, -1)
    check_epsilon("layer_norm", epsilon)
    x, gamma, *rest = (widened(tensor) for tensor in one_table("layer_norm", given))
    primitive = x.backend.modules.layer_norm(x.primitive, gamma.primitive, rest[0].primitive if rest else None, epsilon)
    return narrowed(x._with(primitive), given[0])


def rms_norm(x: FloatTensor, gamma: FloatTensor, epsilon: float = 1e-5) -> FloatTensor:
    """x / √(mean(x²) + epsilon) · gamma over the last dimension. Zhang & Sennrich 2019.

    x [..., d], gamma [d].

    Errors: ShapeError for sizes that do not fit, DTypeError and DeviceError for tensors that do not match.
    """
    given = [x, gamma]
    for tensor in given:
        activation.check_float("rms_norm", tensor)
    if x.rank == 0:
        raise ShapeError("rms_norm: x must have a last dimension, but has rank 0.")
    _check_size("rms_norm", "gamma", gamma, x, -1)
    check_epsilon("rms_norm", epsilon)
    x, gamma = (widened(tensor) for tensor in one_table("rms_norm", given))
    primitive = x.backend.modules.rms_norm(x.primitive, gamma.primitive, epsilon)
    return narrowed(x._with(primitive), given[0])


def batch_norm(
    x: FloatTensor,
    gamma: FloatTensor,
    beta: FloatTensor,
    mean: FloatTensor,
    variance: FloatTensor,
    epsilon: float = 1e-5,
) -> FloatTensor:
    """(x - mean) / √(variance + epsilon) · gamma + beta with given statistics, by channel. Ioffe & Szegedy 2015.

    x [N, C, ...], the others [C].

    Errors: ShapeError for sizes that do not fit, DTypeError and DeviceError for tensors that do not match.
    """
    given = [x, gamma, beta, mean, variance]
    _check_channels("batch_norm", given, ("gamma", "beta", "mean", "variance"), epsilon)
    wide = [widened(tensor) for tensor in one_table("batch_norm", given)]
    values, scale, shift, center, spread = (tensor.primitive for tensor in wide)
    primitive = wide[0].backend.modules.batch_norm(values, scale, shift, center, spread, epsilon)
    return narrowed(wide[0]._with(primitive), x)


def batch_norm_train(
    x: FloatTensor, gamma: FloatTensor, beta: FloatTensor, epsilon: float = 1e-5
) -> tuple[FloatTensor, FloatTensor, FloatTensor]:
    """(batch_norm with the statistics of x over all dimensions but 1, their mean [C], their variance [C]).

    The statistics are detached: gradients flow through the first part only, which depends on them.

    Errors: ShapeError for sizes that do not fit, DTypeError and DeviceError for tensors that do not match.
    """
    given = [x, gamma, beta]
    _check_channels("batch_norm_train", given, ("gamma", "beta"), epsilon)
    if not math.prod(x.shape):
        raise ShapeError(f"batch_norm_train: x has shape {show(x.shape)}: nothing has no mean and no variance.")
    wide = [widened(tensor) for tensor in one_table("batch_norm_train", given)]
    values, scale, shift = (tensor.primitive for tensor in wide)
    parts = wide[0].backend.modules.batch_norm_train(values, scale, shift, epsilon)
    out, mean, variance = (narrowed(wide[0]._with(part), x) for part in parts)
    return out, mean.detach(), variance.detach()


def _check_channels(op: str, given: list[FloatTensor], names: tuple[str, ...], epsilon: float) -> None:
    for tensor in given:
        activation.check_float(op, tensor)
    x = given[0]
    if x.rank < 2:
        raise ShapeError(f"{op}: x must have shape [N, C, ...], but has {show(x.shape)}.")
    for name, tensor in zip(names, given[1:], strict=True):
        _check_size(op, name, tensor, x, 1)
    check_epsilon(op, epsilon)


def _check_size(op: str, name: str, tensor: FloatTensor, x: FloatTensor, dim: int) -> None:
    if tensor.shape != (x.shape[dim],):
        where = "its last dimension" if dim == -1 else f"dimension {dim}"
        raise ShapeError(
            f"{op}: x has shape {show(x.shape)}, with {x.shape[dim]} in {where}, so {name} must have shape "
            f"[{x.shape[dim]}], but has {show(tensor.shape)}."
        )


def check_epsilon(op: str, epsilon: float) -> None:
    if not (isinstance(epsilon, (int, float)) and math.isfinite(epsilon) and epsilon >= 0):
        raise TensorError(f"{op}: epsilon must be a finite number that is not negative, but got {epsilon!r}.")


def widened(tensor: FloatTensor) -> FloatTensor:
    """In F32 if it is a half."""
    return tensor.cast(DType.F32) if tensor.dtype in HALVES else tensor


def narrowed(result: FloatTensor, x: FloatTensor) -> FloatTensor:
    """In the dtype of x."""
    return result.cast(x.dtype) if result.dtype != x.dtype else result
