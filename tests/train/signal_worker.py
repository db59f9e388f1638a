"""The script that test_train_refusals.py sends signals to: signal_worker.py RUN_DIR SLOW. Batch 20 takes a while."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

from train_program import Program

from minburn.train import KeepLastNCheckpoints


def watch(number: int) -> None:
    if number == 20:
        print("in batch 20", flush=True)
        until = time.monotonic() + (20 if sys.argv[2] == "1" else 0.3)
        while time.monotonic() < until:
            time.sleep(0.01)


if __name__ == "__main__":
    program = Program(Path(sys.argv[1]), epochs=2, watch=watch, options={"strategy": KeepLastNCheckpoints(2)})
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    result = program.launch()
    print(program.text)
    print("handlers are back:", before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)])
    sys.exit(130 if result.interrupted else 0)
