"""Rust text in which numbers remember that they are numbers, so that it can be found out where they come from.

    LinearConfig::new(64, 128)      is      ["LinearConfig::new(", Number(64), ", ", Number(128), ")"]

A model is built for a config, and its text has the config's numbers in it. Built again for a config with another
`hidden`, some numbers are others: these are written `self.hidden`. `explain` does this comparison; it also finds
multiples, quotients, sums and products, and what it cannot explain it counts, so that the reader can be told. The
same comparison finds which sizes of a forward pass are the sizes of its input.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

INDENT, DEDENT, NEWLINE = "\x01", "\x02", "\x03"


class Number:
    """An int, float or bool of the text. `text`: the expression that gives it, once it is known."""

    __slots__ = ("text", "value")

    def __init__(self, value: float) -> None:
        self.value = value
        self.text: str | None = None

    def __str__(self) -> str:
        return literal(self.value) if self.text is None else self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and (type(self.value), self.value) == (type(other.value), other.value)

    __hash__ = None  # type: ignore[assignment]


class Loose(str):
    """A text that depends on drawn numbers: any other one is the same."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loose)

    def __ne__(self, other: object) -> bool:
        return not isinstance(other, Loose)

    __hash__ = str.__hash__


class Setting:
    """`.with_name(value)`, which is left out where the value is the default."""

    __slots__ = ("is_default", "name", "value")

    def __init__(self, name: str, value: Tokens, is_default: bool) -> None:
        self.name = name
        self.value = value
        self.is_default = is_default

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Setting) and (self.name, self.value) == (other.name, other.value)

    __hash__ = None  # type: ignore[assignment]


class Repeat:
    """`count` times the same element: `(0..count).map(|_| element).collect()`."""

    __slots__ = ("count", "element")

    def __init__(self, count: Number, element: Tokens) -> None:
        self.count = count
        self.element = element

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Repeat) and (self.count, self.element) == (other.count, other.element)

    __hash__ = None  # type: ignore[assignment]


Token = str | Number | Setting | Repeat
Tokens = list[Token]


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


