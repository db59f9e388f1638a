"""A page of the docs that is a program runs as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import minburn.hints as hints_of
from minburn import Module, Tensor
from minburn.backends import Autodiff, NumPy
from minburn.nn import LinearConfig
from minburn.tensor import activation

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("page", ["custom-ops.md", "from-pytorch.md", "weights.md"])
def test_the_program_of_a_page_runs(page: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert blocks
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", "\n".join(blocks)]
    result = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_what_pytorch_calls_otherwise_is_missing_here_and_its_counterpart_is_not() -> None:
    backend = Autodiff(NumPy(seed=1))
    model = LinearConfig(2, 2).init(backend)
    page = (ROOT / "docs" / "from-pytorch.md").read_text("utf-8")
    for owner, name, hints in ((Tensor.zeros([1], backend), "x", hints_of.TENSOR), (model, "model", hints_of.MODULE)):
        for missing, hint in hints.items():
            with pytest.raises(AttributeError) as caught:
                getattr(owner, missing)
            if owner is model:
                assert f"has no '{missing}'. Here it is {hint}." in str(caught.value)
        told = [*hints.values(), page]
        for ours in {found for text in told for found in re.findall(rf"`?\b{name}\.(\w+)", text)} - set(hints):
            assert hasattr(owner, ours), f"{name}.{ours}"
    for ours in {
        found for text in [*hints_of.TENSOR.values(), page] for found in re.findall(r"activation\.(\w+)", text)
    }:
        assert hasattr(activation, ours), ours


def test_an_error_inside_a_property_of_a_module_is_told() -> None:
    class Broken(Module):
        @property
        def parameters(self) -> int:
            return self.nothing  # type: ignore[attr-defined, no-any-return]

    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = Broken().parameters
