"""What `Module` and `Config` share: a class body of annotated names is a record of fields.

    class Pair(Module):                 Pair(first=…, second=…)
        first: Linear                   -> TypeError naming every missing, unknown and mistyped field at once
        second: Linear

A `FieldTable` is read off a class when the class is made (microseconds; `dataclasses.dataclass` generates and compiles
code, about a millisecond a class). What an annotation means is only looked up when the first instance is made, since
it may name a class that is defined later; an annotation that cannot be resolved is not checked.
"""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

R = TypeVar("R")


class Missing:
    """The type of `MISSING`: no value was given."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()


class Skip:
    """The default of a field that no walk enters."""

    __slots__ = ("default",)

    def __init__(self, default: object) -> None:
        self.default = default


class SameAs:
    """The default of a field that takes the value of an earlier one, unless it is given."""

    __slots__ = ("field",)

    def __init__(self, field: str) -> None:
        self.field = field

    def __repr__(self) -> str:
        return f"same_as({self.field!r})"


class Field:
    """One annotated name: its annotation as written, the class that wrote it, and its default."""

    __slots__ = ("annotation", "default", "name", "owner", "skipped")

    def __init__(self, name: str, annotation: object, owner: type, default: object) -> None:
        self.name = name
        self.annotation = annotation
        self.owner = owner
        self.skipped = isinstance(default, Skip)
        self.default = default.default if isinstance(default, Skip) else default

    @property
    def required(self) -> bool:
        return self.default is MISSING

    def resolved(self) -> object:
        """The annotation as an object; MISSING if it names something that cannot be found."""
        annotation = self.annotation
        if not isinstance(annotation, str):
            return annotation
        module = sys.modules.get(self.owner.__module__)
        try:  # the class body's own text, as typing.get_type_hints does
            return eval(annotation, vars(module) if module else {}, {self.owner.__name__: self.owner})
        except Exception:
            return MISSING


def inherited_fields(cls: type, root: type[R], table_of: Callable[[type[R]], FieldTable]) -> list[Field]:
    """The fields of those base classes that derive from `root`, in the order in which they are declared."""
    return [
        field
        for base in reversed(cls.__bases__)
        if issubclass(base, root) and base is not root
        for field in table_of(base).fields.values()
    ]


class FieldTable:
    """The fields of one class, base classes first, and what their values may be."""

    __slots__ = ("_types", "cls", "fields", "names")

    def __init__(self, cls: type, inherited: Iterable[Field]) -> None:
        fields = {field.name: field for field in inherited}
        for name, annotation in own_annotations(cls).items():
            if is_class_var(annotation):
                continue
            default = cls.__dict__.get(name, MISSING)
            if isinstance(default, (list, dict, set)):
                raise TypeError(
                    f"{cls.__name__}.{name}: its default is a {type(default).__name__}, which all instances would "
                    "share. Use a tuple, or None."
                )
            if isinstance(default, SameAs) and default.field not in fields:
                raise TypeError(f"{cls.__name__}.{name}: same_as names no earlier field {default.field!r}.")
            if default is not MISSING:
                delattr(cls, name)  # it lives here; on the class it would hide that an instance lacks it
            fields[name] = Field(name, annotation, cls, default)
        self.cls = cls
        self.fields = fields
        self.names = tuple(fields)
        self._types: list[tuple[str, tuple[type, ...] | None]] | None = None

    def bind(self, given: Mapping[str, object]) -> dict[str, Any]:
        """All fields with defaults filled in, or one TypeError that says everything that is wrong."""
        fields = self.fields
        values = dict(given)
        if len(values) != len(fields):
            for field in fields.values():
                if field.name in values or field.default is MISSING:
                    continue
                if not isinstance(field.default, SameAs):
                    values[field.name] = field.default
                elif field.default.field in values:
                    values[field.name] = values[field.default.field]
        if values.keys() == fields.keys():
            for name, expected in self._types or self.types():
                if expected is not None and not isinstance(values[name], expected):
                    break
            else:
                self._check_sizes(values)
                return values
        raise TypeError(self._problems(values))

    def _check_sizes(self, values: Mapping[str, Any]) -> None:
        """ValueError for an integer that neither a Burn field nor, perhaps, a float could hold."""
        for name, value in values.items():
            for number in value if type(value) is tuple else (value,):
                if type(number) is int and not -(2**63) <= number < 2**64:
                    raise ValueError(
                        f"{self.cls.__name__}: field {name} is {describe(number)}, and an integer has at most 64. "
                        "Write a large number as a float: 1e30."
                    )

    def types(self) -> list[tuple[str, tuple[type, ...] | None]]:
        """For each field the classes its value may have, or None where anything goes."""
        if self._types is None:
            self._types = [(field.name, runtime_types(field.resolved())) for field in self.fields.values()]
        return self._types

    def is_tuple(self, name: str) -> bool:
        """Whether the field takes a tuple, and no list."""
        expected = dict(self.types()).get(name) or ()
        return tuple in expected and list not in expected

    def _problems(self, values: Mapping[str, object]) -> str:
        name = self.cls.__name__
        missing = [field for field, spec in self.fields.items() if field not in values and spec.required]
        unknown = [field for field in values if field not in self.fields]
        found = []
        if missing:
            found.append(f"missing {plural('field', missing)} {', '.join(missing)}")
        if unknown:
            told = [field + did_you_mean(field, missing or self.names) for field in unknown]
            found.append(f"unknown {plural('field', unknown)} {', '.join(told)}")
        for field, expected in self.types():
            if field in values and expected is not None and not isinstance(values[field], expected):
                found.append(f"field {field} must be {describe_types(expected)}, but got {describe(values[field])}")
        signature = ", ".join(field if spec.required else f"{field}=…" for field, spec in self.fields.items())
        return f"{name}: {'; '.join(found)}. Its fields are {name}({signature})."


class FieldSignature:
    """`__signature__` of the classes: what help(), an editor or a notebook shows is their fields, not `*args`.

    It is made when somebody asks for it. An instance has none of its own, so that calling it shows `forward`.
    """

    __slots__ = ("kind", "table_of")

    def __init__(self, kind: inspect._ParameterKind, table_of: Callable[[Any], FieldTable | None]) -> None:
        self.kind = kind
        self.table_of = table_of

    def __get__(self, instance: object, cls: type) -> inspect.Signature:
        table = self.table_of(cls) if instance is None else None
        if table is None:
            raise AttributeError("__signature__")
        empty = inspect.Parameter.empty
        return inspect.Signature(
            [
                inspect.Parameter(
                    field.name,
                    self.kind,
                    default=empty if field.required else field.default,
                    annotation=field.annotation,
                )
                for field in table.fields.values()
            ]
        )


def own_annotations(cls: type) -> Mapping[str, object]:
    """The annotations of the class body itself, unevaluated where they are lazy (Python 3.14)."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
    return inspect.get_annotations(cls)


