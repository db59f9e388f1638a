"""What gradient checkpointing saves, and what it costs: the memory and the time of forward and backward.

    python benchmarks/checkpoint.py [--json FILE] [--check]

    mlp24     24 layers of width 512, each with a GELU, batch 512
    gpt       the GPT of `workloads.py`

Each model runs with both strategies, in a process of its own. `ms` is the best of some passes, `resident` the most
memory that the process had resident in them. Then one pass is traced: `held` is what is allocated for the graph when
the loss is there, `peak` the most that was allocated at once until the gradients were, both beside parameters and data,
as tracemalloc counts them. It would see the slabs of the pool instead of the arrays cut from them, so the traced pass
takes its arrays from NumPy. The gradients of both strategies must be the same, bit by bit. `--check` exits
with 1 if a peak with checkpointing is above its bound, as a part of that without.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", OMP_NUM_THREADS="1", VECLIB_MAXIMUM_THREADS="1")

import argparse
import hashlib
import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import models
import numpy as np
from memory import high_water_mark
from workloads import WORKLOADS

import minburn.backends.numpy
from minburn import FloatTensor, Tensor
from minburn.backends import Autodiff, CheckpointStrategy, NumPy
from minburn.nn import Gelu
from minburn.optim import GradientsParams

PASSES = 7
MB = 2**20


def mlp24(backend: Autodiff) -> tuple[Any, Callable[[], FloatTensor]]:
    model = models.mlp(backend, [512] * 25, Gelu())
    x = Tensor.from_data(np.random.default_rng(0).standard_normal((512, 512)), backend)
    return model, lambda: model(x).square().mean()


def gpt(backend: Autodiff) -> tuple[Any, Callable[[], FloatTensor]]:
    work = WORKLOADS["gpt"]
    model: Any = work.init(backend)
    ids, targets = (Tensor.from_data(array, backend) for array in work.data()[0])
    return model, lambda: work.loss(model, ids, targets)


MODELS = {"mlp24": mlp24, "gpt": gpt}
BOUNDS = {"mlp24": 0.6, "gpt": 0.85}


def measure(name: str, strategy: CheckpointStrategy) -> dict[str, Any]:
    model, loss_of = MODELS[name](Autodiff(NumPy(seed=0), strategy))
    model.into_record()  # draws the parameters
    times = []
    for _ in range(PASSES):
        start = time.perf_counter()
        loss_of().backward()
        times.append(time.perf_counter() - start)
    resident = high_water_mark() / 1024

    minburn.backends.numpy._pool = np  # type: ignore[assignment]
    tracemalloc.start()
    loss = loss_of()
    held = tracemalloc.get_traced_memory()[0]
    gradients = GradientsParams.from_grads(loss.backward(), model)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    digest = hashlib.sha256()
    for parameter in model.into_record():
        gradient = gradients.get(parameter.id)
        assert gradient is not None
        digest.update(gradient.numpy().tobytes())
    return {
        "held": held / MB,
        "peak": peak / MB,
        "resident": resident,
        "ms": min(times) * 1000,
        "digest": digest.hexdigest(),
    }


def in_a_process(name: str, strategy: CheckpointStrategy) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", name, strategy.name]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bound is missed")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        name, strategy = options.measure
        print(json.dumps(measure(name, CheckpointStrategy[strategy])))
        return 0
    missed = False
    rows = []
    print(f"{'':8}{'':24}{'held':>10}{'peak':>10}{'resident':>10}{'ms':>8}")
    for name in MODELS:
        found = [in_a_process(name, strategy) for strategy in CheckpointStrategy]
        for strategy, row in zip(CheckpointStrategy, found, strict=True):
            rows.append({"model": name, "strategy": strategy.name, **row})
            print(
                f"{name:8}{strategy.name:24}{row['held']:7.1f} MB{row['peak']:7.1f} MB"
                f"{row['resident']:7.1f} MB{row['ms']:8.1f}"
            )
        without, balanced = found
        ratio = balanced["peak"] / without["peak"]
        verdict = "" if ratio <= BOUNDS[name] else "  MISSED"
        print(f"{'':8}{'ratio':24}{balanced['held'] / without['held']:10.2f}{ratio:10.2f}{verdict}")
        if without["digest"] != balanced["digest"]:
            raise SystemExit(f"{name}: the gradients differ.")
        missed = missed or ratio > BOUNDS[name]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return int(options.check and missed)


if __name__ == "__main__":
    sys.exit(main())
