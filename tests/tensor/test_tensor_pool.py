"""The pool functions: what their arguments may be, Burn's worked examples, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.tensor import IntTensor, KindError, ShapeError, Tensor, TensorError
from minburn.tensor.functional import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    avg_pool1d,
    avg_pool2d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
)

plain = NumPy(seed=1)
auto = Autodiff(plain)


def line(*values: float) -> Any:
    return Tensor.from_data([[list(values)]], auto)


def test_burns_examples() -> None:
    x = line(1.0, 2.0, 3.0, 4.0, 5.0)
    assert avg_pool1d(x, 2, padding=[(0, 1)]).numpy().tolist() == [[[1.5, 3.5, 2.5]]]
    assert avg_pool1d(x, 2, padding=[(0, 1)], count_include_pad=False).numpy().tolist() == [[[1.5, 3.5, 5]]]
    y = line(2.0, 4.0, 6.0, 8.0).require_grad()
    out = avg_pool1d(y, 2, padding=[(1, 0)], count_include_pad=False, ceil_mode=True)
    assert out.numpy().tolist() == [[[2, 5, 8]]]
    assert y.grad(out.sum().backward()).numpy().tolist() == [[[1, 0.5, 0.5, 1]]]
    lone = Tensor.from_data([[[[4.0]]]], auto)
    padding = [(2, 0), (0, 1)]
    assert avg_pool2d(lone, 2, 1, padding).numpy().tolist() == [[[[0], [1]]]]
    assert avg_pool2d(lone, 2, 1, padding, count_include_pad=False).numpy().tolist() == [[[[0], [4]]]]


def test_sizes_may_be_one_number_or_one_per_dimension() -> None:
    x = Tensor.random([2, 3, 7, 5], auto)
    want = max_pool2d(x, (3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1)).numpy()
    for arguments in ((3, 2, 1, 1), ([3, 3], [2, 2], [1, 1], [1, 1]), (3, 2, [(1, 1), (1, 1)], 1)):
        assert np.array_equal(max_pool2d(x, *arguments).numpy(), want)
    assert max_pool2d(x, 2).shape == (2, 3, 3, 2)  # the stride is the kernel
    assert max_pool2d(x, 2, ceil_mode=True).shape == (2, 3, 4, 3)
    assert max_pool2d(x, (2, 1), dilation=(3, 1)).shape == (2, 3, 2, 5)
    assert adaptive_avg_pool2d(x, 2).shape == (2, 3, 2, 2)
    assert adaptive_avg_pool3d(x.unsqueeze_dim(2), (1, 2, 3)).shape == (2, 3, 1, 2, 3)
    assert adaptive_avg_pool1d(line(1.0, 2.0, 3.0), 2).numpy().tolist() == [[[1.5, 2.5]]]


@pytest.mark.parametrize("backend", [plain, auto])
def test_indices_are_ints_of_the_backend(backend: Any) -> None:
    out, indices = max_pool1d_with_indices(Tensor.from_data([[[1.0, 3.0, 2.0, 5.0]]], backend), 2)
    assert out.numpy().tolist() == [[[3, 5]]]
    assert isinstance(indices, IntTensor)
    assert (indices.dtype, indices.numpy().tolist()) == (DType.I32, [[[1, 3]]])
    longs = backend.with_dtypes(int_dtype=DType.I64)
    _, indices = max_pool2d_with_indices(Tensor.from_data([[[[1.0, 3.0], [2.0, 5.0]]]], longs), 2)
    assert (indices.dtype, indices.item()) == (DType.I64, 3)
    bytes_ = backend.with_dtypes(int_dtype=DType.I8)
    with pytest.raises(
        TensorError, match=r"max_pool2d_with_indices: positions in a plane \[12, 11\] do not fit into I8"
    ):
        max_pool2d_with_indices(Tensor.zeros([1, 1, 12, 11], bytes_), 2)


def test_the_gradient_goes_with_the_indices() -> None:
    x = line(1.0, 3.0, 3.0, 2.0).require_grad()
    out, indices = max_pool1d_with_indices(x, 2, 1)
    assert indices.numpy().tolist() == [[[1, 1, 2]]]
    assert x.grad((out * line(1.0, 10.0, 100.0)).sum().backward()).numpy().tolist() == [[[0, 11, 100, 0]]]
    assert x.grad(max_pool1d(x, 2, 1).sum().backward()).numpy().tolist() == [[[0, 2, 1, 0]]]


X2 = Tensor.zeros([2, 3, 4, 4], plain)


@pytest.mark.parametrize(
    ("attempt", "error", "text"),
    [
        (lambda: max_pool2d(X2[0], 2), ShapeError, r"\[N, C, H, W\], but has \[3, 4, 4\]"),
        (lambda: avg_pool1d(X2, 2), ShapeError, r"\[N, C, L\], but has \[2, 3, 4, 4\]"),
        (lambda: adaptive_avg_pool3d(X2, 2), ShapeError, r"\[N, C, D, H, W\]"),
        (
            lambda: max_pool2d(X2, 5),
            ShapeError,
            r"kernel_size \[5, 5\].* the input \[4, 4\], no window fits",
        ),
        (
            lambda: max_pool2d(X2, 3, dilation=2),
            ShapeError,
            r"\[3, 3\], dilation \[2, 2\].* reaches over \[5, 5\]",
        ),
        (lambda: avg_pool2d(X2, (2, 7), 1, ceil_mode=True), ShapeError, r"\[2, 7\]"),
        (lambda: max_pool2d(X2, 2, padding=2), ShapeError, r"padding \[\[2, 2\], \[2, 2\]\].* holds padding only"),
        (lambda: max_pool2d(X2, 0), TensorError, r"kernel_size must be 1 or more, but is \[0, 0\]"),
        (lambda: max_pool2d(X2, 2, (1, 0)), TensorError, r"stride must be 1 or more, but is \[1, 0\]"),
        (lambda: max_pool2d(X2, 2, dilation=-1), TensorError, r"dilation must be 1 or more"),
        (lambda: avg_pool2d(X2, 2, padding=-1), TensorError, r"padding must be 0 or more, but is \[-1, -1\]"),
        (
            lambda: avg_pool2d(X2, 2, padding=[(1, -1), (0, 0)]),
            TensorError,
            r"padding must be 0 or more, but is \[1, -1\]",
        ),
        (lambda: max_pool2d(X2, (2, 2, 2)), TensorError, r"kernel_size \[2, 2, 2\] has 3 entries, .* 2 dimensions"),
        (lambda: avg_pool2d(X2, 2, padding=[(1, 1)]), TensorError, r"padding has 1 pairs"),
        (lambda: max_pool2d(X2, 2.0), KindError, "kernel_size must be an int"),  # type: ignore[arg-type]
        (lambda: adaptive_avg_pool2d(X2, (0, 1)), TensorError, r"output_size must be 1 or more, but is \[0, 1\]"),
        (lambda: adaptive_avg_pool2d(Tensor.zeros([1, 1, 0, 3], plain), 1), ShapeError, r"\[1, 1, 0, 3\]"),
        (lambda: max_pool2d(X2 > 0, 2), KindError, "BoolTensor"),  # type: ignore[arg-type]
        (lambda: max_pool2d([1.0], 2), KindError, "list"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_work_is_refused_with_its_numbers(attempt: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        attempt()
