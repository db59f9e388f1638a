"""The training program of tests/train on CUDA. As a script, the process that a test kills: RUN_DIR FAMILY."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "train"), str(HERE.parents[1])]
if __name__ == "__main__" and os.environ.get("MINBURN_CUDA") == "emulated":
    import emulator

    emulator.install()

from train_program import Program  # noqa: E402 - after the emulated device

from minburn.backends import Autodiff, Backend, CuPy  # noqa: E402


class CudaProgram(Program):
    def backend(self) -> Backend:
        return Autodiff(CuPy(seed=self.seed))


if __name__ == "__main__":
    CudaProgram(Path(sys.argv[1]), family=sys.argv[2], epochs=1, options={"checkpoint_every_steps": 4}).launch()
