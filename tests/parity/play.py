"""A case played with minburn: outputs, gradients and refusals against Burn's."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from cases import Case, Inputs, array, numbers

from minburn.module import Module, ModuleRecord, ModuleVisitor, Param, ParamId, RecordEntry
from minburn.tensor import FloatTensor, Tensor, TensorData

Play = Callable[[Inputs], Any]
"""What a case computes: one tensor (or a list, or values) where Burn has one output, else a dict of them by name.
With parameters: (module, outputs)."""

FORWARD, BACKWARD = 1e-5, 1e-4
"""Relative tolerances in f32, as promised; a tenth of them is added absolutely."""
EXACT = 1e-12
"""Of f64."""


class Missing(Exception):
    """minburn has no such thing yet."""


class Deviation(AssertionError):
    """minburn gives something else than Burn."""


def play(case: Case, counterpart: Play, tolerances: tuple[float, float]) -> None:
    """Raises Missing or Deviation."""
    inputs = Inputs(case)
    if case.panics:
        expect_refusal(case, counterpart, inputs)
        return
    module, outputs = computed(counterpart, inputs)
    expected = case.data.get("outputs", {})
    if not isinstance(outputs, dict):
        outputs = dict.fromkeys(expected, outputs) if len(expected) == 1 else {"out": outputs}
    if expected.keys() - outputs.keys():
        raise Deviation(f"no output {', '.join(sorted(expected.keys() - outputs.keys()))}")
    for name, spec in expected.items():
        compare(f"output {name}", outputs[name], spec, tolerances[0])
    if "weights" in case.data:
        check_gradients(case, inputs, module, outputs, tolerances[1])


def computed(counterpart: Play, inputs: Inputs) -> tuple[Module | None, Any]:
    try:
        result = counterpart(inputs)
    except AttributeError as error:
        if is_ours(error):
            raise Missing(str(error)) from None
        raise
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], Module):
        return result
    return None, result


def is_ours(error: AttributeError) -> bool:
    """Whether what lacks the attribute is a module, a class or a tensor of minburn."""
    owner = error.obj
    name = getattr(owner, "__name__", "") if not isinstance(owner, Tensor) else "minburn"
    return name.startswith("minburn") or getattr(owner, "__module__", "").startswith("minburn")


def expect_refusal(case: Case, counterpart: Play, inputs: Inputs) -> None:
    try:
        _, outputs = computed(counterpart, inputs)
    except Missing:
        raise
    except Exception as error:  # which class it is, the tests of bad input say; here it must be one of minburn's
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        if place is None or "minburn" not in place.tb_frame.f_code.co_filename.replace("tests", ""):
            raise Deviation(f"an accident instead of a refusal: {error!r}") from error
        return
    raise Deviation(f"Burn refuses it, minburn gives {outputs!r}")


def compare(what: str, got: Any, spec: Any, tolerance: float) -> None:
    if isinstance(spec, dict) and "panic" in spec:
        return  # shown by the case beside results; the refusals have cases of their own
    if not isinstance(spec, dict) or "data" not in spec:  # a value that is no tensor
        if got != spec:
            raise Deviation(f"{what} is {got!r}, Burn's {spec!r}")
        return
    if hasattr(got, "agrees"):
        if not got.agrees(spec["data"]):
            raise Deviation(f"{what}: the places stand for other values than Burn's")
        return
    want = array(spec)
    found = got.numpy() if isinstance(got, Tensor) else np.asarray(got)
    if isinstance(got, Tensor) and isinstance(spec, dict):
        dtype = spec["dtype"]
        if got.dtype.name != dtype:
            raise Deviation(f"{what} is {got.dtype.name}, Burn's {dtype}")
        if found.dtype.kind not in "fbiu":  # bfloat16
            found = found.astype(np.float32)
        if dtype in ("F16", "BF16"):
            tolerance = max(tolerance, 1e-3 if dtype == "F16" else 8e-3)
    if found.shape != want.shape:
        raise Deviation(f"{what} has shape {list(found.shape)}, Burn's {list(want.shape)}")
    close(what, found, want, EXACT if want.dtype == np.float64 and found.dtype == np.float64 else tolerance)


def close(what: str, found: Any, want: Any, tolerance: float) -> None:
    if want.dtype.kind != "f":
        if not np.array_equal(found, want):
            raise Deviation(f"{what} is {found.ravel()[:8]}, Burn's {want.ravel()[:8]}")
        return
    with np.errstate(all="ignore"):
        good = np.isclose(found, want, rtol=tolerance, atol=tolerance / 10, equal_nan=True)
    if not good.all():
        at = tuple(int(i) for i in np.argwhere(~good)[0])
        raise Deviation(
            f"{what}{list(at)} is {found[at]!r}, Burn's {want[at]!r} ({np.sum(~good)} of {good.size} differ)"
        )


def check_gradients(
    case: Case, inputs: Inputs, module: Module | None, outputs: Mapping[str, Any], tolerance: float
) -> None:
    """Of Σ outputs · weights."""
    total: Any = None
    for name, weights in case.data["weights"].items():
        output = outputs[name]
        factor = Tensor.from_data(np.reshape(numbers(weights["data"]), output.shape), output.backend, output.dtype)
        part = (output * factor).sum()
        total = part if total is None else total + part
    if "backward_panic" in case.data:
        return  # Burn gives an untracked tensor there; ours is tracked: an advantage that needs no case
    grads = total.backward() if total.is_tracked else None
    wanted = case.data.get("input_grads", {})
    for name, leaf in inputs.given.items():
        if name in wanted:
            compare_gradient(f"gradient of {name}", leaf, grads, wanted[name], tolerance)
    if module is None:
        return
    for (path, param), spec in zip(parameters(module), case.data.get("params", ()), strict=True):
        grad = None if spec.get("grad") is None else {**spec, "data": spec["grad"]}
        compare_gradient(f"gradient of {path}", param.value, grads, grad, tolerance)


def compare_gradient(what: str, leaf: Any, grads: Any, spec: Any, tolerance: float) -> None:
    grad = None if grads is None else leaf.grad(grads)
    if spec is None:
        if grad is not None and np.any(grad.numpy() != 0):
            raise Deviation(f"{what} is {grad.numpy().ravel()[:4]}, Burn has none")
        return
    if grad is None:
        grad = leaf.inner().zeros_like()
    compare(what, grad, spec, tolerance)


class Parameters(ModuleVisitor):
    def __init__(self) -> None:
        self.found: list[tuple[str, Param[FloatTensor]]] = []

    def visit_float(self, param: Param[FloatTensor]) -> None:
        self.found.append((self.path, param))


def parameters(module: Module) -> list[tuple[str, Param[FloatTensor]]]:
    visitor = Parameters()
    module.visit(visitor)
    return visitor.found


def with_parameters(module: Any, case: Case) -> Any:
    """The module with the parameters of the case, under the very same paths in the very same order."""
    specs = case.data.get("params", [])
    paths = [path for path, _ in parameters(module)]
    if paths != [spec["path"] for spec in specs]:
        raise Deviation(f"the parameters are {paths}, Burn's {[spec['path'] for spec in specs]}")
    stored = {entry.path: entry for entry in module.into_record()}
    entries = []
    for number, spec in enumerate(specs, start=1):
        values = array(spec)
        if tuple(stored[spec["path"]].data.shape) != values.shape and values.ndim == 2:
            values = values.T  # Burn lists what is in memory; this one is stored transposed
        entries.append(RecordEntry(spec["path"], ParamId(number), TensorData.from_numpy(np.ascontiguousarray(values))))
    return module.load_record(ModuleRecord(entries))


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))
