"""What became of a load: which parameters got a tensor, which did not and why, and what might help.

Burn: `ApplyResult` in `crates/burn-store/src/applier.rs`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

__all__ = ["ApplyResult"]

MAX_COMPARISONS = 10_000  # beyond it, looking for similar names would take longer than loading
SHOWN = 20
SUGGESTED = 3
_INDEX = re.compile(r"(?<![^.])\d+(?![^.])")  # a whole part of a path
_ENUM_LAYOUT = re.compile(r"(^|\.)Enum:")


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """The paths of parameters, as the file would name them, and the keys of a file.

    applied: got their tensor. skipped: the filter leaves them out.
    missing: the file has nothing for them; path → container path. unused: keys that no parameter asked for.
    errors: path → what does not fit. suggestions: what to try, one sentence each.
    """

    applied: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    suggestions: list[str] = field(default_factory=list)

    @property
    def is_success(self) -> bool:
        """Nothing is wrong and nothing is missing; unused keys are no fault."""
        return not self.errors and not self.missing

    def problems(self) -> str:
        """Errors and missing paths, with what may help, in one line."""
        parts = []
        if self.errors:
            told = _some(f"{path}: {text}" for path, text in self.errors.items())
            parts.append(f"{len(self.errors)} of its tensors do not fit ({told})")
        if self.missing:
            parts.append(f"{len(self.missing)} missing ({_some(self.missing)})")
        if self.unused and not self.is_success:
            parts.append(f"{len(self.unused)} unused ({_some(self.unused)})")
        return f"{', '.join(parts)}.{''.join(f' {text}' for text in self.suggestions)}"

    def __str__(self) -> str:
        """A table of what happened, for people."""
        lines = [f"applied {len(self.applied)}, skipped {len(self.skipped)}, unused {len(self.unused)}"]
        lines += [f"  error    {path}: {text}" for path, text in self.errors.items()]
        lines += [f"  missing  {path} (in {container})" for path, container in self.missing.items()]
        lines += [f"  unused   {shown(key)}" for key in self.unused]
        lines += [f"  try      {text}" for text in self.suggestions]
        return "\n".join(lines)


def suggest(
    missing: Mapping[str, str], unused: Iterable[str], errors: Mapping[str, str], sought: Collection[str]
) -> list[str]:
    """What would explain the names that did not meet. sought: all names that would have done for the missing paths."""
    keys = sorted(unused)
    known = set(keys)
    found = []
    if any("transposed" in text for text in errors.values()) or any(
        name.endswith(ours) and name.removesuffix(ours) + theirs in known
        for name in missing
        for ours, theirs in ((".gamma", ".weight"), (".beta", ".bias"))
    ):
        found.append("PyTorch's layouts become ours with from_adapter=PyTorchToBurnAdapter().")
    if any(_without_variants(name, container) & known for name, container in missing.items()):
        found.append("Paths without the variants of enums: skip_enum_variants=True.")
    prefix = _common_prefix(len(missing), sought, keys)
    if prefix:
        found.append(f"Keys that were expected lie under {prefix!r}: remap=[({'^' + re.escape(prefix)!r}, '')].")
    if {_INDEX.sub("#", name) for name in sought} & {_INDEX.sub("#", key) for key in keys}:
        found.append("Numbers that skip what has no parameters are closed up with map_indices_contiguous=True.")
    if not found and missing and len(missing) * len(keys) <= MAX_COMPARISONS:
        import difflib  # only for this

        for name in list(missing)[:SUGGESTED]:
            close = difflib.get_close_matches(name, keys, n=1)
            if close:
                found.append(f"Is {name} called {shown(close[0])} in the file?")
    return found


def _without_variants(name: str, container_path: str) -> set[str]:
    """The path without any one, or all, of the names that are an enum's variants."""
    if not _ENUM_LAYOUT.search(container_path):
        return set()
    names, containers = name.split("."), container_path.split(".")
    if len(names) != len(containers):
        return set()
    return {".".join(part for part, kind in zip(names, containers, strict=True) if not kind.startswith("Enum:"))}


def _common_prefix(missing: int, sought: Collection[str], keys: list[str]) -> str:
    """`module.` if at least half of the missing paths, or of the keys, meet under it; '' if there is no such prefix."""
    found: Counter[str] = Counter()
    for key in keys:
        parts = key.split(".")
        for depth in range(1, len(parts)):
            if ".".join(parts[depth:]) in sought:
                found[".".join(parts[:depth]) + "."] += 1
    if not found:
        return ""
    prefix, count = found.most_common(1)[0]
    return prefix if 2 * count >= min(missing, len(keys)) else ""


def _some(texts: Iterable[str]) -> str:
    listed = [shown(text) for text in texts]
    more = f", and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + more


def shown(key: str) -> str:
    """A key of a file, in one line that can be printed."""
    return key if key.isprintable() else repr(key)
