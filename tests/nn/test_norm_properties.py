"""What the normalizations promise beyond their formulas."""

import json
import threading

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.module import ConfigError, Module, ModuleRecord
from minburn.nn import (
    BatchNormConfig,
    GroupNormConfig,
    InstanceNormConfig,
    LayerNormConfig,
    LocalResponseNormConfig,
    Normalization,
    NormalizationConfig,
    RmsNormConfig,
)
from minburn.tensor import FloatTensor, KindError, ShapeError, Tensor, functional

PLAIN = NumPy(seed=0)
BACKEND = Autodiff(NumPy(seed=0))


def data(*shape, backend=BACKEND, seed=1):
    return Tensor.from_data(np.random.default_rng(seed).standard_normal(shape), backend)


def test_known_values():
    x = Tensor.from_data([[1.0, 2.0, 3.0, 4.0]], PLAIN)
    expected = [[-1.3416354, -0.4472118, 0.4472118, 1.3416354]]
    np.testing.assert_allclose(LayerNormConfig(4).init(PLAIN)(x).numpy(), expected, rtol=1e-6)
    expected = [[0.3651481, 0.7302963, 1.0954444, 1.4605925]]
    np.testing.assert_allclose(RmsNormConfig(4).init(PLAIN)(x).numpy(), expected, rtol=1e-6)
    norm = LocalResponseNormConfig(2, alpha=1.0, beta=1.0, k=1.0).init()
    y = norm(x.reshape([1, 4, 1])).numpy().ravel()
    np.testing.assert_allclose(y, [0.2857143, 0.2666667, 0.2222222, 0.4444444], rtol=1e-6)


