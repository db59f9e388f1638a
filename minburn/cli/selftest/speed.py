"""How long a training step takes, beside the same step in PyTorch where that is installed.

On a GPU also what a step does: how many kernels it launches, and that it does not wait for the device. Both are seen by
capturing a step into a CUDA graph, in which CUDA refuses whatever waits.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from minburn.backends import Autodiff, Backend
from minburn.cli import blas
from minburn.cli.selftest.models import RATE, WORKLOADS, Training, Workload, batch
from minburn.cli.selftest.ops import with_seed

ROUNDS = 15
SECONDS = 1.2
"""At most, for one side of a workload."""


class Timing(NamedTuple):
    """Of a step, in milliseconds. one_thread_ms: with one BLAS thread, where there are more; torch_ms: None where it is
    not installed. launches: on a GPU, and waits: why they could not be counted."""

    name: str
    ms: float
    one_thread_ms: float | None
    torch_ms: float | None
    launches: int | None
    waits: str


def measure(backend: Backend) -> list[Timing]:
    return [timing(name, work, backend) for name, work in WORKLOADS.items()]


def timing(name: str, work: Workload, backend: Backend) -> Timing:
    training = Training(work, Autodiff(with_seed(backend)))
    ours, alone = median_ms(lambda: training.step().item()), None
    if backend.device.kind == "cpu" and (blas.threads() or 1) > 1:
        with blas.one_thread():
            alone = median_ms(lambda: training.step().item())
    launches, waits = count(training, backend) if backend.device.kind == "cuda" else (None, "")
    return Timing(name, ours, alone, torch_ms(work, backend), launches, waits)


def median_ms(step: Callable[[], Any]) -> float:
    """The median over some steps, after two to warm up."""
    step()
    step()
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while len(times) < ROUNDS and (len(times) < 3 or time.perf_counter() < end):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def count(training: Training, backend: Any) -> tuple[int | None, str]:
    """The nodes of a captured step, and why there is none if it cannot be captured."""
    cupy: Any = importlib.import_module("cupy")
    training.step()
    backend.sync()
    stream = cupy.cuda.Stream(non_blocking=True)
    try:
        with stream:
            training.step()  # the memory pool of the stream is filled before
            stream.synchronize()
            stream.begin_capture()
            try:
                training.step()
            finally:
                graph = stream.end_capture()
        return nodes_of(graph), ""
    except Exception as error:  # a wait, or a driver that does not capture: it is told, not hidden
        with contextlib.suppress(Exception):
            stream.synchronize()
        return None, f"not captured: {type(error).__name__}: {error}".splitlines()[0]


def nodes_of(graph: Any) -> int | None:
    """How many nodes a graph has; None if the runtime cannot be asked."""
    with contextlib.suppress(OSError, AttributeError, TypeError, ValueError):
        runtime = ctypes.CDLL("libcudart.so")
        nodes = ctypes.c_size_t()
        handle = ctypes.c_void_p(int(graph.graph))
        if runtime.cudaGraphGetNodes(handle, None, ctypes.byref(nodes)) == 0:
            return int(nodes.value)
    return None


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
