"""Pooling layers: against results of Burn 0.22.1 (tests/golden/nn/pools.json), and what they refuse."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from minburn import nn
from minburn.backends import Autodiff, NumPy
from minburn.tensor import Tensor

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "nn" / "pools.json").read_text())["cases"]
GOLDEN = [case for case in GOLDEN if case["name"].startswith("adaptive")]
KINDS = {"max_pool": "MaxPool", "avg_pool": "AvgPool", "adaptive_avg_pool": "AdaptiveAvgPool"}


def config_class(name):
    kind, rank = re.match(r"(\w+_pool)(\d)d", name).groups()
    return getattr(nn, f"{KINDS[kind]}{rank}dConfig")


def array(spec):
    values = [float(v) for v in spec["data"]]
    return np.array(values, np.float32).reshape(spec["shape"])


@pytest.mark.parametrize("case", GOLDEN, ids=[case["name"] for case in GOLDEN])
def test_pools_equal_burns(case):
    backend = Autodiff(NumPy(seed=0))
    config = config_class(case["name"]).from_json(json.dumps(case["config"]))
    assert json.loads(config.to_json()) == case["config"]
    x = Tensor.from_data(array(case["inputs"]["input"]), backend).require_grad()
    out = config.init()(x)
    want = array(case["outputs"]["output"])
    assert out.shape == want.shape
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-5, atol=1e-6)
    weights = np.array(case["weights"]["output"]["data"], np.float32).reshape(want.shape)
    loss = (out * Tensor.from_data(weights, backend)).sum()
    np.testing.assert_allclose(loss.item(), case["scalar"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        x.grad(loss.backward()).numpy(), array(case["input_grads"]["input"]), rtol=1e-4, atol=1e-5
    )
