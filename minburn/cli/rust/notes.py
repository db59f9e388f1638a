"""What is asked of the notes of a run: which tensors they use, and which of them the result needs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from minburn.cli.rust.trace import Note, Step, Steps, Traced, Value
from minburn.module import Module


def values_in(args: Any) -> list[Value]:
    found = []
    for arg in args:
        if isinstance(arg, Value):
            found.append(arg)
        elif isinstance(arg, (list, tuple)):
            found += values_in(arg)
    return found


def alive(traced: Traced) -> list[Note]:
    """The notes on which the result depends."""
    wanted = {traced.result.number, *(traced.result.steps if traced.result.origin == "part" else ())}
    kept = []
    for note in reversed(traced.notes):
        if note.result is not None and note.result.number in wanted:
            kept.append(note)
            for value in values_in(note.args):
                wanted.add(value.number)
                if value.origin == "part":
                    wanted.add(value.steps[0])
    return with_masks(kept[::-1])


def with_masks(notes: list[Note]) -> list[Note]:
    """A triangle that is expanded to a batch is Burn's `generate_autoregressive_mask`."""
    makers = {note.result.number: note for note in notes if note.result is not None}
    used = Counter(value.number for note in notes for value in values_in(note.args))
    found, gone = [], set()
    for note in notes:
        if note.name == "expand" and note.table == "bools" and note.result is not None:
            maker = makers.get(note.args[0].number)
            batch, *square = note.result.shape
            if (
                maker is not None
                and maker.name == "from_data"
                and used[note.args[0].number] == 1
                and len(square) == 2
                and np.array_equal(maker.args[0], np.triu(np.ones(square, bool), 1))
            ):
                gone.add(note.args[0].number)
                note = Note("masks", "generate_autoregressive_mask", (batch, square[0]), note.result)
        found.append(note)
    return [note for note in found if note.result is None or note.result.number not in gone]


def uses(notes: list[Note], result: Value) -> Counter[int]:
    used = [value for note in notes for value in values_in(note.args)] + [result]
    counted = Counter(value.number for value in used)
    counted.update(int(value.steps[0]) for value in used if value.origin == "part")
    return counted


def attribute(module: Module, step: Step) -> str:
    """The field that a step of a path names: `forward` may be the field `forward_`."""
    return str(step) if str(step) in module.__dict__ else f"{step}_"


def value_at(module: Module, steps: Steps) -> Any:
    value: Any = module
    for step in steps:
        value = value.__dict__[attribute(value, step)] if isinstance(value, Module) else value[step]
    return value


def without(traced: Traced, fields: frozenset[str]) -> Traced:
    """The run as it would be if the layers in these fields handed on what they are given."""
    if not fields:
        return traced
    replaced: dict[int, Value] = {}

    def of(arg: Any) -> Any:
        if isinstance(arg, Value):
            return replaced.get(arg.number, arg)
        if isinstance(arg, tuple) and hasattr(arg, "_make"):
            return arg._make(of(one) for one in arg)
        return type(arg)(of(one) for one in arg) if isinstance(arg, (list, tuple)) else arg

    notes = []
    for note in traced.notes:
        args = tuple(of(arg) for arg in note.args)
        if not note.table and len(note.steps) == 1 and note.steps[0] in fields and note.result is not None:
            replaced[note.result.number] = values_in(args)[0]
        else:
            notes.append(note._replace(args=args))
    return traced._replace(notes=notes, result=of(traced.result))
