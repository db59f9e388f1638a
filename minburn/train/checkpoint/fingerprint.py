"""What a run was made of, compared with what it is made of now.

A fingerprint is a tree of dicts, lists, texts and numbers: shapes of the parameters, settings of the optimizer and the
schedule, the data set's digest, batch size, seeds. A run goes on from a checkpoint only if both trees are equal, for
else the numbers that follow would be neither the old run's nor a new one's. If they are not, every leaf that differs
is named with both values.

Burn records nothing of the kind and loads whatever fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PARAMETERS = "parameters"
_ABSENT = object()


def describe_changes(saved: Mapping[str, Any], current: Mapping[str, Any]) -> list[str]:
    """One line for every leaf that differs, in the order of the names: `batch_size: 64 in the checkpoint, 32 now`.

    Values under "parameters" are `{"shape": …, "dtype": …}` by path: `parameter fc.weight: [64, 256] in the
    checkpoint, [64, 128] now`. Numbers are compared exactly, NaN equals NaN, a tuple equals the list.
    """
    changes: list[str] = []
    for name in _names(saved, current):
        old, new = saved.get(name, _ABSENT), current.get(name, _ABSENT)
        if name == PARAMETERS and isinstance(old, Mapping) and isinstance(new, Mapping):
            _compare_parameters(old, new, changes)
        else:
            _compare(name, old, new, changes)
    return changes


def _compare(name: str, old: Any, new: Any, changes: list[str]) -> None:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in _names(old, new):
            _compare(f"{name}.{key}", old.get(key, _ABSENT), new.get(key, _ABSENT), changes)
    elif not _same(old, new):
        changes.append(f"{name}: {_show(old)} in the checkpoint, {_show(new)} now")


def _compare_parameters(old: Mapping[str, Any], new: Mapping[str, Any], changes: list[str]) -> None:
    for path in _names(old, new):
        before, after = old.get(path, _ABSENT), new.get(path, _ABSENT)
        if _same(before, after):
            continue
        parts: tuple[str, ...] = ("shape", "dtype")
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            # Of two parameters with one name, only what differs.
            parts = tuple(part for part in parts if not _same(before.get(part), after.get(part))) or parts
        texts = [_show_parameter(value, parts) for value in (before, after)]
        changes.append(f"parameter {path}: {texts[0]} in the checkpoint, {texts[1]} now")


def _show_parameter(value: Any, parts: tuple[str, ...]) -> str:
    if not isinstance(value, Mapping):
        return _show(value)
    return " ".join(_show(value[part]) for part in parts if part in value) or _show(value)


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return old.keys() == new.keys() and all(_same(old[key], new[key]) for key in old)
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return len(old) == len(new) and all(map(_same, old, new))
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    return bool(old == new or (old != old and new != new))


def _show(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_show, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_show(part)}' for key, part in value.items())}}}"
    return str(value)


def _names(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The old names in their order, then the new ones in theirs: a model's changes read from its first layer on."""
    return [*old, *(name for name in new if name not in old)]
