"""Users' own ops, their check, DLPack and checkpointing: what `test_bad_input` tries junk on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minburn import Tensor
from minburn.backends import Autodiff, BalancedCheckpointing, NumPy
from minburn.tensor import custom_array_op, custom_op
from minburn.testing import check_gradients

PLAIN = NumPy(seed=1)
X = Tensor.from_data([0.5, 2.0], PLAIN)
Entry = tuple[Any, tuple[Any, ...]]


def differentiated(decorator: Any, result: Any, gradient: Any) -> None:
    """An op whose rule returns the one, and whose pullback the other."""
    x = X.autodiff(Autodiff(PLAIN)).require_grad()
    decorator(lambda *args: (result, lambda grad: gradient))(x).backward()


def entries() -> Iterator[Entry]:
    for decorator in (custom_op, custom_array_op):
        yield decorator(lambda *args: (args[-1], lambda grad: grad)), (X,)
        yield decorator, (len,)
        yield lambda returned, decorator=decorator: decorator(lambda *args: returned)(X), ((X, abs),)
    yield lambda *values: differentiated(custom_op, *values), (X, X)
    yield lambda *values: differentiated(custom_array_op, *values), (X.numpy(), X.numpy())
    yield lambda function: callable(function) or check_gradients(function, X), (abs,)
    yield lambda returned: check_gradients(lambda x: returned, X), (X,)
    yield lambda *tensors: check_gradients(lambda x, y: x, *tensors), (X, X)
    for option in ("order", "step", "rtol", "atol", "max_elements", "seed"):
        yield lambda value, option=option: check_gradients(lambda x: x * x, X, **{option: value}), (1,)
    yield Autodiff, (PLAIN, BalancedCheckpointing)
    yield lambda device: X.__dlpack__(dl_device=device), ((1, 0),)
