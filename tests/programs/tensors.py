"""Kinds, shapes and gradients."""

import numpy as np

from minburn import FloatTensor, IntTensor, Tensor
from minburn.backends import Autodiff, NumPy

backend = Autodiff(NumPy(seed=42))

x = Tensor.from_data([[1.0, 2.0], [3.0, 4.0]], backend).require_grad()
assert isinstance(x, FloatTensor) and x.shape == (2, 2) and x.dtype.name == "F32"

row = Tensor.from_data([[10.0, 20.0]], backend)
loss = (x * row).tanh().sum()
assert loss.shape == (1,)  # a full reduction has one element, not rank 0

grads = loss.backward()  # nothing is stored on tensors
grad = x.grad(grads)
assert grad is not None  # None: the loss does not depend on x
assert np.allclose(grad.numpy(), row.numpy() * (1 - np.tanh(x.numpy() * row.numpy()) ** 2), atol=1e-6)

index = Tensor.from_data([1, 0], backend)
assert isinstance(index, IntTensor)
assert np.array_equal(x.select(0, index).numpy(), [[3.0, 4.0], [1.0, 2.0]])
assert np.array_equal((x > 2.0).numpy(), [[False, False], [True, True]])
assert x[:, 0].shape == (2,) and x[0:1].shape == (1, 2)

once = Autodiff(NumPy())
twice = Autodiff(once)
inner = Tensor.from_data([3.0], once).require_grad()
outer = Tensor.from_inner(inner, twice).require_grad()
first = outer.grad((outer * outer * outer).sum().backward())  # 3x², recorded on the level below
assert first is not None and first.item() == 27.0
second = inner.grad(first.sum().backward())  # 6x
assert second is not None and second.item() == 18.0

try:
    x + Tensor.from_data([1.0, 2.0], backend)
except ValueError as error:  # equal ranks, as in Burn
    assert "rank" in str(error) and "unsqueeze" in str(error)
else:
    raise AssertionError("a rank mismatch went through")
