"""What the activations promise beyond their values: modules, configs, extreme inputs, half floats."""

import json
import math

import numpy as np
import pytest

from minburn import nn
from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.module import ConfigError, Module
from minburn.tensor import KindError, ShapeError, Tensor, TensorError, activation

PLAIN = NumPy(seed=0)
BACKEND = Autodiff(NumPy(seed=0))
X = Tensor.from_data(np.linspace(-4.0, 4.0, 30).reshape(5, 6), PLAIN)

MODULES = [
    (nn.Relu(), activation.relu, "Relu"),
    (nn.Relu6(), activation.relu6, "Relu6"),
    (nn.Gelu(), activation.gelu, "Gelu"),
    (nn.Gelu(approximate=True), activation.gelu_approximate, "Gelu {approximate: true}"),
    (nn.SiLU(), activation.silu, "SiLU"),
    (nn.Sigmoid(), activation.sigmoid, "Sigmoid"),
    (nn.LogSigmoid(), activation.log_sigmoid, "LogSigmoid"),
    (nn.Tanh(), activation.tanh, "Tanh"),
    (nn.Tanhshrink(), activation.tanhshrink, "Tanhshrink"),
    (nn.HardSwish(), activation.hard_swish, "HardSwish"),
    (nn.Softsign(), activation.softsign, "Softsign"),
    (nn.Mish(), activation.mish, "Mish"),
    (nn.Selu(), activation.selu, "Selu"),
    (nn.LeakyReluConfig().init(), activation.leaky_relu, "LeakyRelu {negative_slope: 0.01}"),
    (nn.HardSigmoidConfig().init(), activation.hard_sigmoid, "HardSigmoid {alpha: 0.2, beta: 0.5}"),
    (nn.SoftplusConfig().init(), activation.softplus, "Softplus {beta: 1, threshold: 20}"),
    (nn.EluConfig().init(), activation.elu, "Elu {alpha: 1}"),
    (nn.CeluConfig().init(), activation.celu, "Celu {alpha: 1}"),
    (nn.HardtanhConfig().init(), activation.hardtanh, "Hardtanh {min_val: -1, max_val: 1}"),
    (nn.ThresholdedReluConfig().init(), activation.thresholded_relu, "ThresholdedRelu {alpha: 1}"),
    (nn.HardShrinkConfig().init(), activation.hard_shrink, "HardShrink {lambda: 0.5}"),
    (nn.SoftShrinkConfig().init(), activation.soft_shrink, "SoftShrink {lambda: 0.5}"),
    (nn.ShrinkConfig().init(), activation.shrink, "Shrink {lambda: 0.5, bias: 0.5}"),
    (
        nn.ThresholdConfig(0.5, -2.0).init(),
        lambda x: activation.threshold(x, 0.5, -2.0),
        "Threshold {threshold: 0.5, value: -2}",
    ),
    (nn.GLU(dim=1), lambda x: activation.glu(x, 1), "GLU {dim: 1}"),
]


@pytest.mark.parametrize(("module", "function", "shown"), MODULES, ids=lambda value: str(value)[:20])
def test_a_module_is_its_function(module, function, shown):
    np.testing.assert_array_equal(module(X).numpy(), function(X).numpy())
    assert repr(module) == shown
    with pytest.raises(KindError, match="float tensor, but got IntTensor"):
        module(Tensor.from_data([[1, 2]], PLAIN))


def test_known_values():
    five = Tensor.from_data([5.0, -20.0, 1000.0], PLAIN)
    np.testing.assert_allclose(activation.softplus(five).numpy(), [5.0067153, 2.061154e-9, 1000.0], rtol=1e-6)
    assert activation.softplus_with_threshold(five, 1.0, 1.0).numpy()[0] == 5.0
    assert activation.celu(Tensor.from_data([-1.0], PLAIN), -1.0).item() == pytest.approx(-1.7182818)
    x = Tensor.from_data([-1.0, 0.5, 1.0, 2.0], BACKEND).require_grad()
    slopes = x.grad(activation.gelu(x).sum().backward()).numpy()
    np.testing.assert_allclose(slopes, [-0.083315, 0.867495, 1.083315, 1.085232], atol=1e-6)


