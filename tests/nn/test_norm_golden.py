"""Normalizations against results of Burn 0.22.1 (tests/golden/burn/layers/norms.json)."""

import json
from pathlib import Path

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.module import ModuleRecord, ParamId, RecordEntry
from minburn.nn import BatchNormConfig, GroupNormConfig, InstanceNormConfig, LayerNormConfig, RmsNormConfig
from minburn.tensor import Tensor, TensorData

CASES = json.loads((Path(__file__).parent.parent / "golden" / "burn" / "layers" / "norms.json").read_text())["cases"]
CONFIGS = {
    "layer_norm": LayerNormConfig,
    "rms_norm": RmsNormConfig,
    "batch_norm": BatchNormConfig,
    "group_norm": GroupNormConfig,
    "instance_norm": InstanceNormConfig,
}


def array(spec):
    return np.array(spec["data"], np.float32).reshape(spec["shape"])


def close(actual, spec, rtol=1e-5, atol=1e-6):
    np.testing.assert_allclose(actual, array(spec), rtol=rtol, atol=atol)


def running(layer):
    return {"running_mean": layer.running_mean, "running_var": layer.running_var}


def build(case, backend):
    """The layer with the parameters of the case; running values as a new layer has them."""
    config_class = next(cls for prefix, cls in CONFIGS.items() if case["name"].startswith(prefix))
    config = config_class.from_json(json.dumps(case["config"]))
    assert json.loads(config.to_json()) == case["config"]
    layer = config.init(backend)
    entries = {entry.path: entry for entry in layer.into_record()}
    assert list(entries) == [param["path"] for param in case["params"]]
    for index, param in enumerate(case["params"]):
        if param["path"] in ("gamma", "beta"):
            data = TensorData.from_numpy(array(param))
            entries[param["path"]] = RecordEntry(param["path"], ParamId(1 + index), data)
    return layer.load_record(ModuleRecord(entries.values()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_forward_backward_and_running_values(case):
    backend = Autodiff(NumPy(seed=0))
    layer = build(case, backend)
    tolerance = {"rtol": 2e-5, "atol": 2e-6} if case["name"].startswith("batch") else {}
    leaves, total = {}, Tensor.zeros([1], backend)
    for step, (name, spec) in enumerate(case["inputs"].items()):
        leaves[name] = Tensor.from_data(array(spec), backend).require_grad()
        output = layer(leaves[name])
        out_name = name.replace("input", "output")
        close(output.numpy(), case["outputs"][out_name], **tolerance)
        weights = np.reshape(case["weights"][out_name]["data"], output.shape)
        total = total + (output * Tensor.from_data(weights, backend)).sum()
        if "running" in case:
            for state, spec in case["running"][step]["committed_after_forward"].items():
                close(running(layer)[state].value().numpy(), spec, 1e-5, 1e-7)
    assert total.item() == pytest.approx(case["scalar"], rel=1e-4, abs=1e-5)
    grads = total.backward()
    for name, leaf in leaves.items():
        close(leaf.grad(grads).numpy(), case["input_grads"][name], 1e-4, 1e-5)
    for param in case["params"]:
        if "grad" in param:
            grad = getattr(layer, param["path"]).value.grad(grads).numpy()
            close(grad, {**param, "data": param["grad"]}, 1e-4, 1e-5)
    if "running" in case:
        check_running(case, layer, tolerance)


def check_running(case, layer, tolerance):
    """What a saved layer holds, one that was frozen, and one that evaluates."""
    backend = layer.gamma.backend
    for name, spec in case["value_sync_after_3"].items():
        close(running(layer)[name].value_sync().numpy(), spec, 1e-5, 1e-7)
    record = {entry.path: entry for entry in layer.into_record()}
    for param in case["params"]:
        close(record[param["path"]].data.numpy(), param, 1e-5, 1e-7)
    frozen, spec = layer.freeze(), case["frozen_on_autodiff"]
    close(frozen(Tensor.from_data(array(spec["input"]), backend)).numpy(), spec["output"], **tolerance)
    valid, spec = layer.valid(), case["eval"]
    close(valid(Tensor.from_data(array(spec["input"]), backend.inner)).numpy(), spec["output"], **tolerance)
    for entry, param in zip(valid.into_record(), spec["params"], strict=True):
        assert entry.path == param["path"]
        close(entry.data.numpy(), param, 1e-5, 1e-7)
