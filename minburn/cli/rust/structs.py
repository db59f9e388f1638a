"""The structs of a model, and the expression that builds it.

    class Mlp(Module):                      #[derive(Module, Debug)]
        hidden: list[Linear]                pub struct Mlp {
        norm: LayerNorm | None                  pub hidden: Vec<Linear>,
                                                pub norm: Option<LayerNorm>,
                                            }

A class body says what a field may hold, the model what it does hold: Burn has the rank of a parameter in its type. An
enum module becomes an enum with the variants that the model has, one struct each; a dict a struct with its keys.
"""

from __future__ import annotations

import enum
import re
import types
import typing
from collections.abc import Iterable
from typing import Any

from minburn.cli.rust.error import NotExpressible
from minburn.cli.rust.layers import (
    burn_class,
    is_burns,
    make_activation,
    make_layer,
    rust_string,
    value_tokens,
    wrapper_of,
)
from minburn.cli.rust.tokens import DEDENT, INDENT, NEWLINE, Loose, Number, Repeat, Tokens, block, words
from minburn.module import Module, Param, RunningState
from minburn.module.fields import MISSING, Field
from minburn.tensor import Tensor

KEYWORDS = words(
    "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod "
    "move mut pub ref return self static struct super trait true type unsafe use where while abstract become "
    "box do final gen macro override priv try typeof unsized virtual yield"
)
TENSOR_KINDS = {"float": "", "int": "Int", "bool": "Bool"}
MAX_DATA = 256


