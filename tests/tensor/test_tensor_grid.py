"""Sampling at the places of a grid: what identity, ends and mirrors mean, a reference in plain Python, gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from minburn.backends import NumPy
from minburn.dtype import DType
from minburn.tensor import KindError, ShapeError, Tensor, TensorError, functional
from minburn.testing import check_gradients

plain = NumPy(seed=1, float_dtype=DType.F64)
rng = np.random.default_rng(8)
IMAGES = rng.normal(size=(2, 3, 4, 5))
GRID = rng.uniform(-1.6, 1.6, size=(2, 3, 2, 2))
MODES = [(mode, padding, corners) for mode in ("bilinear", "nearest") for padding in ("zeros", "border", "reflection")
         for corners in (False, True)]  # fmt: skip


def tensor(values: Any) -> Any:
    return Tensor.from_data(np.asarray(values, float), plain)


def place(at: float, size: int, padding: str, corners: bool) -> float:
    """The coordinate of a pixel, walked back into the image where padding asks for it."""
    at = (at + 1) * (size - 1) / 2 if corners else ((at + 1) * size - 1) / 2
    low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
    while padding == "reflection" and high > low and not low <= at <= high:
        at = 2 * low - at if at < low else 2 * high - at
    return at if padding == "zeros" else min(max(at, 0.0), size - 1.0)


def sampled(image: Any, x: float, y: float, mode: str, padding: str, corners: bool) -> Any:
    """[C], by the weights of all pixels."""
    _, height, width = image.shape
    column, row = place(x, width, padding, corners), place(y, height, padding, corners)
    if mode == "nearest":
        column, row = float(np.rint(column)), float(np.rint(row))
    total = np.zeros(len(image))
    for i in range(height):
        for j in range(width):
            total += image[:, i, j] * max(0.0, 1 - abs(row - i)) * max(0.0, 1 - abs(column - j))
    return total


@pytest.mark.parametrize(("mode", "padding", "corners"), MODES)
def test_samples_equal_a_sum_over_all_pixels(mode: Any, padding: Any, corners: bool) -> None:
    found = tensor(IMAGES).grid_sample_2d(tensor(GRID), mode, padding, corners).numpy()
    for n, i, j in np.ndindex(2, 3, 2):
        expected = sampled(IMAGES[n], *GRID[n, i, j], mode, padding, corners)
        np.testing.assert_allclose(found[n, :, i, j], expected, atol=1e-12)


@pytest.mark.parametrize(("mode", "padding", "corners"), MODES)
def test_gradients(mode: Any, padding: Any, corners: bool) -> None:
    x, g = tensor(IMAGES[:, :2]), tensor(GRID[:, :2])
    check_gradients(lambda x, g: functional.grid_sample_2d(x, g, mode, padding, corners), x, g, max_elements=30)
    if mode == "bilinear":
        x, g = tensor(IMAGES[:1, :1]), tensor(GRID[:1, :1])
        check_gradients(lambda x, g: functional.grid_sample_2d(x, g, mode, padding, corners), x, g, order=2)


def test_the_identity_gives_the_image_back() -> None:
    identity = tensor([[[1, 0, 0], [0, 1, 0]]]).expand(2, -1, -1)
    grid = functional.affine_grid_2d(identity, IMAGES.shape)
    assert grid.shape == (2, 4, 5, 2) and grid.numpy()[0, 0, 0].tolist() == [-1, -1]
    np.testing.assert_allclose(tensor(IMAGES).grid_sample_2d(grid, align_corners=True).numpy(), IMAGES, atol=1e-12)
    mirrored = functional.affine_grid_2d(tensor([[[-1, 0, 0], [0, 1, 0]]]), (1, 3, 4, 5))
    found = tensor(IMAGES[:1]).grid_sample_2d(mirrored, align_corners=True)
    np.testing.assert_allclose(found.numpy(), IMAGES[:1, :, :, ::-1], atol=1e-12)
    assert functional.affine_grid_2d(tensor([[[1, 0, 0.5], [0, 1, 0]]]), (1, 1, 1, 1)).numpy().tolist() == [
        [[[0.5, 0]]]
    ]
    check_gradients(lambda t: functional.affine_grid_2d(t, (1, 1, 2, 3)), tensor(rng.normal(size=(1, 2, 3))))


def test_one_pixel_and_nan() -> None:
    one = tensor([[[[7.0]]]])
    for padding in ("border", "reflection"):
        found = one.grid_sample_2d(tensor(GRID[:1]), padding_mode=padding, align_corners=True)
        assert (found.numpy() == 7).all()
    assert math.isnan(one.grid_sample_2d(tensor([[[[math.nan, 0.0]]]])).item())
    assert one.grid_sample_2d(tensor(np.zeros((1, 0, 3, 2)))).shape == (1, 1, 0, 3)


def test_what_is_refused() -> None:
    x, grid = tensor(IMAGES), tensor(GRID)
    with pytest.raises(ShapeError, match=r"grid_sample_2d: it takes images \[N, C, H, W\] and a grid"):
        x.grid_sample_2d(grid[0])
    with pytest.raises(ShapeError, match=r"but got \[2, 3, 4, 5\] and \[1, 3, 2, 2\]"):
        x.grid_sample_2d(grid.narrow(0, 0, 1))
    with pytest.raises(TensorError, match="mode is 'bilinear' or 'nearest', but got 'bicubic'"):
        x.grid_sample_2d(grid, "bicubic")
    with pytest.raises(TensorError, match="padding_mode is 'zeros', 'border' or 'reflection', but got 'edge'"):
        x.grid_sample_2d(grid, padding_mode="edge")
    with pytest.raises(KindError, match="align_corners is True or False"):
        x.grid_sample_2d(grid, align_corners=1)
    with pytest.raises(ShapeError, match=r"affine_grid_2d: size is \(N, C, H, W\) and theta \[N, 2, 3\]"):
        functional.affine_grid_2d(tensor(np.zeros((1, 3, 3))), (1, 1, 2, 2))
