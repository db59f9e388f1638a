"""One pass through a module, with its sizes and settings explained.

The pass runs, and then runs again with other sizes of its input and other settings of the module. Its text must stay
the same but for numbers, and these must follow: `n0 * 4`, `self.rate`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minburn.cli.rust.error import NotExpressible
from minburn.cli.rust.notes import without
from minburn.cli.rust.statements import Statements
from minburn.cli.rust.structs import Classes
from minburn.cli.rust.tokens import Tokens, explain
from minburn.cli.rust.trace import Shapes, Traced, trace
from minburn.module import Module


class Course(NamedTuple):
    """The statements, the run they are from, and what they hold for only."""

    tokens: Tokens
    traced: Traced
    remarks: list[str]


def example(kind: str, shape: tuple[int, ...]) -> Any:
    """An input for a run: a ramp, ones of tokens, no mask."""
    count = int(np.prod(shape))
    if kind == "float":
        return (np.arange(count, dtype=np.float32) / max(count, 1) - 0.5).reshape(shape)
    return np.zeros(shape, np.int32 if kind == "int" else np.bool_)


def course_of(
    classes: Classes,
    module: Module,
    shapes: Shapes,
    names: list[str],
    skippable: frozenset[str],
    left_out: frozenset[str] = frozenset(),
) -> Course:
    """skippable: fields whose layer may be None. left_out: fields whose layer is taken away.

    NotExpressible if it cannot be written, or if its text depends on a size of the input.
    """
    shapes = without_ones(module, shapes)

    def tokens_for(one: Module, sizes: Shapes) -> tuple[Tokens, Traced]:
        traced = without(trace(one, sizes, example), left_out)
        return Statements(classes, one, traced, skippable).body(names), traced

    try:
        tokens, traced = tokens_for(module, shapes)
    except NotExpressible:
        raise
    except Exception as error:
        raise NotExpressible(f"it raises {type(error).__name__}: {error}".split("\n")[0]) from error
    dims = {
        dim_name(names, place, dim): (place, dim)
        for place, (_, shape) in enumerate(shapes)
        for dim in range(len(shape))
    }
    settings = {f"self.{name}": value for name, value in module.__dict__.items() if type(value) in (int, float, bool)}

    def vary(name: str, value: float) -> Tokens | None:
        try:
            if name in settings:
                return tokens_for(module.replace(**{name.removeprefix("self."): value}), shapes)[0]
            place, dim = dims[name]
            changed = [list(shape) for _, shape in shapes]
            changed[place][dim] = int(value)
            return tokens_for(module, [(kind, tuple(new)) for (kind, _), new in zip(shapes, changed, strict=True)])[0]
        except Exception:  # it cannot be another one: it is a number of the parameters
            return None

    known = {name: shapes[place][1][dim] for name, (place, dim) in dims.items()}
    unexplained = explain(tokens, {**known, **settings}, vary).names
    if any(name in dims for name in unexplained):
        raise NotExpressible(f"its course depends on the size of its input ({', '.join(unexplained)})")
    return Course(tokens, traced, [f"// This is the course for {name} = {settings[name]}." for name in unexplained])


def without_ones(module: Module, shapes: Shapes) -> Shapes:
    """Sizes of 1 raised where the model lets them be: a 1 that is a size looks like a 1 that was added."""
    for place, (kind, shape) in enumerate(shapes):
        for dim in range(len(shape)):
            if shape[dim] == 1:
                raised = (*shape[:dim], 3, *shape[dim + 1 :])
                other = [*shapes[:place], (kind, raised), *shapes[place + 1 :]]
                try:
                    trace(module, other, example)
                except Exception:  # it must be 1
                    continue
                shapes, shape = other, raised
    return shapes


def dim_name(names: list[str], place: int, dim: int) -> str:
    """What a size of an input is called."""
    return f"n{dim}" if len(names) == 1 else f"{names[place]}_{dim}"
