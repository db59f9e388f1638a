"""The notes of a run as Rust statements.

    Call pair.0; Op tanh; Op add        let y = self.pair.0.forward(x.clone());
                                        let y = y.tanh();
                                        x + y

A tensor that is used again is cloned, at its last use it is moved, and its name goes to the result.
"""

from __future__ import annotations

import enum
import inspect
from collections import Counter
from typing import Any

from minburn.cli.rust.error import NotExpressible
from minburn.cli.rust.layers import is_burns, value_tokens
from minburn.cli.rust.notes import alive, attribute, uses, values_in
from minburn.cli.rust.ops import write_op
from minburn.cli.rust.rounds import Loop, rolled
from minburn.cli.rust.structs import KEYWORDS, Classes, enum_of, rust_name, split_types
from minburn.cli.rust.tokens import DEDENT, INDENT, NEWLINE, Tokens, render
from minburn.cli.rust.trace import Note, Steps, Traced, Value
from minburn.module import Module
from minburn.module.fields import MISSING

INPUTS = {
    "TransformerEncoderInput": ("new", ("tensor",), "burn::nn::transformer::TransformerEncoderInput"),
    "TransformerDecoderInput": ("new", ("target", "memory"), "burn::nn::transformer::TransformerDecoderInput"),
    "MhaInput": ("new", ("query", "key", "value"), "burn::nn::attention::MhaInput"),
}
MAX_INSIDE = 60
"""The longest expression that goes into another one instead of getting a name."""
NAMES = ["x", "y", "z", "u", "v", "w"]


