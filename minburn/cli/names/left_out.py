"""Why a name of Burn's has no counterpart here.

`left_out.txt` groups them by reason: a line that begins at the margin is a reason, the lines below it, indented, are
crates, each with patterns of paths: `*` is any text, `Owner::{a,b}` is `Owner::a` and `Owner::b`. What is left out
takes its methods, fields and variants along; of what is here, each one that is missing is named. A path with `!` before
it is left out although something here has its name: something else.
"""

from __future__ import annotations

import functools
import re
from fnmatch import translate
from pathlib import Path
from typing import NamedTuple

ANYTHING = translate("*")
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
            for path in (one for given in paths.split() for one in spelled_out(given)):
                found.append(Pattern(crate, path.lstrip("!"), reason, path.startswith("!")))
        elif line and not line.startswith("#"):
            reason = line
    return tuple(found)


def spelled_out(path: str) -> list[str]:
    """`Owner::{a,b}` → Owner::a, Owner::b."""
    before, brace, members = path.partition("{")
    return [before + member for member in members.rstrip("}").split(",")] if brace else [path]


@functools.cache
def _of_crate(crate: str) -> tuple[re.Pattern[str], list[tuple[Pattern, re.Pattern[str], re.Pattern[str]]]]:
    """What concerns a crate: all its patterns in one, and each, with that of its last part."""
    own = [pattern for pattern in patterns() if pattern.crate in ("*", crate)]
    each = [(one, re.compile(translate(one.path)), re.compile(translate(one.path.rpartition("::")[2]))) for one in own]
    return re.compile("|".join(translate(one.path) for one in own)), each


@functools.cache
def left_out(crate: str, path: str, member: bool) -> Pattern | None:
    """The first pattern that covers a path. Of a member, its last part must be meant, too: `Owner::*` names none."""
    whole, each = _of_crate(crate)
    if not whole.match(path):
        return None
    last = path.rpartition("::")[2]
    for pattern, of_path, of_last in each:
        if of_path.match(path) and not (member and (of_last.pattern == ANYTHING or not of_last.match(last))):
            return pattern
    return None
