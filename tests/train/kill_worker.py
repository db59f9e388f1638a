"""The script that test_kills.py kills: kill_worker.py RUN_DIR EPOCHS [FAMILY]. Says "ready" before it writes."""

from __future__ import annotations

import sys
from pathlib import Path

from train_program import Program

if __name__ == "__main__":
    family = sys.argv[3] if len(sys.argv) > 3 else "mlp"
    program = Program(Path(sys.argv[1]), family=family, epochs=int(sys.argv[2]), options={"checkpoint_every_steps": 3})
    print("ready", flush=True)
    result = program.launch()
    print(repr(sorted((split, sorted(metrics.items())) for split, metrics in result.history.items())), flush=True)
