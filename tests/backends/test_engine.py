"""The autodiff engine: deep graphs, freeing without the garbage collector, refusals, threads, aliasing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.backends.autodiff.graph import Node
from minburn.backends.error import AutodiffError

OPS = Autodiff(NumPy()).floats


def leaf(*values: float) -> Any:
    return OPS.set_require_grad(OPS.from_data(np.array(values)), True)


def nodes() -> int:
    """How many nodes are alive."""
    return sum(type(item) is Node for item in gc.get_objects())


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def chain(x: Any, length: int) -> Any:
    for _ in range(length):
        x = OPS.add_scalar(x, 1.0)
    return x


@pytest.mark.usefixtures("no_collector")
def test_a_chain_of_half_a_million_ops_works_and_is_freed() -> None:
    before = nodes()
    x = leaf(1.0)
    end = chain(x, 500_000)
    gradients = OPS.backward(end)
    assert OPS.grad(x, gradients).tolist() == [1.0]
    del end
    assert nodes() == before + 1
    end = chain(x, 500_000)  # and one that nobody walked
    assert nodes() == before + 500_001
    del end
    assert nodes() == before + 1


@pytest.mark.usefixtures("no_collector")
def test_graphs_are_freed_by_reference_counts_alone() -> None:
    before = nodes()
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    shared = OPS.mul(x, w)
    picked = OPS.max(OPS.cat([shared, x], 0))
    loss = OPS.add(OPS.sum(OPS.add(OPS.exp(shared), shared)), picked)
    assert nodes() > before + 2
    del shared, picked
    gradients = OPS.backward(loss)
    del loss
    assert nodes() == before + 2
    del x, w, gradients
    assert nodes() == before


@pytest.mark.usefixtures("no_collector")
def test_backward_frees_what_the_rules_kept_while_the_loss_is_still_alive() -> None:
    x = leaf(1.0)
    loss = OPS.exp(OPS.exp(x))
    middle = loss.node.parents[0]
    OPS.backward(loss)
    assert middle.pullbacks == ()
    assert middle.parents is None
    assert loss.node.pullbacks == ()


@pytest.mark.usefixtures("no_collector")
def test_a_loop_that_never_calls_backward_does_not_grow() -> None:
    w = leaf(2.0)
    total = 0.0
    before = nodes()
    for _ in range(1000):
        loss = OPS.sum(OPS.exp(OPS.mul(w, w)))
        total += float(loss.value[0])
    assert nodes() <= before + 3
    for _ in range(1000):  # nor one that updates its weight outside the graph
        w = OPS.set_require_grad(OPS.detach(OPS.mul_scalar(w, 0.5)), True)
    assert nodes() <= before + 4


def test_untracked_ops_make_no_nodes() -> None:
    x = OPS.from_data(np.ones(3))
    assert OPS.exp(OPS.mul(x, x)).node is None
    assert OPS.detach(OPS.exp(leaf(1.0))).node is None
    assert OPS.greater_elem(leaf(1.0), 0.0).tolist() == [True]


def test_a_second_backward_is_refused_and_explained() -> None:
    x = leaf(3.0)
    loss = OPS.mul(x, x)
    OPS.backward(loss)
    with pytest.raises(AutodiffError, match="already consumed by an earlier backward"):
        OPS.backward(loss)
    assert OPS.grad(x, OPS.backward(OPS.mul(x, x))).tolist() == [6.0]  # a new forward pass is fine


def test_a_consumed_part_is_refused_before_anything_is_consumed() -> None:
    x, z = leaf(3.0), leaf(5.0)
    shared = OPS.mul(x, x)
    OPS.backward(OPS.exp(shared))
    fresh = OPS.mul(z, z)
    mixed = OPS.add(shared, fresh)
    for _ in range(2):
        with pytest.raises(AutodiffError, match="add the losses before one backward"):
            OPS.backward(mixed)
    assert mixed.node.parents == (shared.node, fresh.node)
    assert OPS.grad(z, OPS.backward(fresh)).tolist() == [10.0]


def test_a_tensor_that_was_not_recorded_has_no_backward() -> None:
    with pytest.raises(AutodiffError, match="was not recorded"):
        OPS.backward(OPS.from_data(np.ones(2)))


def test_a_result_cannot_become_a_leaf() -> None:
    with pytest.raises(AutodiffError, match="it is no leaf"):
        OPS.set_require_grad(OPS.exp(leaf(1.0)), True)
    x = leaf(1.0)
    assert OPS.set_require_grad(x, True) is x
    assert not OPS.is_tracked(OPS.set_require_grad(x, False))


def test_leaves_out_of_reach_have_no_gradient_and_removal_takes_it_away() -> None:
    x, other = leaf(3.0), leaf(4.0)
    gradients = OPS.backward(OPS.mul(x, x))
    assert OPS.grad(other, gradients) is None
    assert OPS.grad(OPS.from_data(np.ones(1)), gradients) is None
    assert OPS.grad_remove(x, gradients).tolist() == [6.0]
    assert OPS.grad(x, gradients) is None
    assert len(gradients) == 0


def test_the_gradient_of_a_leaf_itself_is_one() -> None:
    x = leaf(3.0, 4.0)
    assert OPS.grad(x, OPS.backward(x)).tolist() == [1.0, 1.0]


def test_a_diamond_is_walked_once() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(60):  # 2**60 paths
        y = OPS.add(y, y)
    assert OPS.grad(x, OPS.backward(y)).tolist() == [2.0**60]


def test_threads_build_and_walk_their_own_graphs_over_shared_weights() -> None:
    weight = leaf(1.5, -2.0)

    def work(seed: int) -> list[float]:
        x = OPS.from_data(np.random.default_rng(seed).standard_normal(2))
        y = weight
        for _ in range(200):
            y = OPS.tanh(OPS.add(OPS.mul(y, weight), x))
        found: list[float] = OPS.grad(weight, OPS.backward(OPS.sum(y))).tolist()
        return found

    alone = [work(seed) for seed in range(16)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(16))) == alone


def test_gradients_given_out_cannot_be_written_through_and_passes_do_not_add_up() -> None:
    a, c = leaf(1.0, 2.0), leaf(3.0, 4.0)
    gradients = OPS.backward(OPS.add(a, c))  # both get the same values
    host = OPS.inner.into_data(OPS.grad(a, gradients))
    with pytest.raises(ValueError, match="read-only"):
        host[0] = 9.0
    assert OPS.grad(c, gradients).tolist() == [1.0, 1.0]
    again = OPS.backward(OPS.add(a, c))
    assert OPS.grad(a, again).tolist() == [1.0, 1.0]
    assert OPS.grad(a, gradients).tolist() == [1.0, 1.0]


def test_decorating_twice_gives_second_derivatives() -> None:
    outer = Autodiff(Autodiff(NumPy())).floats
    inner_leaf = leaf(2.0)
    x = outer.set_require_grad(outer.from_inner(inner_leaf), True)
    first = outer.grad(x, outer.backward(outer.powi_scalar(x, 3)))
    assert first.value.tolist() == [12.0]
    assert OPS.grad(inner_leaf, OPS.backward(first)).tolist() == [12.0]


def test_equal_backends_share_their_tables() -> None:
    assert Autodiff(NumPy(1)).floats is Autodiff(NumPy(2)).floats
    with pytest.raises(TypeError, match=r"use Autodiff\(NumPy\(\)\)"):
        Autodiff(NumPy)  # type: ignore[arg-type]
