"""What the layers promise beyond their formulas."""

import math

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.backends.array.modules import ArrayModules
from minburn.dtype import DType
from minburn.module import Initializer, Module, ModuleRecord
from minburn.nn import (
    BinaryCrossEntropyLoss,
    BinaryCrossEntropyLossConfig,
    CrossEntropyLoss,
    CrossEntropyLossConfig,
    DropoutConfig,
    Linear,
    LinearConfig,
    LinearLayout,
    MseLoss,
    Relu,
)
from minburn.tensor import KindError, ShapeError, Tensor

LOGITS = [[1.0, 2.0, 3.0], [1.0, 0.0, -1.0], [0.0, 0.0, 0.0]]
PROBS = [[0.1, 0.2, 0.7, 0.0, 0.0], [0.7, 0.1, 0.1, 0.1, 0.0], [0.2] * 5, [0.0, 0.3, 0.3, 0.2, 0.2]]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, 0.6379414),
        ({"pad_tokens": [1]}, 0.4076060),
        ({"pad_tokens": []}, 0.6379414),
        ({"weights": [1.0, 2.0, 0.5]}, 0.8024667),
        ({"weights": [1.0, 2.0, 0.5], "pad_tokens": [1]}, 0.4076060),
        ({"smoothing": 0.1}, 0.7046081),
        ({"smoothing": 0.1, "weights": [1.0, 2.0, 0.5]}, 0.8526809),
        ({"smoothing": 0.1, "pad_tokens": [1]}, 0.5076060),
        ({"smoothing": 0.1, "pad_tokens": [1], "weights": [1.0, 2.0, 0.5]}, 0.5858063),
    ],
)
def test_cross_entropy_values(config, expected):
    backend = Autodiff(NumPy(seed=0))
    loss = CrossEntropyLossConfig(**config).init(backend)
    logits = Tensor.from_data(LOGITS, backend).require_grad()
    targets = Tensor.from_data([2, 0, 1], backend)
    out = loss(logits, targets)
    assert out.shape == (1,)
    assert out.item() == pytest.approx(expected, abs=1e-6)
    assert np.isfinite(logits.grad(out.backward()).numpy()).all()
    assert loss.valid()(logits.inner(), targets).item() == pytest.approx(expected, abs=1e-6)


def test_cross_entropy_of_probabilities():
    backend = NumPy(seed=0)
    loss = CrossEntropyLossConfig(smoothing=0.1, logits=False).init(backend)
    out = loss(Tensor.from_data(PROBS, backend), Tensor.from_data([2, 0, 4, 1], backend))
    assert out.item() == pytest.approx(1.7929223, abs=1e-5)


def test_plain_cross_entropy_is_one_op_of_the_backend(monkeypatch):
    calls = []
    original = ArrayModules.cross_entropy
    for cls in (ArrayModules, *ArrayModules.__subclasses__()):
        monkeypatch.setattr(cls, "cross_entropy", lambda self, x, t: calls.append(1) or original(self, x, t))
    backend = Autodiff(NumPy(seed=0))
    logits, targets = Tensor.from_data(LOGITS, backend), Tensor.from_data([2, 0, 1], backend)
    CrossEntropyLoss()(logits, targets)
    assert calls == [1]
    CrossEntropyLossConfig(smoothing=0.1).init(backend)(logits, targets)
    assert calls == [1]


def test_losses_refuse_what_does_not_fit():
    backend = NumPy(seed=0)
    x = Tensor.zeros([2, 3], backend)
    with pytest.raises(ShapeError, match=r"weights of shape \[3\]"):
        CrossEntropyLossConfig(weights=[1.0, 2.0]).init(backend)(x, Tensor.from_data([0, 1], backend))
    for loss in (CrossEntropyLoss(), CrossEntropyLoss(smoothing=0.1)):
        with pytest.raises(ShapeError, match=r"\[2, 3\]"):
            loss(x, Tensor.from_data([0, 1, 2], backend))
        with pytest.raises(KindError):
            loss(x, Tensor.from_data([True, False], backend))
    with pytest.raises(KindError, match="int"):
        BinaryCrossEntropyLoss()(x, x)
    with pytest.raises(ShapeError, match="equal"):
        BinaryCrossEntropyLoss()(x, Tensor.from_data([0, 1], backend))
    with pytest.raises(ShapeError, match="weights"):
        BinaryCrossEntropyLossConfig(weights=[1.0]).init(backend)(x, Tensor.from_data([[0, 1, 0]] * 2, backend))
    with pytest.raises(ValueError, match="rank"):
        MseLoss()(x, Tensor.zeros([3], backend))
    with pytest.raises(ValueError, match="positive"):
        BinaryCrossEntropyLossConfig(weights=[]).init(backend)


def test_binary_cross_entropy_of_logits():
    backend = NumPy(seed=0)
    loss = BinaryCrossEntropyLoss(logits=True)
    assert loss(Tensor.from_data([0.5, -1.0], backend), Tensor.from_data([1, 0], backend)).item() == pytest.approx(
        0.3936693, abs=1e-6
    )