@pytest.mark.parametrize("dtype", [DType.F32, DType.F64])
def test_gelu_is_exact_over_its_whole_range(dtype):
    backend = Autodiff(NumPy(float_dtype=dtype))
    x = Tensor.from_data(np.linspace(-9.0, 9.0, 40_001), backend).require_grad()
    y = activation.gelu(x)
    slope = x.grad(y.sum().backward()).numpy()
    points = x.numpy().astype(np.float64)
    phi = np.array([math.erfc(-v / math.sqrt(2.0)) / 2.0 for v in points])
    bound = 3e-7 if dtype is DType.F32 else 1e-14
    assert np.abs(y.numpy() - points * phi).max() <= bound * 2
    assert np.abs(slope - phi - points * np.exp(-points * points / 2) / math.sqrt(2 * math.pi)).max() <= bound


def test_gelu_of_what_lies_otherwise_in_memory():
    x = Tensor.from_data(np.random.default_rng(0).standard_normal((3, 4, 5)), BACKEND)
    for function in (activation.gelu, activation.gelu_approximate, activation.silu, activation.leaky_relu):
        expected = function(x).numpy()
        for axes in ((2, 0, 1), (1, 0, 2)):
            back = tuple(np.argsort(axes).tolist())
            np.testing.assert_allclose(function(x.permute(*axes)).permute(*back).numpy(), expected, rtol=1e-6)
        np.testing.assert_allclose(function(x[:, 1:3]).numpy(), expected[:, 1:3], rtol=1e-6)


SMOOTH = [
    "gelu",
    "gelu_approximate",
    "silu",
    "mish",
    "softplus",
    "log_sigmoid",
    "sigmoid",
    "elu",
    "celu",
    "selu",
    "tanh",
]


@pytest.mark.parametrize("name", [*SMOOTH, "leaky_relu", "softsign", "hard_swish", "tanhshrink"])
@pytest.mark.parametrize("dtype", [DType.F16, DType.F32, DType.F64])
def test_large_inputs_have_finite_values_and_gradients(name, dtype):
    backend = Autodiff(NumPy(float_dtype=dtype))
    x = Tensor.from_data([-1e4, -100.0, -20.0, 0.0, 20.0, 100.0, 1e4], backend).require_grad()
    y = getattr(activation, name)(x)
    grad = x.grad(y.sum().backward())
    assert y.dtype is dtype and grad.dtype is dtype
    assert np.isfinite(y.numpy()).all()
    assert np.isfinite(grad.numpy()).all()


@pytest.mark.parametrize("function", [activation.softmax, activation.softmin])
@pytest.mark.parametrize("dtype", [DType.F16, DType.F32, DType.F64])
def test_softmax_of_large_logits(function, dtype):
    backend = Autodiff(NumPy(float_dtype=dtype))
    x = Tensor.from_data([[1e4, 1e4, -1e4], [-1e4, -1e4, -1e4], [6e4, 6e4, 6e4]], backend).require_grad()
    y = function(x, 1)
    np.testing.assert_allclose(y.numpy().astype(np.float64).sum(1), 1.0, rtol=2e-3)
    np.testing.assert_allclose(y.numpy()[1:], 1 / 3, rtol=1e-3)
    assert np.isfinite(x.grad((y * y).sum().backward()).numpy()).all()


@pytest.mark.parametrize(("dtype", "huge"), [(DType.F16, 6e4), (DType.F32, 3e38), (DType.F64, 1.7e308)])
def test_log_sum_exp_of_equal_huge_logits(dtype, huge):
    backend = Autodiff(NumPy(float_dtype=dtype))
    for value in (huge, -huge):
        x = Tensor.full([2, 8], value, backend).require_grad()
        y = activation.log_softmax(x, 1)
        np.testing.assert_allclose(y.numpy(), -math.log(8.0), rtol=1e-3 if dtype is DType.F16 else 1e-6)
        assert np.isfinite(x.grad(y.narrow(1, 0, 1).sum().backward()).numpy()).all()


