"""The rows of embedding and attention."""

from __future__ import annotations

from rows import Rows

ROWS = Rows("modules")
row = ROWS.add
