"""The Config in Rust, and how its fields find their way into `init`.

The model is built again with each number of the config changed; what changes with it in the expression is written as
an expression of the field (tokens.py):

    LinearConfig(self.d_input, 4 * self.hidden)      LinearConfig::new(self.d_input, self.hidden * 4)
    [… for _ in range(self.layers)]                  (0..self.layers).map(|_| …).collect()

A field that decides about the model in another way stays as it is now, and is named in a comment.
"""

from __future__ import annotations

import enum
import typing
from typing import Any

from minburn.backends import NumPy
from minburn.cli.rust.error import NotExpressible
from minburn.cli.rust.layers import burn_class, may_be_none, value_tokens
from minburn.cli.rust.structs import KEYWORDS, Classes, without_none
from minburn.cli.rust.tokens import Setting, Tokens, explain, render
from minburn.module import Config, Module
from minburn.module.fields import MISSING, Field, SameAs

PLAIN = {int: "usize", float: "f64", bool: "bool", str: "String"}


class ConfigText(typing.NamedTuple):
    """struct: with what it holds. make: `MlpConfig::new(64).with_hidden(8)`. fields: those that Rust has."""

    struct: str
    make: str
    fields: list[str]


def write_config(config: Config, classes: Classes) -> ConfigText:
    cls = type(config)
    derive = f"#[derive({classes.uses('burn::config::Config')}, Debug)]"
    lines, fields = [derive, f"pub struct {cls.__name__} {{"], []
    required: list[str] = []
    options: Tokens = []
    for name, field in cls._json_form.table.fields.items():
        value = getattr(config, name)
        try:
            kind = config_type(without_none(field.resolved())[0], value, classes)
            tokens = value_tokens(value, classes.uses)
            default = default_text(field, classes)
        except NotExpressible as why:
            lines.append(f"    // {name}: left out, as {why}.")
            continue
        optional = may_be_none(field)
        if optional:
            kind = f"Option<{kind}>"
            tokens = tokens if value is None else ["Some(", *tokens, ")"]
        rust = f"r#{name}" if name in KEYWORDS else name
        if default is not None:
            text = default.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'    #[config(default = "{text}")]')
        lines.append(f"    pub {rust}: {kind},")
        fields.append(name)
        if field.required and not optional:
            required.append(render(tokens))
        else:
            given = field.default
            same = value == (getattr(config, given.field) if isinstance(given, SameAs) else given)
            options.append(Setting(name, tokens, same))
    make = f"{cls.__name__}::new({', '.join(required)}){render(options)}"
    return ConfigText("\n".join([*lines, "}"]), make, fields)


def config_type(annotation: Any, value: Any, classes: Classes) -> str:
    """The Rust type of a field of a config."""
    if annotation in PLAIN:
        if isinstance(value, int) and value < 0 and annotation is int:
            return "isize"
        return PLAIN[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is list or (origin is tuple and arguments[1:] == (Ellipsis,)):
        return f"Vec<{config_type(arguments[0], MISSING, classes)}>"
    if origin is tuple:
        inner = [config_type(one, MISSING, classes) for one in arguments]
        if len(set(inner)) == 1:
            return f"[{inner[0]}; {len(inner)}]"
        raise NotExpressible("a config of Burn's has no tuples of different types")
    if isinstance(annotation, type) and (issubclass(annotation, (Config, enum.Enum))):
        path = burn_class(annotation)
        if path is not None:
            return classes.uses(path)
    raise NotExpressible(f"{getattr(annotation, '__name__', 'its type')} has no counterpart in Burn's configs")


def default_text(field: Field, classes: Classes) -> str | None:
    """The default as Rust; None for a field without one, and for an Option, whose default is None in Burn."""
    default = field.default
    if field.required:
        return None
    if isinstance(default, SameAs):
        return default.field
    if default is None:
        return None
    tokens = value_tokens(default, classes.uses)
    return render(["Some(", *tokens, ")"] if may_be_none(field) else tokens)


def write_init(model: Module, classes: Classes, config: Config | None, fields: list[str]) -> tuple[str, list[str]]:
    """The expression that builds the model, and the fields of the config that it does not follow."""
    tokens = classes.build(model)
    if config is None:
        return render(tokens, 2), []
    names = [name for name in fields if type(getattr(config, name)) in (int, float, bool)]
    known = {f"self.{name}": getattr(config, name) for name in names}

    def vary(name: str, value: float) -> Tokens | None:
        try:
            other = make(config.replace(**{name.removeprefix("self."): value}))
            return Classes(other).build(other)
        except Exception:  # not every number is possible
            return None

    missed = [name.removeprefix("self.") for name in explain(tokens, known, vary).names]
    return render(tokens, 2), missed


def make(config: Any) -> Module:
    """The config's model, on a plain backend."""
    model = config.init(NumPy(seed=0))
    if not isinstance(model, Module):
        raise NotExpressible(f"{type(config).__name__}.init gives a {type(model).__name__}, not a Module")
    return model