def literal(value: float) -> str:
    """As Rust writes it: `true`, `3`, `0.5`, `1e-5`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return "f64::NAN" if math.isnan(value) else f"f64::{'' if value > 0 else 'NEG_'}INFINITY"
    return repr(value)


def leaves(tokens: Sequence[Token]) -> Iterator[str | Number]:
    """All texts and numbers, also of settings that are left out."""
    for token in tokens:
        if isinstance(token, Setting):
            yield f".with_{token.name}("
            yield from leaves(token.value)
            yield ")"
        elif isinstance(token, Repeat):
            yield "repeat"
            yield token.count
            yield from leaves(token.element)
        else:
            yield token


def render(tokens: Sequence[Token], depth: int = 0) -> str:
    """The text; the first line is not indented."""
    parts: list[str] = []

    def put(token: Token) -> None:
        nonlocal depth
        if isinstance(token, Setting):
            if not token.is_default or any(isinstance(leaf, Number) and leaf.text for leaf in leaves(token.value)):
                put(f".with_{token.name}(")
                all_of(token.value)
                put(")")
        elif isinstance(token, Repeat):
            once = token.count.text is None and token.count.value == 1
            put("vec![" if once else f"(0..{token.count}).map(|_| ")
            all_of(token.element)
            put("]" if once else ").collect()")
        elif token in (INDENT, DEDENT, NEWLINE):
            depth += {INDENT: 1, DEDENT: -1, NEWLINE: 0}[str(token)]
            parts.append("\n" + "    " * depth)
        else:
            parts.append(str(token))

    def all_of(many: Sequence[Token]) -> None:
        for token in many:
            put(token)

    all_of(tokens)
    return "".join(parts)


def block(head: str, rows: Sequence[Tokens], end: str = "}") -> Tokens:
    """`head {`, a row a line with a comma behind it, `}`."""
    if not rows:
        return [f"{head} {{}}"]
    inside: Tokens = [f"{head} {{", INDENT]
    for index, row in enumerate(rows):
        inside += [NEWLINE] * (index > 0) + [*row, ","]
    return [*inside, DEDENT, end]


# Where numbers come from


class Variation(NamedTuple):
    """The text made once more, with `name` at `value` instead of at what it was."""

    name: str
    value: float
    tokens: Tokens | None


class Unexplained(NamedTuple):
    """Names whose change changes the text in a way that no expression of a number tells."""

    names: list[str]


def explain(tokens: Tokens, known: Mapping[str, float], vary: Callable[[str, float], Tokens | None]) -> Unexplained:
    """Give the numbers of `tokens` their expressions. vary(name, value): the tokens then, or None if it cannot be.

    known: the names as expressions (`self.hidden`) and their values now.
    """
    base = list(leaves(tokens))
    numbers = [leaf for leaf in base if isinstance(leaf, Number)]
    varied: dict[str, list[tuple[float, list[Number]]]] = {}
    bad: list[str] = []
    for name, now in known.items():
        results = []
        for value in candidates(now):
            other = vary(name, value)
            if other is not None:
                results.append((value, other))
            if len(results) == (1 if isinstance(now, bool) else 2):
                break
        rows = [(value, same_text(base, list(leaves(other)))) for value, other in results]
        if any(row is None for _, row in rows):
            bad.append(name)
        else:
            varied[name] = [(value, row) for value, row in rows if row is not None]
    for place, number in enumerate(numbers):
        moved = {
            name: [(value, row[place].value) for value, row in rows]
            for name, rows in varied.items()
            if any(row[place] != number for _, row in rows)
        }
        if moved:
            number.text = expression(number.value, {name: known[name] for name in moved}, moved)
            if number.text is None:
                bad += [name for name in moved if name not in bad]
    return Unexplained(bad)


def candidates(now: float) -> list[float]:
    """Other values to try: multiples first, as sizes often must be divisible."""
    if isinstance(now, bool):
        return [not now]
    if isinstance(now, int):
        return [2 * now, 3 * now, now + 1, now + 2] if now > 0 else [1, 2]
    return [now / 2, now / 4] if now else [0.25, 0.5]


def same_text(base: list[str | Number], other: list[str | Number]) -> list[Number] | None:
    """The numbers of `other` if it differs from `base` in numbers only."""
    if len(base) != len(other):
        return None
    found = []
    for mine, its in zip(base, other, strict=True):
        if isinstance(mine, Number) and isinstance(its, Number) and type(mine.value) is type(its.value):
            found.append(its)
        elif mine != its:
            return None
    return found


def expression(now: float, at: dict[str, float], moved: dict[str, list[tuple[float, float]]]) -> str | None:
    """An expression in the names that gives `now`, and what became of it in every variation."""
    names = list(at)
    for text, function in expressions(now, names, at):
        if function(at) != now:
            continue
        if all(function({**at, name: value}) == then for name, rows in moved.items() for value, then in rows):
            return text
    return None


def expressions(
    now: float, names: list[str], at: dict[str, float]
) -> Iterator[tuple[str, Callable[[Mapping[str, float]], float]]]:
    if len(names) == 1:
        name = names[0]
        yield name, lambda v: v[name]
        value = at[name]
        if isinstance(now, int) and isinstance(value, int) and not isinstance(now, bool) and value > 0 and now > 0:
            if now % value == 0:
                factor = now // value
                yield f"{name} * {factor}", lambda v: v[name] * factor
            if value % now == 0:
                divisor = value // now
                yield f"{name} / {divisor}", lambda v: int(v[name]) // divisor
            offset = now - value
            sign = "+" if offset > 0 else "-"
            yield f"{name} {sign} {abs(offset)}", lambda v: v[name] + offset
    elif len(names) <= 3 and isinstance(now, int):
        product = math.prod(int(at[name]) for name in names)
        factor = now // product if product and now % product == 0 else 1
        text = " * ".join(names) + (f" * {factor}" if factor != 1 else "")
        yield text, lambda v: math.prod(int(v[name]) for name in names) * factor
        for first, second in itertools.permutations(names, 2):
            if len(names) == 2:
                yield f"{first} / {second}", lambda v, a=first, b=second: int(v[a]) // max(int(v[b]), 1)  # type: ignore[misc]
                yield f"{first} + {second}", lambda v, a=first, b=second: v[a] + v[b]  # type: ignore[misc]
