"""What a run is made of, as a tree of plain values: `resume="auto"` goes on only if it is the same.

Model (its display, and every parameter's shape and dtype), frozen parameters, optimizer, schedule, both loaders, seed,
float dtype, metrics, gradient accumulation. Not the number of epochs: a run may be prolonged. Not what an early
stopping or checkpointing strategy is: they decide no number.

Burn compares nothing: it loads whatever fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minburn.module import ModuleVisitor, Param
from minburn.tensor import BoolTensor, FloatTensor, IntTensor
from minburn.train.learner import Learner
from minburn.train.metric import Metric
from minburn.train.settings import optimizer_settings, plain


def fingerprint(
    learner: Learner[Any],
    train_loader: Any,
    valid_loader: Any,
    metrics: Sequence[Metric],
    grads_accumulation: int | None,
) -> dict[str, Any]:
    """Taken before anything is restored."""
    parameters = _Parameters()
    learner.model.visit(parameters)
    return {
        "model": {"class": type(learner.model).__name__, **display_lines(repr(learner.model))},
        "parameters": parameters.found,
        "frozen": parameters.frozen,
        "optimizer": optimizer_settings(learner.optim, learner.model),
        "schedule": learner.schedule_settings,
        "train data": _data(train_loader),
        "valid data": _data(valid_loader),
        "seed": learner.backend.streams.seed,
        "float_dtype": str(learner.backend.float_dtype),
        "metrics": [repr(metric) for metric in metrics],
        "grads_accumulation": grads_accumulation or 1,
    }


def display_lines(display: str) -> dict[str, str]:
    """The one-line entries of a module's display tree by their path: `{"hidden": "Linear {d_input: 64, …}"}`."""
    first, *rest = display.splitlines()
    if not rest:
        return {"display": first}
    lines: dict[str, str] = {}
    path: list[str] = []
    for line in rest:
        text = line.strip()
        name, separator, value = text.partition(": ")
        if text == "}":
            path = path[:-1]
        elif separator and value.endswith("{"):
            path.append(name)
        elif separator:
            lines[".".join([*path, name])] = value
    return lines


def _data(loader: Any) -> dict[str, Any]:
    found = getattr(loader, "fingerprint", None)
    return plain(found()) if callable(found) else {"batches": len(loader)}


class _Parameters(ModuleVisitor):
    """Shapes, dtypes and frozen paths, without drawing anything."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}
        self.frozen: list[str] = []

    def _add(self, param: Param[Any]) -> None:
        self.found[self.path] = {"shape": list(param.shape), "dtype": str(param.dtype)}

    def visit_float(self, param: Param[FloatTensor]) -> None:
        self._add(param)
        if not param.is_require_grad:
            self.frozen.append(self.path)

    def visit_int(self, param: Param[IntTensor]) -> None:
        self._add(param)

    def visit_bool(self, param: Param[BoolTensor]) -> None:
        self._add(param)
