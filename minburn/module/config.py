"""Hyper-parameters: a frozen record that makes a module and is saved as JSON.

    class MlpConfig(Config):            config = MlpConfig(784, hidden=256)
        d_input: int                    model = config.init(backend)
        hidden: int = 512               config.save("config.json"); MlpConfig.load("config.json") == config
        initializer: Initializer = …
                                        {"d_input": 784, "hidden": 256, "initializer": {"XavierNormal": {"gain": 1.0}}}
        def init(self, backend): …

Required fields come first and may be given by position. A list becomes a tuple where the field is one: [3, 3]. Two
configs are equal if their fields are. The JSON is the one that Burn's configs have: pretty, two spaces, fields in
their order; a Python enum as the name of its member; a variant of an enum config (`class Zeros(Initializer,
variant="Zeros")`, used as `Initializer.Zeros()`) as `"Zeros"` or `{"Constant": {"value": 0.5}}`, with
`tuple_variant=True` as `{"Norm": 0.5}`. A config that also stands alone (`class Linear(Schedule, tag="Linear")`) has
its name only where the field is annotated with its base. Reading is strict: every field must be there (one that may
be None may be absent) and no other.

Burn: `crates/burn-core/src/config.rs`, `crates/burn-derive/src/config/`.
"""

from __future__ import annotations

import contextlib
import enum
import inspect
import math
import os
import types
import typing
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, dataclass_transform

from minburn.module.fields import (
    MISSING,
    FieldSignature,
    FieldTable,
    SameAs,
    describe,
    did_you_mean,
    inherited_fields,
    outside_name,
    plural,
)

if TYPE_CHECKING:
    from pathlib import Path


class ConfigError(ValueError):
    """A file or text is not the config that was asked for, or a config cannot be written."""


class JsonForm:
    """How a config class appears in JSON."""

    __slots__ = ("floats", "table", "tag", "tuple_variant", "variant")

    def __init__(self, table: FieldTable, variant: str | None, tag: str | None, tuple_variant: bool) -> None:
        self.table = table
        self.variant = variant
        self.tag = tag
        self.tuple_variant = tuple_variant
        self.floats: tuple[str, ...] | None = None  # fields whose ints become floats


def same_as(field: str) -> Any:
    """The default of a field that has the value of an earlier one: `stride: int = same_as("kernel_size")`."""
    return SameAs(field)


