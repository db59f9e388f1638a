"""The packages that load their names when asked behave as if they had imported them all."""

from __future__ import annotations

import importlib
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAZY = sorted(
    ".".join(path.parent.relative_to(ROOT).parts)
    for path in (ROOT / "minburn").rglob("__init__.py")
    if "lazy_names(" in path.read_text("utf-8")
)


def test_there_are_lazy_packages() -> None:
    assert {"minburn.nn", "minburn.nn.loss", "minburn.optim"} <= set(LAZY)


@pytest.mark.parametrize("package", LAZY)
def test_a_package_gives_what_its_files_say_and_type_checkers_see_the_same(package: str) -> None:
    module = importlib.import_module(package)
    source = inspect.getsource(module)
    seen = {
        line.split()[1] for line in source.splitlines() if line.strip().startswith("from minburn.") and " *" in line
    }
    given: set[str] = set()
    for file in seen:
        names = importlib.import_module(file).__all__
        assert all(getattr(module, name) is getattr(importlib.import_module(file), name) for name in names)
        assert file.removeprefix(package + ".") in dir(module)
        given |= set(names)
    elsewhere = {"Initializer"} if package == "minburn.nn" else set()
    assert set(module.__all__) == given | elsewhere
    assert set(module.__all__) <= set(dir(module))
    everything: dict[str, object] = {}
    exec(f"from {package} import *", everything)
    assert everything.keys() >= set(module.__all__)


def test_a_name_loads_its_own_file_only() -> None:
    code = (
        "import sys\nimport minburn.nn, minburn.optim\nfrom minburn.nn import Linear, MseLoss\n"
        "print([name for name in sys.modules if name.startswith('minburn.nn.') or name == 'minburn.optim.adam'])"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(eval(run.stdout))
    assert {"minburn.nn.linear", "minburn.nn.loss.mse"} <= loaded
    assert not loaded & {
        "minburn.nn.pool",
        "minburn.nn.loss.cross_entropy",
        "minburn.nn.attention.mha",
        "minburn.optim.adam",
    }


def test_files_are_attributes_unknown_names_are_refused_and_classes_pickle() -> None:
    nn = importlib.import_module("minburn.nn")
    assert nn.pool.MaxPool2d is nn.MaxPool2d
    with pytest.raises(AttributeError, match="has no attribute 'Liner'") as error:
        _ = nn.Liner
    assert (error.value.name, error.value.obj) == ("Liner", nn)  # so that Python says: did you mean Linear?
    assert pickle.loads(pickle.dumps(nn.Linear)) is nn.Linear


def test_schedules_in_a_schedule_are_read_from_json() -> None:
    text = '{"schedulers": [{"Constant": 0.5}], "reduction": "Prod"}'
    code = (
        f"from minburn.optim import ComposedLrSchedulerConfig as C\nprint(float(C.from_json({text!r}).init().step()))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "0.5"
