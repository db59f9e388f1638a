"""The command line: help, errors of one line, `where`, `doctor`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from minburn.cli import main
from minburn.cli.names.burn import Name, called, names
from minburn.cli.names.index import index

ROOT = Path(__file__).resolve().parent.parent.parent


def said(capsys: pytest.CaptureFixture[str], *argv: str, status: int = 0) -> str:
    assert main(argv) == status
    captured = capsys.readouterr()
    return captured.out if status == 0 else captured.err


def test_help_is_short_and_imports_nothing_heavy() -> None:
    code = "import sys, minburn.cli as m\ntry:\n m.main(['--help'])\nexcept SystemExit: pass\n"
    code += "print([n for n in ('rich', 'cupy', 'torch', 'minburn.train', 'minburn.nn') if n in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    *lines, imported = result.stdout.splitlines()
    assert len(lines) <= 25 and imported == "[]"


def test_python_m_is_the_command() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "minburn.cli", "where", "Adamm"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("minburn where: ") and result.stderr.count("\n") == 1 and "Adam" in result.stderr


def test_no_command_is_a_wrong_call(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        main([])
    assert error.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("Linear", ["minburn/nn/linear.py:", "crates/burn-nn/src/modules/linear.rs"]),
        ("nn.Linear", ["minburn/nn/linear.py:"]),
        ("float_add", ["NumericOps.add", "ArrayNumeric.add", "ArithmeticRules.add"]),
        ("B::bool_not", ["BoolTensorOps.not_", "ArrayBools.not_"]),
        ("OptimizerAdaptor", ["Burn: ModuleOptimizer", "minburn/optim/adaptor.py:"]),
        ("ModuleOptimizer", ["minburn.optim.adaptor.OptimizerAdaptor"]),
        ("Tensor::backward", ["minburn.tensor.floats.FloatTensor.backward"]),
        ("conv2d", ["minburn/tensor/functional/conv.py:", "module_ops"]),
        ("Module", ["derive(Module)", "minburn/module/module.py:"]),
        ("#[derive(Config)]", ["minburn's module.Config", "minburn/module/config.py:"]),
        ("Tensor<D, Int>::arange_step", ["minburn's tensor.Tensor.arange"]),
        ("AdamConfig::with_beta_1", ["minburn's optim.AdamConfig.beta_1"]),
        ("burn::nn::Linear", ["minburn/nn/linear.py:"]),
        ("MomentumConfig::new", ["minburn's optim.MomentumConfig"]),
        ("Lora::set_dtype", ["minburn's module.Lora.dtype="]),
        ("Scalar::new", ["is left out. Rust mechanics"]),
        ("masked_fill", ["PyTorch's Tensor.masked_fill: here x.mask_fill(mask, value)"]),
        ("state_dict", ["PyTorch's Module.state_dict: here model.into_record()"]),
        ("FIELDS", ["minburn/backends/cupy_ops/modules/geometry.py:"]),
        ("ElementwiseProgram.inputs", ["minburn/backends/elementwise.py:"]),
        ("minburn.optim.line_search", ["minburn/optim/line_search.py:1"]),
        ("minburn", ["minburn/__init__.py:1"]),
        ("step_multi", ["ModuleOptimizer::step_multi", "is left out. One process trains on one device."]),
    ],
)
def test_where(capsys: pytest.CaptureFixture[str], name: str, places: list[str]) -> None:
    text = said(capsys, "where", name)
    assert all(place in text for place in places), text


def test_where_shows_the_users_side_first(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "where", "softmax").splitlines()
    assert [line.startswith(start) for line, start in zip(lines, ("Burn's", "PyTorch's"), strict=False)] == [True, True]
    assert lines[2] == "  minburn.tensor.activation.softmax"


def test_where_keeps_methods_of_other_tables_away(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "where", "int_add")
    assert "ArrayNumeric.add" in text
    assert "autodiff" not in text


@pytest.mark.parametrize("name", ["", "é", "*", "\\", "\n", "1", "::", ".", "crates", "float_", "x" * 5000])
def test_where_of_what_is_no_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["where", name]) == 1
    assert capsys.readouterr().err.startswith(
        f"minburn where: neither minburn nor the list of Burn's names has {name!r}."
    )


def test_the_lines_are_those_of_the_definitions() -> None:
    place = next(place for place in index() if place.name == "minburn.nn.linear.LinearConfig")
    assert (ROOT / place.file).read_text("utf-8").splitlines()[place.line - 1] == "class LinearConfig(Config):"


@pytest.mark.parametrize("name", names()[::97], ids=lambda name: name.path)
def test_names_of_burn_are_found_by_their_end(name: Name) -> None:
    parts = name.path.split("::")
    assert name in called("::".join(parts[-2 if name.is_member else -1 :]))


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, "doctor", "--json"))
    assert found["numpy"] and found["cpus"] >= 1 and found["blas"]
    assert set(found["gpu"]) == {"driver", "cupy", "cuda", "devices", "error"}
    text = said(capsys, "doctor")
    assert found["numpy"] in text
    assert all(line in text for line in found["missing"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_output_to_a_full_disk_is_one_sentence() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "minburn.cli", "where", "Linear"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "minburn where: [Errno 28] No space left on device\n"


def test_a_gpu_is_not_asked_for_without_its_backend(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest", "--device", "1"]) == 2
    assert "--device 1 asks for a GPU, which --backend cupy would use" in capsys.readouterr().err
