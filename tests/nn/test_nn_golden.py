"""Layers, losses and initializers against results of Burn 0.22.1 (tests/golden/nn)."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.module import ModuleRecord, ParamId, RecordEntry
from minburn.nn import (
    BinaryCrossEntropyLossConfig,
    CrossEntropyLossConfig,
    DropoutConfig,
    Initializer,
    LinearConfig,
    MseLoss,
    Reduction,
)
from minburn.tensor import FloatTensor, Tensor, TensorData

GOLDEN = Path(__file__).parent.parent / "golden" / "nn"
DTYPES = {"F32": DType.F32, "F64": DType.F64, "I32": DType.I32}


def cases(name):
    loaded = json.loads((GOLDEN / f"{name}.json").read_text())["cases"]
    return [pytest.param(case, id=case["name"]) for case in loaded]


def array(spec):
    dtype = {"F32": np.float32, "F64": np.float64, "I32": np.int32}[spec["dtype"]]
    return np.array([float(x) if isinstance(x, str) else x for x in spec["data"]], dtype).reshape(spec["shape"])


def tensor(spec, backend):
    return Tensor.from_data(array(spec), backend, DTYPES[spec["dtype"]])


def close(actual, spec, rtol=1e-5, atol=1e-7):
    np.testing.assert_allclose(actual, array(spec), rtol=rtol, atol=atol)


def check(case, leaves, output, rtol=1e-5, atol=1e-6):
    """The output, and the gradients of Σ output · weights."""
    (name,) = case["outputs"]
    close(output.numpy(), case["outputs"][name], rtol, atol)
    backend = output.backend
    weights = np.array(case["weights"][name]["data"]).reshape(output.shape)
    grads = (output * Tensor.from_data(weights, backend, output.dtype)).sum().backward()
    for name, leaf in leaves.items():
        close(leaf.grad(grads).numpy(), case["input_grads"][name], rtol, atol)
    return grads


@pytest.mark.parametrize("case", cases("linear"))
def test_linear(case):
    backend = Autodiff(NumPy(seed=0))
    config = LinearConfig.from_json(json.dumps(case["config"]))
    assert json.loads(config.to_json()) == case["config"]
    layer = config.init(backend)
    if "panic" in case:
        with pytest.raises(ValueError, match=r"2, 4.*takes 3"):
            layer(Tensor.zeros([2, 4], backend))
        return
    entries = [
        RecordEntry(param["path"], ParamId(1 + index), TensorData.from_numpy(array(param)))
        for index, param in enumerate(case["params"])
    ]
    if config.layout.name == "Col":  # Burn lists what is in memory; a record holds the transpose
        entries[0].data = TensorData.from_numpy(array(case["params"][0]).T)
    layer = layer.load_record(ModuleRecord(entries))
    x = tensor(case["inputs"]["input"], backend).require_grad()
    grads = check(case, {"input": x}, layer(x))
    for param in case["params"]:
        close(getattr(layer, param["path"]).value.grad(grads).numpy(), {**param, "data": param["grad"]}, 1e-5, 1e-6)


def loss_of(case):
    if case["name"].startswith("mse"):
        return MseLoss()
    config = CrossEntropyLossConfig if case["name"].startswith("ce_") else BinaryCrossEntropyLossConfig
    return config.from_json(json.dumps(case["config"])).init(Autodiff(NumPy(seed=0)))


@pytest.mark.parametrize("case", cases("losses"))
def test_loss(case):
    if case["name"] == "ce_bad_smoothing":
        with pytest.raises(ValueError, match=r"interval \[0, 1\]. Got 1.5"):
            CrossEntropyLossConfig(smoothing=1.5).init(NumPy(seed=0))
        return
    if case["name"] == "ce_bad_weights":
        with pytest.raises(ValueError, match="have to be positive"):
            CrossEntropyLossConfig(weights=[0.5, -1.0]).init(NumPy(seed=0))
        return
    if case["name"] == "ce_target_out_of_range":
        backend = NumPy(seed=0)
        with pytest.raises(ValueError, match="3"):
            CrossEntropyLossConfig().init(backend)(Tensor.zeros([2, 3], backend), Tensor.from_data([0, 3], backend))
        return
    if case["name"] == "ce_batch_mismatch":
        backend = NumPy(seed=0)
        with pytest.raises(ValueError, match="3"):
            CrossEntropyLossConfig().init(backend)(Tensor.zeros([2, 3], backend), Tensor.from_data([0, 1, 2], backend))
        return
    if case["name"] == "mse_batchmean":
        backend = NumPy(seed=0)
        with pytest.raises(ValueError, match="BatchMean is not supported"):
            MseLoss()(Tensor.zeros([2], backend), Tensor.zeros([2], backend), Reduction.BatchMean)
        return
    backend = Autodiff(NumPy(seed=0))
    inputs = {name: tensor(spec, backend) for name, spec in case["inputs"].items()}
    inputs = {name: x.require_grad() if isinstance(x, FloatTensor) else x for name, x in inputs.items()}
    leaves = {name: x for name, x in inputs.items() if isinstance(x, FloatTensor)}
    if case["name"].startswith("mse"):
        if case["config"]["reduction"] == "none":
            output = MseLoss().forward_no_reduction(inputs["input"], inputs["target"])
        else:
            output = MseLoss()(inputs["input"], inputs["target"], Reduction[case["config"]["reduction"]])
    elif case["name"] == "ce_all_pad":
        loss = CrossEntropyLossConfig(pad_tokens=[1]).init(backend)
        output = loss(inputs["logits"], inputs["targets"])
    else:
        (leaf,) = leaves.values()
        output = loss_of(case)(leaf, inputs["targets"])
    check(case, leaves, output)


@pytest.mark.parametrize("case", cases("dropout"))
def test_dropout(case):
    if "panic" in case:
        for make in (
            lambda prob: DropoutConfig(prob).init(),
            lambda prob: DropoutConfig(0.1).init().replace(prob=prob),
        ):
            with pytest.raises(ValueError, match=r"finite and in the range \[0, 1\)"):
                make(case["config"]["prob"])
        return
    backend = Autodiff(NumPy(seed=5))
    dropout = DropoutConfig.from_json(json.dumps(case["config"])).init()
    ones = Tensor.ones([4000], backend)
    out = dropout(ones).numpy()
    kept = np.count_nonzero(out)
    assert abs(kept - 2400) < 5 * math.sqrt(4000 * 0.4 * 0.6)
    close(np.unique(out), {"data": [0.0, case["autodiff_device"]["kept_value"]], "dtype": "F32", "shape": [2]})
    for identity in (dropout.freeze()(ones), dropout.valid()(ones)):
        assert identity is ones
    plain = ones.inner()
    assert dropout(plain) is plain


@pytest.mark.parametrize("case", cases("initializers"))
def test_initializer(case):
    backend = NumPy(seed=3)
    if case["name"] == "missing_fan":
        with pytest.raises(ValueError, match=r"without specifying fan\. Use init_with"):
            Initializer.KaimingUniform(gain=1.0, fan_out_only=False).init([3, 4], backend)
        with pytest.raises(ValueError, match="without specifying fan out"):
            Initializer.XavierNormal(gain=1.0).init_with([3, 4], 3, None, backend)
        return
    if "Orthogonal" in case["name"]:
        w = Initializer.Orthogonal(gain=2.0).init([10, 40], backend).value.numpy()
        np.testing.assert_allclose(w @ w.T, 4 * np.eye(10), atol=1e-5)
        tall = Initializer.Orthogonal(gain=1.0).init([40, 2, 5], backend).value.numpy().reshape(40, 10)
        np.testing.assert_allclose(tall.T @ tall, np.eye(10), atol=1e-5)
        with pytest.raises(ValueError, match="rank 2"):
            Initializer.Orthogonal(gain=1.0).init([40], backend)
        return
    initializer = Initializer.from_json(json.dumps(case["config"]))
    assert json.loads(initializer.to_json()) == case["config"]
    stats = case["stats"]
    values = initializer.init_with(stats["shape"], 120, 300, backend).value.numpy().astype(np.float64)
    assert values.shape == tuple(stats["shape"])
    spread = 6 * max(stats["std"], 1e-9) / math.sqrt(values.size)
    assert values.mean() == pytest.approx(stats["mean"], abs=2 * spread)
    assert values.std() == pytest.approx(stats["std"], rel=0.02, abs=1e-9)
    if "Normal" not in case["name"]:  # bounded: the extremes of so many draws lie close to the bounds
        assert values.max() == pytest.approx(stats["max"], rel=2e-3)
        assert values.min() == pytest.approx(stats["min"], rel=2e-3)
