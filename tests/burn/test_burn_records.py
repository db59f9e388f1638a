"""Models' records beyond the matrix: tied parameters, and records cast to another dtype while they are loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from burn_driver import Burn, receive, send
from burn_models import FOR_RECORDS, MODELS, tensor
from burn_params import of_the_file, params
from burn_runs import DTYPES, backend_of

from minburn.module import ModuleRecord

pytestmark = pytest.mark.burn
LINES = MODELS | FOR_RECORDS
OTHERS = [(saved, loaded) for saved in DTYPES for loaded in DTYPES if saved != loaded]


def test_tied_parameters(burn: Burn, tmp_path: Path) -> None:
    """One id under two paths, in Burn's file and in ours; here they are one parameter, in Burn two with one id."""
    backend = backend_of("f32")
    line = FOR_RECORDS["tied"]
    x = line.batch(np.random.default_rng(0))["x"]
    model = line.make(backend)
    model.save_file(tmp_path / "tied")
    ask = {"model": "tied", "file": str(tmp_path / "tied.bpk"), "x": send(x)}
    (answer,) = burn.ask("f32", [{"load_model": ask}])
    loaded = line.make(backend_of("f32", seed=1)).load_file(tmp_path / "tied")
    assert loaded.embed.weight is loaded.output
    found = answer["ok"]["params"]
    assert found == params(loaded)
    assert [param["path"] for param in found] == ["embed.weight", "output"]
    assert len({param["id"] for param in found}) == 1
    out = loaded(tensor(x, backend)).numpy()
    np.testing.assert_allclose(receive(answer["ok"]["output"]), out, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("saved", "loaded"), OTHERS)
def test_cast_to_the_modules_dtype(burn: Burn, tmp_path: Path, saved: str, loaded: str) -> None:
    """The same bits come out of both casts."""
    jobs: list[dict[str, Any]] = []
    expected = []
    for name, line in LINES.items():
        path = tmp_path / f"{name}.bpk"
        line.make(backend_of(saved)).save_file(path)
        jobs.append({"load_model": {"model": name, "file": str(path), "x": None, "cast": True}})
        record = ModuleRecord.load(path).cast_to_module_dtype()
        expected.append(of_the_file(params(line.make(backend_of(loaded, seed=1)).load_record(record))))
    answers = burn.ask(loaded, jobs)
    assert [of_the_file(answer["ok"]["params"]) for answer in answers] == expected
