"""Gradient checkpointing: not a bit of a gradient changes, less is kept, everything is freed."""

from __future__ import annotations

import gc
import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from rows import Row, primitive
from test_complete import TABLES
from test_gradients import DIFFERENTIABLE, float_arrays, with_arrays

from minburn.backends import Autodiff, BalancedCheckpointing, NoCheckpointing, NumPy
from minburn.backends.autodiff.checkpoint import MEMORY_BOUND, Recipe, Remade, _cells
from minburn.backends.autodiff.graph import Node
from minburn.backends.numpy import NumPyFloats
from minburn.dtype import DType

STRATEGIES = (NoCheckpointing, BalancedCheckpointing)
OPS = Autodiff(NumPy(), BalancedCheckpointing).floats
WITH_RULES = {
    name: op
    for table in ("floats", "modules", "activations")
    for name, op in ((n, getattr(TABLES[table][2], n)) for n in dir(TABLES[table][2]))
    if hasattr(op, "has_rule")
}


def backends(float_dtype: DType = DType.F32) -> list[Autodiff]:
    return [Autodiff(NumPy(seed=1, float_dtype=float_dtype), strategy) for strategy in STRATEGIES]


def leaf(ops: Any, array: Any) -> Any:
    return ops.set_require_grad(ops.from_data(np.asarray(array)), True)


def kept(root: Node) -> list[Any]:
    """The distinct arrays that the pullbacks of a graph keep."""
    found: dict[int, Any] = {}
    seen, waiting = {id(root)}, [root]
    recipes: list[Recipe] = []
    while waiting:
        node = waiting.pop()
        for pullback in node.pullbacks:
            cells = _cells(getattr(pullback, "pullback", pullback))
            items = [cell.cell_contents for cell in cells] + [getattr(pullback, "recipe", None)]
            while items:
                item = items.pop()
                if isinstance(item, Recipe) and id(item) not in seen:
                    seen.add(id(item))
                    recipes.append(item)
                    items += [getattr(i, "value", i) for i in item._inputs]
                elif isinstance(item, np.ndarray) and item.dtype.kind == "f":
                    found[id(item)] = item
        for parent in node.parents or ():
            if id(parent) not in seen:
                seen.add(id(parent))
                waiting.append(parent)
    return list(found.values())


def test_memory_bound_ops_are_ops_with_rules() -> None:
    assert set(WITH_RULES) >= MEMORY_BOUND
    assert not MEMORY_BOUND & {"matmul", "linear", "conv2d", "attention", "embedding", "sum", "max_dim", "cast"}


def bits(array: Any) -> tuple[Any, ...]:
    return array.shape, array.dtype, np.ascontiguousarray(array).tobytes()


def gradients_of(backend: Any, row: Row, case: Any, doubled: bool) -> list[Any]:
    """Of Σ (op(x, …)²) · w. The operands and the results of the op are those of memory-bound ones, used twice."""
    floats, plain = backend.floats, backend.inner
    arrays = float_arrays(case)
    leaves = [floats.set_require_grad(primitive(backend, array), True) for array in arrays]
    operands = [floats.add_scalar(x, 0.0) for x in leaves]
    result = getattr(getattr(backend, row.table), row.op)(
        *(primitive(backend, a) if isinstance(a, np.ndarray) else a for a in with_arrays(case, operands))
    )
    total = floats.zeros((1,))
    for part in result if isinstance(result, tuple) else (result,):
        if hasattr(part, "node"):
            squared = floats.mul(part, floats.mul_scalar(part, 0.5))
            weights = np.random.default_rng(3).standard_normal(part.shape)
            total = floats.add(total, floats.sum(floats.mul(squared, floats.from_data(weights))))
    for operand in operands:
        total = floats.add(total, floats.sum(floats.sin(operand)))
    gradients = floats.backward(total)
    found = [floats.grad(x, gradients) for x in leaves]
    if not doubled:
        return [bits(plain.floats.into_data(grad)) for grad in found]
    return found


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=lambda r: r.name)
@pytest.mark.parametrize("float_dtype", [DType.F32, DType.F64], ids=str)
def test_every_op_has_the_same_gradient(row: Row, float_dtype: DType) -> None:
    for case in row.cases:
        one, other = (gradients_of(backend, row, case, False) for backend in backends(float_dtype))
        assert one == other, f"{row.name}, case {case}"


