"""The compiler of CUDA 12, called through ctypes: CuPy's own wrapper belongs to one major version of CUDA.

NVRTC 13 dropped Volta, sm_70; those who have such a card install `minburn[cuda12]`.
"""

from __future__ import annotations

import ctypes
import importlib
from pathlib import Path

from cupy._core import core


def folder(package: str) -> Path:
    """Where a wheel of CUDA 12 lies."""
    return Path(importlib.import_module(f"nvidia.{package}").__path__[0])


class Nvrtc12:
    """arch: as in `sm_70`. Headers are CuPy's and those of CUDA 12."""

    def __init__(self, arch: int) -> None:
        self.library = ctypes.CDLL(str(folder("cuda_nvrtc") / "lib" / "libnvrtc.so.12"))
        cupy = Path(core.__file__).parent / "include"
        bundled = [cupy / "cupy" / "_cccl" / part for part in ("thrust", "libcudacxx")]
        included = [cupy, *bundled, folder("cuda_runtime") / "include"]
        options = ["-std=c++17", f"-arch=sm_{arch}", *(f"-I{path}" for path in included)]
        self.options = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))

    def errors(self, source: str) -> str:
        """What the compiler has against it; nothing if it compiles. Several threads may ask at once."""
        library, program, size = self.library, ctypes.c_void_p(), ctypes.c_size_t()
        if library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None):
            return "nvrtcCreateProgram failed"
        try:
            if not library.nvrtcCompileProgram(program, len(self.options), self.options):
                return ""
            library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            library.nvrtcGetProgramLog(program, log)
            return log.value.decode() or "it failed without a word"
        finally:
            library.nvrtcDestroyProgram(ctypes.byref(program))