class Imports:
    """Which Burn names the text uses, and how it writes them."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)
        self.paths: set[str] = set()

    def __call__(self, path: str) -> str:
        """The short name of a full path, unless the model has a class of that name."""
        short = path.rsplit("::", 1)[-1]
        if short in self.taken:
            return path
        self.paths.add(path)
        return short

    def text(self, body: str) -> str:
        """The `use` lines for what the body has of them."""
        words = set(re.findall(r"\w+", body))
        groups: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            place, _, name = path.rpartition("::")
            if name in words:
                groups.setdefault(place, []).append(name)
        used = [
            f"{place}::{names[0] if len(names) == 1 else '{' + ', '.join(names) + '}'}"
            for place, names in groups.items()
        ]
        return "\n".join(f"use {path};" for path in sorted(used))


class Classes:
    """The classes of a model that Burn does not have, in the order in which they are met, each with its instances."""

    def __init__(self, model: Module) -> None:
        self.instances: dict[type[Module], list[Module]] = {}
        self.maps: dict[str, dict[str, Any]] = {}  # a dict becomes a struct: its name, its items
        self._collect(model)
        self.uses = Imports([*(cls.__name__ for cls in self.instances), *self.enums(), *self.maps])
        names = [cls.__name__ for cls in self.instances]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise NotExpressible(f"two classes are called {min(twice)}: give one of them another name")

    def _collect(self, module: Module) -> None:
        cls = type(module)
        known = self.instances.setdefault(cls, [])
        known.append(module)
        for name in cls._module_layout.table.names:
            if rust_name(name) in KEYWORDS:
                raise NotExpressible(f"{cls.__name__}.{name}: that is a word of Rust, and cannot name a field")
            self._collect_value(module.__dict__[name], f"{cls.__name__}{name.title().replace('_', '')}")

    def _collect_value(self, value: Any, name: str) -> None:
        if isinstance(value, Module) and not is_burns(value):
            self._collect(value)
        elif isinstance(value, (list, tuple)):
            for item in value:
                self._collect_value(item, name)
        elif isinstance(value, dict) and any(map(has_state, value.values())):
            self.maps.setdefault(name, value)
            for key, item in value.items():
                self._collect_value(item, f"{name}{key.title().replace('_', '')}")

    def enums(self) -> dict[str, list[type[Module]]]:
        """The enum modules by name, each with the variants that the model has."""
        found: dict[str, list[type[Module]]] = {}
        for cls in self.instances:
            if cls._module_layout.variant is not None:
                found.setdefault(enum_of(cls), []).append(cls)
        return found

    # Types

    def struct(self, cls: type[Module]) -> str:
        """The struct of a class, with the notes on what it lacks."""
        layout = cls._module_layout
        lines = ["#[derive(Module, Debug)]", f"pub struct {cls.__name__} {{"]
        for name, field in layout.table.fields.items():
            values = [module.__dict__[name] for module in self.instances[cls]]
            try:
                kind = self.field_type(field, values, f"{cls.__name__}{name.title().replace('_', '')}")
            except NotExpressible as why:
                lines.append(f"    // {name}: left out, as {why}.")
                continue
            if field.skipped or not is_module_type(kind):
                lines.append("    #[module(skip)]")
            lines.append(f"    pub {rust_name(name)}: {kind},")
        return "\n".join([*lines, "}"]) if len(lines) > 2 else f"{lines[0]}\npub struct {cls.__name__} {{}}"

    def map_struct(self, name: str) -> str:
        rows = [
            f"    pub {key}: {self.value_type(MISSING, [value], f'{name}{key.title()}')},"
            for key, value in self.maps[name].items()
            if has_state(value)
        ]
        return "\n".join(["#[derive(Module, Debug)]", f"pub struct {name} {{", *rows, "}"])

    def enum(self, name: str) -> str:
        variants = self.enums()[name]
        rows = [f"    {cls._module_layout.variant}({self.variant_type(cls)})," for cls in variants]
        allow = "#[allow(clippy::large_enum_variant)]"
        return "\n".join(["#[derive(Module, Debug)]", allow, f"pub enum {name} {{", *rows, "}"])

    def variant_type(self, cls: type[Module]) -> str:
        """A layer of Burn's that the variant derives from without a field of its own, or the variant's struct."""
        base = burns_base(cls)
        return cls.__name__ if base is None else self.uses(str(burn_class(base)))

    def field_type(self, field: Field, values: list[Any], name: str) -> str:
        annotation = field.resolved()
        if field.skipped and not all(isinstance(value, (bool, int, float, str)) for value in values):
            raise NotExpressible("it is skipped and holds what Rust does not know")
        return self.value_type(annotation, values, name)

    def value_type(self, annotation: Any, values: list[Any], name: str) -> str:
        """The Rust type of a field with this annotation (MISSING: unknown) and these values over all instances."""
        annotation, optional = without_none(annotation)
        there = [value for value in values if value is not None]
        inner = self.some_type(annotation, there, name)
        return f"Option<{inner}>" if optional or len(there) < len(values) else inner

    def some_type(self, annotation: Any, values: list[Any], name: str) -> str:
        if not values:
            return self.declared_type(annotation)
        first = values[0]
        if isinstance(first, Module):
            return self.module_type(annotation, values)
        if isinstance(first, Param):
            return one_of({self.param_type(value) for value in values})
        if isinstance(first, RunningState):
            return one_of({f"{self.uses('burn::module::RunningState')}<{self.tensor_type(v.value())}>" for v in values})
        if isinstance(first, Tensor):
            return one_of({self.tensor_type(value) for value in values})
        arguments = typing.get_args(annotation)
        if isinstance(first, list) or (isinstance(first, tuple) and arguments[1:] == (Ellipsis,)):
            element = arguments[0] if arguments else MISSING
            return f"Vec<{self.value_type(element, [item for value in values for item in value], name)}>"
        if isinstance(first, tuple):
            return self.tuple_type(arguments, values, name)
        if isinstance(first, dict) and has_state(first):
            return name
        return plain_type(first, values)

    def tuple_type(self, arguments: tuple[Any, ...], values: list[Any], name: str) -> str:
        sizes = {len(value) for value in values}
        if len(sizes) != 1:
            raise NotExpressible("its tuples have different lengths")
        columns = [[value[place] for value in values] for place in range(sizes.pop())]
        given = arguments if len(arguments) == len(columns) else (MISSING,) * len(columns)
        inner = [self.value_type(one, column, name) for one, column in zip(given, columns, strict=True)]
        if inner and set(inner) <= {"usize", "isize", "f64", "bool"} and len(set(inner)) == 1:
            return f"[{inner[0]}; {len(inner)}]"
        return f"({inner[0]},)" if len(inner) == 1 else f"({', '.join(inner)})"

    def declared_type(self, annotation: Any) -> str:
        """Of a field that nowhere has a value: what the annotation alone says."""
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is list:
            return f"Vec<{self.declared_type(arguments[0])}>"
        if isinstance(annotation, type):
            path = burn_class(annotation)
            if path is not None:
                return self.uses(path)
            if annotation in self.instances or annotation.__name__ in self.enums():
                return annotation.__name__
        raise NotExpressible("the model has no value there, and its class alone does not tell the type")

    def module_type(self, annotation: Any, values: list[Any]) -> str:
        first = values[0]
        wrapper = wrapper_of(first)
        declared = isinstance(annotation, type) and burn_class(annotation) is not None
        if wrapper is not None or (declared and annotation.__name__ == "Activation"):
            return self.uses(str(burn_class(wrapper or annotation)))
        if is_burns(first):
            return one_of({self.uses(str(burn_class(type(value)))) for value in values})
        names = {enum_of(type(v)) if type(v)._module_layout.variant else type(v).__name__ for v in values}
        return one_of(names)

    def param_type(self, param: Param[Any]) -> str:
        name = self.uses("burn::module::Param")
        if param.kind == "flag":
            return f"{name}<{self.uses('burn::module::Flag')}>"
        kind = TENSOR_KINDS[param.kind]
        extra = f", {self.uses(f'burn::tensor::{kind}')}" if kind else ""
        return f"{name}<{self.uses('burn::tensor::Tensor')}<{len(param.shape)}{extra}>>"

    def tensor_type(self, tensor: Tensor) -> str:
        kind = TENSOR_KINDS[tensor.kind]
        extra = f", {self.uses(f'burn::tensor::{kind}')}" if kind else ""
        return f"{self.uses('burn::tensor::Tensor')}<{tensor.rank}{extra}>"

    # Building

    def build(self, module: Module) -> Tokens:
        """The expression of a module of the model's own classes, in terms of `device`."""
        cls = type(module)
        if cls._module_layout.variant is not None:
            base = burns_base(cls)
            inner = self.literal(module) if base is None else make_layer(as_base(module, base), self.uses)
            return [f"{enum_of(cls)}::{cls._module_layout.variant}(", *inner, ")"]
        return self.literal(module)

    def literal(self, module: Module) -> Tokens:
        cls = type(module)
        rows: list[Tokens] = []
        for name, field in cls._module_layout.table.fields.items():
            values = [one.__dict__[name] for one in self.instances[cls]]
            struct = f"{cls.__name__}{name.title().replace('_', '')}"
            try:
                kind = self.field_type(field, values, struct)
            except NotExpressible:
                continue
            rows.append([f"{rust_name(name)}: ", *self.value(module.__dict__[name], kind, struct)])
        return block(cls.__name__, rows)

    def value(self, value: Any, kind: str, name: str) -> Tokens:
        if kind.startswith("Option<"):
            return ["None"] if value is None else ["Some(", *self.value(value, kind[7:-1], name), ")"]
        if isinstance(value, Module):
            return self.module_value(value, kind)
        if isinstance(value, Param):
            return self.param(value)
        if isinstance(value, RunningState):
            return [f"{self.uses('burn::module::RunningState')}::new(", *self.tensor(value.value()), ")"]
        if isinstance(value, Tensor):
            return self.tensor(value)
        if isinstance(value, dict) and has_state(value):
            rows = [
                [f"{key}: ", *self.value(one, self.value_type(MISSING, [one], f"{name}{key.title()}"), name)]
                for key, one in value.items()
                if has_state(one)
            ]
            return block(name, rows)
        if isinstance(value, (list, tuple)):
            return self.sequence(value, kind, name)
        if isinstance(value, str):
            return [rust_string(value)]
        return value_tokens(value, self.uses)

    def module_value(self, value: Module, kind: str) -> Tokens:
        if not is_burns(value):
            return self.build(value)
        made = make_activation(value, self.uses) if kind == "Activation" else make_layer(value, self.uses)
        frozen = [param for param in params_of(value) if param.kind == "float"]
        is_frozen = frozen and not any(param.is_require_grad for param in frozen)
        return [*made, ".no_grad()"] if is_frozen else made

    def sequence(self, value: Any, kind: str, name: str) -> Tokens:
        if kind.startswith("Vec<"):
            items = [self.value(item, kind[4:-1], name) for item in value]
            if items and all(item == items[0] for item in items) and any(map(has_state, value)):
                return [Repeat(Number(len(items)), items[0])]
            if any(INDENT in item for item in items):
                rows = [token for item in items for token in (NEWLINE, *item, ",")][1:]
                return ["vec![", INDENT, *rows, DEDENT, "]"]
            return ["vec![", *joined(items), "]"]
        inner = split_types(kind[1:-1]) if kind.startswith("(") else [kind[1:].split(";")[0]] * len(value)
        items = [self.value(item, one, name) for item, one in zip(value, inner, strict=True)]
        if kind.startswith("["):
            return ["[", *joined(items), "]"]
        return ["(", *joined(items), ",)" if len(items) == 1 else ")"]

    def param(self, param: Param[Any]) -> Tokens:
        name = self.uses("burn::module::Param")
        if param.kind == "flag":
            return [f"{name}::from_bool({'true' if param.is_enabled else 'false'})"]
        if param.kind != "float":
            made = self.tensor(param.value)
            return [f"{name}::initialized({self.uses('burn::module::ParamId')}::new(), ", *made, ")"]
        values = param.value.numpy()
        first = float(values.flat[0]) if values.size else 0.0
        initializer = self.uses("burn::module::Initializer")
        if (values == first).all():
            named = {0.0: "Zeros", 1.0: "Ones"}.get(first)
            made = (
                [f"{initializer}::{named}"] if named else [f"{initializer}::Constant {{ value: ", Number(first), " }"]
            )
        else:  # how it was drawn is not to be seen: the spread is kept
            spread = Loose(repr(float(f"{float(values.std()):.2g}")))
            made = [f"{initializer}::Normal {{ mean: 0.0, std: ", spread, " }"]
        frozen = [] if param.is_require_grad else [".set_require_grad(false)"]
        return [*made, ".init(", *sizes(param.shape), ", device)", *frozen]

    def tensor(self, tensor: Tensor) -> Tokens:
        values = tensor.numpy()
        name = f"{self.uses('burn::tensor::Tensor')}::<{tensor.rank}{self.kind_argument(tensor)}>"
        if tensor.kind != "bool" and values.size and (values == values.flat[0]).all() and values.flat[0] in (0, 1):
            return [f"{name}::{'ones' if values.flat[0] else 'zeros'}(", *sizes(tensor.shape), ", device)"]
        if values.size > MAX_DATA:
            why = f"a constant of shape {list(tensor.shape)}, too large to be written here"
            return [f"todo!({quoted(why)})"]
        data = self.uses("burn::tensor::TensorData")
        numbers = ", ".join(rust_number(number) for number in values.reshape(-1).tolist())
        return [f"{name}::from_data({data}::new(vec![{numbers}], ", *sizes(tensor.shape), "), device)"]

    def kind_argument(self, tensor: Tensor) -> str:
        kind = TENSOR_KINDS[tensor.kind]
        return f", {self.uses(f'burn::tensor::{kind}')}" if kind else ""