@pytest.mark.parametrize("dtype", [DType.F32, DType.F64, DType.F16])
def test_binary_cross_entropy_has_finite_gradients(dtype):
    backend = Autodiff(NumPy(seed=0, float_dtype=dtype))
    x = Tensor.from_data([0.0, 1.0, 0.0, 1.0, 1e-45, 0.5], backend).require_grad()
    loss = BinaryCrossEntropyLoss()(x, Tensor.from_data([0, 1, 1, 0, 1, 1], backend))
    rest = 100.0 - math.log(0.5)
    assert loss.item() == pytest.approx((200.0 + rest) / 6, rel=1e-3)
    grads = x.grad(loss.backward()).numpy()
    assert np.isfinite(grads).all()
    assert grads[5] == pytest.approx(-2.0 / 6, rel=1e-3)


def test_dropout_masks_come_from_their_own_saved_stream():
    def masks(seed, skip):
        backend = Autodiff(NumPy(seed=seed))
        dropout, x = DropoutConfig(0.5).init(), Tensor.ones([64], backend)
        for _ in range(skip):
            dropout(x)
        state = backend.streams.state()
        first = dropout(x).numpy()
        backend.streams.load_state(state)
        Tensor.random([100], backend)  # another stream
        return first, dropout(x).numpy(), state

    first, again, state = masks(7, 3)
    assert np.array_equal(first, again)
    assert state["dropout"] > 0
    assert np.array_equal(first, masks(7, 3)[0])
    assert not np.array_equal(first, masks(7, 2)[0])
    assert not np.array_equal(first, masks(8, 3)[0])


def test_dropout_gradient_is_the_mask():
    backend = Autodiff(NumPy(seed=2))
    x = Tensor.ones([32], backend).require_grad()
    out = DropoutConfig(0.25).init()(x)
    assert np.array_equal(x.grad(out.sum().backward()).numpy(), out.numpy())


def test_linear_default_is_uniform_within_one_over_root_of_the_input():
    layer = LinearConfig(100, 50).init(NumPy(seed=1))
    for values in (layer.weight.value.numpy(), layer.bias.value.numpy()):
        assert 0.08 < np.abs(values).max() <= 0.1


def test_linear_col_is_stored_transposed_and_otherwise_the_same(tmp_path):
    backend = Autodiff(NumPy(seed=1))
    layer = LinearConfig(3, 5, layout=LinearLayout.Col).init(backend)
    assert layer.weight.shape == (3, 5)
    assert layer.weight.value.primitive.value.flags.c_contiguous
    assert np.abs(layer.weight.value.numpy()).max() <= 1 / math.sqrt(5)  # fans as stored: [5, 3]
    for variant in (layer, layer.valid(), layer.valid().train(), layer.freeze()):
        stored = variant.into_record()["weight"].data
        assert stored.shape == (5, 3)
        assert np.array_equal(stored.numpy().T, layer.weight.value.numpy())
    layer.save_file(tmp_path / "col")
    record = ModuleRecord.load(tmp_path / "col")
    for target in (LinearConfig(3, 5, layout=LinearLayout.Col).init(backend), layer):
        loaded = target.load_record(record)
        assert np.array_equal(loaded.weight.value.numpy(), layer.weight.value.numpy())
        assert loaded.weight.value.primitive.value.flags.c_contiguous
    row = LinearConfig(3, 5).init(backend)
    with pytest.raises(ValueError, match=r"weight: expected \[3, 5\], the record has \[5, 3\]"):
        row.load_record(record)


def test_initial_values_depend_on_construction_not_on_first_use():
    def build():
        backend = NumPy(seed=11)
        return [LinearConfig(4, 4).init(backend) for _ in range(3)]

    first, second = build(), build()
    forward = [layer.weight.value.numpy() for layer in first]
    backward = [layer.weight.value.numpy() for layer in reversed(second)][::-1]
    assert all(np.array_equal(a, b) for a, b in zip(forward, backward, strict=True))
    assert not np.array_equal(forward[0], forward[1])
    assert first[0].weight.id != second[0].weight.id
    other = NumPy(seed=11)
    LinearConfig(4, 4, initializer=Initializer.Zeros()).init(other)
    assert np.array_equal(LinearConfig(4, 4).init(other).weight.value.numpy(), forward[1])


class Sequence(Module):
    layers: list[Linear]
    activation: Relu

    def forward(self, x):
        for layer in self.layers:
            x = self.activation(layer(x))
        return x


def test_display():
    backend = NumPy(seed=0)
    model = Sequence(
        layers=[LinearConfig(4, 2).init(backend), LinearConfig(2, 1, bias=False).init(backend)], activation=Relu()
    )
    assert repr(model) == (
        "Sequence {\n"
        "  layers: Vec<0..2> {\n"
        "    0: Linear {d_input: 4, d_output: 2, bias: true, params: 10}\n"
        "    1: Linear {d_input: 2, d_output: 1, bias: false, params: 2}\n"
        "  }\n"
        "  activation: Relu\n"
        "  params: 12\n"
        "}"
    )
    dropout = DropoutConfig(0.5).init()
    assert repr(dropout) == "Dropout {prob: 0.5}"
    assert repr(dropout.freeze()) == "Dropout {prob: 0.5, training: disabled}"
    assert repr(CrossEntropyLossConfig(weights=[0.5, 2.0]).init(backend)) == (
        "CrossEntropyLoss {pad_tokens: None, weights: [0.5, 2.0], smoothing: None, logits: true}"
    )


def test_a_bare_tensor_is_refused_where_a_param_belongs():
    backend = NumPy(seed=0)
    with pytest.raises(TypeError, match="weight must be Param, but got FloatTensor"):
        Linear(weight=Tensor.zeros([2, 2], backend), bias=None)
