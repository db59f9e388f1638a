"""Every model × optimizer × schedule × dtype through the real Burn, both ways.

Each side trains 2 · STEPS steps from its own start, with checkpoints in the middle and at the end. Then

    each reads the other's checkpoint of the middle: names, ids, shapes, dtypes, bits, what the model predicts
    each writes it again: the same bytes (but an optimizer's tensors lie in any order in Burn's files, and running
    states keep the module's ids)
    each goes on from it with the other's remaining batches, and ends where the other one ended

The last is exact up to rounding: the two add numbers up in different orders.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from burn_driver import Burn, receive, send
from burn_models import MODELS, tensor
from burn_params import listing, of_the_file, params
from burn_runs import (
    CELLS,
    DTYPES,
    OPTIMIZERS,
    SCHEDULES,
    STEPS,
    Cell,
    Checkpoint,
    Training,
    backend_of,
    batches,
    in_burns_json,
)

from minburn.module import ModuleRecord
from minburn.optim import LrSchedulerRecord, OptimizerRecord
from minburn.pack import Reader

pytestmark = pytest.mark.burn

# How far the two may be apart after STEPS steps from one checkpoint: relative, and absolute where terms cancel. In half
# precision a gradient rounded to the other side of a kink is another gradient, and its moment another moment: those
# need only be finite at the end. What they are in the file is compared bit by bit everywhere.
TOLERANCE = {"f64": (1e-9, 1e-11), "f32": (1e-5, 2e-6), "f16": (2e-2, 5e-2), "bf16": (5e-2, 5e-2)}
JOBS = ("train", "load_model", "load_optimizer", "load_scheduler", "write_again", "resume")


class Done(NamedTuple):
    """What both sides did about a cell."""

    dtype: str
    cell: Cell
    folder: Path
    steps: dict[str, list[dict[str, float]]]
    burn: dict[str, dict[str, Any]]

    def path(self, where: str, name: str, epoch: int) -> Path:
        return self.folder / where / f"{name}-{epoch}.bpk"

    def listing(self, where: str, name: str, epoch: int) -> dict[str, Any]:
        return listing(Reader.from_file(self.path(where, name, epoch)))

    def answer(self, job: str) -> Any:
        assert "ok" in self.burn[job], self.burn[job]
        return self.burn[job]["ok"]


@pytest.fixture(scope="module", params=DTYPES)
def matrix(request: pytest.FixtureRequest, burn: Burn, tmp_path_factory: pytest.TempPathFactory) -> dict[Cell, Done]:
    """All cells of a dtype: ours first, then Burn's in one process, then what we make of Burn's files."""
    dtype: str = request.param
    base = tmp_path_factory.mktemp(dtype)
    end = 2 * STEPS
    steps: dict[Cell, dict[str, Any]] = {}
    jobs: list[dict[str, Any]] = []
    for cell in CELLS:
        folder, data = base / str(cell), batches(cell)
        middle = Checkpoint(folder / "ours", STEPS)
        whole = Training(cell, data, folder / "ours", [STEPS, end])
        rest = Training(cell, data[STEPS:], folder / "burn-resumes", [end], middle)
        steps[cell] = {"ours": whole.run(backend_of(dtype))}
        jobs += [
            whole._replace(directory=folder / "burns").job(),
            {
                "load_model": {
                    "model": cell.model,
                    "file": str(folder / f"ours/model-{STEPS}.bpk"),
                    "x": send(data[0]["x"]),
                }
            },
            {"load_optimizer": {**optimizer(cell), "file": str(folder / f"ours/optim-{STEPS}.bpk")}},
            {"load_scheduler": {**schedule(cell), "file": str(folder / f"ours/scheduler-{STEPS}.bpk"), "steps": 10}},
            rest._replace(batches=[], directory=folder / "burn-writes-again", save=[STEPS]).job(),
            rest.job(),
        ]
    answers = iter(burn.ask(dtype, jobs))
    done = {}
    for cell in CELLS:
        folder, data = base / str(cell), batches(cell)
        said = dict(zip(JOBS, answers, strict=False))
        middle = Checkpoint(folder / "burns", STEPS)
        rest = Training(cell, data[STEPS:], folder / "we-resume", [end], middle)
        rest._replace(batches=[], directory=folder / "we-write-again", save=[STEPS]).run(backend_of(dtype, seed=1))
        steps[cell]["we-resume"] = rest.run(backend_of(dtype, seed=2))
        done[cell] = Done(dtype, cell, folder, steps[cell], said)
    return done


def optimizer(cell: Cell) -> dict[str, Any]:
    return {"optimizer": in_burns_json(OPTIMIZERS[cell.optimizer])}


def schedule(cell: Cell) -> dict[str, Any]:
    return {"scheduler": in_burns_json(SCHEDULES[cell.schedule])}


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_burn_reads_ours(matrix: dict[Cell, Done], cell: Cell) -> None:
    done = matrix[cell]
    backend = backend_of(done.dtype, seed=3)
    model = MODELS[cell.model].make(backend).load_record(ModuleRecord.load(done.path("ours", "model", STEPS)))
    answer = done.answer("load_model")
    assert of_the_file(answer["params"]) == of_the_file(params(model))
    x = tensor(batches(cell)[0]["x"], backend.inner)
    near(done, receive(answer["output"]), model.valid()(x).numpy().astype(np.float64))
    assert done.answer("load_optimizer") == done.listing("ours", "optim", STEPS)
    answer = done.answer("load_scheduler")
    assert answer["record"] == done.listing("ours", "scheduler", STEPS)
    scheduler = SCHEDULES[cell.schedule].init()
    scheduler.load_record(LrSchedulerRecord.load(done.path("ours", "scheduler", STEPS)))
    np.testing.assert_allclose(answer["rates"], [float(scheduler.step()) for _ in range(10)], rtol=1e-12)


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_we_read_burns(matrix: dict[Cell, Done], cell: Cell) -> None:
    done = matrix[cell]
    record = ModuleRecord.load(done.path("burns", "model", STEPS))
    model = MODELS[cell.model].make(backend_of(done.dtype, seed=3)).load_record(record)
    assert of_the_file(params(model)) == of_the_file(done.answer("train")["saved"][str(STEPS)])
    carried = Reader.from_bytes(record.into_bytes())  # without a module: the bits, in whatever dtype
    assert listing(carried) == listing(Reader.from_file(done.path("burns", "model", STEPS)))


@pytest.mark.parametrize("cell", CELLS, ids=str)
@pytest.mark.parametrize(("origin", "copy"), [("ours", "burn-writes-again"), ("burns", "we-write-again")])
def test_each_writes_the_others_files_again(matrix: dict[Cell, Done], cell: Cell, origin: str, copy: str) -> None:
    done = matrix[cell]
    for job in ("train", "write_again"):
        done.answer(job)
    again, first = (Reader.from_file(done.path(where, "model", STEPS)) for where in (copy, origin))
    has_running = any(".running_" in name for name in first)
    for name in ["scheduler"] if has_running else ["model", "scheduler"]:
        assert done.path(copy, name, STEPS).read_bytes() == done.path(origin, name, STEPS).read_bytes(), name
    assert of_the_file(listing(again)["tensors"]) == of_the_file(listing(first)["tensors"])
    assert again.names_by_position() == first.names_by_position()
    assert done.listing(copy, "optim", STEPS) == done.listing(origin, "optim", STEPS)
    assert len(OptimizerRecord.load(done.path(copy, "optim", STEPS))) > 0


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_we_go_on_where_burn_was(matrix: dict[Cell, Done], cell: Cell) -> None:
    done = matrix[cell]
    same_end(done, "we-resume", "burns", done.steps["we-resume"], done.answer("train")["steps"][STEPS:])


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_burn_goes_on_where_we_were(matrix: dict[Cell, Done], cell: Cell) -> None:
    done = matrix[cell]
    same_end(done, "burn-resumes", "ours", done.answer("resume")["steps"], done.steps["ours"][STEPS:])


def same_end(
    done: Done, resumed: str, whole: str, steps: list[dict[str, float]], expected: list[dict[str, float]]
) -> None:
    """Losses, rates, and all three files at the end."""
    end = 2 * STEPS
    near(done, [step["loss"] for step in steps], [step["loss"] for step in expected], "losses")
    np.testing.assert_allclose([step["lr"] for step in steps], [step["lr"] for step in expected], rtol=1e-12)
    for name in ("model", "optim", "scheduler"):
        found, wanted = (done.listing(where, name, end) for where in (resumed, whole))
        assert skeleton(found) == skeleton(wanted), name
        for mine, other in zip(found["tensors"], wanted["tensors"], strict=True):
            if name == "optim" and done.dtype.endswith("16"):
                assert np.isfinite(receive(mine["data"])).all()
            elif mine["data"]["dtype"].startswith(("F", "BF")):
                near(done, receive(mine["data"]), receive(other["data"]), mine["name"])
            else:
                assert mine == other
        for key, scalar in wanted["scalars"].items():
            if "Float" in scalar:  # an exponential schedule's rate
                assert float(found["scalars"][key]["Float"]) == pytest.approx(float(scalar["Float"]), rel=1e-12)


def skeleton(listed: dict[str, Any]) -> str:
    """All but the values of floats."""
    tensors = [(t["name"], t.get("id"), t["data"]["dtype"], t["data"]["shape"]) for t in of_the_file(listed["tensors"])]
    scalars = {key: "Float" if "Float" in scalar else scalar for key, scalar in listed["scalars"].items()}
    return json.dumps([tensors, listed["metadata"], scalars], sort_keys=True)


def near(done: Done, found: Any, wanted: Any, what: str = "") -> None:
    partly_single = done.dtype == "f64" and MODELS[done.cell.model].partly_single
    relative, absolute = (1e-6, 1e-7) if partly_single else TOLERANCE[done.dtype]
    found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    np.testing.assert_allclose(found, wanted, rtol=relative, atol=absolute, err_msg=what)
