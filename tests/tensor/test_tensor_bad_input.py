"""Whatever is passed to whatever method: one typed error with a text, never an accident from below."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import pytest

from minburn.backends import Autodiff, AutodiffError, BackendError, NumPy
from minburn.tensor import KindError, Tensor, TensorError, activation, functional

plain = NumPy(seed=1)
auto = Autodiff(plain)

TENSORS = {
    "float": Tensor.from_data([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], plain),
    "tracked": Tensor.from_data([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], auto).require_grad(),
    "int": Tensor.from_data([[1, 2, 3], [4, 5, 6]], plain),
    "bool": Tensor.from_data([[True, False]], plain),
}
JUNK = [
    None,
    "a",
    1.5,
    -100,
    7,
    np.ones(3),
    [1, None],
    object(),
    True,
    {},
    float("nan"),
    10**30,
    -(10**400),
    2**62,
    np.bool_(True),
    np.array(3.0),
    [],
    TENSORS["int"][0],
    TENSORS["bool"],
]
OPERATORS = {"__add__", "__radd__", "__rsub__", "__rtruediv__", "__rmod__", "__pow__", "__rpow__", "__matmul__"}
OPERATORS |= {"__getitem__", "__and__", "__or__", "__xor__", "__eq__", "__lt__"}


@pytest.mark.parametrize("which", TENSORS)
def test_junk_gives_typed_errors(which: str) -> None:
    tensor = TENSORS[which]
    before = tensor.numpy().copy()
    accidents: list[str] = []
    for name in dir(tensor):
        method = getattr(tensor, name) if not name.startswith("_") or name in OPERATORS else None
        if not inspect.ismethod(method) and not inspect.isfunction(method):
            continue
        parameters = list(inspect.signature(method).parameters.values())
        count = min(2, len(parameters))
        for junk in itertools.product(JUNK, repeat=count):
            arguments: list[Any] = [*junk, *itertools.repeat([1, 1], max(0, _required(parameters) - count))]
            try:
                method(*arguments)
            except (TensorError, BackendError, AutodiffError):
                continue
            except Exception as error:
                accidents.append(f"{name}{arguments}: {type(error).__name__} {error}")
    assert not accidents, "\n".join(accidents[:5])
    assert np.array_equal(tensor.numpy(), before)


def _required(parameters: list[inspect.Parameter]) -> int:
    return sum(1 for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD)


@pytest.mark.parametrize(
    "junk", [None, 1.0, np.ones((2, 2)), TENSORS["int"], TENSORS["bool"]], ids=lambda j: type(j).__name__
)
def test_functions_of_floats_refuse_other_kinds(junk: Any) -> None:
    x = TENSORS["float"]
    for function in (activation.relu, activation.gelu, activation.sigmoid, activation.log_sigmoid, activation.tanh):
        with pytest.raises(KindError, match="expected a float tensor"):
            function(junk)
    with pytest.raises(KindError, match="float"):
        activation.silu(junk)
    for along in (activation.softmax, activation.log_softmax):
        with pytest.raises(KindError, match="expected a float tensor"):
            along(junk, 0)
    for attempt in (
        lambda: functional.linear(junk, x),
        lambda: functional.linear(x, junk),
        lambda: functional.cross_entropy_with_logits(junk, x),
    ):
        with pytest.raises(KindError, match="expected a float tensor"):
            attempt()
