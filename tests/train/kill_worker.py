"""The script that test_kills.py kills: kill_worker.py RUN_DIR EPOCHS. Says "ready" before it touches a file."""

from __future__ import annotations

import sys
from pathlib import Path

from train_program import Program

if __name__ == "__main__":
    program = Program(Path(sys.argv[1]), epochs=int(sys.argv[2]), options={"checkpoint_every_steps": 3})
    print("ready", flush=True)
    result = program.launch()
    print(repr(sorted((split, sorted(metrics.items())) for split, metrics in result.history.items())), flush=True)
