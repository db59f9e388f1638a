"""How long a training step takes, beside the same step in PyTorch where that is installed.

On a GPU also how long it takes the host to hand a step over, without waiting for it, and what it asks of CUDA.
"""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from minburn.backends import Autodiff, Backend
from minburn.cli import blas
from minburn.cli.selftest.launches import Counts, count
from minburn.cli.selftest.models import RATE, WORKLOADS, Training, Workload, batch
from minburn.cli.selftest.ops import with_seed

ROUNDS = 15
SECONDS = 1.2
"""At most, for one side of a workload."""


class Timing(NamedTuple):
    """Of a step, in milliseconds. one_thread_ms: with one BLAS thread, where there are more; torch_ms: None where it is
    not installed. On a GPU: host_ms, until a step is handed over; counts, what it asks of CUDA."""

    name: str
    ms: float
    one_thread_ms: float | None
    torch_ms: float | None
    host_ms: float | None = None
    counts: Counts | None = None


def measure(backend: Backend) -> list[Timing]:
    return [timing(name, work, backend) for name, work in WORKLOADS.items()]


def timing(name: str, work: Workload, backend: Backend) -> Timing:
    training = Training(work, Autodiff(with_seed(backend)))
    ours, alone = median_ms(lambda: training.step().item()), None
    if backend.device.kind == "cpu" and (blas.threads() or 1) > 1:
        with blas.one_thread():
            alone = median_ms(lambda: training.step().item())
    timing = Timing(name, ours, alone, torch_ms(work, backend))
    if backend.device.kind == "cuda":
        handing = median_ms(training.step, backend.sync)
        timing = timing._replace(host_ms=handing, counts=count(name, backend.device.index))
    return timing


def median_ms(step: Callable[[], Any], between: Callable[[], Any] = lambda: None) -> float:
    """The median over some steps, after two to warm up. What happens between them is not timed."""
    step()
    step()
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while len(times) < ROUNDS and (len(times) < 3 or time.perf_counter() < end):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
        between()
    return statistics.median(times) * 1e3


def torch_ms(work: Workload, backend: Backend) -> float | None:
    """The same step in PyTorch, eager; None without it."""
    if importlib.util.find_spec("torch") is None:
        return None
    from minburn.cli.selftest.twins import twin

    torch: Any = importlib.import_module("torch")
    device = torch.device("cuda", backend.device.index) if backend.device.kind == "cuda" else torch.device("cpu")
    if device.type == "cuda" and not torch.cuda.is_available():
        return None
    model = twin(work).to(device)
    optim = torch.optim.Adam(model.parameters(), RATE)
    x, y = batch(work)
    inputs = torch.tensor(x, device=device)
    inputs = inputs.long() if work.tokens else inputs
    targets = torch.tensor(y.reshape(-1), device=device).long()

    def step() -> float:
        optim.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optim.step()
        return float(loss.item())

    return median_ms(step)
