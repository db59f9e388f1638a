"""Writes `docs/burn-names.md` and the table of names in the README, from what `minburn where` knows.

python tests/names/page.py
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from minburn.cli.names.burn import OTHER_CRATES, Name, names  # noqa: E402
from minburn.cli.names.left_out import patterns  # noqa: E402
from minburn.cli.names.match import Match  # noqa: E402

PAGE = ROOT / "docs" / "burn-names.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- names: made by tests/names/page.py -->\n", "<!-- end of names -->"

HEAD = """# Burn's names and ours

Every public name of Burn 0.22.1's crates, and what it is here, below `minburn`. `make names` makes this page, and a
test compares. `minburn where NAME` tells the same for one name, with file and line.

Of methods, fields and variants a row has first those that are called as in Burn, then `burn` → `ours`, where `new` →
`()` means that the class is called, and `option=` a keyword argument of it; then those that are left out, with the
number of the reason, which stands at the end. What a config derives in Burn, a setter `with_x` for each field `x`, is a
keyword argument `x=` here.
"""


def main() -> None:
    PAGE.write_text(page(), "utf-8")
    README.write_text(readme(README.read_text("utf-8")), "utf-8")


def page() -> str:
    """The page of all names."""
    reasons = list(dict.fromkeys(pattern.reason for pattern in patterns()))
    lines = [HEAD, *counts()]
    for crate, of_crate in groupby(names(), key=lambda name: name.crate):
        lines += section(crate, list(of_crate), reasons)
    lines += ["", "## Why a name is left out", ""]
    gone = [name.reason() for name in names() if not name.matches()]
    lines += [f"{number}. {reason} ({gone.count(reason)})." for number, reason in enumerate(reasons, 1)]
    lines += ["", "Nothing of these crates is listed:", ""]
    lines += [
        f"- {', '.join(f'`{crate}`' for crate in crates.split())}: {why}." for crates, why in OTHER_CRATES.items()
    ]
    return "\n".join(lines) + "\n"


def counts() -> list[str]:
    """A table: names, here, left out."""
    lines = ["| crate | names | here | left out |", "|---|---|---|---|"]
    totals = [0, 0]
    for crate, of_crate in groupby(names(), key=lambda name: name.crate):
        here = [bool(name.matches()) for name in of_crate]
        totals = [totals[0] + len(here), totals[1] + sum(here)]
        lines.append(f"| [{crate}](#{crate}) | {len(here)} | {sum(here)} | {len(here) - sum(here)} |")
    return [*lines, f"| all | {totals[0]} | {totals[1]} | {totals[0] - totals[1]} |"]


def section(crate: str, of_crate: list[Name], reasons: list[str]) -> list[str]:
    """A crate: a row for each name that is here, with its members; then what is left out."""
    members: dict[str, list[Name]] = {}
    for name in of_crate:
        if name.is_member:
            members.setdefault(name.path.rpartition("::")[0], []).append(name)
    lines = ["", f"## {crate}", "", "| Burn | minburn | methods, fields, variants |", "|---|---|---|"]
    gone: dict[str, list[str]] = {}
    for name in sorted((name for name in of_crate if not name.is_member), key=lambda name: name.path):
        if name.matches():
            inside = listed(members.get(name.path, []), reasons)
            lines.append(f"| `{name.path}` | {linked(name.matches())} | {inside} |")
        else:
            gone.setdefault(name.reason() or "", []).append(f"`{name.path}`")
    if gone:
        lines += ["", "Left out, with all that belongs to them:", ""]
        lines += [f"- ({reasons.index(reason) + 1}) {', '.join(paths)}" for reason, paths in gone.items()]
    return lines


def listed(members: Iterable[Name], reasons: list[str]) -> str:
    """What became of the members of a name."""
    same, other, gone = [], [], {}  # type: list[str], list[str], dict[int, list[str]]
    for member in members:
        last, matches = member.path.rpartition("::")[2], member.matches()
        if not matches:
            gone.setdefault(reasons.index(member.reason() or "") + 1, []).append(f"`{last}`")
        elif matches[0].how == "member" and matches[0].member == last:
            same.append(f"`{last}`")
        else:
            other.append(f"`{last}` → {spelled(matches[0])}")
    left = [f"{', '.join(lasts)} ({number})" for number, lasts in sorted(gone.items())]
    return "; ".join(
        [*([", ".join(same)] if same else []), *other, *(["left out: " + ", ".join(left)] if left else [])]
    )


def spelled(match: Match) -> str:
    if match.how == "call":
        return "`()`"
    if match.how == "keyword":
        return f"`{match.member}=`"
    return f"`{match.member or match.name}`"


def linked(matches: Iterable[Match]) -> str:
    """`nn.Linear`, with a link to its file."""
    return ", ".join(f"[`{match.name}`]({os.path.relpath(ROOT / match.place.file, PAGE.parent)})" for match in matches)


def readme(text: str) -> str:
    """The README with its table of the names that differ, and that one imports from a package."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n".join(differing()) + "\n" + END + after


def differing() -> list[str]:
    by_ours: dict[str, list[str]] = {}
    for name in names():
        ours = ", ".join(f"`{match.name}`" for match in name.matches())
        last = name.path.rpartition("::")[2]
        if name.is_member or not name.matches() or re.search(rf"\b{re.escape(last)}`", ours):
            continue
        if all(match.name.count(".") == 1 for match in name.matches()):
            if any(name.whole in match.place.own.names for match in name.matches()):
                last = name.whole
            by_ours.setdefault(ours, []).append(f"`{last}`")
    rows = (f"| {', '.join(dict.fromkeys(burn))} | {ours} |" for ours, burn in sorted(by_ours.items()))
    return ["| Burn | minburn |", "|---|---|", *rows]


if __name__ == "__main__":
    main()
