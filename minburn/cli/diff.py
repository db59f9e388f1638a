"""How two record files differ: names, ids, dtypes, shapes, numbers.

    minburn diff a.bpk b.bpk                every bit counts
    minburn diff a.bpk b.bpk --rtol 1e-5    numbers that near are equal: |a - b| ≤ atol + rtol · |b|

The exit status is 1 if they differ.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from minburn.cli.files import numbers, open_file

if TYPE_CHECKING:
    from minburn.pack import Reader, TensorEntry

HELP = "how two record files differ"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", help="a .bpk")
    parser.add_argument("second", help="another one")
    parser.add_argument("--rtol", type=float, default=0.0, help="relative tolerance (default 0: every bit counts)")
    parser.add_argument("--atol", type=float, default=0.0, help="absolute tolerance (default 0)")
    parser.add_argument("--ids", action="store_true", help="parameters' ids count, too")


def run(args: argparse.Namespace) -> int:
    with open_file(args.first) as first, open_file(args.second) as second:
        lines = [
            *names(first, second, args.first, args.second),
            *(
                line
                for name in first.names_by_position()
                if name in second
                for line in tensor(name, first[name], second[name], args)
            ),
            *tables("scalar", dict(first.scalars), dict(second.scalars)),
            *tables("metadata", dict(first.metadata), dict(second.metadata)),
        ]
        same = sum(1 for name in first if name in second)
    print("\n".join(lines) if lines else f"equal: {same} tensors")
    return 1 if lines else 0


def names(first: Reader, second: Reader, a: str, b: str) -> list[str]:
    return [
        *(f"{name}: only in {a}" for name in first if name not in second),
        *(f"{name}: only in {b}" for name in second if name not in first),
    ]


def tensor(name: str, a: TensorEntry, b: TensorEntry, args: argparse.Namespace) -> list[str]:
    """What differs between two tensors of one name."""
    lines = []
    if args.ids and a.param_id != b.param_id:
        lines.append(f"{name}: id {a.param_id}, and {b.param_id}")
    if a.shape != b.shape:
        return [*lines, f"{name}: shape {list(a.shape)}, and {list(b.shape)}"]
    if a.dtype != b.dtype:
        lines.append(f"{name}: {a.dtype}, and {b.dtype}")
    if a.dtype == b.dtype and bytes(a.view()) == bytes(b.view()):
        return lines
    return [*lines, *values(name, a, b, args.rtol, args.atol)]


def values(name: str, a: TensorEntry, b: TensorEntry, rtol: float, atol: float) -> list[str]:
    import numpy as np

    mine, its = numbers(a), numbers(b)
    if mine is None or its is None:
        return [f"{name}: other bytes"]
    exact = rtol == 0.0 and atol == 0.0
    with np.errstate(invalid="ignore"):
        apart = np.abs(mine - its)
        near = (mine == its) | (np.isnan(mine) & np.isnan(its)) | (apart <= atol + rtol * np.abs(its))
    if near.all():
        bits = exact and a.dtype == b.dtype  # -0.0, or another NaN
        return [f"{name}: equal numbers in other bits"] if bits else []
    places = np.flatnonzero(~near)
    worst = int(places[np.nanargmax(np.where(np.isnan(apart[places]), np.inf, apart[places]))])
    place = [int(index) for index in np.unravel_index(worst, a.shape)] if a.shape else []
    return [
        f"{name}: {len(places)} of {mine.size} numbers differ, at most by {apart[worst]:.3g} "
        f"({mine[worst]:.6g} and {its[worst]:.6g} at {place})"
    ]


def tables(what: str, first: dict[str, object], second: dict[str, object]) -> list[str]:
    """Scalars or metadata that are not the same."""
    keys = [*first, *(key for key in second if key not in first)]
    return [
        f"{what} {key}: {first.get(key, 'missing')}, and {second.get(key, 'missing')}"
        for key in keys
        if first.get(key) != second.get(key)
    ]
