"""The real Burn from Python: builds the crate beside this file and hands it jobs.

    burn = Burn.build()                            cargo build, into a folder under the user's cache
    answers = burn.ask("f32", [{"open": {"file": "model.bpk"}}])
    answers[0]["ok"]["tensors"]

What `src/main.rs` says about jobs and answers holds. Whatever keeps Burn from running is a BurnUnavailable, whose one
line says what to do. `python burn_driver.py` builds and shows how far it is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

CRATE = Path(__file__).resolve().parent
RUST = (1, 95)  # what burn 0.22.1 asks for
BURN = (0, 22, 1)
TIMEOUT = 600
NUMPY: dict[str, Any] = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "I64": np.int64,
    "I32": np.int32,
    "Bool(Native)": np.bool_,
}


class BurnUnavailable(Exception):
    """Burn cannot be built or run here; the text is one line."""


class Burn:
    """The built program."""

    def __init__(self, program: Path) -> None:
        self.program = program

    @staticmethod
    def build(show: bool = False) -> Burn:
        """Build it, or find that it is up to date. show: cargo's own output goes to the terminal."""
        cargo = find_cargo()
        check_burn((CRATE / "Cargo.lock").read_text("utf-8"))
        target = target_folder()
        command = [cargo, "build", "--release", "--locked", "--manifest-path", str(CRATE / "Cargo.toml")]
        result = subprocess.run(
            command,
            env={**os.environ, "CARGO_TARGET_DIR": str(target)},
            stdin=subprocess.DEVNULL,
            stderr=None if show else subprocess.PIPE,
            text=True,
            check=False,
        )
        if result.returncode != 0:
            raise BurnUnavailable(build_failed(result.stderr or ""))
        return Burn(target / "release" / "minburn-burn")

    def ask(self, dtype: str, jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answers to the jobs, in order, from one process whose device computes in `dtype`: "f32", "bf16" …"""
        result = subprocess.run(
            [str(self.program), dtype],
            input=json.dumps(jobs),
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        if result.returncode != 0:
            last = result.stderr.strip().splitlines()[-1:] or ["it said nothing"]
            raise BurnUnavailable(f"Burn's process ended with {result.returncode}: {last[0]}")
        answers: list[dict[str, Any]] = json.loads(result.stdout)
        return answers


def find_cargo() -> str:
    """The path of a cargo that is new enough."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    cargo = shutil.which("cargo") or shutil.which("cargo", path=str(home / "bin"))
    if cargo is None:
        raise BurnUnavailable(
            "cargo is not installed: https://rustup.rs installs it, then `make burn`. No other test needs Rust."
        )
    said = subprocess.run([cargo, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    check_rust(said)
    return cargo


def check_rust(said: str) -> None:
    """`cargo 1.95.0 (…)`: is it new enough?"""
    version = re.match(r"cargo (\d+)\.(\d+)", said)
    if version is None or (int(version[1]), int(version[2])) < RUST:
        least = ".".join(map(str, RUST))
        raise BurnUnavailable(
            f"{said or 'this cargo'} is too old: Burn needs Rust {least}. `rustup update` installs it."
        )


def check_burn(lock: str) -> None:
    """Is the Burn in Cargo.lock the one whose files ours are compared with?"""
    found = re.search(r'^name = "burn"\nversion = "(\d+)\.(\d+)\.(\d+)', lock, re.M)
    version = None if found is None else tuple(map(int, found.groups()))
    if version is None or version < BURN:
        has = "no Burn" if version is None else f"Burn {'.'.join(map(str, version))}, which is too old"
        wanted = ".".join(map(str, BURN))
        raise BurnUnavailable(
            f"tests/burn/Cargo.lock has {has}: `cargo update -p burn --precise {wanted}` there takes Burn {wanted}."
        )


def build_failed(output: str) -> str:
    errors = [line.strip() for line in output.splitlines() if line.startswith("error")]
    why = errors[0] if errors else "see above"
    return f"the program with Burn did not build ({why}): `make burn` shows all; crates.io must be in reach once."


def target_folder() -> Path:
    """Where cargo builds: given by CARGO_TARGET_DIR, or a folder of the user's cache that is used again."""
    given = os.environ.get("CARGO_TARGET_DIR")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minburn-burn" / "target"


# Tensors on their way.


def send(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """An array as a job's Data."""
    names = {np.dtype(known): name for name, known in NUMPY.items()}
    return {"dtype": names[array.dtype], "shape": list(array.shape), "hex": np.ascontiguousarray(array).tobytes().hex()}


def receive(data: dict[str, Any]) -> np.ndarray[Any, Any]:
    """A Data as an array; BF16 as the float32 values that it holds."""
    raw = bytes.fromhex(data["hex"])
    if data["dtype"] == "BF16":
        array = (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
    else:
        array = np.frombuffer(raw, NUMPY[data["dtype"]])
    return array.reshape(data["shape"])


if __name__ == "__main__":
    try:
        print(f"built: {Burn.build(show=True).program}")
    except BurnUnavailable as error:
        sys.exit(f"make burn: {error}")