def test_quiet_softmax_may_be_quiet():
    x = Tensor.from_data([[-1e4, -1e4], [-math.inf, -math.inf], [1e4, 1e4], [0.0, 0.0]], BACKEND)
    expected = [[0.0, 0.0], [0.0, 0.0], [0.5, 0.5], [1 / 3, 1 / 3]]
    np.testing.assert_allclose(activation.quiet_softmax(x, 1).numpy(), expected, rtol=1e-6)


def test_softmax_of_size_one_and_of_nothing():
    one = Tensor.from_data([[5.0], [-7.0]], BACKEND).require_grad()
    y = activation.softmax(one, 1)
    assert (y.numpy() == 1).all()
    np.testing.assert_array_equal(one.grad(y.sum().backward()).numpy(), 0)
    assert activation.softmax(Tensor.zeros([0, 3], PLAIN), 1).shape == (0, 3)
    assert activation.gelu(Tensor.zeros([0, 3], PLAIN)).shape == (0, 3)


def test_the_deviation_of_one_element():
    x = Tensor.from_data([[3.0], [4.0]], BACKEND).require_grad()
    assert np.isnan(x.var(1).numpy()).all()  # Σ / (1 - 1)
    spread = x.var_bias(1)
    np.testing.assert_array_equal(spread.numpy(), 0)
    np.testing.assert_array_equal(x.grad(spread.sum().backward()).numpy(), 0)


# Learned ones


class Net(Module):
    activation: nn.Activation


def test_prelu():
    layer = nn.PReluConfig(3, alpha=0.5).init(BACKEND)
    x = Tensor.from_data(-np.ones((2, 3, 4)), BACKEND)
    y = layer(x)
    np.testing.assert_array_equal(y.numpy(), -0.5)
    np.testing.assert_array_equal(layer.alpha.value.grad(y.sum().backward()).numpy(), -8.0)
    assert repr(layer) == "PRelu {num_parameters: 3, params: 3}"
    assert nn.PReluConfig().init(PLAIN)(Tensor.from_data([-4.0], PLAIN)).item() == -1.0
    with pytest.raises(ShapeError, match=r"\[2, 4\], alpha \[3\].* \[1\] or \[4\]"):
        layer(Tensor.zeros([2, 4], BACKEND))


def test_rrelu_draws_slopes_in_training_only():
    layer = nn.RReluConfig(0.25, 0.75).init()
    x = Tensor.full([1000], -1.0, BACKEND)
    slopes = -layer(x).numpy()
    assert slopes.min() >= 0.25 and slopes.max() < 0.75 and slopes.std() > 0.1
    for fixed in (layer.valid()(x), layer.freeze()(x), layer(x.inner())):
        np.testing.assert_array_equal(fixed.numpy(), -0.5)
    positive = Tensor.full([3], 2.0, BACKEND)
    np.testing.assert_array_equal(layer(positive).numpy(), 2.0)
    assert repr(layer.freeze()) == "RRelu {lower: 0.25, upper: 0.75, training: disabled}"


def test_swiglu():
    layer = nn.SwiGluConfig(4, 3).init(PLAIN)
    x = Tensor.from_data(np.random.default_rng(0).standard_normal((2, 4)), PLAIN)
    inner, outer = (
        x.numpy() @ layer.linear_inner.weight.value.numpy(),
        x.numpy() @ layer.linear_outer.weight.value.numpy(),
    )
    np.testing.assert_allclose(layer(x).numpy(), inner / (1 + np.exp(-inner)) * outer, rtol=1e-5, atol=1e-6)
    assert repr(layer) == "SwiGlu {d_input: 4, d_output: 3, bias: false, params: 24}"