def is_class_var(annotation: object) -> bool:
    if isinstance(annotation, str):
        return annotation.startswith(("ClassVar", "typing.ClassVar"))
    return annotation is typing.ClassVar or typing.get_origin(annotation) is typing.ClassVar


def runtime_types(annotation: object) -> tuple[type, ...] | None:
    """The classes `isinstance` can check for an annotation; None if it says more than that, or nothing."""
    if annotation is None:
        return (type(None),)
    origin = typing.get_origin(annotation)
    if origin is typing.Union or isinstance(annotation, types.UnionType):
        members: list[type] = []
        for argument in typing.get_args(annotation):
            found = runtime_types(argument)
            if found is None:
                return None
            members.extend(found)
        return tuple(members)
    cls = annotation if origin is None else origin
    if not isinstance(cls, type) or cls is object:
        return None
    try:
        isinstance(None, cls)
    except TypeError:  # Any, a protocol, a TypedDict: nothing to check at run time
        return None
    return (float, int) if cls is float else (cls,)


def describe_types(expected: tuple[type, ...]) -> str:
    names = ["None" if cls is type(None) else cls.__name__ for cls in expected]
    return "a float" if names == ["float", "int"] else " or ".join(names)


def describe(value: object) -> str:
    """A short text for an error: the type, and the value where it fits on a line."""
    if value is None:
        return "None"
    kind = type(value).__name__
    if isinstance(value, int) and value.bit_length() > 128:
        return f"{kind} of {value.bit_length()} bits"
    if isinstance(value, (bool, int, float, str)):
        return f"{kind} {value!r}"
    return kind


def outside_name(name: str) -> str:
    """What a field is called in paths, in JSON and when shown.

    One that cannot have that name in Python has an underscore after it: `lambda_`, or `forward_` beside a method.
    So has a member of an enum: `None_`.
    """
    return name.removesuffix("_")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` (did you mean …?)`, or nothing."""
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def plural(noun: str, items: Iterable[object]) -> str:
    return noun if len(list(items)) == 1 else noun + "s"