@pytest.mark.parametrize("row", [row for row in DIFFERENTIABLE if not row.kinked], ids=lambda r: r.name)
def test_every_op_has_the_same_second_derivative(row: Row) -> None:
    """Leaves of both levels, and only of the outer one, with every pair of strategies."""
    for case in row.cases[:3]:
        results = []
        for inner in backends():
            for strategy in STRATEGIES:
                outer = Autodiff(inner, strategy)
                ops, arrays = outer.floats, float_arrays(case)
                inner_leaves = [inner.floats.set_require_grad(primitive(inner, array), True) for array in arrays]
                leaves = [ops.set_require_grad(ops.from_inner(x), True) for x in inner_leaves]
                operands = [ops.mul_scalar(x, 1.5) for x in leaves]
                result = getattr(getattr(outer, row.table), row.op)(
                    *(primitive(outer, a) if isinstance(a, np.ndarray) else a for a in with_arrays(case, operands))
                )
                part = result[0] if isinstance(result, tuple) else result
                loss = ops.sum(ops.mul(ops.tanh(part), part))
                first = ops.backward(loss)
                slopes = [ops.grad(x, first) for x in leaves]
                found = [bits(inner.floats.into_data(s)) for s in slopes if s is not None]
                total = inner.floats.zeros((1,))
                for slope in slopes:
                    if slope is not None:
                        total = inner.floats.add(total, inner.floats.sum(inner.floats.mul(slope, slope)))
                if inner.floats.is_tracked(total):
                    second = inner.floats.backward(total)
                    hessian = [inner.floats.grad(x, second) for x in inner_leaves]
                    found += [bits(h) for h in hessian if h is not None]
                found += gradients_of_once(outer, row, case)
                results.append(found)
        assert all(result == results[0] for result in results[1:]), f"{row.name}, case {case}"


def gradients_of_once(outer: Any, row: Row, case: Any) -> list[Any]:
    """First derivatives on a backend that is decorated twice: below nothing is recorded."""
    below = outer.inner.floats
    return [bits(below.into_data(grad)) for grad in gradients_of(outer, row, case, True) if grad is not None]


def both(build: Callable[[Any, Any], Any], *arrays: Any) -> None:
    """`build(backend, leaves)` gives a loss; its gradients are the same with either strategy."""
    found = []
    for backend in backends():
        floats = backend.floats
        leaves = [leaf(floats, array) for array in arrays]
        gradients = floats.backward(build(backend, leaves))
        reached = [floats.grad(x, gradients) for x in leaves]
        found.append([grad if grad is None else bits(grad) for grad in reached])
    assert found[0] == found[1]


NORMAL = np.random.default_rng(0).standard_normal


def test_chains_branches_and_shared_inputs() -> None:
    def chain(backend: Any, leaves: Any) -> Any:
        ops, (x, w) = backend.floats, leaves
        for _ in range(30):
            x = ops.tanh(ops.add(ops.matmul(x, w), ops.mul(x, x)))
        return ops.sum(x)

    def branches(backend: Any, leaves: Any) -> Any:
        ops, (x, w) = backend.floats, leaves
        shared = ops.exp(ops.mul_scalar(x, 0.1))
        left = ops.matmul(shared, w)
        right = ops.mul(ops.sin(shared), shared)
        joined = ops.cat([left, right, shared, shared], 1)
        return ops.sum(ops.mul(joined, ops.swap_dims(ops.swap_dims(joined, 0, 1), 0, 1)))

    def detached(backend: Any, leaves: Any) -> Any:
        ops, (x, w) = backend.floats, leaves
        y = ops.exp(x)
        return ops.sum(ops.matmul(ops.mul(ops.detach(y), y), ops.div(w, ops.detach(ops.mul(w, w)))))

    both(chain, NORMAL((4, 4)), NORMAL((4, 4)))
    both(branches, NORMAL((4, 4)), NORMAL((4, 4)))
    both(detached, NORMAL((4, 4)), NORMAL((4, 4)))


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    def build(backend: Any, leaves: Any) -> Any:
        rng = np.random.default_rng(seed)
        ops, act, modules = backend.floats, backend.activations, backend.modules
        values = list(leaves)
        for _ in range(60):
            x, y = (values[k] for k in rng.integers(0, len(values), 2))
            makers: list[Callable[[], Any]] = [
                lambda x=x: ops.tanh(x),
                lambda x=x, y=y: ops.mul(ops.sin(x), y),
                lambda x=x, y=y: ops.add(x, y),
                lambda x=x, y=y: ops.sub(x, ops.detach(y)),
                lambda x=x: act.gelu(x),
                lambda x=x: act.relu(x),
                lambda x=x: act.softmax(x, 1),
                lambda x=x, y=y: ops.tanh(ops.matmul(x, y)),
                lambda x=x, y=y: ops.tanh(modules.linear(x, y, None)),
                lambda x=x: ops.permute(x, (1, 0)),
                lambda x=x: ops.reshape(ops.flip(x, (0,)), x.shape),
                lambda x=x: ops.expand(ops.mean_dim(x, 0), x.shape),
                lambda x=x: ops.slice(ops.cat([x, x], 0), ((1, x.shape[0] + 1, 1), (0, x.shape[1], 1))),
                lambda x=x: ops.mask_fill(x, ops.greater_elem(x, 0.3), 0.5),
                lambda x=x: act.silu(ops.sqrt(ops.add_scalar(ops.mul(x, x), 1.0))),
            ]
            values.append(makers[rng.integers(len(makers))]())
        total = values[-1]
        for value in values[3:-1:5]:
            total = ops.add(total, value)
        return ops.sum(total)

    both(build, NORMAL((5, 5)), NORMAL((5, 5)), NORMAL((5, 5)))


