"""Optimizers and schedules against results of Burn 0.22.1 (tests/golden/optim)."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers_optim import Pair, backend_of, gradients, pair, param, values

from minburn.optim import (
    AdamConfig,
    AdamWConfig,
    ConstantLr,
    CosineAnnealingLrSchedulerConfig,
    ExponentialLrSchedulerConfig,
    LinearLrSchedulerConfig,
    LrSchedulerRecord,
    NoamLrSchedulerConfig,
    OptimizerAdaptor,
    OptimizerError,
    OptimizerRecord,
    SgdConfig,
    StepLrSchedulerConfig,
)
from minburn.pack import Reader, Scalar

GOLDEN = Path(__file__).parent.parent / "golden" / "optim"
OPTIMIZERS = {"Sgd": SgdConfig, "Adam": AdamConfig, "AdamW": AdamWConfig}
SCHEDULES = {
    "Linear": LinearLrSchedulerConfig,
    "Cosine": CosineAnnealingLrSchedulerConfig,
    "Exponential": ExponentialLrSchedulerConfig,
    "Noam": NoamLrSchedulerConfig,
    "Step": StepLrSchedulerConfig,
}
NUMPY = {"F32": np.float32, "F64": np.float64}


def cases(name, keep=lambda case: True):
    loaded = json.loads((GOLDEN / f"{name}.json").read_text())["cases"]
    return [pytest.param(case, id=case["name"]) for case in loaded if keep(case)]


def array(numbers, shape, dtype):
    return np.array([float(x) for x in numbers], NUMPY[dtype]).reshape(shape)


@pytest.mark.parametrize("case", cases("sgd") + cases("adam") + cases("adamw") + cases("extreme"))
def test_trajectories_are_burns(case):
    """20 steps with falling rates; in f32 the state goes through a file and a new optimizer after the tenth."""
    config = OPTIMIZERS[case["optimizer"]].from_json(json.dumps(case["config"]))
    dtype = case["dtype"]
    backend = backend_of(dtype)
    shapes = {name: tensor["shape"] for name, tensor in case["initial"].items()}
    start = {name: array(tensor["data"], shapes[name], dtype) for name, tensor in case["initial"].items()}
    model = pair(start["w"], start["b"], backend)
    optim = config.init()
    for k, (lr, grads, expected) in enumerate(zip(case["lr"], case["grads"], case["params"], strict=True)):
        made = {11: array(grads["w"], shapes["w"], dtype), 22: array(grads["b"], shapes["b"], dtype)}
        model = optim.step(lr, model, gradients(made, backend))
        for name, value in values(model).items():
            want = array(expected[name], shapes[name], dtype)
            if dtype == "F64":
                assert value.tobytes() == want.tobytes(), (k, name, value - want)
            else:
                # 1e-5 relative; where terms of the parameter's size cancel, of that size.
                np.testing.assert_allclose(value, want, rtol=1e-5, atol=2e-6, err_msg=f"step {k}, {name}")
        if k == 9:
            record = optim.into_record()
            check_record(record, case["record_after_step_10"])
            if dtype == "F32":
                optim = config.init().load_record(OptimizerRecord.from_bytes(record.into_bytes()))


def check_record(record, expected):
    reader = Reader.from_bytes(record.into_bytes())
    assert dict(reader.metadata) == expected["metadata"]
    want = {key: next(iter(scalar.items())) for key, scalar in expected["scalars"].items()}
    assert {key: (scalar.kind, str(scalar.value)) for key, scalar in reader.scalars.items()} == want
    assert sorted(reader) == sorted(tensor["name"] for tensor in expected["tensors"])
    for tensor in expected["tensors"]:
        entry = reader[tensor["name"]]
        assert (entry.dtype.name, list(entry.shape), str(entry.param_id)) == (
            tensor["dtype"],
            tensor["shape"],
            tensor["param_id"],
        )
        found = np.frombuffer(entry.view(), NUMPY[tensor["dtype"]]).reshape(entry.shape)
        want_data = array(tensor["data"], tensor["shape"], tensor["dtype"])
        if tensor["dtype"] == "F64":
            assert found.tobytes() == want_data.tobytes()
        else:
            np.testing.assert_allclose(found, want_data, rtol=1e-5, atol=1e-7)


# The vectors of the reference: one element, θ₀ = 1, lr = 0.1, gradients 0.5, -0.25, 1 (or SMALL).

G = (0.5, -0.25, 1.0)
SMALL = (1.0, 0.1, 0.05)
DAMPING_0 = {"momentum": {"momentum": 0.9, "dampening": 0.0, "nesterov": False}}
VECTORS = [
    (SgdConfig, {}, 1.0, G, (0.95, 0.975, 0.875)),
    (SgdConfig, {"weight_decay": {"penalty": 0.1}}, 1.0, G, (0.94, 0.9556, 0.846044)),
    (SgdConfig, {"momentum": {"momentum": 0.9, "dampening": 0.1, "nesterov": False}}, 1.0, G, (0.95, 0.9275, 0.81725)),
    (SgdConfig, DAMPING_0, 1.0, G, (0.95, 0.93, 0.812)),
    (
        SgdConfig,
        {"momentum": {"momentum": 0.9, "dampening": 0.1, "nesterov": True}},
        1.0,
        G,
        (0.905, 0.90975, 0.710525),
    ),
    (AdamConfig, {}, 1.0, G, (0.900002000, 0.873368970, 0.807558805)),
    (AdamConfig, {"weight_decay": {"penalty": 0.1}}, 1.0, G, (0.900001667, 0.854444046, 0.781508078)),
    (AdamWConfig, {}, 1.0, G, (0.899992000, 0.873349970, 0.807531071)),
    (AdamWConfig, {"weight_decay": 0.1}, 1.0, G, (0.890002000, 0.854468950, 0.780114095)),
    (
        AdamWConfig,
        {"weight_decay": 0.1, "cautious_weight_decay": True},
        1.0,
        G,
        (0.890002000, 0.854468950, 0.780114095),
    ),
    (AdamWConfig, {"weight_decay": 0.1}, -1.0, G, (-1.089998000, -1.105731050, -1.160483905)),
    (
        AdamWConfig,
        {"weight_decay": 0.1, "cautious_weight_decay": True},
        -1.0,
        G,
        (-1.099998000, -1.126631030, -1.192441195),
    ),
    (AdamConfig, {"beta_2": 0.5}, 1.0, SMALL, (0.900001000, 0.809740135, 0.718355454)),
    (AdamConfig, {"beta_2": 0.5, "amsgrad": True}, 1.0, SMALL, (0.900001000, 0.835541533, 0.789168277)),
]


@pytest.mark.parametrize(("config", "fields", "start", "grads", "expected"), VECTORS)
def test_the_vectors_of_the_reference(config, fields, start, grads, expected):
    defaults = json.loads(config().to_json())
    optim = config.from_json(json.dumps({**defaults, **fields})).init()
    backend = backend_of("F64")
    model = pair([start], [start], backend)
    for grad, want in zip(grads, expected, strict=True):
        model = optim.step(0.1, model, gradients({11: [grad]}, backend))
        assert model.w.value.item() == pytest.approx(want, rel=2e-6)


def test_the_defaults_are_burns():
    assert json.loads(SgdConfig().to_json()) == {"weight_decay": None, "momentum": None, "gradient_clipping": None}
    assert json.loads(AdamConfig().to_json()) == {
        "beta_1": 0.9,
        "beta_2": 0.999,
        "epsilon": 1e-5,
        "amsgrad": False,
        "weight_decay": None,
        "grad_clipping": None,
    }
    assert json.loads(AdamWConfig().to_json()) == {
        "beta_1": 0.9,
        "beta_2": 0.999,
        "epsilon": 1e-5,
        "weight_decay": 1e-4,
        "cautious_weight_decay": False,
        "amsgrad": False,
        "grad_clipping": None,
    }


# Checkpoints that Burn wrote


@pytest.mark.parametrize("file", ["mlp-adam.bpk", "cnn-sgd.bpk"])
def test_burns_optimizer_files_are_read_and_written_again(file):
    path = GOLDEN / file
    record = OptimizerRecord.load(path)
    before, after = Reader.from_file(path), Reader.from_bytes(record.into_bytes())
    assert dict(after.metadata) == dict(before.metadata)
    assert dict(after.scalars) == dict(before.scalars)
    assert list(after) == list(before)
    for name, entry in before.items():
        found = after[name]
        assert (found.dtype, found.shape, found.param_id, found.view()) == (
            entry.dtype,
            entry.shape,
            entry.param_id,
            entry.view(),
        )


def test_a_state_that_burn_wrote_is_resumed():
    """The bias of the last hidden layer after 5 steps in Burn, and Adam's sixth step on it by hand."""
    record = OptimizerRecord.load(GOLDEN / "mlp-adam.bpk")
    entry = next(entry for entry in record if entry.path == "head.Deep.hidden.bias")
    backend = backend_of()
    model = Pair(w=param(entry.id, [0.1, 0.2, 0.3, 0.4], backend), b=param(22, [0.0], backend))
    optim = AdamConfig().init().load_record(record)
    stepped = optim.step(0.01, model, gradients({entry.id: [1.0, -1.0, 0.5, 0.0]}, backend))
    m, v = (entry.leaves[f"momentum.moment_{k}"].numpy().astype(np.float64) for k in (1, 2))
    g = np.array([1.0, -1.0, 0.5, 0.0])
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    update = (m / (1 - 0.9**6)) / (np.sqrt(v / (1 - 0.999**6)) + 1e-5)
    np.testing.assert_allclose(stepped.w.value.numpy(), np.array([0.1, 0.2, 0.3, 0.4]) - 0.01 * update, rtol=1e-5)
    again = {e.id: e for e in optim.into_record()}
    assert again[entry.id].leaves["momentum.time"] == Scalar.uint(6)
    assert len(again) == len(record)  # those that no parameter asked for are still there


