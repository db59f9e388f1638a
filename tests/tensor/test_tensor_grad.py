"""Gradients as a user sees them: leaves, containers, levels, threads, and the ops this layer composes."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.tensor import DeviceError, FloatTensor, GradError, Tensor

plain = NumPy(seed=1)
auto = Autodiff(plain)


def leaf(*values: float) -> FloatTensor:
    return Tensor.from_floats(list(values), auto).require_grad()


def gradient_of(x: FloatTensor, loss: FloatTensor) -> list[float]:
    gradient = x.grad(loss.backward())
    assert gradient is not None
    return gradient.numpy().tolist()  # type: ignore[no-any-return]


def test_leaves_and_what_is_computed_from_them() -> None:
    x = Tensor.from_data([1.0, 2.0], auto)
    assert (x.is_autodiff, x.is_tracked, x.is_require_grad) == (True, False, False)
    wanted = x.require_grad()
    assert (wanted.is_tracked, wanted.is_require_grad, x.is_require_grad) == (True, True, False)
    y = wanted * 2
    assert (y.is_tracked, y.is_require_grad) == (True, False)
    assert not y.detach().is_tracked
    assert y.detach().is_autodiff
    assert not wanted.set_require_grad(False).is_tracked
    with pytest.raises(ValueError, match="leaf"):
        y.require_grad()


def test_gradients_are_on_the_inner_backend_and_in_a_container() -> None:
    x, other = leaf(1.0, 2.0), leaf(5.0)
    gradients = (x * x).sum().backward()
    gradient = x.grad(gradients)
    assert gradient is not None
    assert gradient.backend is plain
    assert not gradient.is_autodiff
    with pytest.raises(ValueError, match="read-only"):
        gradient.numpy()[0] = 0
    assert other.grad(gradients) is None
    assert (x * 2).grad(gradients) is None
    removed = x.grad_remove(gradients)
    assert removed is not None
    assert removed.numpy().tolist() == [2.0, 4.0]
    assert x.grad(gradients) is None
    assert Tensor.from_data([1.0], plain).grad(gradients) is None


def test_a_plain_backend_has_no_graph() -> None:
    x = Tensor.from_data([1.0], plain)
    with pytest.raises(GradError, match=r"not recorded: numpy keeps no graph.*Autodiff\(backend\)"):
        x.backward()
    with pytest.raises(GradError, match="require_grad"):
        x.require_grad()
    assert x.set_require_grad(False) is x
    assert x.inner() is x
    assert x.detach().numpy().tolist() == [1.0]
    with pytest.raises(ValueError, match="backward"):
        Tensor.from_data([1.0], auto).backward()
    y = leaf(1.0) * 2
    y.backward()
    with pytest.raises(ValueError, match="already consumed"):
        y.backward()


def test_levels() -> None:
    twice = Autodiff(auto)
    x = leaf(3.0)
    lifted = x.autodiff(twice)
    assert Tensor.from_inner(lifted, twice).primitive is lifted.primitive
    assert lifted.inner().primitive is x.primitive
    assert lifted.inner().inner().backend is plain
    assert x.without_autodiff().backend is plain
    ints = Tensor.from_data([1], plain).autodiff(auto)
    assert ints.backend is auto
    assert ints.inner().backend is plain
    with pytest.raises(DeviceError, match="is not below"):
        Tensor.from_inner(x, plain)
    outer = lifted.require_grad()
    first = outer.grad((outer * outer * outer).sum().backward())
    assert first is not None
    assert gradient_of(x, first.sum()) == [18.0]


COMPOSED: dict[str, Callable[[FloatTensor], FloatTensor]] = {
    "index": lambda x: x[1:, 0],
    "reverse": lambda x: x[::-1, None, ::-2],
    "rows": lambda x: x[Tensor.from_data([0, 0], x.backend)],
    "slice": lambda x: x.slice([(0, 2, -1)]),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "take": lambda x: x.take(1, Tensor.from_data([[0, 1], [1, 1]], x.backend)),
    "gather": lambda x: x.gather(0, Tensor.from_data([[0, 1, 1]], x.backend)),
    "flatten": lambda x: x.flatten(),
    "permute": lambda x: x.permute(1, 0),
    "expand": lambda x: x.unsqueeze().expand(4, 2, 3),
    "roll": lambda x: x.roll(1, 1),
    "triu": lambda x: x.triu(),
    "cat": lambda x: Tensor.cat([x, x * 2], 0),
    "stack": lambda x: Tensor.stack([x, x], 1),
    "pad": lambda x: x.pad([(1, 1)], value=3.0),
    "max": lambda x: x.max_dim_with_indices(1)[0],
    "max_pair": lambda x: x.max_pair(Tensor.full([2, 3], 0.2, x.backend)),
    "mask": lambda x: x.mask_fill(x > 0.1, 0.0),
    "assign": lambda x: x.slice_assign([0], Tensor.ones([1, 3], x.backend)),
    "assigned": lambda x: Tensor.ones([4, 3], x.backend).slice_assign([(0, 2)], x),
    "scatter": lambda x: Tensor.zeros([4, 3], x.backend).select_assign(0, Tensor.from_data([3, 3], x.backend), x),
    "rsub": lambda x: 1 - x,
    "rdiv": lambda x: 1 / x,
    "rpow": lambda x: 2**x,
    "mean_dims": lambda x: x.mean_dims([0, 1]),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_composed_ops_are_differentiable(name: str) -> None:
    """One random projection of the gradient against a central difference, in F64."""
    doubles = Autodiff(NumPy(float_dtype=DType.F64))
    op = COMPOSED[name]
    rng = np.random.default_rng(0)
    start, direction = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    weights: np.ndarray | None = None

    def loss(x: FloatTensor) -> FloatTensor:
        nonlocal weights
        result = op(x)
        if weights is None:
            weights = rng.normal(size=result.shape)
        return (result * Tensor.from_data(weights, doubles)).sum()

    x = Tensor.from_data(start, doubles).require_grad()
    gradient = x.grad(loss(x).backward())
    assert gradient is not None
    step = 1e-6
    up = loss(Tensor.from_data(start + step * direction, doubles)).item()
    down = loss(Tensor.from_data(start - step * direction, doubles)).item()
    assert np.isclose((up - down) / (2 * step), (gradient.numpy() * direction).sum(), rtol=1e-5, atol=1e-7)


def test_ties_of_pairs_go_left() -> None:
    x, y = leaf(1.0, 2.0), leaf(1.0, 3.0)
    gradients = x.max_pair(y).sum().backward()
    assert [t.grad(gradients).numpy().tolist() for t in (x, y)] == [[1.0, 0.0], [0.0, 1.0]]  # type: ignore[union-attr]


def test_casts_carry_gradients() -> None:
    x = leaf(1.5, 2.0)
    wide = x.cast(DType.F64)
    assert wide.is_tracked
    assert gradient_of(x, (wide * wide).sum()) == [3.0, 4.0]
    assert not x.int().float().is_tracked


def test_threads_share_nothing() -> None:
    failures: list[str] = []
    x = leaf(*range(64)).reshape(8, 8).detach().require_grad()

    def work(seed: int) -> None:
        for step in range(30):
            factor = float(seed * 100 + step)
            gradient = x.grad((x * factor).sum().backward())
            if gradient is None or not (gradient.numpy() == factor).all():
                failures.append(f"{seed} {step}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
