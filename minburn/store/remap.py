"""Other names for the tensors of a file, so that they meet the paths of a module.

    KeyRemapper([(r"^module\\.", ""), (r"layer(\\d+)\\.", "layers.$1.")])

Each rule replaces every match of its regex, in what the rules before it made of the name. A replacement refers to what
a group matched as Burn's do, `$1` or `${name}` (`$$` is a dollar sign), or as Python's do, `\\1` or `\\g<name>`.

`contiguous_indices` closes the gaps that PyTorch's `Sequential` leaves where a layer has no parameters: `fc.0`, `fc.2`,
`fc.4` become `fc.0`, `fc.1`, `fc.2`.

Burn: `KeyRemapper` in `crates/burn-store/src/keyremapper.rs`, `map_indices_contiguous` in `pytorch/store.rs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from minburn.store.check import as_list, as_text
from minburn.store.error import StoreError
from minburn.store.filter import compiled
from minburn.store.result import shown

__all__ = ["KeyRemapper"]

T = TypeVar("T")

_DOLLAR = re.compile(r"\$(?:(\$)|(\w+)|\{(\w+)\})")
_REFERENCE = re.compile(r"\\(?:(\d+)|g<(\w+)>)")


class KeyRemapper:
    """Rules (regex, replacement), applied in order. StoreError for what is no regex, or a group it does not have."""

    __slots__ = ("_rules",)

    def __init__(self, rules: Iterable[tuple[str, str]] | Mapping[str, str] = ()) -> None:
        pairs = rules.items() if isinstance(rules, Mapping) else rules
        self._rules: list[tuple[re.Pattern[str], str]] = []
        for rule in as_list("KeyRemapper: rules", pairs):
            if not (isinstance(rule, tuple) and len(rule) == 2 and isinstance(rule[1], str)):
                raise StoreError(f"KeyRemapper: a rule is a pair (regex, replacement), but got {rule!r}.")
            regex = compiled("KeyRemapper", rule[0])
            self._rules.append((regex, _template(regex, rule[1])))

    def rename(self, name: str) -> str:
        """Burn: `KeyRemapper::remap`."""
        as_text("KeyRemapper: a name", name)
        for regex, template in self._rules:
            name = regex.sub(template, name)
        return name

    def __repr__(self) -> str:
        return f"KeyRemapper({[(regex.pattern, template) for regex, template in self._rules]!r})"


def renamed(tensors: Mapping[str, T], names: Mapping[str, str]) -> dict[str, T]:
    """The tensors under new names (old → new). StoreError if two get the same one."""
    found: dict[str, T] = {}
    origin: dict[str, str] = {}
    for name, tensor in tensors.items():
        new = names[name]
        if new in found:
            raise StoreError(
                f"remapping: {shown(origin[new])} and {shown(name)} both become {shown(new)}. Make the rules tell them "
                "apart."
            )
        found[new] = tensor
        origin[new] = name
    return found


def contiguous_indices(names: Iterable[str], keep: Iterable[re.Pattern[str]] = ()) -> dict[str, str]:
    """New names (old → new) in which the numbers after each prefix are 0, 1, 2 … in their old order.

    keep: regexes; a prefix (without its last dot, in old numbers) in which one is found keeps its numbers.

    Burn: `map_indices_contiguous` and `map_indices_contiguous_except`.
    """
    kept = list(keep)
    split = {name: name.split(".") for name in names}
    indices: dict[str, set[int]] = {}
    for parts in split.values():
        for depth, part in enumerate(parts):
            if is_index(part):
                indices.setdefault(".".join(parts[:depth]), set()).add(int(part))
    new = {
        prefix: {old: str(position) for position, old in enumerate(sorted(found))}
        for prefix, found in indices.items()
        if not any(regex.search(prefix) for regex in kept)
    }
    return {
        name: ".".join(
            new.get(".".join(parts[:depth]), {}).get(int(part), part) if is_index(part) else part
            for depth, part in enumerate(parts)
        )
        for name, parts in split.items()
    }


def is_index(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) < 19


def _template(regex: re.Pattern[str], replacement: str) -> str:
    """The replacement in Python's notation."""

    def group(match: re.Match[str]) -> str:
        dollar, plain, braced = match.groups()
        return "$" if dollar else rf"\g<{plain or braced}>"

    template = _DOLLAR.sub(group, replacement)
    for number, name in _REFERENCE.findall(template):
        wanted = number or name
        if (wanted.isdigit() and int(wanted) <= regex.groups) or wanted in regex.groupindex:
            continue
        raise StoreError(
            f"KeyRemapper: the replacement {replacement!r} asks for group {wanted!r}, which {regex.pattern!r} does not "
            "have. Put the name or number in braces if text follows it: ${1}a."
        )
    try:
        regex.sub(template, "")
    except (re.error, IndexError) as error:
        raise StoreError(f"KeyRemapper: the replacement {replacement!r} is wrong: {error}.") from error
    return template
