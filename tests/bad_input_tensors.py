"""Linear algebra, signals, grids, einsum, comparisons, quantized data: what `test_bad_input` tries junk on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minburn import DType, Tensor, TensorData, linalg, signal
from minburn.backends import Autodiff, NumPy
from minburn.dtype import BlockScale, QuantScheme
from minburn.tensor import IntTensor, PrintOptions, Tolerance, Transaction, assert_shape, functional, set_print_options

PLAIN = NumPy(seed=1)
Entry = tuple[Any, tuple[Any, ...]]


def entries() -> Iterator[Entry]:
    x, v = Tensor.from_data([[1.0, 2.0], [3.0, 5.0]], PLAIN), Tensor.from_data([1.0, 2.0], PLAIN)
    batch = x.unsqueeze()
    for norm in (linalg.vector_norm, linalg.lp_norm):
        yield norm, (x, 2, 0)
    for norm in (linalg.vector_norm_dims, linalg.lp_norm_dims):
        yield norm, (x, 3, [0, 1])
    for name in ("l0", "l1", "l2", "max_abs", "min_abs"):
        yield getattr(linalg, f"{name}_norm"), (x, 0)
        yield getattr(linalg, f"{name}_norm_dims"), (x, [0])
    yield linalg.vector_normalize, (x, 2, 0, 1e-6)
    yield linalg.cosine_similarity, (x, x, 0, 1e-6)
    for function in (linalg.diag, linalg.trace, linalg.lu, linalg.svd):
        yield function, (x,)
    yield linalg.det, (batch,)
    yield linalg.qr, (x, True)
    yield linalg.outer, (x, x)
    yield linalg.outer_dim, (x, x, 0)
    yield linalg.matvec, (x, v)
    yield signal.rfft, (x, 0, 2)
    yield signal.irfft, (x, x, 0, 2)
    yield signal.cfft, (x, x, 0, 2)
    options = signal.StftOptions(2, 1)
    wave = Tensor.ones((1, 8), PLAIN)
    yield signal.stft, (wave, v, options)
    yield signal.istft, (signal.stft(wave, v, options), v, options, 8)
    yield signal.StftOptions, (4, 1, 2, True, False)
    for window in (signal.hann_window, signal.hamming_window, signal.blackman_window):
        yield window, (4, PLAIN, True)
    yield functional.affine_grid_2d, (Tensor.ones((1, 2, 3), PLAIN), (1, 1, 2, 2))
    grid = Tensor.ones((1, 2, 2, 2), PLAIN)
    yield functional.grid_sample_2d, (grid, grid, "nearest", "border", True)
    yield Tensor.einsum, ("ij,jk->ik", [x, x])
    yield Tensor.meshgrid, ([v, v], "matrix")
    yield Tensor.meshgrid_stack, ([v, v], "matrix", 0)
    yield IntTensor.cartesian_grid, ((2, 2), PLAIN)
    leaf = Tensor.from_data([1.0], Autodiff(PLAIN)).require_grad()
    yield leaf.grad_replace, ((leaf * 2.0).backward(), leaf.inner())
    data = x.into_data()
    yield data.assert_eq, (data, True)
    yield data.assert_approx_eq, (data, Tolerance())
    yield data.assert_within_range, (0, 10)
    yield data.assert_within_range_inclusive, (0, 10)
    yield Tolerance, (0.1, 0.1)
    for name in ("relative", "absolute", "half_precision_relative", "double_precision_absolute"):
        yield getattr(Tolerance(), f"set_{name}"), (0.1,)
    yield Tolerance().approx_eq, (1.0, 1.0, DType.F32)
    yield Transaction().register, (x,)
    yield assert_shape, (x, 2, None)
    yield PrintOptions, (4, 1000, 3)
    yield lambda options: set_print_options(options) or set_print_options(PrintOptions()), (PrintOptions(),)
    yield TensorData.full, ((2,), 1.0, DType.F32)
    yield x.quantize_dynamic, (QuantScheme("Q8S"),)
    for field, value in (
        ("value", "Q8S"),
        ("store", "Native"),
        ("store_dim", 0),
        ("mode", "Symmetric"),
        ("tensor", "F32"),
    ):
        yield lambda given, field=field: dequantized(QuantScheme(**{"value": "Q8S", field: given})), (value,)
    yield lambda size: dequantized(QuantScheme("Q8S", block=BlockScale(size, "F32"))), ((2,),)
    yield lambda dtype: dequantized(QuantScheme("Q8S", block=BlockScale((2,), dtype))), ("F32",)


def dequantized(scheme: QuantScheme) -> Any:
    return TensorData(bytes(6), (2,), DType.qfloat(scheme)).dequantize()
