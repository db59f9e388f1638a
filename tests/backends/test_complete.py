"""Completeness: every op of the protocols is in the NumPy backend, differentiable or excused, and in the test table.

Adding an op without one of them fails here, and the message names the place to go to.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from table import ROWS

from minburn.backends import NumPy
from minburn.backends.autodiff.activations import AutodiffActivations
from minburn.backends.autodiff.math import AutodiffFloats
from minburn.backends.autodiff.modules import AutodiffModules
from minburn.backends.base import BoolTensorOps, FloatTensorOps, IntTensorOps
from minburn.backends.module_ops import ActivationOps, ModuleOps

_numpy = NumPy()
TABLES: dict[str, tuple[Any, Any, Any]] = {
    "floats": (FloatTensorOps, type(_numpy.floats), AutodiffFloats),
    "ints": (IntTensorOps, type(_numpy.ints), None),
    "bools": (BoolTensorOps, type(_numpy.bools), None),
    "modules": (ModuleOps, type(_numpy.modules), AutodiffModules),
    "activations": (ActivationOps, type(_numpy.activations), AutodiffActivations),
}
"""Of each table: the protocol, the NumPy class, the Autodiff class (ints and bools are the inner backend's own)."""

ZERO_GRADIENT = {
    "floats.detach": "leaving the graph is what it is for",
    "floats.run_elementwise": "optimizers use it on values outside any graph",
}
"""Ops from floats to floats that have no rule, and why."""


def methods(protocol: Any) -> dict[str, Any]:
    """The ops of a protocol, inherited ones included."""
    found: dict[str, Any] = {}
    for base in reversed(protocol.__mro__):
        if getattr(base, "_is_protocol", False):
            found.update({k: v for k, v in vars(base).items() if inspect.isfunction(v) and not k.startswith("_")})
    return found


def is_differentiable(method: Any) -> bool:
    """Takes an F and returns an F. P is the table's own primitive: F in a float table."""
    types = {name: str(annotation) for name, annotation in method.__annotations__.items()}
    result = types.pop("return", "")
    float_in = any(re.search(r"\b[FP]\b", annotation) for annotation in types.values())
    return float_in and (re.search(r"\b[FP]\b", result) is not None or result == "Any")


def problems(table: str, protocol: Any, arrays: Any, autodiff: Any, rows: set[str]) -> list[str]:
    found = []
    for op, method in methods(protocol).items():
        name = f"{table}.{op}"
        own = getattr(arrays, op, None)
        if own is None:
            found.append(f"{name}: missing in {arrays.__name__} (minburn/backends/array/, numpy.py)")
        elif list(inspect.signature(own).parameters) != list(inspect.signature(method).parameters):
            found.append(f"{name}: {arrays.__name__} takes {inspect.signature(own)}, the protocol otherwise")
        if name not in rows:
            found.append(f"{name}: no row in tests/backends/table.py")
        if autodiff is None:
            continue
        if not hasattr(autodiff, op):
            found.append(f"{name}: missing in {autodiff.__name__} (minburn/backends/autodiff/)")
        elif is_differentiable(method) and name not in ZERO_GRADIENT and not hasattr(getattr(autodiff, op), "has_rule"):
            found.append(f"{name}: no rule in {autodiff.__name__} (minburn/backends/autodiff/), nor in ZERO_GRADIENT")
    return found


ROW_NAMES = {row.name for row in ROWS}


@pytest.mark.parametrize("table", TABLES)
def test_every_op_is_everywhere(table: str) -> None:
    assert problems(table, *TABLES[table], ROW_NAMES) == []


def test_every_row_and_every_excuse_is_an_op() -> None:
    ops = {f"{table}.{op}" for table, (protocol, _, _) in TABLES.items() for op in methods(protocol)}
    assert ops >= ROW_NAMES
    assert ops >= set(ZERO_GRADIENT)
    assert len(ROWS) == len(ROW_NAMES), "two rows for one op"
    for name in ZERO_GRADIENT:
        table, op = name.split(".")
        assert not hasattr(getattr(TABLES[table][2], op), "has_rule"), f"{name} has a rule: it needs no excuse"


def test_differentiable_is_read_from_the_annotations() -> None:
    floats, modules = methods(FloatTensorOps), methods(ModuleOps)
    assert all(
        is_differentiable(floats[op]) for op in ("add", "cat", "gather", "exp", "cast", "detach", "run_elementwise")
    )
    assert not any(
        is_differentiable(floats[op]) for op in ("zeros", "equal", "argmax", "into_int", "into_data", "shape")
    )
    assert is_differentiable(modules["cross_entropy"]) and is_differentiable(modules["linear"])
    assert sum(is_differentiable(method) for method in floats.values()) > 70


def without(cls: Any, op: str) -> Any:
    """A copy of a class that lacks one op."""
    return type(cls.__name__, (), {k: getattr(cls, k) for k in dir(cls) if k != op and not k.startswith("__")})


@pytest.mark.parametrize("name", ["floats.tan", "floats.slice_assign", "modules.linear", "activations.softmax"])
def test_a_missing_op_is_named(name: str) -> None:
    table, op = name.split(".")
    protocol, arrays, autodiff = TABLES[table]
    assert problems(table, protocol, without(arrays, op), autodiff, ROW_NAMES) == [
        f"{name}: missing in {arrays.__name__} (minburn/backends/array/, numpy.py)"
    ]
    assert problems(table, protocol, arrays, without(autodiff, op), ROW_NAMES) == [
        f"{name}: missing in {autodiff.__name__} (minburn/backends/autodiff/)"
    ]
    assert problems(table, protocol, arrays, autodiff, ROW_NAMES - {name}) == [
        f"{name}: no row in tests/backends/table.py"
    ]
    ruleless = without(autodiff, op)
    setattr(ruleless, op, lambda self, *args: None)
    assert problems(table, protocol, arrays, ruleless, ROW_NAMES) == [
        f"{name}: no rule in {autodiff.__name__} (minburn/backends/autodiff/), nor in ZERO_GRADIENT"
    ]


def test_an_op_that_only_the_protocol_has_is_named_in_three_places() -> None:
    class Wider(FloatTensorOps[Any, Any, Any]):
        _is_protocol = True

        def brand_new(self, tensor: F) -> F: ...  # type: ignore[name-defined]  # noqa: F821

    found = problems("floats", Wider, *TABLES["floats"][1:], ROW_NAMES)
    assert len(found) == 3 and all(message.startswith("floats.brand_new: ") for message in found)
