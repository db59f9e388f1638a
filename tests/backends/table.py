"""The test table: one row per op of the protocols, with inputs and, where it is simple, a reference."""

from __future__ import annotations

import table_activations
import table_attention
import table_conv
import table_linear
import table_norm
import table_pool
import table_recurrent
import table_resample
import table_tensors
from rows import Row

ROWS: list[Row] = [
    *table_tensors.ROWS,
    *table_linear.ROWS,
    *table_conv.ROWS,
    *table_pool.ROWS,
    *table_resample.ROWS,
    *table_norm.ROWS,
    *table_attention.ROWS,
    *table_recurrent.ROWS,
    *table_activations.ROWS,
]


def by_name() -> dict[str, Row]:
    return {row.name: row for row in ROWS}