def rust_name(field: str) -> str:
    """A field's name in a record: Python may need an underscore behind it."""
    return field.removesuffix("_")


def quoted(text: str) -> str:
    return rust_string(text).removesuffix(".to_string()")


def rust_number(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value}i64" if isinstance(value, int) else f"{value!r}f32"


def sizes(shape: Iterable[int]) -> Tokens:
    return ["[", *joined([[Number(size)] for size in shape]), "]"]


def joined(items: list[Tokens]) -> Tokens:
    tokens: Tokens = []
    for index, item in enumerate(items):
        tokens += [", "] * (index > 0) + item
    return tokens


def one_of(names: set[str]) -> str:
    if len(names) != 1:
        raise NotExpressible(f"it holds {' and '.join(sorted(names))}, and a field of Rust has one type")
    return names.pop()


def has_state(value: Any) -> bool:
    from minburn.module.walk import holds_state

    return holds_state(value)


def params_of(module: Module) -> list[Param[Any]]:
    from minburn.module.record import CollectSlots

    slots = CollectSlots()
    module.visit(slots)
    return [param for _, param in slots.found]


def enum_of(cls: type[Module]) -> str:
    return cls._module_layout.enum.removeprefix("Enum:")


def burns_base(cls: type[Module]) -> type[Module] | None:
    """The layer of Burn's that a variant is: `class Flat(Head, Linear, variant="Flat")`."""
    for base in cls.__mro__[1:]:
        if issubclass(base, Module) and base is not Module and burn_class(base) is not None:
            same = base._module_layout.table.names == cls._module_layout.table.names
            return base if same else None
    return None


