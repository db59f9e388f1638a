"""What a training step asks of CUDA: launches of kernels, waits, copies to the host.

CUPTI, the interface of NVIDIA's profilers, calls a function at every call of the driver; the names of these calls are
counted. It is a library that comes with CUDA and with PyTorch, but not with CuPy, and only one tool may use it at a
time: so a process of its own counts (`python -m minburn.cli.selftest.launches mlp 0`), and what keeps it from counting
is told.
"""

from __future__ import annotations

import ctypes
import glob
import json
import subprocess
import sys
from collections import Counter
from typing import Any, NamedTuple

LIBRARIES = ("libcupti.so", "libcupti.so.13", "libcupti.so.12")
DRIVER_API = 1
ON_ENTER = 0
TIMEOUT = 300


class Counts(NamedTuple):
    """Of one step. why: None of it is known, for this reason."""

    launches: int
    waits: int
    to_host: int
    why: str = ""

    def __str__(self) -> str:
        if self.why:
            return f"launches not counted: {self.why}"
        return f"{self.launches} launches, {self.waits} waits, {self.to_host} copies to the host"


class CallbackData(ctypes.Structure):
    """The beginning of CUpti_CallbackData."""

    _fields_ = (("site", ctypes.c_int), ("function", ctypes.c_char_p))


CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(CallbackData))


def tally(calls: Counter[str]) -> Counts:
    """Calls of the driver by name, as what they are."""

    def of(*parts: str) -> int:
        return sum(count for name, count in calls.items() if any(part in name for part in parts))

    return Counts(of("cuLaunch", "cuGraphLaunch"), of("Synchronize"), of("DtoH"))


def count(workload: str, device: int) -> Counts:
    """Counted in a process of its own."""
    command = [sys.executable, "-m", "minburn.cli.selftest.launches", workload, str(device)]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Counts(0, 0, 0, str(error))
    if ran.returncode != 0:
        said = ran.stderr.strip().splitlines()[-1:] or [f"the counting process ended with {ran.returncode}"]
        return Counts(0, 0, 0, said[0])
    return Counts(*json.loads(ran.stdout.splitlines()[-1]))


def load_cupti() -> Any:
    """The library: of the system, or of a wheel beside CuPy's."""
    wheels = [path for place in sys.path for path in glob.glob(f"{place}/nvidia/*/lib/libcupti.so*")]
    for name in (*LIBRARIES, *sorted(wheels)):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise OSError("CUPTI is not installed (pip install nvidia-cuda-cupti, or CUDA's own packages)")


def counted(step: Any) -> Counter[str]:
    """The calls of the driver that a function makes, by name."""
    cupti = load_cupti()
    calls: Counter[str] = Counter()

    def note(user: Any, domain: int, call: int, data: Any) -> None:
        if data.contents.site == ON_ENTER and data.contents.function:
            calls[data.contents.function.decode()] += 1

    callback = CALLBACK(note)
    subscriber = ctypes.c_void_p()
    if cupti.cuptiSubscribe(ctypes.byref(subscriber), callback, None) != 0:
        raise OSError("CUPTI refuses: is a profiler running?")
    try:
        cupti.cuptiEnableDomain(ctypes.c_uint32(1), subscriber, ctypes.c_int(DRIVER_API))
        step()
    finally:
        cupti.cuptiUnsubscribe(subscriber)
    return calls


def main(workload: str, device: int) -> int:
    from minburn.backends import Autodiff, CuPy
    from minburn.cli.selftest.models import WORKLOADS, Training

    backend = CuPy(device=device, seed=7)
    training = Training(WORKLOADS[workload], Autodiff(backend))
    for _ in range(2):  # kernels are compiled, the memory pool is filled
        training.step()
    backend.sync()
    try:
        print(json.dumps(tally(counted(training.step))))
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
