"""NVRTC's stand-in: CUDA C++ compiled by g++ into a shared object.

The text of a kernel is left as it is, but for two things that g++ cannot know: dynamic shared memory becomes a pointer
to a fixed buffer, and behind each kernel stands the function that launches it (EMU_KERNEL in device.h).
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
KERNEL = re.compile(
    r"__global__\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\("
)
DYNAMIC_SHARED = re.compile(r"extern\s+__shared__\s+(?:__align__\s*\([^)]*\)\s*)?([\w:<>\s]+?)\s+(\w+)\s*\[\s*\]\s*;")
FLAGS = (
    "-std=c++17",
    "-O1",
    "-w",
    "-fpermissive",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-math-errno",
    "-ffp-contract=off",
)
CUPY_HEADERS = ("complex.cuh", "carray.cuh", "atomics.cuh", "math_constants.h")


class Program:
    def __init__(self, source: str | bytes) -> None:
        self.source = source.decode() if isinstance(source, bytes) else source
        self.expressions: list[str] = []
        self.names: dict[str, str] = {}
        self.binary = b""
        self.log = ""


class Compiler:
    """Replaces the functions of CuPy's `nvrtc` module. `cuda`: the folder with CUDA's headers."""

    def __init__(self, nvrtc: ModuleType, folder: Path, cuda: Path) -> None:
        self.nvrtc = nvrtc
        self.folder = folder
        self.cuda = cuda
        self.programs: dict[int, Program] = {}
        self.count = 0

    def install(self) -> None:
        for name, function in {
            "createProgram": self.create,
            "destroyProgram": lambda number: self.programs.pop(number, None),
            "addNameExpression": lambda number, text: self.programs[number].expressions.append(text),
            "compileProgram": self.compile,
            "getProgramLog": lambda number: self.programs[number].log,
            "getCUBIN": lambda number: self.programs[number].binary,
            "getPTX": lambda number: self.programs[number].binary,
            "getLoweredName": lambda number, text: self.programs[number].names[text],
            "getVersion": lambda: (13, 0),
            "getSupportedArchs": lambda: (75, 80, 90),
        }.items():
            setattr(self.nvrtc, name, function)

    def create(self, source: str | bytes, name: str, headers: Any, include_names: Any) -> int:
        self.count += 1
        self.programs[self.count] = Program(source)
        return self.count

    def compile(self, number: int, options: tuple[str, ...]) -> None:
        program = self.programs[number]
        self.keep(program)
        text = translated(program)
        if text is None:
            program.binary = b"// nothing to run"
            return
        given = [option for option in options if option.startswith(("-I", "-D"))]
        halves = [flag for flag, word in HALF_TYPES.items() if re.search(word, text)]
        header = self.header([*halves, *given])
        with tempfile.TemporaryDirectory() as folder:
            source, result = Path(folder, "kernel.cpp"), Path(folder, "kernel.so")
            source.write_text(text)
            flags = (*FLAGS, *halves, *given, f"-I{self.cuda / 'include'}")
            done = subprocess.run(
                ["g++", *flags, "-shared", "-include", str(header), str(source), "-o", str(result)],
                capture_output=True,
                text=True,
            )
            if done.returncode:
                program.log = done.stderr[:6000]
                raise self.nvrtc.NVRTCError(6)  # NVRTC_ERROR_COMPILATION
            program.binary = result.read_bytes()

    def keep(self, program: Program) -> None:
        """The source of every kernel that was ever compiled, for a check by the real compiler: test_nvrtc.py."""
        folder = self.folder / "sources"
        folder.mkdir(exist_ok=True)
        (folder / f"{hashlib.sha256(program.source.encode()).hexdigest()[:16]}.cu").write_text(program.source)

    def header(self, options: list[str]) -> Path:
        """device.h and CuPy's own headers, precompiled once for a set of options."""
        name = hashlib.sha256(" ".join(options).encode()).hexdigest()[:12]
        header = self.folder / f"{name}.h"
        compiled = header.with_suffix(".h.gch")
        if not compiled.exists():
            includes = [HERE / "device.h", *(f"cupy/{name}" for name in CUPY_HEADERS)]
            header.write_text("".join(f'#include "{path}"\n' for path in includes))
            scratch = compiled.with_suffix(f".{os.getpid()}.tmp")
            flags = (*FLAGS, *options, f"-I{self.cuda / 'include'}")
            subprocess.run(["g++", *flags, "-x", "c++-header", str(header), "-o", str(scratch)], check=True)
            scratch.rename(compiled)
        return header


HALF_TYPES = {"-DEMU_HALF": r"(?<!b)float16", "-DEMU_BFLOAT": r"bfloat16"}


def translated(program: Program) -> str | None:
    """C++ for g++; None if there is no kernel in the program."""
    text = program.source
    if "__global__" not in text:
        return None
    synchronises = bool(re.search(r"__syncthreads|__syncwarp|__shfl", text))
    start = KERNEL.search(text)
    body = text[start.start() :] if start else text
    # An early return, or any use of its place in the grid, and the kernel needs its threads.
    own_loop = re.search(r"threadIdx|blockIdx|blockDim|gridDim|no_thread_divergence|\breturn\b", body)
    one = "CUPY_FOR" in text and not synchronises and not own_loop
    text = DYNAMIC_SHARED.sub(r"\1* \2 = reinterpret_cast<\1*>(emu_dynamic_shared);", text)
    launchers = []
    templates = {re.split(r"[<\s]", expression)[0] for expression in program.expressions}
    for name in dict.fromkeys(KERNEL.findall(text)):
        if name not in templates:
            launchers.append((name, name))
    for number, expression in enumerate(program.expressions):
        program.names[expression] = f"e{number}"
        launchers.append((f"e{number}", expression))
    text += "".join(f"\nEMU_KERNEL({name}, {int(synchronises)}, {int(one)}, {target})" for name, target in launchers)
    return text + "\n"
