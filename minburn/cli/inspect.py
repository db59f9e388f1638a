"""What is in a record file: tensors, scalars, metadata.

    minburn inspect model.bpk               names, dtypes, shapes, ids, sizes
    minburn inspect model.bpk --stats       with the smallest, mean and largest number of each tensor
    minburn inspect model.bpk --json        for programs

Only --stats reads the tensors. Burn's files and ours are the same.
"""

from __future__ import annotations

import argparse
import json
import math
from typing import TYPE_CHECKING, Any

from minburn.cli.files import numbers, open_file, size_text

if TYPE_CHECKING:
    from minburn.pack import Reader, TensorEntry

HELP = "the tensors, scalars and metadata of a record file"
MOST_SHOWN = 300  # of a text in the metadata


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="a .bpk")
    parser.add_argument("--stats", action="store_true", help="read the tensors: smallest, mean, largest")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    with open_file(args.file) as reader:
        found = describe(reader, args.stats)
        print(json.dumps(found, indent=2) if args.json else text(found, args.file))
    return 0


def describe(reader: Reader, stats: bool) -> dict[str, Any]:
    """The content in the order of the file, ready for JSON."""
    tensors = [tensor(name, reader[name], stats) for name in reader.names_by_position()]
    scalars = {key: {"kind": scalar.kind, "value": plain(scalar.value)} for key, scalar in reader.scalars.items()}
    return {"tensors": tensors, "scalars": scalars, "metadata": dict(reader.metadata)}


def tensor(name: str, entry: TensorEntry, stats: bool) -> dict[str, Any]:
    elements = math.prod(entry.shape)
    found: dict[str, Any] = {
        "name": name,
        "dtype": str(entry.dtype),
        "shape": list(entry.shape),
        "elements": elements,
        "bytes": entry.dtype.size * elements,
        "id": None if entry.param_id is None else str(entry.param_id),
    }
    if stats:
        values = numbers(entry)
        some = values is not None and values.size > 0
        found["stats"] = (
            {"min": plain(values.min()), "mean": plain(values.mean()), "max": plain(values.max())}
            if some and values is not None
            else None
        )
    return found


def plain(value: Any) -> Any:
    """For JSON, which has no NaN."""
    if isinstance(value, (bool, int)):
        return value
    return float(value) if math.isfinite(value) else str(float(value))


def text(found: dict[str, Any], file: str) -> str:
    tensors = found["tensors"]
    rows = [[t["name"], t["dtype"], str(t["shape"]), t["id"] or "-", *stats_cells(t)] for t in tensors]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(len(rows[0]) if rows else 0)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += [f"{key} = {scalar['value']} ({scalar['kind']})" for key, scalar in found["scalars"].items()]
    lines += [f"{key}: {shortened(value)}" for key, value in found["metadata"].items()]
    elements, size = sum(t["elements"] for t in tensors), sum(t["bytes"] for t in tensors)
    return "\n".join([*lines, f"{file}: {len(tensors)} tensors, {elements} elements, {size_text(size)}"])


def shortened(value: str) -> str:
    more = len(value) - MOST_SHOWN
    return value if more <= 0 else f"{value[:MOST_SHOWN]}… and {more} more characters, which --json shows"


def stats_cells(found: dict[str, Any]) -> list[str]:
    stats = found.get("stats")
    if "stats" not in found:
        return []
    return [f"{name} {float(value):.4g}" for name, value in stats.items()] if stats else ["", "", ""]
