"""Every public name of Burn's tensors is here: under its name, under another, or left out with a reason."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from burn_tensor_names import LEFT_OUT, NAMES, OTHERWISE

from minburn import backends, linalg, signal, tensor
from minburn.tensor import activation, functional

OWNERS: dict[str, Any] = {
    "activation": activation,
    "functional": functional,
    "linalg": linalg,
    "signal": signal,
    "stats": None,
    "Device": backends.Backend,
    **{name: getattr(tensor, name) for name in NAMES if hasattr(tensor, name) and name[0].isupper()},
}


def found(ours: str) -> bool:
    """Whether the dotted name below minburn exists; a module, then attributes."""
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


@pytest.mark.parametrize("owner", NAMES)
def test_every_name_is_here_or_accounted_for(owner: str) -> None:
    lost = []
    for name in NAMES[owner].split():
        known = f"{owner}.{name}"
        here = hasattr(OWNERS[owner], name)
        if here == (known in OTHERWISE or known in LEFT_OUT):
            lost.append(f"{known}: {'is here, and needs no excuse' if here else 'is not here, nor in the lists'}")
    assert lost == []


def test_the_lists_name_nothing_else() -> None:
    every = {f"{owner}.{name}" for owner, names in NAMES.items() for name in names.split()}
    assert set(OTHERWISE) | set(LEFT_OUT) <= every
    assert set(OTHERWISE) & set(LEFT_OUT) == set()
    assert [ours for ours in OTHERWISE.values() if not found(ours)] == []
    assert all(reason for reason in LEFT_OUT.values())
    assert len(every) > 400
