"""Every kernel of ours that the other tests compiled for the CPU, compiled by the real NVRTC: no GPU is needed.

g++ takes things that CUDA's compiler does not, and has other headers. sm_70 is compiled by NVRTC 12, which still knows
it; the oldest one of NVRTC 13, sm_80 and sm_90 by that.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from device import EMULATED

PROGRAM = """
import sys
from pathlib import Path
from cupy._core import core
from cupy_backends.cuda.libs import nvrtc

known = nvrtc.getSupportedArchs()
wanted = sorted({known[0], 80, 90} & set(known) | {known[0]})
failed, count = [], 0
for path in sorted(Path(sys.argv[1]).glob("*.cu"))[int(sys.argv[3]) :: 2]:
    source = path.read_text()
    if "minburn_" not in source and "typedef float T;" not in source and "typedef double T;" not in source:
        continue
    count += 1
    for arch in wanted if "typedef" in source else wanted[-1:]:
        options = core.assemble_cupy_compiler_options(("-std=c++17", f"-arch=sm_{arch}", f"-I{sys.argv[2]}"))
        program = nvrtc.createProgram(source, "kernel.cu", (), ())
        try:
            nvrtc.compileProgram(program, options)
        except nvrtc.NVRTCError:
            failed.append(f"{path.name} for sm_{arch}: {nvrtc.getProgramLog(program)[:2000]}")
        nvrtc.destroyProgram(program)
print(count, "kernels for", wanted, "by NVRTC", nvrtc.getVersion())
print("\\n".join(failed))
sys.exit(bool(failed))
"""


emulated = pytest.mark.skipif(not EMULATED, reason="on a GPU, every kernel is compiled for it anyway")


def is_ours(source: str) -> bool:
    return any(mark in source for mark in ("minburn_", "typedef float T;", "typedef double T;"))


@emulated
def test_all_kernels_compile_for_gpus() -> None:
    from emulator import cuda_folder
    from emulator.build import cache_folder

    sources: Path = cache_folder() / "sources"
    command = [sys.executable, "-c", PROGRAM, str(sources), str(cuda_folder() / "include")]
    halves = [
        subprocess.Popen([*command, half], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for half in "01"
    ]
    for half in halves:
        said, _ = half.communicate()
        assert half.returncode == 0, said
        assert int(said.split()[0]) > 10


@emulated
def test_all_kernels_compile_for_volta() -> None:
    from emulator.build import cache_folder
    from nvrtc12 import Nvrtc12

    compiler = Nvrtc12(70)
    sources = [path.read_text() for path in sorted((cache_folder() / "sources").glob("*.cu"))]
    ours = [source for source in sources if is_ours(source)]
    assert len(ours) > 20
    with ThreadPoolExecutor(2) as threads:
        assert [error[:2000] for error in threads.map(compiler.errors, ours) if error] == []
    assert "no_such_name" in compiler.errors("__global__ void f() { no_such_name(); }")
