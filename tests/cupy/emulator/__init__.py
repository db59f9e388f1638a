"""A CUDA device made of the CPU: the real CuPy, its own generated kernels and ours, on a machine without a GPU.

    CuPy (unchanged) ──> its wrapper modules: runtime, driver, nvrtc ──> CUDA
                                  │  install() swaps their C functions
                                  └──> runtime.c, cublas.cpp; kernels: g++ with device.h

`install()` must be called before `import cupy`. Two devices exist; `counters()` tells what was launched, copied and
waited for. What shows here: missing functions and arguments, implicit conversions, wrong values, missing barriers,
reads of memory that nobody wrote (it is NaN), and what a CUDA graph may not hold. What does not: races between blocks,
a missing atomic, the order of atomics, speed.

Written for one version of CuPy, named in `build.BUILT_FOR`: another one may export other functions.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import math
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emulator.build import BUILT_FOR, build, capsule_name, modules, replaced
from emulator.compiler import Compiler

COUNTERS = ("launches", "syncs", "to_host", "to_device", "on_device", "pageable")
_library: ctypes.PyDLL | None = None
_blas: ctypes.CDLL | None = None
_keep: list[Any] = []


def installed_cupy() -> str | None:
    """The version of the CuPy wheel for CUDA 13."""
    try:
        return importlib.metadata.version("cupy-cuda13x")
    except importlib.metadata.PackageNotFoundError:
        return None


def reason_against() -> str | None:
    """Why there can be no emulated device here, in one line; None if there can."""
    version = installed_cupy()
    if version is None:
        return f"cupy-cuda13x is not installed (pip install cupy-cuda13x=={BUILT_FOR})"
    if version != BUILT_FOR:
        return f"the emulated device was built for CuPy {BUILT_FOR}, but {version} is installed"
    if cuda_folder() is None:
        return "CUDA's headers are missing (pip install nvidia-cuda-runtime nvidia-cuda-crt)"
    return None


def cuda_folder() -> Path | None:
    """Where the wheels nvidia-cuda-runtime and nvidia-cuda-crt put CUDA's headers."""
    try:
        found = importlib.import_module("nvidia.cu13")
    except ImportError:
        return None
    folders = [Path(path) for path in found.__path__]
    return next((path for path in folders if (path / "include" / "vector_types.h").exists()), None)


def install() -> None:
    """Put the emulated device under CuPy. Raises RuntimeError where that cannot be, with the reason."""
    global _library, _blas
    reason = reason_against()
    cuda = cuda_folder()
    if reason is not None or cuda is None:
        raise RuntimeError(reason)
    os.environ["CUPY_ACCELERATORS"] = ""  # CUB is device code that was compiled beforehand
    os.environ["CUDA_PATH"] = str(cuda)
    folder = build()
    os.environ["CUPY_CACHE_DIR"] = str(folder / "kernels")
    library = ctypes.PyDLL(str(folder / "runtime.so"), mode=ctypes.RTLD_GLOBAL)
    blas = ctypes.CDLL(str(folder / "libcublas.so.13"), mode=ctypes.RTLD_GLOBAL)
    blas.emu_blas_bind(
        ctypes.cast(library.emu_is_capturing, ctypes.c_void_p),
        ctypes.cast(library.emu_record, ctypes.c_void_p),
        ctypes.byref(ctypes.c_int64.in_dll(library, "emu_counters")),
    )
    _swap_functions(library)
    _swap_attributes(library)
    Compiler(modules()["nvrtc"], folder, cuda).install()
    _load_our_libraries()
    _library, _blas = library, blas
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CuPy warns that it finds no toolkit
        import cupy  # noqa: F401
    _sort_on_the_host()


def _sort_on_the_host() -> None:
    """Thrust is device code that was compiled beforehand: its sorts are NumPy's here."""
    import cupy
    import numpy as np

    def view(address: int, dtype: Any, shape: Sequence[int]) -> np.ndarray[Any, Any]:
        size = math.prod(shape) * np.dtype(dtype).itemsize
        return np.frombuffer((ctypes.c_char * size).from_address(address), dtype).reshape(tuple(shape))

    def refuse_capture() -> None:
        if cupy.cuda.get_current_stream().is_capturing():
            raise RuntimeError("cudaErrorStreamCaptureUnsupported: a sort, which waits, while a stream is capturing")

    def sort(dtype: Any, data: int, keys: int, shape: Sequence[int]) -> None:
        refuse_capture()
        view(data, dtype, shape).sort(axis=-1)

    def argsort(dtype: Any, places: int, data: int, keys: int, shape: Sequence[int]) -> None:
        refuse_capture()
        values = view(data, dtype, shape)
        order = np.argsort(values, axis=-1, kind="stable")
        view(places, np.int64, shape)[...] = order
        values[...] = np.take_along_axis(values, order, -1)

    thrust = importlib.import_module("cupy.cuda.thrust")
    thrust.sort, thrust.argsort = sort, argsort  # type: ignore[attr-defined]


def counters() -> dict[str, int]:
    """What has been done since the start: launches, syncs, and copies to_host, to_device, on_device.

    Of those to_device, pageable were not from pinned memory: the host would have waited.
    """
    if _library is None:
        raise RuntimeError("install() first.")
    values = (ctypes.c_int64 * len(COUNTERS)).in_dll(_library, "emu_counters")
    return dict(zip(COUNTERS, values, strict=True))


def last_product() -> tuple[int, ...]:
    """What the last matrix product was given beside addresses, as cublas.cpp lists it."""
    if _blas is None:
        raise RuntimeError("install() first.")
    return tuple((ctypes.c_int64 * 20).in_dll(_blas, "emu_product"))


def _swap_functions(library: ctypes.PyDLL) -> None:
    """What other modules of CuPy will import from its wrapper modules."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    wrappers = modules()
    for module, function in replaced():
        exported: dict[str, Any] = wrappers[module].__pyx_capi__
        name = ctypes.create_string_buffer(capsule_name(exported[function]))  # the capsule keeps its address
        address = ctypes.cast(library[f"emu_{module}_{function}"], ctypes.c_void_p)
        exported[function] = new(address, ctypes.cast(name, ctypes.c_char_p), None)
        _keep.append(name)


def _swap_attributes(library: ctypes.PyDLL) -> None:
    """What Python code calls on those modules."""
    functions = [library[f"emu_{name}"] for name in ("set_device", "memory_info", "properties", "sync")]
    for function in functions:
        function.restype = ctypes.py_object
    set_device, memory_info, properties, sync = functions
    runtime = modules()["runtime"]
    for name, value in {
        "getDeviceCount": lambda: 2,
        "getDevice": library.emu_get_device,
        "setDevice": lambda index: set_device(index),
        "runtimeGetVersion": lambda: 13000,
        "driverGetVersion": lambda: 13000,
        "_getLocalRuntimeVersion": lambda: 13000,
        "_getCUDAMajorVersion": lambda: 13,
        "deviceSynchronize": lambda: sync(),
        "memGetInfo": lambda: memory_info(),
        "getDeviceProperties": lambda index: properties(),
        "deviceGetAttribute": lambda which, index: library.emu_attribute(which),
        "deviceCanAccessPeer": lambda here, there: 0,
    }.items():
        setattr(runtime, name, value)


def _load_our_libraries() -> None:
    """CuPy looks for CUDA's libraries on the disk before it loads a wrapper; ours are loaded already."""
    libs = importlib.import_module("cupy_backends.cuda.libs")

    def load(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return importlib.import_module(f"cupy_backends.cuda.libs.{name}")

    libs.__getattr__ = load  # type: ignore[method-assign]
