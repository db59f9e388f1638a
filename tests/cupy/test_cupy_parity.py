"""The golden cases of the running Burn, played on CUDA. What tests/parity tells of NumPy is told here of CuPy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from minburn.backends import CuPy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "parity"))
import cases
import optimizers
from play import Deviation
from report import WAITING, played
from test_parity import LISTED

BETTER = {
    "activations/gelu_approximate": "at the largest numbers the gradient is 1 or 0, Burn's is NaN",
    "ops/plain_device/sum_precision": "running sums are added up in pairs: 10,000.001; one after the other, 9,998.6",
}
PLAYED = [case for case in cases.all_cases() if case.file not in WAITING and case.id not in LISTED]


@pytest.mark.parametrize("case", PLAYED, ids=lambda case: case.id)
def test_case_on_cuda(case: cases.Case, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (cases, optimizers):
        monkeypatch.setattr(module, "NumPy", CuPy)
    if case.id in BETTER:
        with pytest.raises(Deviation):
            played(case)
    else:
        played(case)
