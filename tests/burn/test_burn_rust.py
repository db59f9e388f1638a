"""What `minburn rust` writes compiles against the real Burn, loads our record, and computes what we compute.

One crate for all models, built into the folder in which Burn already lies compiled.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from burn_driver import CRATE, Burn, find_cargo, target_folder
from burn_models import MODELS, cnn, mlp, transformer

from minburn.backends import Backend, NumPy
from minburn.cli.commands import main
from minburn.module import Module

HERE = Path(__file__).resolve().parent
CLI = HERE.parent / "cli"
sys.path.insert(0, str(CLI))

from rust_models import GptConfig, gallery, recurrent, zoo  # noqa: E402

pytestmark = pytest.mark.burn
MADE: dict[str, tuple[str, list[str], Callable[[Backend], Module]]] = {
    "mlp": (f"{HERE}/burn_models.py:mlp", ["--input", "4,5"], mlp),
    "cnn": (f"{HERE}/burn_models.py:cnn", ["--input", "4,1,8,8"], cnn),
    "transformer": (f"{HERE}/burn_models.py:transformer", ["--input", "int:2,6"], transformer),
    "gpt": (
        f"{CLI}/rust_models.py:GptConfig",
        ["--input", "int:2,8", "--set", "vocabulary=27", "--set", "layers=2"],
        lambda backend: GptConfig(27, layers=2).init(backend),
    ),
    "zoo": (f"{CLI}/rust_models.py:zoo", ["--input", "3,4,6"], zoo),
    "recurrent": (f"{CLI}/rust_models.py:recurrent", ["--input", "2,3,4"], recurrent),
}
LOADED: dict[str, tuple[str, list[str], Callable[[Backend], Module]]] = {
    "gallery": (f"{CLI}/rust_models.py:gallery", [], gallery),
}
BINARY = """
[[bin]]
name = "written-{name}"
path = "{name}/src/main.rs"
"""


@pytest.fixture(scope="module")
def written(burn: Burn, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All crates, written by the command and compiled together; `burn` has been built before them."""
    folder = tmp_path_factory.mktemp("written")
    for name, (target, options, make) in {**MADE, **LOADED}.items():
        record = folder / f"{name}.bpk"
        make(NumPy(seed=len(name))).into_record().save(record)
        assert main(["rust", target, *options, "--record", str(record), "--out", str(folder / name)]) == 0
    # One crate with the dependencies of ours, so that Burn is not compiled again.
    manifest = (CRATE / "Cargo.toml").read_text("utf-8")
    dependencies = re.search(r"^\[dependencies\].*?(?=\n\n)", manifest, re.M | re.S)
    profile = re.search(r"^\[profile\.release\].*?(?=\n\n)", manifest, re.M | re.S)
    assert dependencies is not None and profile is not None
    for name in (*MADE, *LOADED):
        line = re.search(r"^burn = .*$", (folder / name / "Cargo.toml").read_text("utf-8"), re.M)
        assert line is not None and line[0] in dependencies[0]
    head = '[package]\nname = "minburn-burn"\nversion = "0.1.0"\nedition = "2024"\n'
    binaries = "".join(BINARY.format(name=name) for name in (*MADE, *LOADED))
    text = "\n\n".join([head, dependencies[0], binaries, profile[0], "[workspace]\n"])
    (folder / "Cargo.toml").write_text(text, "utf-8")
    (folder / "Cargo.lock").write_text((CRATE / "Cargo.lock").read_text("utf-8"), "utf-8")
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target_folder())}
    command = [
        find_cargo(),
        "build",
        "--release",
        "--offline",
        "--locked",
        "--manifest-path",
        str(folder / "Cargo.toml"),
    ]
    built = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert "warning" not in built.stderr, built.stderr
    return folder


@pytest.mark.parametrize("name", MADE)
def test_it_computes_what_we_compute(written: Path, name: str) -> None:
    program = target_folder() / "release" / f"written-{name}"
    files = [str(written / name / file) for file in ("model.bpk", "example.bpk")]
    ran = subprocess.run([str(program), *files], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (written / name / "model.bpk").read_bytes() == (written / f"{name}.bpk").read_bytes()
    difference = re.search(r"differs from minburn's by (\S+) at most", ran.stdout)
    assert difference is not None
    output = re.search(r"output \[(.*)\]", ran.stdout)
    assert output is not None
    numbers = np.array([float(number) for number in output[1].split(",")])
    assert np.isfinite(numbers).all() and numbers.std() > 0
    assert float(difference[1]) <= 1e-5 * max(1.0, np.abs(numbers).max())


def test_every_layer_is_made_and_loads(written: Path) -> None:
    program = target_folder() / "release" / "written-gallery"
    ran = subprocess.run([str(program), str(written / "gallery.bpk")], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    made = gallery(NumPy(seed=7)).layers
    assert len(made) > 80
    assert [name for name in made if f"{name}: " not in ran.stdout] == []


def test_every_model_of_the_matrix_is_written() -> None:
    assert set(MODELS) <= set(MADE)
