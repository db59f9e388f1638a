"""Activation functions against results of Burn 0.22.1 (tests/golden/burn/activations.json)."""

import json
from pathlib import Path

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.tensor import Tensor, activation

CASES = json.loads((Path(__file__).parent.parent / "golden" / "burn" / "activations.json").read_text())["cases"]
FUNCTIONS = {
    "leaky_relu": lambda x: activation.leaky_relu(x, 0.01),
    "leaky_relu_0.3": lambda x: activation.leaky_relu(x, 0.3),
    "hard_sigmoid": lambda x: activation.hard_sigmoid(x, 0.2, 0.5),
    "softplus_2.5": lambda x: activation.softplus(x, 2.5),
    "softplus_threshold": lambda x: activation.softplus_with_threshold(x, 1.0, 2.0),
    "elu": lambda x: activation.elu(x, 1.0),
    "elu_0.4": lambda x: activation.elu(x, 0.4),
    "celu": lambda x: activation.celu(x, 1.0),
    "celu_2": lambda x: activation.celu(x, 2.0),
    "soft_shrink": lambda x: activation.soft_shrink(x, 0.5),
    "shrink": lambda x: activation.shrink(x, 0.4, 0.2),
    "threshold": lambda x: activation.threshold(x, 0.1, -7.0),
    "prelu_1": lambda x: activation.prelu(x, Tensor.from_data([0.25], x.backend)),
    "softmax": lambda x: [activation.softmax(x, 0), activation.softmax(x, -1)],
    "log_softmax": lambda x: [activation.log_softmax(x, 0), activation.log_softmax(x, 1)],
    "softmin": lambda x: activation.softmin(x, 1),
    "quiet_softmax": lambda x: activation.quiet_softmax(x, 1),
    "softmax_large": lambda x: activation.softmax(x, 1),
    "softmax_all_neg_inf": lambda x: activation.softmax(x, 1),
    "glu": lambda x: activation.glu(x, 1),
}
BETTER = ("elu", "celu", "selu")
"""Where Burn's gradient of large inputs is NaN, ours is that of x."""


def array(spec):
    dtype = np.float64 if spec.get("dtype") == "F64" else np.float32
    return np.array([float(v) for v in spec["data"]], dtype).reshape(spec["shape"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_values_and_gradients(case):
    name = case["name"].removesuffix("_f64")
    f64 = case["name"].endswith("_f64")
    backend = Autodiff(NumPy(seed=0, float_dtype=DType.F64 if f64 else DType.F32))
    if "panic" in case:
        if name == "softmax_bad_dim":
            with pytest.raises(ValueError, match="dimension 2"):
                activation.softmax(Tensor.zeros([3, 4], backend), 2)
        else:  # alpha in F32, x in F64
            alpha = Tensor.from_data([0.25], backend, DType.F32)
            with pytest.raises(ValueError, match="dtypes F64 and F32"):
                activation.prelu(Tensor.zeros([3], backend), alpha)
        return
    function = FUNCTIONS.get(name) or getattr(activation, name)
    x = Tensor.from_data(array(case["inputs"]["x"]), backend).require_grad()
    results = function(x)
    results = results if isinstance(results, list) else [results]
    rtol, atol = (1e-10, 1e-12) if f64 else (1e-4, 1e-6)
    if f64 and name.startswith("hard_"):  # Burn computes it in F32
        rtol, atol = 1e-6, 1e-7
    total = Tensor.zeros([1], backend)
    for result, (out, spec) in zip(results, case["outputs"].items(), strict=True):
        np.testing.assert_allclose(result.numpy(), array(spec), rtol, atol)
        weights = np.reshape(case["weights"][out]["data"], result.shape)
        total = total + (result * Tensor.from_data(weights, backend)).sum()
    grad, expected = x.grad(total.backward()).numpy(), array(case["input_grads"]["x"])
    assert grad.dtype == expected.dtype
    if name.startswith(BETTER):
        better = np.isnan(expected) & (x.numpy() > 0)
        slope = activation.SELU_GAMMA if name == "selu" else 1.0
        np.testing.assert_allclose(grad[better], weights[better] * slope, rtol)
        expected[better] = grad[better]
    np.testing.assert_allclose(grad, expected, rtol, atol)
