"""Recording is asked for where it cannot be: the run is an ordinary one, and says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from train_program import Program, assert_same_run, new_model

from minburn.optim import SgdConfig
from minburn.train import CaptureWarning, Learner, TrainingError


def test_numpy_has_nothing_to_record_with(tmp_path: Path) -> None:
    ordinary = Program(tmp_path / "ordinary", model=new_model(), epochs=1)
    ordinary.launch()
    asked = Program(tmp_path / "asked", model=ordinary.model, epochs=1, capture=True)
    with pytest.warns(CaptureWarning) as found:
        asked.launch()
    [warning] = found
    assert str(warning.message) == (
        "Learner(capture=True): steps run as usual, as NumPy(seed=42, float_dtype=F32, int_dtype=I32) "
        "has nothing to record them with; CuPy(…) has."
    )
    assert_same_run(asked.run_dir, ordinary.run_dir)


def test_capture_is_a_bool() -> None:
    broken: Any = "yes"
    with pytest.raises(TrainingError, match="capture must be True or False, but got str 'yes'"):
        Learner(new_model(), SgdConfig().init(), 0.1, capture=broken)
