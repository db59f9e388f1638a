"""A save, a deletion or a clean-up that dies anywhere leaves the old or the new, and nothing else after a restart."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from checkpoint_fakes import ALL_CALLS, failing_at, killed_at, picture, save_epoch, save_like_burn, save_step

from minburn.train.checkpoint import CheckpointError, CheckpointStore, SetId

Prepare = Callable[[CheckpointStore], object]


def epochs_1_2(store: CheckpointStore) -> None:
    save_epoch(store, 1)
    save_epoch(store, 2)


def steps_13_16(store: CheckpointStore) -> None:
    save_epoch(store, 1)
    for step in (13, 16):
        save_step(store, step)


def burn_1_2(store: CheckpointStore) -> None:
    save_like_burn(store.folder, 1)
    save_like_burn(store.folder, 2)


SCENARIOS: dict[str, tuple[Prepare, Prepare]] = {
    "first": (lambda store: None, lambda store: save_epoch(store, 1)),
    "next": (epochs_1_2, lambda store: save_epoch(store, 3, keep=[2])),
    "replace": (epochs_1_2, lambda store: save_epoch(store, 2, text="other")),
    "step": (steps_13_16, lambda store: save_step(store, 20)),
    "epoch after steps": (steps_13_16, lambda store: save_epoch(store, 2, keep=[])),
    "over Burn's": (burn_1_2, lambda store: save_epoch(store, 2)),
    "delete": (epochs_1_2, lambda store: store.delete(SetId.epoch(2))),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_kill_at_any_moment_leaves_the_old_or_the_new(tmp_path: Path, name: str) -> None:
    prepare, act = SCENARIOS[name]
    start = tmp_path / "start"
    prepare(CheckpointStore(start))
    before = picture(start)
    done = tmp_path / "done"
    if start.exists():
        shutil.copytree(start, done)
    act(CheckpointStore(done))
    after = picture(done)
    assert before != after
    outcomes = []
    call = 0
    run = tmp_path / "run"
    while True:
        shutil.rmtree(run, ignore_errors=True)
        if start.exists():
            shutil.copytree(start, run)
        store = CheckpointStore(run)
        died = killed_at(call, lambda: act(store))  # noqa: B023
        unswept = store.latest()
        recovered = store.recover()
        outcome = picture(run)
        assert outcome in (before, after), f"died at {call}"
        assert (unswept and unswept.id) == (recovered and recovered.id)
        outcomes.append(outcome == after)
        if not died:
            break
        call += 1
    assert outcomes == sorted(outcomes)  # one moment parts the old from the new
    assert outcomes[-1]
    assert not outcomes[0] or name == "delete"


def test_a_kill_while_recovering_changes_nothing(tmp_path: Path) -> None:
    """Half a save over an existing set, half a deletion and an unfinished pruning, recovered with kills in between."""
    start = tmp_path / "start"
    store = CheckpointStore(start)
    epochs_1_2(store)
    save_epoch(store, 3)
    assert killed_at(18, lambda: save_epoch(store, 2, text="other"))
    assert killed_at(24, lambda: save_epoch(store, 4, keep=[2]))
    assert any(name.endswith(".next") for name in picture(start))
    whole = tmp_path / "whole"
    shutil.copytree(start, whole)
    assert CheckpointStore(whole).recover() is not None
    run = tmp_path / "run"
    shutil.copytree(start, run)
    call, kills = 0, 0
    while killed_at(call, CheckpointStore(run).recover):
        kills += 1
        call = kills % 7  # the folder stays as the kills leave it
        assert kills < 50
    assert kills > 3
    assert picture(run) == picture(whole)


@pytest.mark.parametrize("name", ["first", "next", "replace", "over Burn's", "step"])
def test_a_full_disk_leaves_the_old_set_and_no_halves(tmp_path: Path, name: str) -> None:
    prepare, act = SCENARIOS[name]
    store = CheckpointStore(tmp_path)
    prepare(store)
    before = picture(tmp_path)
    for call in range(5):  # one write for each of the four files, and one for the manifest
        with pytest.raises(CheckpointError) as caught:
            failing_at(call, errno.ENOSPC, ("write",), lambda: act(store))
        assert picture(tmp_path) == before
        text = str(caught.value)
        assert "No space left on device" in text
        assert "bytes" in text
        assert "are free" in text
        assert str(store.folder) in text
        assert isinstance(caught.value.__cause__, ValueError)
    assert not failing_at(5, errno.ENOSPC, ("write",), lambda: act(store))
    assert store.recover() is not None


@pytest.mark.parametrize("name", ["first", "next", "replace", "over Burn's", "delete"])
def test_whatever_the_system_refuses_the_old_or_the_new_remains(tmp_path: Path, name: str) -> None:
    prepare, act = SCENARIOS[name]
    start = tmp_path / "start"
    prepare(CheckpointStore(start))
    before = picture(start)
    done = tmp_path / "done"
    if start.exists():
        shutil.copytree(start, done)
    act(CheckpointStore(done))
    after = picture(done)
    run = tmp_path / "run"
    call, more = 0, True
    while more:
        shutil.rmtree(run, ignore_errors=True)
        if start.exists():
            shutil.copytree(start, run)
        store = CheckpointStore(run)
        try:
            more = failing_at(call, errno.EIO, ALL_CALLS, lambda: act(store))  # noqa: B023
        except CheckpointError as error:
            assert "Input/output error" in str(error)  # noqa: PT017
        store.recover()
        assert picture(run) in (before, after), f"failed at {call}"
        call += 1
    assert call > 5


def test_an_interrupted_save_leaves_nothing(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path)
    save_epoch(store, 1)
    before = picture(tmp_path)

    class Interrupting:
        def save(self, path: Path, *, digest: bool = False) -> None:
            raise KeyboardInterrupt

        def into_bytes(self) -> bytes:
            return b""

    state = store.load(SetId.epoch(1)).state
    assert state is not None
    model = store.load(SetId.epoch(1))
    assert model.epoch == 1
    with pytest.raises(KeyboardInterrupt):
        store.save_epoch(2, model=Interrupting(), optim=state, scheduler=state, state=state)  # type: ignore[arg-type]
    assert picture(tmp_path) == before