def test_known_values_of_batch_norm():
    x = Tensor.from_data([[1.0], [2.0], [4.0]], BACKEND).require_grad()
    norm = BatchNormConfig(1).init(BACKEND)
    y = norm(x)
    np.testing.assert_allclose(y.numpy().ravel(), [-1.0690415, -0.2672604, 1.3363019], rtol=1e-5)
    assert norm.running_mean.value_sync().item() == pytest.approx(0.2333333, rel=1e-6)
    assert norm.running_var.value_sync().item() == pytest.approx(1.0555556, rel=1e-6)
    grads = (y * Tensor.from_data([[1.0], [0.0], [0.0]], BACKEND)).sum().backward()
    np.testing.assert_allclose(x.grad(grads).numpy().ravel(), [0.2290823, -0.3436200, 0.1145377], rtol=2e-5)
    assert norm.gamma.value.grad(grads).item() == pytest.approx(-1.0690415, rel=1e-5)
    assert norm.beta.value.grad(grads).item() == 1.0


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_local_response_norm_is_its_formula(size):
    x = data(2, 5, 3)
    norm = LocalResponseNormConfig(size, alpha=0.5, beta=0.75, k=2.0).init()
    values, expected = x.numpy(), np.empty((2, 5, 3))
    for channel in range(5):
        window = values[:, max(0, channel - (size - 1) // 2) : channel + size // 2 + 1]
        mean = (window.astype(np.float64) ** 2).sum(1) / size
        expected[:, channel] = values[:, channel] / (2.0 + 0.5 * mean) ** 0.75
    np.testing.assert_allclose(norm(x).numpy(), expected, rtol=1e-6)


# Numbers that hurt


@pytest.mark.parametrize("make", [LayerNormConfig(4).init, RmsNormConfig(4).init])
def test_half_floats_are_normalized_in_single_precision(make):
    half = Autodiff(NumPy(seed=0, float_dtype=DType.F16))
    x = Tensor.from_data([[300.0, -300.0, 600.0, 0.0]], half).require_grad()  # the squares overflow an F16
    y = make(half)(x)
    wide = make(PLAIN)(Tensor.from_data(x.numpy(), PLAIN, DType.F32))
    assert y.dtype is DType.F16
    np.testing.assert_allclose(y.numpy(), wide.numpy(), rtol=1e-3, atol=1e-3)
    grad = x.grad((y * y).sum().backward())
    assert grad.dtype is DType.F16 and np.isfinite(grad.numpy()).all()


def test_batch_norm_of_half_floats():
    half = Autodiff(NumPy(seed=0, float_dtype=DType.F16))
    norm = BatchNormConfig(1).init(half)
    x = Tensor.from_data([[-200.0], [200.0], [400.0]] * 400, half).require_grad()
    y = norm(x)
    assert y.dtype is DType.F16
    np.testing.assert_allclose(y.numpy().astype(np.float64).std(), 1.0, rtol=1e-3)
    assert np.isfinite(x.grad((y * y).sum().backward()).numpy()).all()
    assert norm.running_mean.value_sync().item() == pytest.approx(13.33, rel=1e-2)


def test_a_constant_row_has_no_deviation_to_divide_by():
    x = Tensor.full([2, 5], 7.0, BACKEND).require_grad()
    y = LayerNormConfig(5).init(BACKEND)(x)
    assert (y.numpy() == 0).all()
    assert np.isfinite(x.grad((y * data(2, 5)).sum().backward()).numpy()).all()


def test_a_large_mean_does_not_swallow_the_deviation():
    base = np.random.default_rng(0).standard_normal((8, 64))
    x = Tensor.from_data(base + 1e4, PLAIN)
    y = LayerNormConfig(64).init(PLAIN)(x).numpy()
    exact = x.numpy().astype(np.float64)
    exact = (exact - exact.mean(1, keepdims=True)) / np.sqrt(exact.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(y, exact, atol=2e-3)  # the mean itself is rounded to 5e-4


@pytest.mark.parametrize("shape", [(1, 3), (1, 3, 1), (1, 3, 1, 1)])
def test_a_batch_of_one_value_is_its_own_mean(shape):
    norm = BatchNormConfig(3).init(BACKEND)
    x = data(*shape).require_grad()
    y = norm(x)
    assert (y.numpy() == 0).all()
    np.testing.assert_array_equal(x.grad((y * data(*shape, seed=2)).sum().backward()).numpy(), 0)
    np.testing.assert_allclose(norm.running_var.value_sync().numpy(), 0.9, rtol=1e-6)
    np.testing.assert_allclose(norm.running_mean.value_sync().numpy(), x.numpy().ravel() * 0.1, rtol=1e-6)


def test_empty_batches():
    assert LayerNormConfig(3).init(BACKEND)(Tensor.zeros([0, 3], BACKEND)).shape == (0, 3)
    assert BatchNormConfig(3).init(PLAIN)(Tensor.zeros([0, 3, 2], PLAIN)).shape == (0, 3, 2)
    with pytest.raises(ShapeError, match=r"\[0, 3, 2\].*no mean"):
        BatchNormConfig(3).init(BACKEND)(Tensor.zeros([0, 3, 2], BACKEND))


@pytest.mark.parametrize("axes", [(0, 1, 2, 3), (1, 2, 3, 0), (0, 2, 3, 1)])
def test_the_order_in_memory_changes_neither_results_nor_the_order_of_the_output(axes):
    backend = Autodiff(NumPy(seed=0, float_dtype=DType.F64))
    x, g = (np.random.default_rng(seed).standard_normal((6, 4, 3, 5)) for seed in (1, 2))
    results = []
    for order in ((0, 1, 2, 3), axes):
        back = tuple(np.argsort(order).tolist())
        leaf = Tensor.from_data(np.ascontiguousarray(x.transpose(order)), backend).require_grad()
        norm = BatchNormConfig(4).init(backend)
        y = norm(leaf.permute(*back))
        assert y.primitive.value.transpose(order).flags.c_contiguous
        grads = (y * Tensor.from_data(g, backend)).sum().backward()
        results.append([y.numpy(), leaf.grad(grads).numpy().transpose(back), norm.gamma.value.grad(grads).numpy()])
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_group_norm_of_one_channel_a_group_is_instance_norm():
    x = data(2, 4, 3, 3)
    grouped = GroupNormConfig(4, 4).init(BACKEND)(x).numpy()
    np.testing.assert_array_equal(grouped, InstanceNormConfig(4).init(BACKEND)(x).numpy())


# Training, evaluation, records


class Net(Module):
    norm: Normalization

    def forward(self, x: FloatTensor) -> FloatTensor:
        return self.norm(x)


def synced(norm):
    return norm.running_mean.value_sync().numpy(), norm.running_var.value_sync().numpy()


def test_who_trains():
    norm = BatchNormConfig(2).init(BACKEND)
    x = data(8, 2) * 3.0 + 1.0
    start = synced(norm)
    for evaluates in (norm.freeze(), norm.valid(), norm.valid().train().freeze()):
        evaluates(x)
        np.testing.assert_array_equal(synced(evaluates), start)
    norm.valid()(x.inner())
    np.testing.assert_array_equal(synced(norm), start)
    for trains in (norm.no_grad(), norm, norm.freeze().unfreeze(), norm.valid().train()):
        before = synced(trains)
        y = trains(x)
        np.testing.assert_allclose(y.numpy().mean(0), 0, atol=1e-6)
        assert (synced(trains)[0] != before[0]).all()


def test_a_plain_model_with_autodiff_inputs_trains_its_statistics_and_stays_plain():
    norm = BatchNormConfig(2).init(PLAIN)
    norm(data(8, 2))
    assert (synced(norm)[0] != 0).all()
    assert not norm.running_mean.value().backend.is_autodiff
    assert norm(data(8, 2, backend=PLAIN)).backend is PLAIN


@pytest.mark.parametrize(("momentum", "weight"), [(0.0, 0.0), (0.25, 0.25), (1.0, 1.0)])
def test_momentum_is_the_weight_of_the_new_statistics(momentum, weight):
    norm = BatchNormConfig(2, momentum=momentum).init(BACKEND)
    x = data(50, 2)
    norm(x)
    mean, variance = synced(norm)
    np.testing.assert_allclose(mean, weight * x.numpy().mean(0), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(variance, (1 - weight) + weight * x.numpy().var(0), rtol=1e-5)  # biased


def test_statistics_are_no_part_of_the_graph():
    norm = BatchNormConfig(2).init(BACKEND)
    norm(data(8, 2).require_grad())
    for state in (norm.running_mean, norm.running_var):
        assert not state.value_sync().is_tracked
    out, mean, variance = functional.batch_norm_train(data(8, 2).require_grad(), norm.gamma.value, norm.beta.value)
    assert out.is_tracked and not mean.is_tracked and not variance.is_tracked


def test_records_of_batch_norm(tmp_path):
    model = Net(norm=NormalizationConfig.Batch(BatchNormConfig(2)).init(BACKEND))
    for step in range(3):
        model(data(8, 2, seed=step))
    two = {entry.path: entry.data.numpy() for entry in model.into_record()}  # the third update is pending
    valid = model.valid()
    three = {entry.path: entry.data.numpy() for entry in model.into_record()}
    assert list(two) == [f"norm.Batch.{name}" for name in ("gamma", "beta", "running_mean", "running_var")]
    assert (two["norm.Batch.running_mean"] != three["norm.Batch.running_mean"]).all()
    np.testing.assert_array_equal(valid.norm.running_mean.value().numpy(), three["norm.Batch.running_mean"])
    model.save_file(tmp_path / "model")
    fresh = Net(norm=NormalizationConfig.Batch(BatchNormConfig(2)).init(BACKEND))
    loaded = fresh.load_record(ModuleRecord.load(tmp_path / "model"))
    assert loaded.norm.gamma.id == model.norm.gamma.id
    assert loaded.norm.running_mean.id == fresh.norm.running_mean.id  # Burn's rule
    for entry in loaded.into_record():
        np.testing.assert_array_equal(entry.data.numpy(), three[entry.path])
    x = data(4, 2, backend=PLAIN)
    np.testing.assert_array_equal(loaded.valid()(x).numpy(), valid(x).numpy())
    assert loaded.num_params() == 8


def test_threads_share_the_running_values():
    norm = BatchNormConfig(1, momentum=1.0).init(BACKEND)

    def run(value):
        norm(Tensor.full([2, 1], value, BACKEND))

    threads = [threading.Thread(target=run, args=(value,)) for value in (1.0, 3.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run(8.0)
    assert norm.running_mean.value_sync().item() == 4.0


# Configs, display, bad input

CONFIGS = [
    (LayerNormConfig(3), "LayerNorm {d_model: 3, epsilon: 0.00001, params: 6}"),
    (LayerNormConfig(3, bias=False), "LayerNorm {d_model: 3, epsilon: 0.00001, params: 3}"),
    (RmsNormConfig(3, epsilon=0.5), "RmsNorm {d_model: 3, epsilon: 0.5, params: 3}"),
    (BatchNormConfig(3), "BatchNorm {num_features: 3, momentum: 0.1, epsilon: 0.00001, params: 12}"),
    (
        GroupNormConfig(3, 6),
        "GroupNorm {num_groups: 3, num_channels: 6, epsilon: 0.00001, affine: true, params: 12}",
    ),
    (InstanceNormConfig(3, affine=False), "InstanceNorm {num_channels: 3, epsilon: 0.00001, affine: false}"),
]


@pytest.mark.parametrize(("config", "shown"), CONFIGS)
def test_display_and_json(config, shown):
    assert repr(config.init(PLAIN)) == shown
    assert type(config).from_json(config.to_json()) == config


def test_a_frozen_batch_norm_says_so():
    assert repr(BatchNormConfig(2).init(PLAIN).freeze()) == (
        "BatchNorm {num_features: 2, momentum: 0.1, epsilon: 0.00001, training: disabled, params: 8}"
    )


@pytest.mark.parametrize(
    ("config", "path"),
    [
        (NormalizationConfig.Identity(), None),
        (NormalizationConfig.Batch(BatchNormConfig(4)), "norm.Batch.gamma"),
        (NormalizationConfig.Group(GroupNormConfig(2, 4)), "norm.Group.gamma"),
        (NormalizationConfig.Instance(InstanceNormConfig(4)), "norm.Instance.gamma"),
        (NormalizationConfig.Layer(LayerNormConfig(4)), "norm.Layer.gamma"),
        (NormalizationConfig.Rms(RmsNormConfig(4)), "norm.Rms.gamma"),
    ],
)
def test_the_choice_of_a_normalization(config, path):
    model = Net(norm=config.init(BACKEND))
    assert [entry.path for entry in model.into_record()][:1] == ([path] if path else [])
    assert model(data(3, 4)).shape == (3, 4)
    assert NormalizationConfig.from_json(config.to_json()) == config
    assert config.with_num_features(6).init(BACKEND)(data(3, 6)).shape == (3, 6)
    if path is None:
        assert json.loads(config.to_json()) == "Identity"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LayerNormConfig(0).init(PLAIN), "d_model must be at least 1, but got 0"),
        (lambda: LayerNormConfig(3, epsilon=-1.0).init(PLAIN), "epsilon must be finite and greater than 0, .* -1.0"),
        (lambda: RmsNormConfig(3, epsilon=0.0).init(PLAIN), "epsilon .* 0.0"),
        (lambda: BatchNormConfig(-2).init(PLAIN), "num_features must be at least 1, but got -2"),
        (lambda: BatchNormConfig(2, momentum=1.5).init(PLAIN), r"momentum must be in \[0, 1\], but got 1.5"),
        (lambda: BatchNormConfig(2, momentum=float("nan")).init(PLAIN), "momentum .* nan"),
        (lambda: BatchNormConfig(2, epsilon=float("inf")).init(PLAIN), "epsilon .* inf"),
        (lambda: GroupNormConfig(2, 5).init(PLAIN), "5 channels cannot be split into 2 groups"),
        (lambda: GroupNormConfig(0, 4).init(PLAIN), "num_groups must be at least 1"),
        (lambda: InstanceNormConfig(0).init(PLAIN), "num_channels must be at least 1"),
        (lambda: LocalResponseNormConfig(0).init(), "size must be at least 1"),
        (lambda: LocalResponseNormConfig(3, k=float("nan")).init(), "k must be finite"),
        (lambda: BatchNormConfig(2).init(PLAIN).replace(momentum=2.0), "momentum"),
    ],
)
def test_settings_that_cannot_work_are_refused_when_the_layer_is_built(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


@pytest.mark.parametrize(
    ("layer", "shape", "message"),
    [
        (
            LayerNormConfig(4).init(PLAIN),
            (2, 3),
            r"\[2, 3\].* 3 in its last .*gamma must have shape \[3\].*\[4\]",
        ),
        (LayerNormConfig(4).init(PLAIN), (), "rank 0"),
        (RmsNormConfig(4).init(PLAIN), (4, 3), r"gamma must have shape \[3\], but has \[4\]"),
        (BatchNormConfig(4).init(PLAIN), (4,), r"\[N, C, ...\], but has \[4\]"),
        (BatchNormConfig(4).init(PLAIN), (2, 3, 4), r"3 in dimension 1, so gamma must have shape \[3\], but has \[4\]"),
        (GroupNormConfig(2, 4).init(PLAIN), (2, 3, 4), r"takes 4 channels.*\[2, 3, 4\]"),
        (GroupNormConfig(1, 2).init(PLAIN), (1, 2), "2 elements in total"),
        (InstanceNormConfig(4).init(PLAIN), (4,), r"takes 4 channels"),
        (LocalResponseNormConfig(3).init(), (2, 3), r"rank 3 or more.*\[2, 3\]"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(layer, shape, message):
    with pytest.raises(ShapeError, match=message):
        layer(Tensor.zeros(shape, PLAIN))
    with pytest.raises(KindError, match="float tensor"):
        layer(Tensor.from_data([[1, 2, 3, 4]], PLAIN))
