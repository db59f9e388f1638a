"""Imports point down, importing is cheap, and files stay small enough to read."""

from __future__ import annotations

import ast
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "minburn"
FILES = sorted(PACKAGE.rglob("*.py"))

# What each layer may import, besides itself. The top package re-exports, so nobody below may go through it.
_TENSOR = {"lazy", "hints", "dtype", "backends"}
_MODULE = _TENSOR | {"tensor"}
_OPTIM = _MODULE | {"module", "pack"}
_TRAIN = _OPTIM | {"optim", "nn", "data"}
ALLOWED: dict[str, set[str]] = {
    "lazy": set(),
    "hints": set(),
    "dtype": set(),
    "pack": {"dtype"},
    "backends": {"dtype"},
    "tensor": _TENSOR,
    "linalg": _MODULE,
    "signal": _MODULE,
    "testing": _MODULE,
    "module": _MODULE | {"pack"},
    "nn": _MODULE | {"module"},
    "data": _MODULE,
    "store": _MODULE | {"module", "pack"},
    "optim": _OPTIM,
    "train": _TRAIN,
    "cli": _TRAIN | {"train", "testing", "store", "__init__"},
    "demo": (_TRAIN | {"train"}) - {"pack"},
    "__init__": _MODULE | {"module", "linalg", "signal"},
}
OPTIONAL = ("rich", "cupy", "matplotlib", "ml_dtypes", "cbor2")
MAX_LINES = 450
IMPORTS_OF_A_PROGRAM = """
from minburn import Config, FloatTensor, Module, Tensor
from minburn.backends import Autodiff, Backend, NumPy
from minburn.nn import Linear, LinearConfig, MseLoss, Tanh
from minburn.optim import AdamConfig, GradientsParams
"""


def _layer(module: str) -> str:
    """`minburn.optim.adam` → optim; the package itself → __init__."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def _module_of(path: Path) -> str:
    return ".".join(["minburn", *path.relative_to(PACKAGE).with_suffix("").parts])


def _imports(source: str, module: str) -> Iterator[tuple[int, str]]:
    """(line, absolute module) of every import, also inside functions. A name taken from `minburn` counts as its own."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            target = node.module or ""
            if node.level:
                target = ".".join([*module.split(".")[: -node.level], *([target] if target else [])])
            if target == "minburn":
                for alias in node.names:
                    known = alias.name in ALLOWED
                    yield node.lineno, f"minburn.{alias.name}" if known else "minburn"
            else:
                yield node.lineno, target


def _violations(source: str, module: str) -> list[str]:
    layer = _layer(module)
    found = []
    for line, target in _imports(source, module):
        if target.split(".")[0] != "minburn":
            continue
        to = _layer(target)
        if to != layer and to not in ALLOWED[layer]:
            found.append(f"{module}:{line} imports {target}: {layer} may import {sorted(ALLOWED[layer])}")
    return found


def test_every_layer_is_in_the_table() -> None:
    assert {_layer(_module_of(path)) for path in FILES} <= ALLOWED.keys()


def test_imports_point_down() -> None:
    assert [line for path in FILES for line in _violations(path.read_text("utf-8"), _module_of(path))] == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("minburn.tensor.data", "from minburn.module import Param"),
        ("minburn.tensor.data", "def f():\n    import minburn.optim.adam"),
        ("minburn.nn.linear", "from minburn import data"),
        ("minburn.data.loader", "from ..nn import Linear"),
        ("minburn.pack.reader", "from minburn import Tensor"),
        ("minburn.backends.numpy", "from minburn.pack import Reader"),
    ],
)
def test_the_check_sees_an_import_that_points_up(module: str, source: str) -> None:
    assert len(_violations(source, module)) == 1


def test_pack_needs_no_numpy() -> None:
    for path in (PACKAGE / "pack").glob("*.py"):
        targets = {target.split(".")[0] for _, target in _imports(path.read_text("utf-8"), _module_of(path))}
        assert targets <= set(sys.stdlib_module_names) | {"minburn"}, path


def test_files_are_short() -> None:
    lengths = {str(path.relative_to(ROOT)): path.read_text("utf-8").count("\n") for path in FILES}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES} == {}


def _run(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("program", ["import minburn, minburn.nn, minburn.optim", "import minburn.data, minburn.train"])
def test_no_optional_package_is_imported(program: str) -> None:
    assert _run(f"import sys\n{program}\nprint([n for n in {OPTIONAL!r} if n in sys.modules])").strip() == "[]"


@pytest.mark.heavy
def test_the_imports_of_a_program_cost_numpy_plus_60_ms() -> None:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def milliseconds(code: str, rounds: int) -> dict[str, float]:
        """Of each module, without what it imports: the best of the rounds, as others may keep the machine busy."""
        best: dict[str, float] = {}
        for _ in range(rounds):
            command = [sys.executable, "-X", "importtime", "-c", code]
            report = subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True).stderr
            for own, module in re.findall(r"^import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)$", report, re.M):
                best[module] = min(best.get(module, math.inf), int(own) / 1000)
        return best

    milliseconds(IMPORTS_OF_A_PROGRAM, 1)  # writes the .pyc files
    numpys, all_of_it = milliseconds("import numpy", 15), milliseconds(IMPORTS_OF_A_PROGRAM, 15)
    beside = {module: cost for module, cost in all_of_it.items() if module not in numpys}
    dearest = sorted(beside.items(), key=lambda item: -item[1])[:12]
    assert sum(beside.values()) <= 60, f"importing costs {sum(beside.values()):.0f} ms more than NumPy: {dearest}"
