"""Tests that need the real Burn run when they are asked for: `make burn`, or `pytest -m burn`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for burn_driver and its neighbours

from burn_driver import Burn, BurnUnavailable


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without a word about `burn` in -m they are left out: the ordinary tests need no Rust."""
    if "burn" in config.getoption("-m"):
        return
    away = [item for item in items if item.get_closest_marker("burn")]
    if away:
        config.hook.pytest_deselected(items=away)
        items[:] = [item for item in items if not item.get_closest_marker("burn")]


@pytest.fixture(scope="session")
def burn() -> Burn:
    """Asked for and not to be had: everything ends, with one line."""
    try:
        return Burn.build()
    except BurnUnavailable as error:
        pytest.exit(f"the tests with Burn did NOT run: {error}", returncode=1)
