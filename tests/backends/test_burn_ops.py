"""Every op of Burn's backend traits is in the table of its kind, composed at the tensor, or left out with a reason."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from burn_ops import BURN_OPS, ELSEWHERE, LEFT_OUT, RENAMED
from test_complete import TABLES, methods


def found(ours: str) -> bool:
    parts = ours.split(".")
    for depth in range(len(parts), 0, -1):
        try:
            place: Any = importlib.import_module(".".join(["minburn", *parts[:depth]]))
        except ModuleNotFoundError:
            continue
        for part in parts[depth:]:
            place = getattr(place, part, None)
        return place is not None
    return False


@pytest.mark.parametrize("table", BURN_OPS)
def test_every_op_of_burn_is_accounted_for(table: str) -> None:
    ops = methods(TABLES[table][0])
    lost = [
        op
        for op in BURN_OPS[table].split()
        if RENAMED.get(op, op) not in ops and op not in ELSEWHERE and op not in LEFT_OUT
    ]
    assert lost == []


def test_what_is_elsewhere_is_there_and_no_excuse_is_stale() -> None:
    assert [ours for ours in ELSEWHERE.values() if not found(ours)] == []
    every = {op for names in BURN_OPS.values() for op in names.split()}
    assert set(ELSEWHERE) | set(LEFT_OUT) <= every
    for op in (*ELSEWHERE, *LEFT_OUT):
        assert any(op in names.split() and op not in methods(TABLES[t][0]) for t, names in BURN_OPS.items()), op
    assert sum(len(names.split()) for names in BURN_OPS.values()) > 330
