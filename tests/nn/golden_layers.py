"""Layers with parameters against results of Burn 0.22.1: how a case is read, loaded and compared."""

import json
from pathlib import Path

import numpy as np
import pytest

from minburn.dtype import DType
from minburn.module import ModuleRecord, ModuleVisitor, ParamId, RecordEntry
from minburn.tensor import FloatTensor, Tensor, TensorData

GOLDEN = Path(__file__).parent.parent / "golden" / "nn"
KINDS = {
    "F32": (np.float32, DType.F32),
    "F64": (np.float64, DType.F64),
    "I32": (np.int32, DType.I32),
    "Bool(Native)": (np.bool_, DType.Bool),
}


def cases(name, *prefixes):
    """The cases of a file, those whose names start with one of the prefixes."""
    loaded = json.loads((GOLDEN / f"{name}.json").read_text())["cases"]
    return [pytest.param(case, id=case["name"]) for case in loaded if not prefixes or case["name"].startswith(prefixes)]


def array(spec):
    data = [float(x) if isinstance(x, str) else x for x in spec["data"]]
    return np.array(data, KINDS[spec["dtype"]][0]).reshape(spec["shape"])


def tensors(case, backend):
    """The inputs by name; float ones are leaves."""
    made = {
        name: Tensor.from_data(array(spec), backend, KINDS[spec["dtype"]][1]) for name, spec in case["inputs"].items()
    }
    return {name: x.require_grad() if isinstance(x, FloatTensor) else x for name, x in made.items()}


def config_of(cls, case):
    """The config, which is written back as Burn wrote it."""
    config = cls.from_json(json.dumps(case["config"]))
    assert json.loads(config.to_json()) == case["config"]
    return config


def loaded(layer, case):
    """The layer with the parameters of the case, which must have the same paths in the same order."""
    entries = [
        RecordEntry(param["path"], ParamId(1 + index), TensorData.from_numpy(array(param)))
        for index, param in enumerate(case["params"])
    ]
    assert [path for path, _ in params(layer)] == [entry.path for entry in entries]
    return layer.load_record(ModuleRecord(entries))


class Params(ModuleVisitor):
    def __init__(self):
        self.found = []

    def visit_float(self, param):
        self.found.append((self.path, param))


def params(layer):
    visitor = Params()
    layer.visit(visitor)
    return visitor.found


def check(case, layer, inputs, outputs, rtol=1e-5, atol=1e-6, grad_rtol=1e-4, grad_atol=1e-5):
    """Outputs, and the gradients of Σ outputs · weights for inputs and parameters."""
    total = 0.0
    for name, output in outputs.items():
        np.testing.assert_allclose(output.numpy(), array(case["outputs"][name]), rtol, atol, err_msg=name)
        weights = np.array(case["weights"][name]["data"]).reshape(output.shape)
        total = (output * Tensor.from_data(weights, output.backend, output.dtype)).sum() + total
    assert total.item() == pytest.approx(case["scalar"], rel=1e-4, abs=1e-5)
    grads = total.backward()
    for name, spec in case["input_grads"].items():
        got = inputs[name].grad(grads).numpy()
        np.testing.assert_allclose(got, array(spec), grad_rtol, grad_atol, err_msg=name)
    if layer is None:
        return
    for (path, param), spec in zip(params(layer), case["params"], strict=True):
        got = param.value.grad(grads).numpy()
        want = np.array(spec["grad"]).reshape(spec["shape"])
        np.testing.assert_allclose(got, want, grad_rtol, grad_atol, err_msg=path)
