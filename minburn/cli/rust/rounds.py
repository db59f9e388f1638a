"""Equal rounds through a list, found in the notes of a run.

    Call layers.0, Op relu, Call layers.1, Op relu, Call layers.2, Op relu      is three rounds of two notes

They are a loop if every round does the same to the next element, and hands one tensor on to the next round; what else a
round uses must come from outside, and be the same in all of them.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from minburn.cli.rust.notes import value_at, values_in
from minburn.cli.rust.trace import Note, Steps, Value
from minburn.module import Module


class Loop(NamedTuple):
    """The notes of one round, for all elements of the list at `place`. entry: what the first round takes; result."""

    notes: list[Note]
    place: Steps
    entry: Value
    last: Value
    result: Value


def rolled(notes: list[Note], module: Module, left: Counter[int]) -> list[Note | Loop]:
    """The notes with those of equal rounds through a list put into one Loop."""
    found: list[Note | Loop] = []
    place = 0
    while place < len(notes):
        loop = loop_at(notes, place, module, left)
        if loop is None:
            found.append(notes[place])
            place += 1
        else:
            found.append(loop[0])
            place += loop[1]
    return found


def loop_at(notes: list[Note], start: int, module: Module, left: Counter[int]) -> tuple[Loop, int] | None:
    """The loop that begins at a note, and how many notes it takes."""
    steps = first_steps(notes[start])
    for depth, step in enumerate(steps):
        if step != 0 or depth == 0:
            continue
        place = steps[:depth]
        items = value_at(module, place)
        if not isinstance(items, list) or not items:
            continue
        rounds = len(items)
        second = next(
            (i for i, n in enumerate(notes) if i > start and first_steps(n)[: depth + 1] == (*place, 1)), None
        )
        size = (second - start) if rounds > 1 and second is not None else 1
        if start + size * rounds > len(notes) or (rounds > 1 and second is None):
            continue
        loop = as_loop(notes, start, size, rounds, place, left)
        if loop is not None:
            return loop, size * rounds
    return None


def as_loop(notes: list[Note], start: int, size: int, rounds: int, place: Steps, left: Counter[int]) -> Loop | None:
    """A loop of `rounds` rounds of `size` notes each, if all rounds are alike and hand on one tensor."""
    whole = notes[start : start + size * rounds]
    first = whole[:size]
    results = [note.result for note in whole]
    if any(result is None or result.kind == "tuple" for result in results):
        return None
    made = {result.number: index for index, result in enumerate(results) if result is not None}
    entries: list[Value | None] = [None] * rounds
    last = results[size - 1]
    assert last is not None
    for index, note in enumerate(whole):
        turn, inside = divmod(index, size)
        model = first[inside]
        if (note.table, note.name) != (model.table, model.name) or moved(note.steps, place, turn) != model.steps:
            return None
        mine, its = values_in(note.args), values_in(model.args)
        if len(mine) != len(its) or without_values(note.args) != without_values(model.args):
            return None
        for value, original in zip(mine, its, strict=True):
            within = original.number in made
            if within and made.get(value.number) == made[original.number] + turn * size:
                continue
            if not within and value == original and not (turn == 0 and value.origin in ("", "input")):
                continue
            if not within and value.origin in ("param", "running", "constant"):
                if moved(value.steps, place, turn) == original.steps:
                    continue
                return None
            if within:
                return None
            wanted = entries[turn]
            if wanted is None and (turn == 0 or value == results[turn * size - 1]):
                entries[turn] = value
            elif wanted != value:
                if turn == 0 and all(v == value for v in same_input(whole, value, index, size, rounds)):
                    continue  # the same tensor from outside in every round
                return None
    if any(entry is None for entry in entries):
        return None
    used_inside = Counter(v.number for note in whole for v in values_in(note.args))
    final = results[-1]
    if any(left[r.number] > used_inside[r.number] for r in results if r is not None and r is not final):
        return None
    entry = entries[0]
    assert entry is not None and final is not None
    if entry.shape != last.shape or entry.kind != last.kind:
        return None
    return Loop(first, place, entry, last, final)


def same_input(whole: list[Note], value: Value, index: int, size: int, rounds: int) -> list[Value]:
    """Whatever stands in the other rounds where `value` stands in the first."""
    position = values_in(whole[index].args).index(value)
    return [values_in(whole[index + turn * size].args)[position] for turn in range(rounds)]


def moved(steps: Steps, place: Steps, turn: int) -> Steps:
    """The steps of round `turn`, as they are in round 0."""
    depth = len(place)
    return (*place, 0, *steps[depth + 1 :]) if steps[: depth + 1] == (*place, turn) else steps


def first_steps(note: Note) -> Steps:
    if note.steps:
        return note.steps
    return next((value.steps for value in values_in(note.args) if value.origin in ("param", "constant")), ())


def without_values(args: Any) -> Any:
    if isinstance(args, Value):
        return None
    return [without_values(arg) for arg in args] if isinstance(args, (list, tuple)) else args
