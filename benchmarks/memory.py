"""The memory of one side of one workload, in a process of its own.

    python benchmarks/memory.py SIDE WORKLOAD STEPS      SIDE: minburn, numpy, torch

Prints two high-water marks of the resident set, in KiB: after a tenth of the steps and after all of them.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", OMP_NUM_THREADS="1", VECLIB_MAXIMUM_THREADS="1")

import subprocess
import sys
from pathlib import Path

from sides import side


def high_water_mark() -> int:
    """KiB. Linux's own number where there is one: what getrusage says begins with the parent's."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak // 1024 if sys.platform == "darwin" else peak
    return int(status.split("VmHWM:")[1].split()[0])


def measured(side_name: str, workload: str, steps: int) -> tuple[int, int]:
    """What this file prints, from a new process."""
    command = [sys.executable, __file__, side_name, workload, str(steps)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    early, late = map(int, done.stdout.split())
    return early, late


def main() -> None:
    side_name, workload, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    step = side(side_name, workload)
    marks = []
    for number in range(1, steps + 1):
        step()
        if number in (max(steps // 10, 1), steps):
            marks.append(high_water_mark())
    print(marks[0], marks[-1])


if __name__ == "__main__":
    main()
