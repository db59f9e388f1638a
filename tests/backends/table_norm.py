"""The rows of normalizations."""

from __future__ import annotations

from rows import Rows

ROWS = Rows("modules")
row = ROWS.add