def layers(backend: Any, act: Callable[[Any], Any], depth: int = 6) -> Any:
    floats = backend.floats
    x = leaf(floats, NORMAL((8, 8)))
    for _ in range(depth):
        x = act(backend.modules.linear(x, leaf(floats, NORMAL((8, 8)) / 4), None))
    return floats.sum(x)


def test_what_memory_bound_ops_made_is_not_kept() -> None:
    plain, balanced = backends()
    # of each layer: its weight, the slope of the GELU and its result; the product in the place of both
    assert len(kept(layers(plain, plain.activations.gelu).node)) == 3 * 6
    assert len(kept(layers(balanced, balanced.activations.gelu).node)) == 2 * 6 + 1

    def longer(backend: Any) -> Callable[[Any], Any]:
        ops, act = backend.floats, backend.activations
        return lambda x: ops.mul(ops.exp(act.gelu(x)), ops.tanh(ops.sin(x)))

    assert len(kept(layers(plain, longer(plain)).node)) == 6 * 6
    assert len(kept(layers(balanced, longer(balanced)).node)) == 2 * 6 + 1


def test_each_value_is_made_again_once_and_only_if_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()

    def counted(name: str) -> Callable[..., Any]:
        op = getattr(NumPyFloats, name)

        def call(self: Any, *args: Any) -> Any:
            calls[name] += 1
            return op(self, *args)

        return call

    for name in ("tanh", "exp", "matmul", "neg"):
        monkeypatch.setattr(NumPyFloats, name, counted(name))
    x, w = leaf(OPS, NORMAL((3, 3))), leaf(OPS, NORMAL((3, 3)))
    y = OPS.tanh(OPS.exp(OPS.neg(x)))  # exp and tanh are asked for; neg, whose gradient needs no value, for exp's sake
    total = OPS.add(OPS.matmul(y, w), OPS.add(OPS.matmul(w, y), OPS.mul(y, y)))
    assert calls == {"neg": 1, "exp": 1, "tanh": 1, "matmul": 2}
    OPS.backward(OPS.sum(total))
    assert (calls["exp"], calls["tanh"], calls["matmul"]) == (2, 2, 2 + 4)
    calls.clear()
    OPS.backward(OPS.sum(OPS.add(OPS.exp(x), OPS.add_scalar(OPS.neg(OPS.neg(x)), 1.0))))
    assert (calls["exp"], calls["neg"]) == (2, 2 + 2)  # twice there, and twice as a gradient


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def alive() -> int:
    return sum(type(item) in (Node, Recipe, Remade) for item in gc.get_objects())


@pytest.mark.usefixtures("no_collector")
def test_a_chain_of_a_hundred_thousand_memory_bound_ops() -> None:
    before = alive()
    x = leaf(OPS, [0.5])
    end = x
    for _ in range(50_000):
        end = OPS.sin(OPS.cos(end))
    assert np.isfinite(OPS.grad(x, OPS.backward(end)))
    del end
    assert alive() == before + 1
    end = x
    for _ in range(20_000):  # and one that nobody walked
        end = OPS.mul(OPS.tanh(end), end)
    assert alive() > before + 20_000
    del end
    assert alive() == before + 1


@pytest.mark.usefixtures("no_collector")
def test_graphs_and_recipes_are_freed_by_reference_counts_alone() -> None:
    before = alive()
    backend = Autodiff(NumPy(), BalancedCheckpointing)
    loss = layers(backend, lambda x: backend.floats.mul(backend.activations.gelu(x), x))
    assert alive() > before
    gradients = backend.floats.backward(loss)
    del loss, gradients
    assert alive() == before
    loss = layers(backend, backend.activations.silu)
    del loss
    assert alive() == before


def test_the_strategy_is_part_of_the_backend() -> None:
    plain, balanced = backends()
    assert plain.strategy is NoCheckpointing
    assert balanced.name == "autodiff<numpy, BalancedCheckpointing>"
    assert balanced.with_dtypes(float_dtype=DType.F64).strategy is BalancedCheckpointing
    assert pickle.loads(pickle.dumps(balanced)).floats is balanced.floats
    assert Autodiff(NumPy(), BalancedCheckpointing).activations is balanced.activations
    assert plain.floats is not balanced.floats
    with pytest.raises(TypeError, match="NoCheckpointing or BalancedCheckpointing, but got str 'balanced'"):
        Autodiff(NumPy(), "balanced")  # type: ignore[arg-type]
