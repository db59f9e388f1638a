"""Backends: the protocol (`base`), one array implementation (`array`), NumPy, CuPy, and Autodiff, which decorates any.

backend = Autodiff(NumPy(seed=42))
"""

from minburn.backends.autodiff import (
    Autodiff,
    BalancedCheckpointing,
    CheckpointStrategy,
    Gradients,
    NoCheckpointing,
)
from minburn.backends.base import Backend, Device
from minburn.backends.cupy import CuPy, OutOfDeviceMemory
from minburn.backends.error import AutodiffError, BackendError
from minburn.backends.numpy import NumPy
from minburn.backends.rng import Distribution

__all__ = [
    "Autodiff",
    "AutodiffError",
    "Backend",
    "BackendError",
    "BalancedCheckpointing",
    "CheckpointStrategy",
    "CuPy",
    "Device",
    "Distribution",
    "Gradients",
    "NoCheckpointing",
    "NumPy",
    "OutOfDeviceMemory",
]
