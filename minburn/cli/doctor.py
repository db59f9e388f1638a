"""What this machine has for minburn: versions, CPU, BLAS and its threads, GPUs, folders, and what is missing.

    minburn doctor              as text
    minburn doctor --json       the same for programs

Nothing is changed, and nothing that is missing is an error: a machine without a GPU is complete. CuPy is imported only
if it is installed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from minburn.cli import blas

HELP = "versions, BLAS, threads, devices, and what is missing"
OPTIONAL = {
    "rich": "draws the progress of a training",
    "ml_dtypes": "computes in bfloat16: pip install 'minburn[bf16]'",
    "cbor2": "used by the tests",
    "safetensors": "used by the tests",
    "torch": "`minburn selftest` compares speeds with it",
}
CUPY = ("cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    found = examine()
    print(json.dumps(found, indent=2) if args.json else text(found))
    return 0


def examine() -> dict[str, Any]:
    """Everything, ready for JSON."""
    import minburn
    from minburn.train.environment import environment

    where = environment()
    gpu = examine_gpu()
    return {
        "minburn": minburn.__version__,
        "place": str(Path(minburn.__file__).parent),
        "python": where["python"],
        "executable": sys.executable,
        "system": f"{where['system']} {where['machine']}",
        "numpy": where["numpy"],
        "packages": {name: version_of(name) for name in OPTIONAL},
        "cpu": where["cpu"],
        "cpus": where["cpus"],
        "simd": where["simd"],
        "blas": where["blas"],
        "blas_threads": blas.threads(),
        "thread_settings": where["threads"],
        "gpu": gpu,
        "folders": folders(),
        "missing": missing(gpu),
    }


def version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def examine_gpu() -> dict[str, Any]:
    """Driver, CuPy, devices; `error` is why CuPy finds none."""
    driver = Path("/proc/driver/nvidia/version")
    has_driver = driver.exists() or shutil.which("nvidia-smi") is not None
    found: dict[str, Any] = {"driver": has_driver, "cupy": None, "cuda": None, "devices": [], "error": None}
    installed = [(name, version) for name in CUPY if (version := version_of(name)) is not None]
    if not installed and importlib.util.find_spec("cupy") is None:
        return found
    found["cupy"] = " ".join(installed[0]) if installed else "cupy"
    try:
        cupy: Any = importlib.import_module("cupy")
        runtime = cupy.cuda.runtime
        found["cuda"] = runtime.runtimeGetVersion()
        for index in range(runtime.getDeviceCount()):
            properties = runtime.getDeviceProperties(index)
            name = properties["name"]
            memory = properties["totalGlobalMem"]
            capability = f"{properties['major']}.{properties['minor']}"
            name = name.decode() if isinstance(name, bytes) else str(name)
            found["devices"].append({"index": index, "name": name, "memory": int(memory), "capability": capability})
    except Exception as error:  # whatever keeps CuPy from a device is what is to be told
        found["error"] = f"{type(error).__name__}: {error}".splitlines()[0]
    return found


def folders() -> dict[str, str]:
    """Where things are kept between runs."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    burn = Path(os.environ.get("CARGO_TARGET_DIR") or cache / "minburn-burn" / "target")
    cupy = Path(os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache")
    return {"compiled Burn": described(burn), "compiled kernels": described(cupy)}


def described(folder: Path) -> str:
    return f"{folder}{'' if folder.is_dir() else ' (none yet)'}"


def missing(gpu: dict[str, Any]) -> list[str]:
    """What would make more possible, one line each."""
    lines = [f"{name}: {what}" for name, what in OPTIONAL.items() if version_of(name) is None and name != "torch"]
    if not gpu["driver"] and not gpu["devices"]:
        lines.append("a GPU: no NVIDIA driver is here. Everything runs on the CPU.")
    elif gpu["cupy"] is None:
        lines.append("CuPy, for the GPU: pip install 'minburn[cuda12]', or [cuda13] for CUDA 13.")
    elif not gpu["devices"]:
        lines.append(f"a device for CuPy: {gpu['error'] or 'it finds none'}")
    return lines


def text(found: dict[str, Any]) -> str:
    """The same for people."""
    gpu, packages = found["gpu"], found["packages"]
    threads = found["blas_threads"]
    settings = " ".join(f"{name}={value}" for name, value in found["thread_settings"].items())
    rows = [
        ("minburn", f"{found['minburn']}, {found['place']}"),
        ("Python", f"{found['python']}, {found['executable']}"),
        ("system", found["system"]),
        ("NumPy", found["numpy"]),
        ("packages", ", ".join(f"{name} {version or '-'}" for name, version in packages.items())),
        ("CPU", f"{found['cpu']}, {found['cpus']} to use"),
        ("SIMD", " ".join(found["simd"]) or "unknown"),
        ("BLAS", f"{found['blas']}, {threads or 'unknown'} threads {settings}".rstrip()),
        ("CuPy", f"{gpu['cupy'] or '-'}, CUDA {gpu['cuda'] or '-'}"),
        *[("GPU", f"{d['index']}: {d['name']}, {d['memory'] >> 20} MiB, sm {d['capability']}") for d in gpu["devices"]],
        *[("folder", f"{name}: {folder}") for name, folder in found["folders"].items()],
        *[("missing", line) for line in found["missing"]],
    ]
    return "\n".join(f"{name:10} {value}" for name, value in rows)
