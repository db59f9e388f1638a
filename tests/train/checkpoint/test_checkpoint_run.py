"""What surrounds the checkpoints: the folder's lock, the machine, and what a run was made of."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minburn.train.checkpoint import describe_changes
from minburn.train.environment import describe_difference, environment
from minburn.train.lock import LockError, RunLock

HOLD = """
import sys, time
from minburn.train.lock import RunLock
with RunLock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def test_two_processes_cannot_share_a_folder(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "digits"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(run)], stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(LockError) as caught, RunLock(run):
                pass
            assert f"{run}: another run is using this folder (process {holder.pid})." in str(caught.value)
        finally:
            holder.send_signal(signal.SIGKILL)
            holder.wait()
    with RunLock(run) as lock:  # the system released it
        assert lock.is_held
        assert (run / ".lock").read_text() == f"{os.getpid()}\n"
    assert (run / ".lock").read_bytes() == b""


def test_nor_can_one_process_use_it_twice(tmp_path: Path) -> None:
    lock = RunLock(tmp_path)
    with lock:
        with pytest.raises(LockError, match=f"process {os.getpid()}"):
            RunLock(tmp_path).acquire()
        with pytest.raises(LockError, match="already held"):
            lock.acquire()
        with RunLock(tmp_path / "other"):
            pass
    lock.release()
    assert not lock.is_held
    with lock:
        pass


def test_a_folder_that_cannot_be_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(LockError, match=r"file/run: cannot be used for a run: Not a directory"):
        RunLock(tmp_path / "file" / "run").acquire()


def test_the_environment_names_what_the_last_bit_depends_on() -> None:
    here = environment()
    assert here["numpy"]
    assert here["blas"]
    assert here["cpu"]
    assert here["cpus"] >= 1
    start = time.perf_counter()
    again = environment()
    assert time.perf_counter() - start < 0.005
    assert again == here
    again["threads"]["OMP_NUM_THREADS"] = "changed by the caller"
    assert environment() == here


def test_a_resume_elsewhere_says_what_differs() -> None:
    here = environment()
    assert describe_difference(here, here) is None
    assert describe_difference(None, here) is None
    text = describe_difference({**here, "blas": "mkl 1", "threads": {"OMP_NUM_THREADS": "4"}}, here)
    assert text is not None
    assert f"blas mkl 1 then, {here['blas']} now" in text
    assert "threads OMP_NUM_THREADS=4 then" in text
    assert "last bits" in text


def test_changes_are_named_with_both_values() -> None:
    saved = {
        "batch_size": 64,
        "seed": 42,
        "optimizer": {"name": "Adam", "beta_1": 0.9, "weight_decay": None},
        "parameters": {
            "hidden.weight": {"shape": [64, 256], "dtype": "F32"},
            "hidden.bias": {"shape": [256], "dtype": "F32"},
            "head.bias": {"shape": [10], "dtype": "F32"},
        },
        "betas": [0.9, 0.999],
    }
    assert describe_changes(saved, {**saved, "betas": (0.9, 0.999)}) == []
    current = {
        "batch_size": 32,
        "seed": 42,
        "optimizer": {"name": "Adam", "beta_1": 0.8, "weight_decay": {"penalty": 0.1}},
        "parameters": {
            "hidden.weight": {"shape": [64, 128], "dtype": "F32"},
            "hidden.bias": {"shape": [256], "dtype": "F16"},
            "tail.bias": {"shape": [10], "dtype": "F32"},
        },
        "betas": [0.9],
        "shuffle": True,
    }
    assert describe_changes(saved, current) == [
        "batch_size: 64 in the checkpoint, 32 now",
        "optimizer.beta_1: 0.9 in the checkpoint, 0.8 now",
        "optimizer.weight_decay: None in the checkpoint, {penalty: 0.1} now",
        "parameter hidden.weight: [64, 256] in the checkpoint, [64, 128] now",
        "parameter hidden.bias: F32 in the checkpoint, F16 now",
        "parameter head.bias: [10] F32 in the checkpoint, absent now",
        "parameter tail.bias: absent in the checkpoint, [10] F32 now",
        "betas: [0.9, 0.999] in the checkpoint, [0.9] now",
        "shuffle: absent in the checkpoint, True now",
    ]


def test_numbers_are_compared_exactly() -> None:
    nan = float("nan")
    assert describe_changes({"a": 1, "b": nan}, {"a": 1.0, "b": nan}) == []
    assert describe_changes({"a": 1}, {"a": True}) == ["a: 1 in the checkpoint, True now"]
    assert len(describe_changes({"a": 0.3}, {"a": 0.1 + 0.2})) == 1
