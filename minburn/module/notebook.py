"""How a module shows in a notebook: its tree, each part opened by a click, with its parameters and what is trained.

No script and no style sheet, so that it shows in any viewer; every text is escaped.
"""

from __future__ import annotations

import html
from typing import Any

from minburn.module.display import text_of
from minburn.module.fields import outside_name
from minburn.module.summary import bytes_text, summarize
from minburn.module.walk import holds_state

OPEN_DEPTH = 1
"""Parts that lie deeper are closed at first."""


def html_of(module: Any) -> str:
    """The module as an HTML fragment. Draws nothing."""
    return f'<div style="font-family:monospace">{part("", module, 0)}</div>'


def part(name: str, value: Any, depth: int) -> str:
    label = f"{html.escape(name)}: " if name else ""
    if hasattr(type(value), "_module_layout"):
        if value.display_attributes() is None:
            names = value._module_layout.table.names
            inside = [(outside_name(field), value.__dict__[field]) for field in names]
            return opened(f"{label}<b>{html.escape(type(value).__name__)}</b>{counts(value)}", inside, depth)
        return f"<div>{label}{html.escape(text_of(value))}</div>"
    if isinstance(value, (list, tuple, dict)) and holds_state(value):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        kind = {list: "Vec", dict: "Map"}.get(type(value), "Tuple")
        return opened(f"{label}<b>{kind}</b> of {len(value)}", [(str(key), item) for key, item in items], depth)
    return f"<div>{label}{html.escape(text_of(value))}</div>"


def opened(title: str, inside: list[tuple[str, Any]], depth: int) -> str:
    if not inside:
        return f"<div>{title}</div>"
    state = " open" if depth < OPEN_DEPTH else ""
    body = "".join(part(name, value, depth + 1) for name, value in inside)
    return f'<details{state}><summary>{title}</summary><div style="margin-left:2em">{body}</div></details>'


def counts(module: Any) -> str:
    total = summarize(module, (), {}, None)
    if not total.parameters:
        return ""
    frozen = f", {total.frozen:,} frozen" if total.frozen else ""
    return f" <small>{total.parameters:,} parameters in {bytes_text(total.bytes)}{frozen}</small>"
