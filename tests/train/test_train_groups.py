"""Parameter groups in a run: their rates, and their resumed states, also where a process has other ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from train_models import FAMILIES
from train_program import Program, new_model

from minburn import ParamGroup
from minburn.optim import AdamConfig, ModuleLrScheduler, SgdConfig
from minburn.train import Learner, TrainingError


class ById(Program):
    """Its groups are made of the ids that its model has when it is built."""

    def learner(self, backend: Any) -> Learner[Any]:
        model: Any = FAMILIES["mlp"].new_model(backend)
        head = ParamGroup.ids_from_module(model.output)
        optim = SgdConfig().init().with_group(head, AdamConfig().build())
        return Learner(model, optim, ModuleLrScheduler(0.05).with_group(head, 0.001))


def test_groups_of_ids_follow_the_parameters_of_a_resumed_run(tmp_path: Path) -> None:
    whole = ById(tmp_path / "whole", epochs=2)
    result = whole.launch()
    ById(tmp_path / "broken", epochs=1).launch()
    again = ById(tmp_path / "broken", epochs=2).launch()  # its model is a new one, with new ids
    assert again.history == result.history
    for path in ("hidden.weight", "output.weight", "output.bias"):
        mine, theirs = (run.model.into_record()[path].data.numpy() for run in (again, result))
        assert mine.tobytes() == theirs.tobytes()


def test_another_group_is_another_run(tmp_path: Path) -> None:
    Program(tmp_path / "run", epochs=1, optimizer="groups").launch()
    with pytest.raises(TrainingError, match="is of another run: optimizer"):
        Program(tmp_path / "run", epochs=2, optimizer="sgd").launch()
    Program(tmp_path / "rates", epochs=1, schedule="groups").launch()
    with pytest.raises(TrainingError, match="is of another run: schedule"):
        Program(tmp_path / "rates", epochs=2, schedule="cosine").launch()


def test_a_group_without_parameters_is_refused() -> None:
    model: Any = new_model()
    nobody = ParamGroup.from_predicate("hiden")
    with pytest.raises(
        TrainingError, match=r"group 1 of the optimizer matches no parameter of Mlp: .*hiden.*It has hi"
    ):
        Learner(model, SgdConfig().init().with_group(nobody, AdamConfig().build()), 0.1)
    some = ParamGroup.from_predicate("hidden")
    with pytest.raises(TrainingError, match="group 2 of the schedule matches no parameter of Mlp"):
        Learner(model, SgdConfig().init(), ModuleLrScheduler(0.1).with_group(some, 0.2).with_group(nobody, 0.2))


def test_the_rate_that_is_logged_is_the_base(tmp_path: Path) -> None:
    program = Program(tmp_path / "run", epochs=1, schedule="groups")
    program.launch()
    base = Program(tmp_path / "base", epochs=1, schedule="cosine")
    base.launch()
    (mine,), (theirs,) = ((tmp_path / name).rglob("train/**/Learning_Rate.log") for name in ("run", "base"))
    assert mine.read_bytes() == theirs.read_bytes()
