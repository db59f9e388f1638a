"""Why a name of Burn's has no counterpart here.

`left_out.txt` groups them by reason: a line that begins at the margin is a reason, the lines below it, indented, are
crates, each with patterns of paths (`*` is any text). What is left out takes its methods, fields and variants along.
A path with `!` before it is left out although something here has its name: something else.
"""

from __future__ import annotations

import functools
import re
from fnmatch import translate
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).resolve().parent / "left_out.txt"


class Pattern(NamedTuple):
    """A crate (`*`: any), a pattern of paths in it, and the reason. `beside`: something else here has the name."""

    crate: str
    path: str
    reason: str
    beside: bool = False


@functools.cache
def patterns() -> tuple[Pattern, ...]:
    found, reason = [], ""
    for line in FILE.read_text("utf-8").splitlines():
        if line.startswith("    "):
            crate, _, paths = line.strip().partition(": ")
            found += [Pattern(crate, path.lstrip("!"), reason, path.startswith("!")) for path in paths.split()]
        elif line and not line.startswith("#"):
            reason = line
    return tuple(found)


@functools.cache
def _of_crate(crate: str) -> tuple[re.Pattern[str], list[tuple[Pattern, re.Pattern[str]]]]:
    """What concerns a crate: all its patterns in one, and each."""
    own = [pattern for pattern in patterns() if pattern.crate in ("*", crate)]
    return re.compile("|".join(translate(one.path) for one in own)), [
        (one, re.compile(translate(one.path))) for one in own
    ]


@functools.cache
def left_out(crate: str, path: str) -> Pattern | None:
    """The first pattern that covers a path, or what it belongs to."""
    owner = path.rpartition("::")[0]
    paths = (path, owner) if owner.rpartition("::")[2][:1].isupper() else (path,)
    whole, each = _of_crate(crate)
    if not any(whole.match(one) for one in paths):
        return None
    return next(pattern for pattern, compiled in each if any(compiled.match(one) for one in paths))
