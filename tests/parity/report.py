"""How close minburn is to the running Burn 0.22.1, case by case.

    python tests/parity/report.py [--missing]

Prints per file how many cases agree, differ on purpose, deviate, or have no counterpart yet; then each of the latter
three. Exits with 1 if a case deviates. `--missing` prints only the cases without a counterpart, one a line.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable

import differences
import functions
import indexing
import layers
import losses
import operations
import optimizers
import others
import schedules
from cases import Case, all_cases
from play import BACKWARD, FORWARD, Deviation, Missing, Play, play

WAITING = {"metrics", "initializers"}
"""Files whose cases are compared elsewhere: metrics in tests/train, the moments of initializers in tests/nn."""

TABLES: dict[str, Callable[[str], Play | None]] = {
    "activations": functions.FUNCTIONS.get,
    "losses": losses.loss,
    "ops/unary": operations.unary,
    "ops/reductions": operations.REDUCTIONS.get,
    "ops/binary_matmul_einsum": operations.binary,
    "ops/indexing": indexing.indexing,
    "ops/shape_creation_module": indexing.SHAPES.get,
    "ops/int_bool_cast_autodiff": others.OTHERS.get,
    "ops/plain_device": others.PLAIN.get,
}


def played(case: Case) -> None:
    """Raises Missing or Deviation."""
    if case.id in differences.DIFFERENT:
        return
    if case.file == "schedulers":
        schedules.play_schedule(case)
        return
    if case.file.startswith("optimizers/"):
        optimizers.play_optimizer(case)
        return
    find = layers.layer if case.file.startswith("layers/") else TABLES[case.file]
    counterpart = find(case.name) or find(case.base_name)
    if counterpart is None:
        raise Missing(f"a counterpart of {case.id}")
    play(case, counterpart, tolerances(case))


def tolerances(case: Case) -> tuple[float, float]:
    if case.id in differences.LOOSER:
        return differences.LOOSER[case.id][:2]
    if case.name.startswith(("batch_norm", "rope")):
        return 2e-5, BACKWARD
    return FORWARD, BACKWARD


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--missing", action="store_true", help="print only the cases without a counterpart")
    options = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    notes: dict[str, list[str]] = {"deviates": [], "missing": []}
    for case in all_cases():
        if case.file in WAITING:
            continue
        try:
            played(case)
            verdict = "differs" if case.id in differences.DIFFERENT else "agrees"
        except Missing as missing:
            verdict = "missing"
            notes[verdict].append(case.id if options.missing else f"{case.id}: {missing}")
        except Exception as problem:  # a Deviation, or an accident in minburn: both must be known
            verdict = "deviates"
            shown = problem if isinstance(problem, Deviation) else repr(problem)
            notes[verdict].append(f"{case.id}: {shown}")
        counts.setdefault(case.file, Counter())[verdict] += 1
    if options.missing:
        print("\n".join(notes["missing"]))
        return 0
    total: Counter[str] = sum(counts.values(), Counter())
    verdicts = ("agrees", "differs", "deviates", "missing")
    print(f"{'':45}" + "".join(f"{verdict:>10}" for verdict in verdicts))
    for file, count in [*counts.items(), ("all", total)]:
        print(f"{file:45}" + "".join(f"{count[verdict] or '':>10}" for verdict in verdicts))
    for verdict, lines in notes.items():
        print(f"\n{verdict}: {len(lines)}", *lines, sep="\n  ")
    for case_id, reason in differences.DIFFERENT.items():
        print(f"differs on purpose: {case_id}: {reason}")
    return int(bool(notes["deviates"]))


if __name__ == "__main__":
    sys.exit(main())
