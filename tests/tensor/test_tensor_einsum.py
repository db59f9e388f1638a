"""einsum against NumPy's, over many equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.tensor import FloatTensor, KindError, ShapeError, Tensor, TensorError
from minburn.testing import check_gradients

plain = NumPy(seed=1, float_dtype=DType.F64)
SIZES = {"a": 2, "b": 3, "c": 1, "d": 4, "e": 0}


def values(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def ours(equation: str, *arrays: Any) -> Any:
    return Tensor.einsum(equation, [Tensor.from_data(array, plain) for array in arrays]).numpy()


@st.composite
def equations(draw: Any, labels: str = "abcde") -> tuple[str, list[Any]]:
    """Up to three operands; a label has its size, or 1, in each; the output is some of the labels."""
    operands = draw(st.lists(st.text(labels, min_size=1, max_size=4), min_size=1, max_size=3))
    arrays = []
    for operand in operands:
        sizes = {label: draw(st.sampled_from([SIZES[label], SIZES[label], 1])) for label in operand}
        arrays.append(values(*(sizes[label] for label in operand)))
    used = sorted(set("".join(operands)))
    output = draw(st.permutations(used))[: draw(st.integers(1, len(used)))]
    return ",".join(operands) + "->" + "".join(output), arrays


@given(equations())
@settings(max_examples=80, deadline=None)
def test_equations(case: tuple[str, list[Any]]) -> None:
    equation, arrays = case
    expected = np.einsum(equation, *arrays)
    assert ours(equation, *arrays).shape == expected.shape
    np.testing.assert_allclose(ours(equation, *arrays), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ba", [(2, 3)]),
        ("aB", [(2, 3)]),  # capitals first
        ("ii", [(3, 3)]),
        ("iij->ij", [(3, 3, 2)]),
        ("iii->i", [(3, 3, 3)]),
        ("...ij->...ji", [(2, 4, 2, 3)]),
        ("...ij,...jk->...ik", [(2, 2, 3), (3, 2)]),
        ("...i,...i", [(2, 1, 3), (5, 3)]),
        ("i...->...", [(3, 2)]),
        ("i...->i", [(3, 2, 2)]),
        ("...,...->...", [(2, 3), (3,)]),
        ("bhqd,bhkd->bhqk", [(2, 2, 3, 4), (2, 2, 5, 4)]),
        (" i j , j -> i ", [(2, 3), (3,)]),
        ("i,j,k->kji", [(2,), (3,), (4,)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
    ],
)
def test_forms(equation: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [values(*shape) for shape in shapes]
    if "..." in equation and equation.endswith("->i"):
        expected = arrays[0].sum(axis=(1, 2))  # NumPy refuses to leave the ellipsis out
    else:
        expected = np.einsum(equation, *arrays)
    np.testing.assert_allclose(ours(equation, *arrays), np.reshape(expected, np.shape(expected) or (1,)), rtol=1e-12)


def test_scalars_have_shape_1() -> None:
    assert ours("", values(1)).tolist() == values(1).tolist()
    assert np.allclose(ours(",ij->ij", values(1), values(2, 3)), values(1) * values(2, 3))
    assert np.allclose(ours("ij->", values(2, 3)), [values(2, 3).sum()])
    assert ours("i,i->", values(0), values(0)).tolist() == [0]


def test_ints_stay_ints_and_floats_have_gradients() -> None:
    a, b = Tensor.from_data([[1, 2], [3, 4]], plain), Tensor.from_data([1, 1], plain)
    assert Tensor.einsum("ij,j->i", [a, b]).numpy().tolist() == [3, 7]
    x, y = (Tensor.from_data(values(*shape), plain) for shape in ((2, 3, 3), (1, 3, 4)))
    for equation in ("bij,bjk->ki", "bii,ajk->bk", "bij,ajk->", "bij,ajk->bakij"):
        check_gradients(lambda x, y, e=equation: Tensor.einsum(e, [x, y]), x, y)


def test_a_plain_operand_is_a_constant() -> None:
    backend = Autodiff(plain)
    x = Tensor.from_data(values(2, 3), backend).require_grad()
    out = Tensor.einsum("ij,jk->ik", [Tensor.from_data(values(4, 2), plain), x])
    assert isinstance(out, FloatTensor) and out.is_tracked


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij->ik", [(2, 2)], "output label 'k' does not appear in any operand"),
        ("ij->ii", [(2, 2)], "output label 'i' appears more than once in the output"),
        ("i1->i", [(2, 2)], "'1' at 1 of 'i1->i'"),
        ("i,é", [(2,), (2,)], "'é' at 2"),
        ("i.j", [(2, 2)], r"a dot that is not part of '\.\.\.' at 1"),
        ("...i...", [(2,)], r"more than one '\.\.\.'"),
        ("i->i->i", [(2,)], "more than one '->'"),
        ("ij,jk->ik", [(2, 3)], "names 2 operands, but got 1"),
        ("ij->i", [(2,)], r"operand 0 has shape \[2\], but 2 labels"),
        ("...ij->i", [(2,)], "but 2 labels and an ellipsis"),
        (",i", [(2,), (2,)], r"the scalar operand 0 must have shape \[1\], but has \[2\]"),
        ("ii->i", [(2, 3)], "label 'i' of operand 0 repeats with sizes 2 and 3"),
        ("ij,jk", [(2, 3), (4, 2)], "label 'j' has size 3 in operand 0, but 4 in operand 1"),
        ("...i,...i", [(2, 3), (4, 3)], "axis 1 of the ellipsis from the right has size 2 in operand 0, but 4"),
    ],
)
def test_what_is_refused(equation: str, shapes: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(TensorError, match=message):
        ours(equation, *(values(*shape) for shape in shapes))


def test_kinds_that_are_refused() -> None:
    with pytest.raises(KindError, match="bool tensors have no sums"):
        Tensor.einsum("i->", [Tensor.from_data([True], plain)])
    with pytest.raises(KindError, match="an int and a float tensor do not mix"):
        Tensor.einsum("i,i", [Tensor.from_data([1], plain), Tensor.from_data([1.0], plain)])
    with pytest.raises(ShapeError, match="nothing to join"):
        Tensor.einsum("i", [])
    with pytest.raises(KindError, match="the equation must be a str"):
        Tensor.einsum(1, [Tensor.from_data([1], plain)])  # type: ignore[arg-type]