def as_base(module: Module, base: type[Module]) -> Module:
    return base(**{name: module.__dict__[name] for name in base._module_layout.table.names})


def without_none(annotation: Any) -> tuple[Any, bool]:
    """`T | None` → T, True."""
    if typing.get_origin(annotation) is typing.Union or isinstance(annotation, types.UnionType):
        members = [member for member in typing.get_args(annotation) if member is not type(None)]
        optional = len(members) < len(typing.get_args(annotation))
        return (members[0] if len(members) == 1 else MISSING), optional
    return annotation, False


def plain_type(first: Any, values: list[Any]) -> str:
    if all(isinstance(value, bool) for value in values):
        return "bool"
    if all(isinstance(value, int) for value in values):
        return "isize" if any(value < 0 for value in values) else "usize"
    if all(isinstance(value, (int, float)) for value in values):
        return "f64"
    if all(isinstance(value, str) for value in values):
        return "String"
    if isinstance(first, enum.Enum):
        raise NotExpressible(f"Burn has no {type(first).__name__}")
    raise NotExpressible(f"a {type(first).__name__} has no counterpart in Burn")


def is_module_type(kind: str) -> bool:
    """Whether Burn's derive takes a field of the type as it is."""
    return kind not in ("isize", "Option<isize>", "[isize; 2]")


def split_types(text: str) -> list[str]:
    """The parts of `A, Vec<(B, C)>, D`."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "<([") - (letter in ">)]")
        if letter == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    return [part for part in [*parts, text[start:].strip()] if part]
