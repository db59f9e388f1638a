"""Files that Burn refuses are refused here for the same reason, and the reverse; `burn_damages.py` is the table."""

from __future__ import annotations

import re
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from burn_damages import DAMAGES, MODEL, REASONS, SCHEDULE, Damage, Differ
from burn_driver import Burn, receive
from burn_models import MODELS
from burn_params import listing, params
from burn_runs import SCHEDULES, Cell, Checkpoint, Training, backend_of, batches, in_burns_json

from minburn.module import ModuleRecord, RecordError
from minburn.optim import LrSchedulerRecord, OptimizerError
from minburn.pack import Reader

pytestmark = pytest.mark.burn

CELL = Cell("mlp", "adam", "linear")
STEPS = 3
Verdict = tuple[str | None, Any]  # what was said, None if nothing; what was read


def damaged(damage: Damage, folder: Path) -> Path:
    """Its file, beside the good files that it was made from."""
    return folder / damage.name / f"{damage.loaded_as or damage.file}-{STEPS}.bpk"


def asked(damage: Damage, folder: Path) -> dict[str, Any]:
    """What Burn is to do with it."""
    path = str(damaged(damage, folder))
    kind = damage.loaded_as or damage.file
    if kind == MODEL:
        return {"load_model": {"model": CELL.model, "file": path, "x": None}}
    if kind == SCHEDULE:
        scheduler = in_burns_json(SCHEDULES[CELL.schedule])
        return {"load_scheduler": {"scheduler": scheduler, "file": path, "steps": 3}}
    return one_step(damage, folder).job()


def one_step(damage: Damage, folder: Path) -> Training:
    start = Checkpoint(folder / damage.name, STEPS)
    return Training(CELL, batches(CELL)[:1], folder / damage.name / "after", [STEPS + 1], start)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("damages")
    Training(CELL, batches(CELL), base / "good", [STEPS]).run(backend_of("f32"))
    for damage in DAMAGES:
        shutil.copytree(base / "good", base / damage.name)
        good = (base / "good" / f"{damage.file}-{STEPS}.bpk").read_bytes()
        damaged(damage, base).write_bytes(damage.make(good))
    return base


@pytest.fixture(scope="module")
def burns(folder: Path, burn: Burn) -> dict[str, Verdict]:
    verdicts: dict[str, Verdict] = {}
    answers = burn.ask("f32", [asked(damage, folder) for damage in DAMAGES])
    for damage, answer in zip(DAMAGES, answers, strict=True):
        ((how, said),) = answer.items()
        verdicts[damage.name] = (None, said) if how == "ok" else (said, None)
    return verdicts


def ours(damage: Damage, folder: Path) -> Verdict:
    backend = backend_of("f32", seed=1)
    kind = damage.loaded_as or damage.file
    try:
        if kind == MODEL:
            record = ModuleRecord.load(damaged(damage, folder))
            return None, {"params": params(MODELS[CELL.model].make(backend).load_record(record))}
        if kind == SCHEDULE:
            scheduler = SCHEDULES[CELL.schedule].init()
            scheduler.load_record(LrSchedulerRecord.load(damaged(damage, folder)))
            return None, {"rates": [float(scheduler.step()) for _ in range(3)]}
        one_step(damage, folder).run(backend)
        return None, {"saved": listing(Reader.from_file(folder / damage.name / "after" / f"model-{STEPS + 1}.bpk"))}
    except (RecordError, OptimizerError, ValueError) as error:
        return f"{type(error).__name__}: {error}", None


def test_the_table_is_large_enough_and_says_why() -> None:
    assert len(DAMAGES) >= 40
    assert len({damage.name for damage in DAMAGES}) == len(DAMAGES)
    assert all(len(d.verdict.why) > 20 for d in DAMAGES if isinstance(d.verdict, Differ))


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_verdict(damage: Damage, folder: Path, burns: dict[str, Verdict]) -> None:
    theirs, read = burns[damage.name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a state or counter that is left out is a warning here, silence in Burn
        said, found = ours(damage, folder)
    if isinstance(damage.verdict, Differ):
        expected: tuple[str | None, str | None] = damage.verdict.burn, damage.verdict.ours
    else:
        expected = REASONS[damage.verdict] if damage.verdict else (None, None)
    for who, text, pattern in (("Burn", theirs, expected[0]), ("we", said, expected[1])):
        if pattern is None:
            assert text is None, f"{who} should accept it"
        else:
            assert text is not None, f"{who} should refuse it: {pattern}"
            assert re.search(pattern, text), (who, text)
    if said is None and theirs is None and damage.verdict == "":
        same(damage, read, found)


def same(damage: Damage, theirs: Any, mine: Any) -> None:
    """Accepted is accepted with the same content."""
    if "params" in theirs:
        strip = ("id", "id_text") if "param_id" in damage.name else ()  # no id in the file: both make one up
        for found, wanted in zip(mine["params"], theirs["params"], strict=True):
            assert {k: v for k, v in found.items() if k not in strip} == {
                k: v for k, v in wanted.items() if k not in strip
            }
    elif "rates" in theirs:
        assert mine["rates"] == pytest.approx(theirs["rates"], rel=1e-12)
    else:
        wanted = {param["path"]: receive(param["data"]) for param in theirs["saved"][str(STEPS + 1)]}
        for tensor in mine["saved"]["tensors"]:
            value = receive(tensor["data"])
            if value.dtype == np.float32 and tensor["name"] != "extra.weight":  # which lies transposed in the file
                np.testing.assert_allclose(value, wanted[tensor["name"]], rtol=1e-5, atol=2e-6, err_msg=tensor["name"])