@dataclass_transform(frozen_default=True)
class Config:
    """The base of every config. Burn: `derive(Config)`."""

    _json_form: ClassVar[JsonForm]
    __signature__ = FieldSignature(
        inspect.Parameter.POSITIONAL_OR_KEYWORD, lambda cls: None if cls is Config else cls._json_form.table
    )

    def __init_subclass__(
        cls, variant: str | None = None, tuple_variant: bool = False, tag: str | None = None, **kwargs: Any
    ) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in cls.__dict__:
            raise TypeError(f"{cls.__name__}: a config has no __init__. Declare its fields in the class body.")
        table = FieldTable(cls, inherited_fields(cls, Config, lambda base: base._json_form.table))
        optional = ""
        for field in table.fields.values():
            if field.required and optional:
                raise TypeError(
                    f"{cls.__name__}: required field {field.name} comes after {optional}, which has a default."
                )
            optional = optional if field.required else field.name
        cls._json_form = JsonForm(table, variant, tag, tuple_variant)

    def __init__(self, /, *args: Any, **fields: Any) -> None:
        form = self._json_form
        names = form.table.names
        if len(args) > len(names):
            raise TypeError(f"{type(self).__name__} has {len(names)} fields, but got {len(args)} values.")
        for name, value in zip(names, args, strict=False):
            if name in fields:
                raise TypeError(f"{type(self).__name__}: field {name} is given twice, by position and by name.")
            fields[name] = value
        for name, value in fields.items():
            if type(value) is list and form.table.is_tuple(name):  # as Burn's arrays are written: [3, 3]
                fields[name] = tuple(value)
        values = form.table.bind(fields)
        if form.floats is None:
            form.floats = tuple(name for name, expected in form.table.types() if expected == (float, int))
        for name in form.floats:
            values[name] = float(values[name])
        self.__dict__.update((name, values[name]) for name in names)

    def replace(self, **fields: Any) -> Self:
        """The config with other values in these fields."""
        return type(self)(**{**self.__dict__, **fields})

    # JSON

    def to_json(self) -> str:
        """Burn: `config_to_json`."""
        import json  # not needed by programs that only build models

        return json.dumps(encode(self, type(self).__name__), indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """ConfigError naming the field that is missing, unknown or of the wrong type. Burn: `Config::load_binary`."""
        import json

        if not isinstance(text, str):
            raise ConfigError(f"{cls.__name__}: from_json expects a str, but got {type(text).__name__}.")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{cls.__name__}: this is not JSON: {error}.") from None
        return cast(Self, decode_config(cls, value, cls.__name__))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON; the old file stays until the new one is complete."""
        target = as_path(type(self).__name__, path)
        scratch = target.with_name(f"{target.name}.{os.getpid()}.tmp")
        try:
            scratch.write_text(self.to_json(), encoding="utf-8")
            os.replace(scratch, target)
        except OSError as error:
            with contextlib.suppress(OSError):  # it may be its name that the system refuses
                scratch.unlink()
            raise ConfigError(f"{target}: cannot be written: {error.strerror or error}.") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """ConfigError naming the file if it is missing or not this config."""
        target = as_path(cls.__name__, path)
        try:
            text = target.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{target}: cannot be read: {getattr(error, 'strerror', None) or error}.") from error
        try:
            return cls.from_json(text)
        except ConfigError as error:
            raise ConfigError(f"{target}: {error}") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is a value: {name} cannot be set. Use config.replace({name}=…).")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is a value: {name} cannot be deleted.")

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        cls, variant = type(self), self._json_form.variant or ""
        enum = next((base for base in cls.__mro__ if base.__dict__.get(variant) is cls), None)
        return f"{cls.__name__ if enum is None else f'{enum.__name__}.{variant}'}({fields})"  # as users write it


def as_path(owner: str, path: str | os.PathLike[str]) -> Path:
    """A path whose last part can name a file."""
    if not isinstance(path, (str, os.PathLike)):
        raise ConfigError(f"{owner}: a path must be a str or PathLike, but got {type(path).__name__}.")
    from pathlib import Path  # 5 ms, for those who save

    target = Path(path)
    if "\0" in str(target) or target.name in ("", ".."):
        raise ConfigError(f"{owner}: {str(path)!r} cannot name a file.")
    return target


def encode(value: object, where: str, annotation: object = Any) -> Any:
    """A value as JSON data. annotation: what its field says it is."""
    if isinstance(value, Config):
        form = value._json_form
        types = {name: field.resolved() for name, field in form.table.fields.items()}
        fields = {
            outside_name(name): encode(item, f"{where}.{name}", types[name]) for name, item in value.__dict__.items()
        }
        variant = form.variant or (form.tag if is_base(annotation, type(value)) else None)
        if variant is None:
            return fields
        if not fields:
            return variant
        content = list(fields.values()) if form.tuple_variant else fields
        return {variant: content[0] if isinstance(content, list) and len(content) == 1 else content}
    if isinstance(value, enum.Enum):
        return outside_name(value.name)
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{where}: {value} cannot be written as JSON.")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        of = typing.get_args(annotation)[:1] or (Any,)
        return [encode(item, f"{where}.{index}", of[0]) for index, item in enumerate(value)]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: encode(item, f"{where}.{key}") for key, item in value.items()}
    raise ConfigError(f"{where}: a {type(value).__name__} cannot be written as JSON.")


def is_base(annotation: object, cls: type[Config]) -> bool:
    """Whether a field is annotated with a base of `cls`, so that its JSON must tell which subclass it holds."""
    candidates = typing.get_args(annotation) or (annotation,)
    return any(isinstance(base, type) and base is not cls and issubclass(cls, base) for base in candidates)


def decode(annotation: object, value: object, where: str) -> object:
    """JSON data as what the annotation says."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return value
    if annotation is None or annotation is type(None):
        return expect(value is None, None, "null", value, where)
    if origin is typing.Union or isinstance(annotation, types.UnionType):
        return decode_union(arguments, value, where)
    if origin is typing.Literal:
        return expect(value in arguments, value, f"one of {', '.join(map(repr, arguments))}", value, where)
    if origin is list:
        items = cast("list[object]", expect(isinstance(value, list), value, "a list", value, where))
        return [decode(arguments[0], item, f"{where}.{index}") for index, item in enumerate(items)]
    if origin is tuple:
        return decode_tuple(arguments, value, where)
    if origin is dict:
        table = cast("dict[str, object]", expect(isinstance(value, dict), value, "an object", value, where))
        return {key: decode(arguments[1], item, f"{where}.{key}") for key, item in table.items()}
    if annotation is bool:
        return expect(isinstance(value, bool), value, "true or false", value, where)
    if annotation is int:
        return expect(isinstance(value, int) and not isinstance(value, bool), value, "an integer", value, where)
    if annotation is float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        expect(number, value, "a number", value, where)
        try:
            return float(cast(float, value))
        except OverflowError:
            raise ConfigError(f"{where}: {describe(value)} is too large for a float.") from None
    if annotation is str:
        return expect(isinstance(value, str), value, "a text", value, where)
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        members = {outside_name(name): member for name, member in annotation.__members__.items()}
        return members[cast(str, expect(value in members, value, f"one of {', '.join(members)}", value, where))]
    if isinstance(annotation, type) and issubclass(annotation, Config):
        return decode_config(annotation, value, where)
    raise ConfigError(f"{where}: its type {annotation!r} cannot be read from JSON.")


def decode_config(cls: type[Config], value: object, where: str) -> Config:
    variants: dict[str, type[Config]] = {}
    for sub in (cls, *cls.__subclasses__()):
        name = sub._json_form.variant or (sub._json_form.tag if sub is not cls else None)
        if name is not None:
            variants[name] = sub
    if variants:
        return decode_variant(variants, value, where)
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: expected an object, but got {describe(value)}.")
    return fill(cls, value, where)


def decode_variant(variants: dict[str, type[Config]], value: object, where: str) -> Config:
    """`"Zeros"`, `{"Constant": {"value": 0.5}}` or `{"Norm": 0.5}`."""
    name = next(iter(value)) if isinstance(value, dict) and len(value) == 1 else value
    if not isinstance(name, str) or name not in variants:
        raise ConfigError(f"{where}: expected one of {', '.join(variants)}, but got {value!r:.80}.")
    cls = variants[name]
    content = value[name] if isinstance(value, dict) else {}
    fields = [outside_name(name) for name in cls._json_form.table.names]
    if cls._json_form.tuple_variant:
        items = [content] if len(fields) == 1 else content
        if not isinstance(items, list) or len(items) != len(fields):
            raise ConfigError(f"{where}.{name}: expected {len(fields)} values, but got {content!r:.80}.")
        content = dict(zip(fields, items, strict=True))
    if not isinstance(content, dict):
        raise ConfigError(f"{where}.{name}: expected an object, but got {describe(content)}.")
    return fill(cls, content, f"{where}.{name}")


def fill(cls: type[Config], content: dict[str, object], where: str) -> Config:
    """A config from its fields by name, all of them checked."""
    fields = {outside_name(name): field for name, field in cls._json_form.table.fields.items()}
    annotations = {name: field.resolved() for name, field in fields.items()}
    unresolved = [name for name, annotation in annotations.items() if annotation is MISSING]
    if unresolved:
        raise ConfigError(f"{where}.{unresolved[0]}: its type {fields[unresolved[0]].annotation!r} is not known.")
    missing = [name for name in fields if name not in content and not may_be_none(annotations[name])]
    unknown = [name for name in content if name not in fields]
    problems = []
    if missing:
        problems.append(f"{plural('field', missing)} {', '.join(missing)} missing")
    if unknown:
        told = ", ".join(name + did_you_mean(name, missing or fields) for name in unknown)
        problems.append(f"unknown {plural('field', unknown)} {told}")
    if problems:
        raise ConfigError(f"{where}: {'; '.join(problems)}.")
    values = {name: decode(annotations[name], content.get(name), f"{where}.{name}") for name in fields}
    return cls(**{fields[name].name: value for name, value in values.items()})


def decode_union(members: tuple[object, ...], value: object, where: str) -> object:
    if value is None and type(None) in members:
        return None
    error: ConfigError | None = None
    for member in members:
        if member is not type(None):
            try:
                return decode(member, value, where)
            except ConfigError as caught:
                error = error or caught
    raise error or ConfigError(f"{where}: expected null, but got {describe(value)}.")


def decode_tuple(arguments: tuple[object, ...], value: object, where: str) -> object:
    items = cast("list[object]", expect(isinstance(value, list), value, "a list", value, where))
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        arguments = (arguments[0],) * len(items)
    expect(len(items) == len(arguments), value, f"{len(arguments)} values", value, where)
    return tuple(
        decode(kind, item, f"{where}.{index}") for index, (kind, item) in enumerate(zip(arguments, items, strict=True))
    )


def may_be_none(annotation: object) -> bool:
    return type(None) in typing.get_args(annotation)


def expect(holds: bool, result: object, what: str, value: object, where: str) -> object:
    if not holds:
        raise ConfigError(f"{where}: expected {what}, but got {describe(value)}.")
    return result
