"""Sets of files: found again, refused when damaged, deleted when superfluous, and Burn's read beside ours."""

from __future__ import annotations

import errno
import json
import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
from checkpoint_fakes import Blob, killed_at, picture, records, save_epoch, save_like_burn, save_step

from minburn.module import ModuleRecord
from minburn.optim import LrSchedulerRecord, OptimizerRecord
from minburn.pack import Reader
from minburn.train.checkpoint import (
    CheckpointError,
    CheckpointStore,
    CheckpointWarning,
    FileCheckpointer,
    RunState,
    SetId,
)
from minburn.train.environment import environment

GOLDEN = Path(__file__).parents[2] / "golden" / "train" / "burn-learner" / "checkpoint"


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(tmp_path / "run")


def content(path: Path) -> Any:
    reader = Reader.from_file_exact(path)
    tensors = {name: (entry.dtype, entry.shape, entry.param_id, entry.bytes()) for name, entry in reader.items()}
    return tensors, dict(reader.scalars), dict(reader.metadata)


def files(store: CheckpointStore) -> list[str]:
    return list(picture(store.folder)) if store.folder.exists() else []


def test_nothing_is_made_before_the_first_save(store: CheckpointStore) -> None:
    assert store.recover() is None
    assert store.latest() is None
    assert [store.ids(), store.burn_epochs(), store.sweep()] == [[], [], []]
    store.delete(SetId.epoch(1))
    assert not store.run_dir.exists()
    with pytest.raises(CheckpointError, match=r"there is no checkpoint of epoch 1\. There are no others\."):
        store.load(SetId.epoch(1))


def test_a_set_comes_back(store: CheckpointStore) -> None:
    saved = save_epoch(store, 3)
    assert files(store) == ["model-3.bpk", "optim-3.bpk", "scheduler-3.bpk", "set-3.json", "state-3.bpk"]
    for found in (store.latest(), store.load(SetId.epoch(3)), store.recover(), saved):
        assert found is not None
        assert (found.id, found.epoch, found.global_step) == (SetId.epoch(3), 3, 30)
        assert found.load("model", Blob).content == b"model 3"
        assert found.load("scheduler", Blob).content == b"scheduler 3"
        assert found.path("optim") == store.folder / "optim-3.bpk"
        assert found.environment == environment()
        assert found.state is not None
        assert (found.state.epoch, found.state.batch, found.state.global_step) == (4, 0, 30)
    with pytest.raises(CheckpointError, match=r"model-3\.bpk: cannot be restored: .*not a run's state"):
        saved.load("model", RunState)


def test_sets_are_ordered_by_how_far_they_are(store: CheckpointStore) -> None:
    save_step(store, 5)
    save_step(store, 10)
    save_epoch(store, 1)
    assert store.ids() == [SetId.epoch(1)]
    save_step(store, 15)
    save_step(store, 16)
    save_step(store, 17)
    assert store.ids() == [SetId.epoch(1), SetId.step(16), SetId.step(17)]
    latest = store.latest()
    assert latest is not None
    assert (str(latest.id), latest.epoch) == ("step 17", 2)
    save_step(store, 20)
    save_epoch(store, 2, keep=[])
    assert [str(id) for id in store.ids()] == ["epoch 2"]
    assert files(store) == ["model-2.bpk", "optim-2.bpk", "scheduler-2.bpk", "set-2.json", "state-2.bpk"]


def test_keep_names_the_epochs_that_stay(store: CheckpointStore) -> None:
    for epoch in range(1, 5):
        save_epoch(store, epoch)
    assert len(store.ids()) == 4
    save_epoch(store, 5, keep=[2, 4])
    assert [id.number for id in store.ids()] == [2, 4, 5]
    store.delete(SetId.epoch(4))
    store.delete(SetId.epoch(4))
    assert [id.number for id in store.ids()] == [2, 5]


def test_going_back_discards_what_is_further(store: CheckpointStore) -> None:
    for epoch in range(1, 4):
        save_epoch(store, epoch)
    save_step(store, 35)
    discarded = store.discard_after(store.load(SetId.epoch(1)))
    assert discarded == [SetId.epoch(2), SetId.epoch(3), SetId.step(35)]
    assert store.ids() == [SetId.epoch(1)]


def test_equal_sets_have_equal_bytes(tmp_path: Path) -> None:
    pictures = []
    for name in ("a", "b"):
        store = CheckpointStore(tmp_path / name)
        save_epoch(store, 1)
        save_step(store, 12)
        pictures.append(picture(store.folder))
    assert pictures[0] == pictures[1]


def test_saving_again_replaces(store: CheckpointStore) -> None:
    save_epoch(store, 1)
    save_epoch(store, 1, text=" again")
    found = store.load(SetId.epoch(1))
    assert found.load("model", Blob).content == b"model 1 again"
    assert len(files(store)) == 5


