"""CuPy, imported once, or one clear error that says what to install."""

from __future__ import annotations

import importlib
from typing import Any

from minburn.backends.error import BackendError

INSTALL = "pip install 'minburn[cuda13]' (driver 580 or newer), or 'minburn[cuda12]' (driver 525 or newer)"


def _import() -> Any:
    try:
        module = importlib.import_module("cupy")
    except ImportError as error:
        raise BackendError(f"CuPy: the package cupy cannot be imported ({error}). Install it: {INSTALL}.") from error
    if not hasattr(module, "ndarray"):  # a folder of that name
        raise BackendError(f"CuPy: the package cupy is not installed. Install it: {INSTALL}.")
    return module


cp: Any = _import()


def device_count() -> int:
    """How many CUDA devices there are; BackendError if CUDA cannot be used at all."""
    try:
        return int(cp.cuda.runtime.getDeviceCount())
    except cp.cuda.runtime.CUDARuntimeError as error:
        raise BackendError(
            f"CuPy: no CUDA device can be used ({error}). It needs an NVIDIA GPU and a driver for the CUDA version of "
            f"the installed CuPy {cp.__version__}: {INSTALL}. Without a GPU, use NumPy()."
        ) from error
