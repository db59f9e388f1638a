"""What is said when Burn cannot run here. These need no Rust."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from burn_driver import CRATE, Burn, BurnUnavailable, check_burn, check_rust, find_cargo, receive, send

LOCK = '[[package]]\nname = "burn"\nversion = "{}"\nsource = "registry"\n'


def fake_cargo(folder: Path, script: str) -> None:
    cargo = folder / "cargo"
    cargo.write_text(f"#!/bin/sh\n{script}\n")
    cargo.chmod(0o755)


@pytest.fixture
def empty_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "none"))
    return tmp_path


def test_no_cargo(empty_path: Path) -> None:
    with pytest.raises(BurnUnavailable, match=r"^cargo is not installed: https://rustup.rs installs it[^\n]*$"):
        find_cargo()


def test_an_old_rust(empty_path: Path) -> None:
    fake_cargo(empty_path, 'echo "cargo 1.80.1 (376290515 2024-07-16)"')
    with pytest.raises(BurnUnavailable, match=r"^cargo 1\.80\.1[^\n]* is too old: Burn needs Rust 1\.95\.[^\n]*$"):
        find_cargo()
    check_rust("cargo 1.95.0 (f2d3ce0bd 2026-03-21)")
    check_rust("cargo 2.0.0")


def test_an_old_burn() -> None:
    with pytest.raises(BurnUnavailable, match=r"Burn 0\.21\.3, which is too old: .*--precise 0\.22\.1"):
        check_burn(LOCK.format("0.21.3"))
    with pytest.raises(BurnUnavailable, match="has no Burn"):
        check_burn("")
    check_burn(LOCK.format("0.22.1"))
    check_burn((CRATE / "Cargo.lock").read_text("utf-8"))


def test_a_failed_build(empty_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARGO_TARGET_DIR", str(empty_path / "target"))
    fake_cargo(
        empty_path,
        'case "$1" in --version) echo "cargo 1.95.0";; *) echo "error: failed to fetch" >&2; exit 101;; esac',
    )
    with pytest.raises(BurnUnavailable, match=r"^[^\n]*did not build \(error: failed to fetch\): `make burn`[^\n]*$"):
        Burn.build()


def test_make_burn_says_it_in_one_line(empty_path: Path) -> None:
    env = {**os.environ, "PATH": str(empty_path)}
    result = subprocess.run(
        [sys.executable, str(CRATE / "burn_driver.py")], env=env, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert result.stderr.startswith("make burn: cargo is not installed")
    assert result.stderr.count("\n") == 1


def run_pytest(*options: str) -> subprocess.CompletedProcess[str]:
    file = str(CRATE / "test_burn_records.py")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-x", file]
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False)


def test_the_real_burn_is_no_part_of_the_ordinary_tests(empty_path: Path) -> None:
    assert run_pytest("-m", "not heavy").returncode == pytest.ExitCode.NO_TESTS_COLLECTED


def test_asked_for_and_not_to_be_had_it_fails_and_says_so(empty_path: Path) -> None:
    result = run_pytest("-m", "burn")
    assert result.returncode == 1
    assert "the tests with Burn did NOT run: cargo is not installed" in result.stdout + result.stderr


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.bool_])
def test_arrays_travel_bit_by_bit(dtype: type) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    assert receive(send(array)).dtype == dtype
    np.testing.assert_array_equal(receive(send(array)), array)


def test_bf16_arrives_as_its_values() -> None:
    assert receive({"dtype": "BF16", "shape": [2], "hex": "803fc0bf"}).tolist() == [1.0, -1.5]
