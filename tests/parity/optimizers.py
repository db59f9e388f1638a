"""Counterparts of optimizers/*: the trajectories of two parameters, and the record in their middle."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from cases import DTYPES, Case, numbers
from play import Deviation, Missing, close, words

from minburn import FloatTensor, Module, Param, ParamGroup, ParamId, Tensor, optim
from minburn.backends import Autodiff, NumPy
from minburn.pack import Reader

IDS = {"w": 11, "b": 22}


class Pair(Module):
    w: Param[FloatTensor]
    b: Param[FloatTensor]


class Alone(Module):
    w: Param[FloatTensor]


def play_optimizer(case: Case) -> None:
    if "optimizer" in case.data:
        play_trajectory(case)
    elif case.file == "optimizers/groups":
        play_groups(case)
    elif case.file == "optimizers/lbfgs":
        play_lbfgs(case)
    elif case.name in REFUSED:
        play_refusal(case)
    else:
        raise Missing(f"a counterpart of {case.id}")


def config_of(case: Case) -> Any:
    name = f"{case.data['optimizer']}Config"
    if not hasattr(optim, name):
        raise Missing(f"optim.{name}")
    return getattr(optim, name).from_json(json.dumps(case.data["config"]))


def play_trajectory(case: Case) -> None:
    """f64 within 1e-12 of Burn, f32 within 1e-5 relative, halves within their rounding."""
    data = case.data
    config, dtype = config_of(case), DTYPES[data["dtype"]][1]
    backend = Autodiff(NumPy(seed=0, float_dtype=dtype))
    shapes = {name: spec["shape"] for name, spec in data["initial"].items()}

    def tensor(values: Any, name: str) -> Any:
        return Tensor.from_data(np.array(numbers(values)).reshape(shapes[name]), backend, dtype)

    stepped = [name for name in IDS if name in data["params"][0]]
    params = {
        name: Param.initialized(ParamId(IDS[name]), tensor(data["initial"][name]["data"], name), require_grad=True)
        for name in stepped
    }
    model: Any = Pair(**params) if len(params) == 2 else Alone(**params)
    optimizer = config.init()
    accumulator, group = optim.GradientsAccumulator(), data.get("accumulate") or 1
    for k, (lr, grads, want) in enumerate(zip(data["lr"], data["grads"], data["params"], strict=True)):
        given = optim.GradientsParams()
        for name in stepped:
            given.register(IDS[name], tensor(grads[name], name).inner())
        accumulator.accumulate(model, given)
        if (k + 1) % group == 0:
            model = optimizer.step(lr, model, accumulator.grads())
        for name in stepped:
            compare(f"step {k}, {name}", getattr(model, name).value, want[name], data["dtype"])
        if k == 9 and "record_after_step_10" in data:
            record = optimizer.into_record()
            check_record(record.into_bytes(), data["record_after_step_10"], data["dtype"])
            if data["dtype"] == "F32":
                optimizer = config.init().load_record(optim.OptimizerRecord.from_bytes(record.into_bytes()))


def play_lbfgs(case: Case) -> None:
    """Six calls; after the third another optimizer goes on from the record.

    Without a line search the history soon holds more steps than there are dimensions, and magnifies rounding: the last
    bit of an initial value changes an element by 8e-5 in the fourth call and by 9e-4 in the sixth. With it they stay
    together.
    """
    data = case.data
    stable = data["config"]["line_search_fn"] == "StrongWolfe"
    backend = Autodiff(NumPy(seed=0))
    initial = {
        spec["path"]: Tensor.from_data(np.array(spec["data"], np.float32).reshape(spec["shape"]), backend)
        for spec in data["initial"]
    }
    model: Any = Pair(
        **{name: Param.initialized(ParamId(IDS[name]), value, require_grad=True) for name, value in initial.items()}
    )
    config = optim.LBFGSConfig.from_json(json.dumps(data["config"]))
    optimizer, calls = config.init(), 0

    def closure(model: Any) -> Any:
        nonlocal calls
        calls += 1
        w0, w1 = (model.w.value.slice((row, row + 1)).squeeze_dim(0) for row in (0, 1))
        loss = (w0 - 1.0).square().sum() + (w1 - w0.square()).square().sum() * 5.0
        loss = loss + (model.b.value - w0).square().sum()
        return loss, optim.GradientsParams.from_grads(loss.backward(), model)

    for k, step in enumerate(data["steps"], start=1):
        calls = 0
        model, loss = optimizer.step(data["lr"], model, closure)
        if calls != step["closure_calls"]:
            raise Deviation(f"call {k}: the closure was called {calls} times, Burn's {step['closure_calls']}")
        tolerance = 2e-5 if stable or k <= 2 else 1e-3 if k <= 4 else 1e-2
        close(f"call {k}: the loss", np.array(loss), np.array(step["loss"]), tolerance)
        for spec in step["params"]:
            found = getattr(model, spec["path"]).value.numpy().ravel()
            close(f"call {k}, {spec['path']}", found, np.array(numbers(spec["data"]), np.float32), tolerance)
        if k == 3:
            data_of_record = optimizer.into_record().into_bytes()
            check_lbfgs_record(data_of_record, data["record_after_call_3"], tolerance)
            optimizer = config.init().load_record(optim.OptimizerRecord.from_bytes(data_of_record))


def check_lbfgs_record(data: bytes, expected: Any, tolerance: float) -> None:
    """As `check_record`, but its loss is a result."""
    reader = Reader.from_bytes(data)
    for key, value in expected["scalars"].items():
        ((kind, number),) = value.items()
        if reader.scalars[key].kind != kind:
            raise Deviation(f"{key} is a {reader.scalars[key].kind} in the record, Burn's {kind}")
        close(key, np.array(float(reader.scalars[key].value)), np.array(float(number)), tolerance)
    check_record(data, {**expected, "scalars": {}}, "F32", tolerance)


def step_of_a_vector(config: Any) -> None:
    model = Alone(w=Param.from_data([1.0], Autodiff(NumPy(seed=0))))
    grads = optim.GradientsParams()
    grads.register(model.w.id, model.w.value.inner())
    config.init().step(0.1, model, grads)


REFUSED: dict[str, Callable[[], Any]] = {
    "muon_rank1": lambda: step_of_a_vector(optim.MuonConfig()),
    "adafactor_bad_epsilon_2": lambda: optim.AdafactorConfig(epsilon_2=-1.0).init(),
    "adafactor_bad_clip": lambda: optim.AdafactorConfig(clip_threshold=0.0).init(),
    "adafactor_bad_decay_rate": lambda: optim.AdafactorConfig(decay_rate=0.1).init(),
    "adafactor_bad_weight_decay": lambda: optim.AdafactorConfig(weight_decay=-0.1).init(),
    "lion_bad_beta_1": lambda: optim.LionConfig(beta_1=2.0).init(),
    "lion_bad_wd": lambda: optim.LionConfig(weight_decay=-0.1).init(),
    "lamb_bad_eps": lambda: optim.LambConfig(epsilon=-1.0).init(),
}


def play_refusal(case: Case) -> None:
    """Refused for the same reason, in Burn's words or more of them; what Burn accepts is accepted."""
    wanted = case.data["panic_text"]
    try:
        REFUSED[case.name]()
    except optim.OptimizerError as error:
        if wanted is None or not words(wanted) <= words(str(error)):
            raise Deviation(f"refused: {error}; Burn: {wanted}") from error
    else:
        if wanted is not None:
            raise Deviation(f"accepted; Burn: {wanted}")