class Statements:
    """Writes the notes of one class."""

    def __init__(
        self, classes: Classes, module: Module, traced: Traced, skippable: frozenset[str] = frozenset()
    ) -> None:
        self.classes = classes
        self.uses = classes.uses
        self.module = module
        self.traced = traced
        self.skippable = skippable
        self.names: dict[int, str] = {}
        self.left: Counter[int] = Counter()
        self.kept: set[int] = set()  # used in a loop from outside: cloned each time
        self.pending: dict[int, Tokens] = {}  # expressions that go into the next one
        self.element: tuple[Steps, str] | None = None

    def body(self, names: list[str]) -> Tokens:
        """The statements; names: of the inputs."""
        notes = alive(self.traced)
        for value, name in zip(self.traced.inputs, names, strict=True):
            self.names[value.number] = name
        self.left = uses(notes, self.traced.result)
        steps = rolled(notes, self.module, self.left)
        tokens: Tokens = []
        result = self.traced.result
        for index, step in enumerate(steps):
            following = steps[index + 1] if index + 1 < len(steps) else None
            if isinstance(step, Loop):
                row = self.loop(step, following is None)
            elif following is None and step.result == result:
                row = self.expression(step)
            else:
                row = self.statement(step, following)
            tokens += [NEWLINE] * bool(tokens and row) + row
        if not steps or steps[-1].result != result:
            tokens += [NEWLINE] * bool(tokens) + self.argument(result)
        return tokens

    def statement(self, note: Note, following: Note | Loop | None) -> Tokens:
        """`let x = …;`, or nothing if the expression goes into the next one."""
        assert note.result is not None
        alone = self.left[note.result.number] == 1 and note.result.kind != "tuple"
        if isinstance(following, Note) and following.args[:1] == (note.result,) and alone:
            tokens = self.expression(note)
            branches = any(self.optional_field(one.steps) is not None for one in (note, following))
            if not branches and len(render(tokens)) <= MAX_INSIDE:
                self.pending[note.result.number] = tokens
                return []
        else:
            tokens = self.expression(note)
        return ["let ", self.name_result(note), " = ", *tokens, ";"]

    def name_result(self, note: Note) -> str:
        """The name of an operand that is not needed any more, or a new one."""
        assert note.result is not None
        over = (value for value in values_in(note.args) if self.is_over(value) and value.kind == note.result.kind)
        name = next((self.names[value.number] for value in over), None)
        if name is None:
            busy = {name for number, name in self.names.items() if self.left[number] > 0 or number in self.kept}
            wanted = ["mask", "mask2", "mask3"] if note.result.kind == "bool" else NAMES
            more = (f"t{n}" for n in range(1, 10_000))
            name = next(one for one in (*wanted, *more) if one not in busy)
        self.names[note.result.number] = name
        return name

    def is_over(self, value: Value) -> bool:
        return value.number in self.names and self.left[value.number] == 0 and value.number not in self.kept

    def argument(self, value: Value) -> Tokens:
        """The expression of a value where it is used."""
        if value.origin == "part":
            self.left[value.number] -= 1
            self.left[int(value.steps[0])] -= 1
            text = f"{self.names[int(value.steps[0])]}.{value.part}"
            return [f"{text}.clone()" if self.left[value.number] > 0 else text]
        if value.origin in ("param", "running", "constant"):
            text = self.place(value.steps)
            return [f"{text}.{ {'param': 'val', 'running': 'value', 'constant': 'clone'}[value.origin] }()"]
        if value.number in self.pending:
            return self.pending.pop(value.number)
        if value.number not in self.names:
            raise NotExpressible("it uses a tensor from outside of the pass")
        self.left[value.number] -= 1
        name = self.names[value.number]
        return [f"{name}.clone()" if self.left[value.number] > 0 or value.number in self.kept else name]

    def arguments(self, arg: Any) -> Any:
        if isinstance(arg, Value):
            return self.argument(arg)
        if isinstance(arg, (list, tuple)) and any(True for _ in values_in((arg,))):
            return [self.arguments(one) for one in arg]
        return arg

    def expression(self, note: Note) -> Tokens:
        if note.table:
            return write_op(note, [self.arguments(arg) for arg in note.args], self.uses)
        args: Tokens = []
        assert note.layer is not None
        for index, (arg, default) in enumerate(completed(note)):
            tokens = value_tokens(arg, self.uses) if is_plain(arg) else self.call_argument(arg)
            is_option = default is None and not is_plain(arg)
            args += [", "] * (index > 0) + (["Some(", *tokens, ")"] if is_option else tokens)
        optional = self.optional_field(note.steps)
        if optional is not None:
            text = render(args)
            return [f"match &self.{rust_name(optional)} {{ Some(layer) => layer.forward({text}), None => {text} }}"]
        return [f"{self.place(note.steps)}.forward(", *args, ")"]

    def call_argument(self, arg: Any) -> Tokens:
        """A tensor, or one of Burn's input structs."""
        if isinstance(arg, Value):
            return self.argument(arg)
        name = type(arg).__name__
        if name not in INPUTS:
            raise NotExpressible(f"it gives a layer a {name}")
        function, required, path = INPUTS[name]
        tokens: Tokens = [f"{self.uses(path)}::{function}("]
        for index, field in enumerate(required):
            tokens += [", "] * (index > 0) + self.argument(getattr(arg, field))
        tokens.append(")")
        for field in arg._fields[len(required) :]:
            value = getattr(arg, field)
            if isinstance(value, Value):
                tokens += [f".{field}(", *self.argument(value), ")"]
            elif value is not None:
                raise NotExpressible(f"it gives {name} {field}={value!r}")
        return tokens

    def optional_field(self, steps: Steps) -> str | None:
        return str(steps[0]) if len(steps) == 1 and steps[0] in self.skippable else None

    # Places

    def place(self, steps: Steps) -> str:
        """`self.blocks[0].norm.as_ref().unwrap()`."""
        if self.element is not None and steps[: len(self.element[0])] == self.element[0]:
            start = len(self.element[0]) + 1
            return self.walk(steps, self.element[1], start)
        return self.walk(steps, "self", 0)

    def walk(self, steps: Steps, text: str, start: int) -> str:
        value: Any = self.module
        kind = type(self.module).__name__
        for index, step in enumerate(steps):
            name = ""
            if isinstance(value, Module):
                cls = type(value)
                if cls._module_layout.variant is not None and index > 0:
                    raise NotExpressible(f"it reaches into {enum_of(cls)}, which is an enum; give that a forward")
                field = attribute(value, step)
                kind, name = self.kind_of(value, field), f".{rust_name(field)}"
                value = value.__dict__[field]
            elif isinstance(value, dict):
                kind, name, value = "", f".{step}", value[step]
            else:
                inner = kind[4:-1] if kind.startswith("Vec<") else None
                name = f"[{step}]" if inner is not None or kind.startswith("[") else f".{step}"
                parts = [] if inner is not None or not kind.startswith("(") else split_types(kind[1:-1])
                kind = inner if inner is not None else parts[int(step)] if parts else ""
                value = value[int(step)]
            if kind.startswith("Option<"):
                kind = kind[7:-1]
                name += f'.as_ref().expect("{".".join(map(str, steps[: index + 1]))}")'
            if index >= start:
                text += name
            elif index == start - 1 and ".as_ref()" in name:
                text += name[name.index(".as_ref()") :]
        return text

    def kind_of(self, module: Module, field: str) -> str:
        cls = type(module)
        described = cls._module_layout.table.fields[field]
        if is_burns(module) or cls not in self.classes.instances:
            return "Option<Param>" if "None" in str(described.annotation) else ""
        values = [one.__dict__[field] for one in self.classes.instances[cls]]
        return self.classes.field_type(described, values, f"{cls.__name__}{field.title().replace('_', '')}")

    # Loops

    def loop(self, loop: Loop, last: bool) -> Tokens:
        """`let x = self.layers.iter().fold(x, |x, layer| layer.forward(x));`."""
        name = self.names.get(loop.entry.number, "")
        if not name or loop.entry.origin not in ("", "input"):
            raise NotExpressible("a loop does not start from a tensor of the pass")
        inside = {note.result.number for note in loop.notes if note.result is not None}
        outside = {v.number for note in loop.notes for v in values_in(note.args)} - inside - {loop.entry.number}
        count = sum(v == loop.entry for note in loop.notes for v in values_in(note.args))
        self.left[loop.entry.number] -= count
        start = f"{name}.clone()" if self.left[loop.entry.number] > 0 else name
        carried = name if start == name else next(one for one in NAMES if one not in self.names.values())
        kept_before, left_before = set(self.kept), dict(self.left)
        self.kept |= outside
        self.names[loop.entry.number] = carried
        self.left[loop.entry.number] = count
        element = str(loop.place[-1]).rstrip("s") or "layer"
        element = "layer" if element in KEYWORDS or element in self.names.values() else element
        before, self.element = self.element, (loop.place, element)
        rows: list[Tokens] = []
        for note, following in zip(loop.notes, [*loop.notes[1:], None], strict=True):
            row = self.expression(note) if note.result == loop.last else self.statement(note, following)
            rows += [row] if row else []
        self.element, self.kept = before, kept_before
        for number in outside:
            self.left[number] = left_before.get(number, 0)
        head = f"{self.walk(loop.place, 'self', 0)}.iter().fold({start}, |{carried}, {element}| "
        inner: Tokens = [token for row in rows for token in (NEWLINE, *row)][1:]
        tokens: Tokens = [head, *(inner if len(rows) == 1 else ["{", INDENT, *inner, DEDENT, "}"]), ")"]
        for number in inside | {loop.entry.number}:
            self.names.pop(number, None)
        if last and loop.result == self.traced.result:
            return tokens
        self.names[loop.result.number] = carried
        return [f"let {carried} = ", *tokens, ";"]


def completed(note: Note) -> list[tuple[Any, Any]]:
    """The arguments of a call, each with its default in Python (MISSING: none). Rust has no defaults, so a layer of
    Burn's gets those, too, that were left out."""
    if not is_burns(note.layer):
        return [(arg, MISSING) for arg in note.args]
    forward: Any = type(note.layer).forward  # type: ignore[union-attr]
    parameters = list(inspect.signature(forward).parameters.values())[1:]
    defaults = [MISSING if one.default is inspect.Parameter.empty else one.default for one in parameters]
    return list(zip([*note.args, *defaults[len(note.args) :]], defaults, strict=True))


def is_plain(arg: Any) -> bool:
    """A setting and not a tensor: None, a Reduction."""
    return arg is None or isinstance(arg, enum.Enum)
