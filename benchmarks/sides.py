"""Who is compared: each side of a workload is a function that makes one training step."""

from __future__ import annotations

import importlib.util

from floors.arrays import Step
from workloads import WORKLOADS

HAS_TORCH = importlib.util.find_spec("torch") is not None
SIDES = ("minburn", "numpy", *(("torch", "torch fused") if HAS_TORCH else ()))


def side(name: str, workload: str) -> Step:
    """The step of "minburn", "numpy" (the floor), "torch", or "torch fused" (with the fused Adam)."""
    work = WORKLOADS[workload]
    if name == "minburn":
        return work.ours()
    if name == "numpy":
        return work.floor()
    from torch_steps import torch_step

    return torch_step(workload, work.weights(), work.data(), fused=name == "torch fused")