GROUPED = {"last_group_wins": [(ParamGroup.from_path("b"), "Adam"), (ParamGroup.from_ids([22]), "Lion")]}
"""What the case calls `the same` is not written out; the last group decides."""


def play_groups(case: Case) -> None:
    """Rules and rates of groups, and both records."""
    data = case.data
    backend = Autodiff(NumPy(seed=0))
    shapes = {spec["path"]: spec["shape"] for spec in data["initial"]}

    def tensor(values: Any, name: str) -> Any:
        return Tensor.from_data(np.array(numbers(values), np.float32).reshape(shapes[name]), backend)

    initial = {spec["path"]: tensor(spec["data"], spec["path"]) for spec in data["initial"]}
    model: Any = Pair(
        **{name: Param.initialized(ParamId(IDS[name]), value, require_grad=True) for name, value in initial.items()}
    )
    optimizer = optim.SgdConfig().init()
    for group, rule in GROUPED[case.name]:
        optimizer.with_group(group, getattr(optim, f"{rule}Config")().build())
    scheduler = optim.ModuleLrSchedulerConfig.from_json(json.dumps(data["scheduler"])).init()
    for k, step in enumerate(data["steps"]):
        rates = scheduler.step()
        for name, id in IDS.items():
            if abs(rates.lr_from_param(id, name) - step[f"lr_{name}"]) > 1e-12:
                raise Deviation(f"step {k}: the rate of {name} is {rates}, Burn's {step[f'lr_{name}']}")
        given = optim.GradientsParams()
        for name, values in step["grads"].items():
            given.register(IDS[name], tensor(values, name).inner())
        model = optimizer.step(rates, model, given)
        for spec in step["params"]:
            compare(f"step {k}, {spec['path']}", getattr(model, spec["path"]).value, spec["data"], "F32")
    check_record(optimizer.into_record().into_bytes(), data["optim_record"], "F32")
    check_record(scheduler.into_record().into_bytes(), data["scheduler_record"], "F32")


def compare(what: str, tensor: Any, want: Any, dtype: str) -> None:
    found = tensor.numpy()
    expected = np.array(numbers(want), np.float64 if dtype == "F64" else np.float32).reshape(found.shape)
    found = found.astype(expected.dtype)
    # where terms of the parameter's size cancel, f32 is exact to that size only
    tolerance = {"F64": 1e-12, "F32": 2e-5, "F16": 4e-3, "BF16": 3e-2}[dtype]
    close(what, found, expected, tolerance)


def check_record(data: bytes, expected: Any, dtype: str, single: float = 2e-5) -> None:
    reader = Reader.from_bytes(data)
    if dict(reader.metadata) != expected["metadata"]:
        raise Deviation(f"the record's metadata are {dict(reader.metadata)}, Burn's {expected['metadata']}")
    scalars = {key: {scalar.kind: str(scalar.value)} for key, scalar in reader.scalars.items()}
    if any(scalars.get(key) != {k: str(v) for k, v in value.items()} for key, value in expected["scalars"].items()):
        raise Deviation(f"the record's scalars are {scalars}, Burn's {expected['scalars']}")
    names = sorted(tensor["name"] for tensor in expected["tensors"])
    if sorted(reader) != names:
        raise Deviation(f"the record holds {sorted(reader)}, Burn's {names}")
    for tensor in expected["tensors"]:
        entry = reader[tensor["name"]]
        if (entry.dtype.name, list(entry.shape)) != (tensor["dtype"], tensor["shape"]):
            raise Deviation(f"{tensor['name']} is {entry.dtype.name} {list(entry.shape)} in the record")
        if tensor["dtype"] in ("F32", "F64"):
            kind = DTYPES[tensor["dtype"]][0]
            found = np.frombuffer(entry.view(), kind).reshape(entry.shape)
            want = np.array(numbers(tensor["data"]), kind).reshape(entry.shape)
            close(tensor["name"], found, want, 1e-12 if tensor["dtype"] == "F64" else single)
