"""Numbers that people get burned by, at the level users see: values and gradients where naive formulas fail."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from minburn import DType, FloatTensor, IntTensor, Tensor
from minburn.backends import Autodiff, NumPy
from minburn.nn import CrossEntropyLoss, EmbeddingConfig
from minburn.tensor import activation, functional

BACKEND = Autodiff(NumPy(seed=0))
HALF = Autodiff(NumPy(seed=0, float_dtype=DType.F16))


def leaf(values: Any, backend: Any = BACKEND) -> Any:
    return Tensor.from_data(np.asarray(values, np.float32), backend).require_grad()


def gradient(x: Any, y: Any) -> Any:
    return x.grad(y.sum().backward()).numpy()


@pytest.mark.parametrize(("backend", "size"), [(BACKEND, 1e4), (HALF, 6e4)])
def test_softmax_and_cross_entropy_at_the_ends_of_the_range(backend: Any, size: float) -> None:
    x = leaf([[size, -size, 0.0], [-size, -size, -size], [size, size, -size]], backend)
    probs = activation.softmax(x, 1).numpy()
    np.testing.assert_allclose(probs, [[1, 0, 0], [1 / 3] * 3, [0.5, 0.5, 0]], atol=1e-3)
    targets = Tensor.from_data([0, 1, 2], backend)
    per_row = -activation.log_softmax(x, 1).gather(1, targets.unsqueeze_dim(1)).numpy().ravel()
    np.testing.assert_allclose(per_row[:2], [0, math.log(3)], rtol=1e-3)
    assert per_row[2] >= (1.9e4 if backend is BACKEND else 6e4)  # 2 · size is infinite in half precision
    two = leaf([[size, -size], [-size, size]], backend)
    loss = CrossEntropyLoss()(two, Tensor.from_data([0, 1], backend))
    assert loss.item() == 0.0
    assert np.isfinite(gradient(two, loss)).all()


@pytest.mark.parametrize("shift", [0.0, 1e4, -1e4, 1e30])
def test_log_sum_exp_of_equal_huge_logits(shift: float) -> None:
    x = leaf([[shift] * 4])
    y = activation.log_softmax(x, 1)
    np.testing.assert_allclose(y.numpy(), -math.log(4), rtol=1e-6)
    np.testing.assert_allclose(gradient(x, y.slice([(0, 1), (0, 1)])), [[0.75, -0.25, -0.25, -0.25]], rtol=1e-6)


def test_a_cross_entropy_as_large_as_it_should_be() -> None:
    x = leaf([[1e4, -1e4]])
    loss = CrossEntropyLoss()(x, Tensor.from_data([1], BACKEND))
    assert loss.item() == pytest.approx(2e4)
    np.testing.assert_allclose(gradient(x, loss), [[1, -1]])


def test_roots_and_norms_at_zero() -> None:
    x = leaf([0.0, 4.0])
    np.testing.assert_array_equal(gradient(x, x.sqrt()), [math.inf, 0.25])  # the documented slope, as in Burn
    v = leaf([[0.0, 0.0], [3.0, 4.0]])
    norm = v.square().sum_dim(1).clamp_min(1e-12).sqrt()  # what a norm that must be trained does
    np.testing.assert_allclose(gradient(v, norm), [[0, 0], [0.6, 0.8]], rtol=1e-6)


def test_the_variance_of_one_element_is_nan_unless_biased() -> None:
    x = leaf([[3.0]])
    assert math.isnan(x.var(1).item())
    assert x.var_bias(1).item() == 0.0
    assert gradient(x, x.var_bias(1)).tolist() == [[0.0]]


def test_where_keeps_infinite_slopes_of_what_it_did_not_take_out() -> None:
    x = leaf([-1.0, 0.0, 4.0])
    safe = x.mask_where(x.lower_equal_scalar(0.0), x.ones_like())  # mask before the root, not only behind it
    y = safe.sqrt().mask_where(x.lower_equal_scalar(0.0), x.zeros_like())
    assert y.numpy().tolist() == [0, 0, 2]
    assert gradient(x, y).tolist() == [0, 0, 0.25]
    z = (1.0 / x).mask_fill(x.equal_scalar(0.0), 0.0)
    assert np.isfinite(z.numpy()).all()


def test_ties_of_maxima_give_the_whole_gradient_to_the_first() -> None:
    x = leaf([[2.0, 5.0, 5.0]])
    assert gradient(x, x.max_dim(1)).tolist() == [[0, 1, 0]]
    image = leaf(np.ones((1, 1, 2, 4)))
    pooled = functional.max_pool2d(image, (2, 2), stride=(2, 2))
    assert gradient(image, pooled)[0, 0].tolist() == [[1, 0, 1, 0], [0, 0, 0, 0]]


def test_repeated_indices_add_their_gradients() -> None:
    layer = EmbeddingConfig(4, 2).init(BACKEND)
    out = layer(Tensor.from_data([[1, 1, 3], [1, 0, 1]], BACKEND))
    grads = layer.weight.value.grad(out.sum().backward())
    assert grads is not None
    assert grads.numpy().tolist() == [[1, 1], [4, 4], [0, 0], [1, 1]]
    x, v = leaf([0.0, 0.0]), leaf([1.0, 2.0, 4.0])
    y = x.scatter(0, Tensor.from_data([1, 1, 0], BACKEND), v, "add")
    assert y.numpy().tolist() == [4, 3]
    assert gradient(v, y * Tensor.from_data([10.0, 1.0], BACKEND)).tolist() == [1, 1, 10]


@pytest.mark.parametrize("step", [2, 3, 7, -1, -2])
def test_strided_slices_that_pick_one_element(step: int) -> None:
    x = leaf(np.arange(6.0).reshape(2, 3))
    y = x.slice([(1, 2, step), (2, 3, step)])
    assert y.numpy().tolist() == [[5]]
    assert gradient(x, y).tolist() == [[0, 0, 0], [0, 0, 1]]


def test_uneven_cat() -> None:
    a, b, c = leaf(np.ones((2, 1))), leaf(np.ones((2, 3))), leaf(np.ones((2, 0)))
    y = Tensor.cat([a, b, c], 1)
    assert y.shape == (2, 4)
    weighted = y * Tensor.from_data(np.arange(8.0).reshape(2, 4), BACKEND, DType.F32)
    grads = weighted.sum().backward()
    assert a.grad(grads).numpy().tolist() == [[0], [4]]
    assert b.grad(grads).numpy().tolist() == [[1, 2, 3], [5, 6, 7]]


def test_single_precision_never_becomes_double() -> None:
    x = leaf([[0.5, -1.5]])
    numbers = (2, 2.0, np.float64(2.0), np.float32(2.0), np.int64(2))
    made = [op for n in numbers for op in (x + n, n + x, x * n, n - x, x / n, n / x, x.powf_scalar(float(n)))]
    made += [x.mean(), x.var(1), x.sum(), x.sqrt(), activation.gelu(x), activation.softmax(x, 1), x.clamp(-1, 1)]
    for y in made:
        assert y.numpy().dtype == np.float32
        assert gradient(x, y).dtype == np.float32


def test_half_sums_at_one_place_are_accumulated_in_single_precision() -> None:
    x: FloatTensor = Tensor.from_data([0.0], HALF).require_grad()
    places, ones = IntTensor.zeros([4096], HALF), Tensor.ones([4096], HALF)
    assert x.scatter(0, places, ones).item() == 4096  # a half accumulator stops at 2048
    assert x.select_assign(0, places, ones).item() == 4096
    assert x.grad(x.gather(0, places).sum().backward()).item() == 4096  # type: ignore[union-attr]
    assert x.grad(x.select(0, places).sum().backward()).item() == 4096  # type: ignore[union-attr]


def test_half_softmax_of_more_entries_than_a_half_can_count() -> None:
    x: FloatTensor = Tensor.zeros([1, 70_000], HALF)
    np.testing.assert_allclose(activation.softmax(x, 1).numpy()[0, 0], 1 / 70_000, rtol=2e-2)
    np.testing.assert_allclose(activation.log_softmax(x, 1).numpy()[0, 0], -np.log(70_000), rtol=1e-3)


def test_half_attention_where_products_are_no_halves() -> None:
    query, key = (Tensor.full([1, 1, rows, 64], 200.0, HALF).require_grad() for rows in (1, 2))
    value: FloatTensor = Tensor.from_data([[[[1.0], [2.0]]]], HALF)
    out = functional.attention(query, key, value)
    assert out.item() == 1.5
    gradients = out.sum().backward()
    assert np.isfinite(query.grad(gradients).numpy()).all()  # type: ignore[union-attr]
    np.testing.assert_array_equal(key.grad(gradients).numpy()[0, 0, :, 0], [-6.25, 6.25])  # type: ignore[union-attr]


def test_half_sums_are_accumulated_in_single_precision() -> None:
    ones = Tensor.ones((4096,), HALF.inner)
    assert ones.sum().item() == 4096  # a half accumulator stops at 2048
    big = Tensor.full((64,), 6e4, HALF.inner)
    assert big.mean().item() == 6e4  # the sum is beyond a half
    rows = Tensor.ones((4, 4096), HALF.inner)
    assert functional.linear(rows, Tensor.ones((4096, 1), HALF.inner)).numpy().tolist() == [[4096]] * 4


def test_empty_and_single_axes() -> None:
    empty = leaf(np.zeros((0, 3)))
    assert empty.sum().item() == 0.0
    assert empty.sum_dim(0).numpy().tolist() == [[0, 0, 0]]
    assert activation.softmax(empty, 1).shape == (0, 3)
    for function in (activation.softmax, activation.log_softmax, activation.softmin, activation.quiet_softmax):
        assert function(empty, 0).shape == (0, 3)
        assert gradient(empty, function(empty, 0)).shape == (0, 3)
    assert gradient(empty, empty * 2.0).shape == (0, 3)
    assert functional.linear(empty, leaf(np.ones((3, 2)))).shape == (0, 2)
    one = leaf([[7.0]])
    assert activation.softmax(one, 1).item() == 1.0
    assert gradient(one, activation.softmax(one, 0)).item() == 0.0
    assert gradient(one, one.max_dim(0)).item() == 1.0


def test_convolutions_of_oblong_images_with_strides_that_do_not_divide() -> None:
    rng = np.random.default_rng(1)
    image, kernel = rng.standard_normal((2, 3, 7, 10)), rng.standard_normal((4, 3, 3, 2))
    x, w = leaf(image), leaf(kernel)
    options = functional.ConvOptions(stride=(3, 4), padding=((1, 0), (0, 1)), dilation=(1, 1), groups=1)
    y = functional.conv2d(x, w, None, options)
    padded = np.pad(image.astype(np.float32), ((0, 0), (0, 0), (1, 0), (0, 1)))
    rows, cols = (8 - 3) // 3 + 1, (11 - 2) // 4 + 1
    want = np.zeros((2, 4, rows, cols))
    slope = np.zeros_like(padded, dtype=np.float64)
    for r in range(rows):
        for c in range(cols):
            window = (slice(None), slice(None), slice(3 * r, 3 * r + 3), slice(4 * c, 4 * c + 2))
            want[:, :, r, c] = np.einsum("ncij,ocij->no", padded[window], kernel)
            slope[window] += kernel.sum(0)
    assert y.shape == want.shape
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(gradient(x, y), slope[:, :, 1:, :-1], rtol=1e-4, atol=1e-4)