CHOICES = {
    "Identity": nn.ActivationConfig.Identity(),
    "Gelu": nn.ActivationConfig.Gelu(),
    "GeluApproximate": nn.ActivationConfig.GeluApproximate(),
    "PRelu": nn.ActivationConfig.PRelu(nn.PReluConfig()),
    "Relu": nn.ActivationConfig.Relu(),
    "LeakyRelu": nn.ActivationConfig.LeakyRelu(nn.LeakyReluConfig(0.2)),
    "SwiGlu": nn.ActivationConfig.SwiGlu(nn.SwiGluConfig(6, 2)),
    "Selu": nn.ActivationConfig.Selu(),
    "Sigmoid": nn.ActivationConfig.Sigmoid(),
    "Tanh": nn.ActivationConfig.Tanh(),
    "HardSigmoid": nn.ActivationConfig.HardSigmoid(nn.HardSigmoidConfig()),
    "HardSwish": nn.ActivationConfig.HardSwish(),
    "Softplus": nn.ActivationConfig.Softplus(nn.SoftplusConfig()),
    "Softsign": nn.ActivationConfig.Softsign(),
    "Elu": nn.ActivationConfig.Elu(nn.EluConfig()),
    "Celu": nn.ActivationConfig.Celu(nn.CeluConfig()),
    "ThresholdedRelu": nn.ActivationConfig.ThresholdedRelu(nn.ThresholdedReluConfig()),
    "HardShrink": nn.ActivationConfig.HardShrink(nn.HardShrinkConfig()),
    "SoftShrink": nn.ActivationConfig.SoftShrink(nn.SoftShrinkConfig()),
    "Shrink": nn.ActivationConfig.Shrink(nn.ShrinkConfig()),
}


@pytest.mark.parametrize("name", CHOICES)
def test_the_choice_of_an_activation(name):
    config = CHOICES[name]
    content = json.loads(config.to_json())
    assert (content if isinstance(content, str) else next(iter(content))) == name
    assert nn.ActivationConfig.from_json(config.to_json()) == config
    model = Net(activation=config.init(PLAIN))
    assert model.activation(X).shape == ((5, 2) if name == "SwiGlu" else (5, 6))
    paths = {"PRelu": ["alpha"], "SwiGlu": ["linear_inner.weight", "linear_outer.weight"]}.get(name, [])
    assert [entry.path for entry in model.into_record()] == [f"activation.{name}.{path}" for path in paths]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.CeluConfig(0.0).init(), r"CELU alpha must be finite and non-zero, but got 0\.0"),
        (
            lambda: nn.HardtanhConfig(2.0, 1.0).init(),
            r"equal to max_val, but got min_val=2\.0, max_val=1\.0",
        ),
        (lambda: nn.HardtanhConfig(-math.inf, 1.0).init(), "bounds must be finite, but got min_val=-inf"),
        (lambda: nn.SoftplusConfig(beta=0.0).init(), "must not be 0"),
        (lambda: nn.LeakyReluConfig(math.nan).init(), "negative_slope must be a finite number, but got nan"),
        (lambda: nn.PReluConfig(0).init(PLAIN), "num_parameters must be at least 1, but got 0"),
        (lambda: nn.RReluConfig(0.5, 0.1).init(), "got 0.5 and 0.1"),
    ],
)
def test_settings_that_cannot_work_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_bad_arguments_of_functions():
    with pytest.raises(ShapeError, match=r"dimension 1 of shape \[2, 3\] must have an even size"):
        activation.glu(Tensor.zeros([2, 3], PLAIN), 1)
    with pytest.raises(TensorError, match="alpha must be finite and not 0"):
        activation.celu(X, 0.0)
    with pytest.raises(KindError, match="negative_slope must be a number, but got str"):
        activation.leaky_relu(X, "steep")
    with pytest.raises(TensorError, match="dimension 2"):
        activation.softmin(X, 2)