def test_every_changed_byte_is_noticed(store: CheckpointStore) -> None:
    save_epoch(store, 1)
    save_epoch(store, 2)
    for path in sorted(store.folder.glob("*-2.*")):
        good = path.read_bytes()
        for place in range(0, len(good), max(1, len(good) // 40)):
            path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
            with pytest.warns(CheckpointWarning, match=path.name.replace(".", r"\.")):
                found = store.latest()
            assert found is not None
            assert found.id == SetId.epoch(1)
            with pytest.raises(CheckpointError, match=path.name.replace(".", r"\.")):
                store.load(SetId.epoch(2))
        path.write_bytes(good)
    assert store.load(SetId.epoch(2)).epoch == 2


def test_damaged_sets_are_named_and_an_older_one_is_used(store: CheckpointStore) -> None:
    for epoch in (1, 2, 3, 4, 5):
        save_epoch(store, epoch)
    (store.folder / "optim-5.bpk").unlink()
    (store.folder / "model-4.bpk").write_bytes(b"short")
    (store.folder / "set-3.json").write_bytes((store.folder / "set-3.json").read_bytes()[:100])
    manifest = json.loads((store.folder / "set-2.json").read_text())
    (store.folder / "set-2.json").write_text(json.dumps({**manifest, "version": 2}))
    before = picture(store.folder)
    with pytest.warns(CheckpointWarning) as caught:
        found = store.recover()
    assert found is not None
    assert found.id == SetId.epoch(1)
    texts = "\n".join(str(warning.message) for warning in caught)
    assert "the checkpoint of epoch 5 is damaged: optim-5.bpk is missing" in texts
    assert "epoch 4 is damaged: model-4.bpk has 5 bytes instead of" in texts
    assert "set-3.json: damaged: it is not JSON (100 bytes)" in texts
    assert "set-2.json: a set of version 2; this version of minburn reads 1" in texts
    assert [id.number for id in store.ids()] == [2, 3, 1, 4, 5]
    assert picture(store.folder) == before  # nobody deletes what may still be saved
    save_epoch(store, 5)
    found = store.load(SetId.epoch(5))
    assert found.load("optim", Blob).content == b"optim 5"


def test_manifests_from_elsewhere_are_refused(store: CheckpointStore) -> None:
    save_epoch(store, 1)
    shutil.copy(store.folder / "set-1.json", store.folder / "set-2.json")
    with pytest.raises(CheckpointError, match=r"set-2\.json: it describes epoch 1\. Was it renamed\?"):
        store.load(SetId.epoch(2))
    for text in ("{}", "[1]", '{"format": "other"}', "\xff"):
        (store.folder / "set-2.json").write_text(text, encoding="latin-1")
        with pytest.raises(CheckpointError, match=r"set-2\.json: (not a checkpoint set|damaged)"):
            store.load(SetId.epoch(2))


def test_what_a_killed_save_left_is_swept(store: CheckpointStore) -> None:
    save_epoch(store, 1)
    clean = picture(store.folder)
    for call in (2, 4, 8, 11, 14):
        assert killed_at(call, lambda: save_epoch(store, 2))
        assert picture(store.folder) != clean
        swept = store.sweep()
        assert swept
        assert picture(store.folder) == clean
    assert store.sweep() == []


def test_a_state_without_a_manifest_is_no_checkpoint(store: CheckpointStore) -> None:
    save_epoch(store, 1)
    save_epoch(store, 2)
    (store.folder / "set-2.json").unlink()
    with pytest.raises(CheckpointError, match=r"epoch 2 is incomplete.* There are: epoch 1\."):
        store.load(SetId.epoch(2))
    assert store.burn_epochs() == []
    found = store.recover()
    assert found is not None
    assert found.id == SetId.epoch(1)
    assert len(files(store)) == 5


def test_foreign_files_are_not_touched(store: CheckpointStore) -> None:
    save_epoch(store, 1)
    (store.folder / "steps").mkdir()
    for name in (
        "notes.txt",
        "model-2.bpk",
        "model-03.bpk",
        "model-x.bpk",
        "best-4.bpk",
        "model-5.bpk.bak",
        "model-6.bpk.77-0.tmp",
        "notes.tmp",
        "state.bpk",
        "set-.json",
        "steps/model-9.bpk",
    ):
        (store.folder / name).write_bytes(b"mine")
    (store.folder / "state-8.bpk.d").mkdir()
    before = picture(store.folder)
    assert store.sweep() == []
    store.recover()
    save_epoch(store, 2, keep=[])
    store.delete(SetId.epoch(2))
    gone = {name for name in before if name not in picture(store.folder)}
    assert gone == {"model-1.bpk", "optim-1.bpk", "scheduler-1.bpk", "set-1.json", "state-1.bpk", "model-2.bpk"}


def test_burns_checkpoints_are_read_and_left_alone(store: CheckpointStore) -> None:
    for epoch in (1, 3, 4):
        save_like_burn(store.folder, epoch)
    before = picture(store.folder)
    assert store.recover() is None
    assert store.burn_epochs() == [1, 3, 4]
    found = store.load(SetId.epoch(4))
    assert (found.epoch, found.global_step, found.state, found.environment) == (4, None, None, None)
    assert found.load("optim", Blob).content == b"optim 4 burn"
    with pytest.raises(CheckpointError, match=r"epoch 2\. There are: epoch 1 \(written by Burn\), epoch 3"):
        store.load(SetId.epoch(2))
    assert picture(store.folder) == before
    save_epoch(store, 5, keep=[4])
    store.delete(SetId.epoch(3))
    assert store.burn_epochs() == [1, 4]
    assert store.ids() == [SetId.epoch(5)]
    assert store.discard_after(found) == [SetId.epoch(5)]


def test_the_golden_folder_of_the_real_burn_is_restored(store: CheckpointStore) -> None:
    shutil.copytree(GOLDEN, store.folder)
    assert store.recover() is None
    assert store.burn_epochs() == [1, 3, 4]
    found = store.load(SetId.epoch(4))
    model = found.load("model", ModuleRecord)
    assert {"fc1.weight", "fc2.bias", "bn.gamma", "bn.running_mean"} <= set(model.paths())
    optim = found.load("optim", OptimizerRecord)
    assert all(entry.id in optim for entry in model if not entry.path.startswith("bn.running"))
    scheduler = found.load("scheduler", LrSchedulerRecord)
    assert list(scheduler.keys()) == ["0.current_iter"]
    # Saved again as ours, the files hold what Burn's do, and nothing else; Burn's are as they were.
    state = RunState(epoch=5, global_step=16)
    store.save_epoch(5, model=model, optim=optim, scheduler=scheduler, state=state)
    for part in ("model", "optim", "scheduler"):
        assert content(store.folder / f"{part}-5.bpk") == content(GOLDEN / f"{part}-4.bpk")
        assert (store.folder / f"{part}-4.bpk").read_bytes() == (GOLDEN / f"{part}-4.bpk").read_bytes()


def test_no_warning_without_a_reason(store: CheckpointStore) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_epoch(store, 1)
        save_step(store, 12)
        assert store.recover() is not None


def test_numbers_are_checked(store: CheckpointStore, tmp_path: Path) -> None:
    numbers: list[Any] = [-1, True, "3", 1.0, 2**64, 10**400]
    checkpointer = FileCheckpointer(tmp_path, "model")
    for number in numbers:
        with pytest.raises(CheckpointError, match="epoch must be an int of at least 0"):
            SetId.epoch(number)
        with pytest.raises(CheckpointError, match="epoch must be an int of at least 0"):
            checkpointer.path(number)
        with pytest.raises(CheckpointError, match="epoch must be an int of at least 0"):
            store.load(number)
        with pytest.raises(CheckpointError, match="keep must be an int of at least 0"):
            save_epoch(store, 1, keep=[number])
    assert files(store) == []


def test_what_is_no_record_is_refused_before_anything_is_written(store: CheckpointStore) -> None:
    good: Any = {**records("1"), "state": RunState(epoch=2, global_step=10)}
    for part, message in [("state", "state must be a RunState, but got NoneType"), ("optim", "optim must be a record")]:
        with pytest.raises(CheckpointError, match=message):
            store.save_epoch(1, **{**good, part: None})
        with pytest.raises(CheckpointError, match=message):
            store.save_step(**{**good, part: None})
    assert files(store) == []


def test_a_folder_that_cannot_be_listed_is_explained(store: CheckpointStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    save_epoch(store, 1)
    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(CheckpointError, match="cannot be listed: Permission denied"):
        store.recover()
    with pytest.raises(CheckpointError, match=r"epoch 2 was not saved: .*Permission denied"):
        save_epoch(store, 2)


def test_an_epoch_may_be_given_by_its_number(store: CheckpointStore) -> None:
    save_epoch(store, 1)
    assert store.load(1).id == SetId.epoch(1)
    store.delete(1)
    assert store.ids() == []


def test_one_file_an_epoch(tmp_path: Path) -> None:
    checkpointer = FileCheckpointer(tmp_path / "deep" / "er", "model")
    assert (tmp_path / "deep" / "er").is_dir()
    assert checkpointer.save(3, Blob(b"three")) == tmp_path / "deep" / "er" / "model-3.bpk"
    checkpointer.save(3, Blob(b"drei"))
    checkpointer.save(12, Blob(b"twelve"))
    assert checkpointer.restore(3, Blob).content == b"drei"
    assert checkpointer.epochs() == [3, 12]
    checkpointer.delete(3)
    checkpointer.delete(3)
    with pytest.raises(CheckpointError, match=r"model-3\.bpk: there is no such checkpoint\. There are epochs 12\."):
        checkpointer.restore(3, Blob)
    (tmp_path / "deep" / "er" / "model-12.bpk").write_bytes(b"PK")
    with pytest.raises(CheckpointError, match=r"model-12\.bpk: cannot be restored"):
        checkpointer.restore(12, Blob)
    with pytest.raises(CheckpointError, match="name 'a/b' cannot begin a file name"):
        FileCheckpointer(tmp_path, "a/b")
    (tmp_path / "file").write_text("x")
    with pytest.raises(CheckpointError, match=r"model-1\.bpk: not saved: Not a directory"):
        FileCheckpointer(tmp_path / "file", "model").save(1, Blob(b""))