# Schedules


def build(config):
    (kind, fields), *_ = config.items()
    if kind == "Constant":
        return ConstantLr(fields)
    return SCHEDULES[kind].from_json(json.dumps(fields))


@pytest.mark.parametrize("case", cases("schedulers", lambda case: "lr" in case))
def test_schedules_are_burns(case):
    scheduler = build(case["config"]).init()
    rates = []
    for k in range(60):
        if k == 17:
            record = scheduler.into_record()
        rates.append(float(scheduler.step()))
    np.testing.assert_allclose(rates, case["lr"], rtol=1e-13, atol=1e-16)

    expected = case["record_after_17"]
    encoded = record.into_bytes()
    reader = Reader.from_bytes(encoded)
    assert (len(encoded), dict(reader.metadata), len(reader)) == (expected["file_bytes"], {}, 0)
    for key, scalar in expected["scalars"].items():
        ((kind, value),) = scalar.items()
        assert reader.scalars[key].kind == kind
        assert reader.scalars[key].value == pytest.approx(float(value), rel=1e-13)
    assert len(reader.scalars) == len(expected["scalars"])

    resumed = build(case["config"]).init().load_record(LrSchedulerRecord.from_bytes(encoded))
    continued = [float(resumed.step()) for _ in range(10)]
    assert continued == rates[17:27]
    np.testing.assert_allclose(continued, case["after_load"], rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("case", cases("schedulers", lambda case: "error" in case))
def test_schedules_refuse_what_burn_refuses(case):
    ((kind, fields),) = case["config"].items()
    config = SCHEDULES[kind](**{key: float("nan") if value is None else value for key, value in fields.items()})
    if case["error"] is None:
        config.init()
    else:
        with pytest.raises(OptimizerError, match=f"^{case['error']}$"):
            config.init()


def test_burns_schedule_file_is_resumed():
    config = LinearLrSchedulerConfig(initial_lr=0.02, final_lr=0.002, num_iters=6)
    scheduler = config.init().load_record(LrSchedulerRecord.load(GOLDEN / "mlp-linear.bpk"))
    fresh = config.init()
    assert [float(fresh.step()) for _ in range(8)][5:] == [float(scheduler.step()) for _ in range(3)]


def test_build_gives_the_rule_without_clipping():
    config = AdamConfig.from_json(json.dumps({**json.loads(AdamConfig().to_json()), "grad_clipping": {"Norm": 1.0}}))
    assert config.init().grad_clipping == config.grad_clipping
    assert OptimizerAdaptor(config.build()).grad_clipping is None
