"""A choice of parameters, by what they are called or which they are.

    ParamGroup.from_predicate("backbone")                        "backbone" is a part of the path
    ParamGroup.from_regex(r"^blocks\\.\\d+\\.bias$")                searched in the path
    ParamGroup.from_path("head.weight")                          the path itself
    ParamGroup.ids_from_module(model.head)                       its parameters, wherever they are
    ParamGroup.all().exclude(ParamGroup.from_predicate("norm"))

    model.freeze_group(group), optim.with_group(group, rule), scheduler.with_group(group, schedule)

Flags have ids and paths too. A shared parameter goes by the path under which a walk meets it first. Paths are those
of the whole module that a group is used with; ids stay when a module becomes a part of another, but loading a record
replaces them: a group of ids is made after it.

In JSON as Burn's: `{"matcher": {"Path": {"Include": ["backbone"]}}, "excludes": null}`. Patterns are Python's regular
expressions; Burn's are Rust's, which agree in all but rare things (look-around is Python's only).

Burn: `crates/burn-core/src/module/param/group.rs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from minburn.module.config import Config
from minburn.module.error import ModuleError
from minburn.module.param import Flag, Param, as_id
from minburn.module.param_id import ParamId
from minburn.module.visitor import ModuleVisitor
from minburn.tensor import BoolTensor, FloatTensor, IntTensor

if TYPE_CHECKING:
    from minburn.module.module import Module


class ParamGroup(Config):
    """Which parameters: those that `matcher` takes, except those that `excludes` takes."""

    matcher: Matcher
    excludes: Matcher | None = None

    def matches(self, id: int, path: str | None) -> bool:
        """Whether the parameter with this id at this path belongs here. Without a path only its id can tell."""
        return self.matcher.takes(id, path) and not (self.excludes is not None and self.excludes.takes(id, path))

    @staticmethod
    def all() -> ParamGroup:
        """Every parameter."""
        return ParamGroup(All())

    @staticmethod
    def from_ids(ids: Iterable[int]) -> ParamGroup:
        """Those with these ids."""
        if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
            raise ModuleError(
                f"ParamGroup.from_ids: expected a list of ParamIds, but got {type(ids).__name__} {ids!r}."
            )
        return ParamGroup(Explicit(tuple(Id(int(as_id(id))) for id in ids)))

    @staticmethod
    def ids_from_module(module: Module) -> ParamGroup:
        """The parameters and flags of the module."""
        return ParamGroup.from_ids(ids_of(module))

    @staticmethod
    def from_path(path: str) -> ParamGroup:
        """The one at this path."""
        return ParamGroup.from_paths([path])

    @staticmethod
    def from_paths(paths: Iterable[str]) -> ParamGroup:
        """Those at one of these paths."""
        return ParamGroup(Path(Exact(texts("from_paths", paths))))

    @staticmethod
    def from_predicate(part: str) -> ParamGroup:
        """Those whose path contains this text."""
        return ParamGroup.from_predicates([part])

    @staticmethod
    def from_predicates(parts: Iterable[str]) -> ParamGroup:
        """Those whose path contains all of these texts; with none, every path does."""
        return ParamGroup(Path(Include(texts("from_predicates", parts))))

    @staticmethod
    def from_any_predicates(parts: Iterable[str]) -> ParamGroup:
        """Those whose path contains one of these texts. An empty list takes every path, as in Burn."""
        return ParamGroup(one_of([Path(Include((part,))) for part in texts("from_any_predicates", parts)]))

    @staticmethod
    def from_regex(pattern: str) -> ParamGroup:
        """Those in whose path the pattern is found. Errors: ModuleError for an invalid pattern."""
        return ParamGroup.from_regexes([pattern])

    @staticmethod
    def from_regexes(patterns: Iterable[str]) -> ParamGroup:
        """Those in whose path all of the patterns are found."""
        group = ParamGroup(Path(Regex(texts("from_regexes", patterns))))
        group.check()
        return group

    @staticmethod
    def from_any_regexes(patterns: Iterable[str]) -> ParamGroup:
        """Those in whose path one of the patterns is found. An empty list takes every path, as in Burn."""
        group = ParamGroup(one_of([Path(Regex((pattern,))) for pattern in texts("from_any_regexes", patterns)]))
        group.check()
        return group

    def fuse(self, other: ParamGroup) -> ParamGroup:
        """Those of either matcher. What the two exclude is forgotten, as Burn does: exclude afterwards."""
        return ParamGroup(self.matcher.fuse(check_group("fuse", other).matcher))

    def exclude(self, other: ParamGroup) -> ParamGroup:
        """Those of this group which the other's matcher does not take."""
        matcher = check_group("exclude", other).matcher
        return ParamGroup(self.matcher, matcher if self.excludes is None else self.excludes.fuse(matcher))

    def check(self) -> None:
        """Errors: ModuleError for a pattern that is no regular expression, as a file may have one."""
        self.matcher.check()
        if self.excludes is not None:
            self.excludes.check()

    def with_ids(self, ids: Mapping[int, int]) -> ParamGroup:
        """The group in which the parameters of these old ids go by the new ones."""
        excludes = None if self.excludes is None else self.excludes.with_ids(ids)
        return ParamGroup(self.matcher.with_ids(ids), excludes)


class Matcher(Config):
    """What takes parameters: a variant of it."""

    def takes(self, id: int, path: str | None) -> bool:
        raise TypeError("Matcher: use ParamGroup's constructors.")

    def fuse(self, other: Matcher) -> Matcher:
        """What takes the parameters of both."""
        if isinstance(self, All) or isinstance(other, All):
            return All()
        if isinstance(other, Combined) and not isinstance(self, Combined):
            return Combined((*other.matchers, self))  # as Burn writes it
        return Combined((*parts_of(self), *parts_of(other)))

    def check(self) -> None:
        """Errors: ModuleError for a pattern that is no regular expression."""

    def with_ids(self, ids: Mapping[int, int]) -> Matcher:
        return self


class Id(Config):
    """An id as Burn writes it in JSON."""

    value: int


class All(Matcher, variant="All"):
    def takes(self, id: int, path: str | None) -> bool:
        return True


class Explicit(Matcher, variant="Explicit", tuple_variant=True):
    ids: tuple[Id, ...]

    def takes(self, id: int, path: str | None) -> bool:
        return any(mine.value == id for mine in self.ids)

    def with_ids(self, ids: Mapping[int, int]) -> Matcher:
        return Explicit(tuple(Id(int(ids.get(mine.value, mine.value))) for mine in self.ids))


class Path(Matcher, variant="Path", tuple_variant=True):
    matcher: PathMatcher

    def takes(self, id: int, path: str | None) -> bool:
        return path is not None and self.matcher.takes(path)

    def check(self) -> None:
        self.matcher.check()


class Combined(Matcher, variant="Combined", tuple_variant=True):
    matchers: tuple[Matcher, ...]

    def takes(self, id: int, path: str | None) -> bool:
        return any(matcher.takes(id, path) for matcher in self.matchers)

    def check(self) -> None:
        for matcher in self.matchers:
            matcher.check()

    def with_ids(self, ids: Mapping[int, int]) -> Matcher:
        return Combined(tuple(matcher.with_ids(ids) for matcher in self.matchers))


class PathMatcher(Config):
    """What takes paths: a variant of it."""

    def takes(self, path: str) -> bool:
        raise TypeError("PathMatcher: use ParamGroup's constructors.")

    def check(self) -> None:
        """As Matcher's."""


class Exact(PathMatcher, variant="Exact", tuple_variant=True):
    paths: tuple[str, ...]

    def takes(self, path: str) -> bool:
        return path in self.paths


class Regex(PathMatcher, variant="Regex", tuple_variant=True):
    patterns: tuple[str, ...]

    def takes(self, path: str) -> bool:
        return all(pattern_of(text).search(path) for text in self.patterns)

    def check(self) -> None:
        for text in self.patterns:
            pattern_of(text)


class Include(PathMatcher, variant="Include", tuple_variant=True):
    parts: tuple[str, ...]

    def takes(self, path: str) -> bool:
        return all(part in path for part in self.parts)


def pattern_of(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)  # which keeps what it compiled
    except (re.error, RecursionError, OverflowError) as error:
        raise ModuleError(f"ParamGroup: {text!r} is not a regular expression: {error}.") from None


def one_of(matchers: list[Path]) -> Matcher:
    """The last one first, as Burn fuses them."""
    if not matchers:
        return Path(Include(()))
    if len(matchers) == 1:
        return matchers[0]
    return Combined((matchers[-1], *matchers[:-1]))


def parts_of(matcher: Matcher) -> tuple[Matcher, ...]:
    return matcher.matchers if isinstance(matcher, Combined) else (matcher,)


def texts(owner: str, given: Iterable[str]) -> tuple[str, ...]:
    found = () if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) else tuple(given)
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ModuleError(f"ParamGroup.{owner}: expected a list of texts, but got {type(given).__name__} {given!r}.")
    for text in found:
        if not isinstance(text, str):
            raise ModuleError(f"ParamGroup.{owner}: expected texts, but got {type(text).__name__} {text!r}.")
    return found


def check_group(owner: str, group: object) -> ParamGroup:
    """The group itself. Errors: ModuleError for what is none, or has a pattern that is no regular expression."""
    if not isinstance(group, ParamGroup):
        raise ModuleError(
            f"{owner}: expected a ParamGroup, but got {type(group).__name__}. "
            "ParamGroup.from_predicate(text), .ids_from_module(part) and others make one."
        )
    group.check()
    return group


def ids_of(module: Module) -> list[ParamId]:
    """Of its parameters and flags, in their order, each once.

    Burn: `list_param_ids` in `crates/burn-core/src/module/param/visitor.rs`.
    """
    from minburn.module.module import Module

    if not isinstance(module, Module):
        raise ModuleError(f"ParamGroup.ids_from_module: expected a Module, but got {type(module).__name__}.")
    collector = CollectIds()
    module.visit(collector)
    return list(collector.paths)


class CollectIds(ModuleVisitor):
    """The first path of every parameter and flag by its id."""

    def __init__(self) -> None:
        self.paths: dict[ParamId, str] = {}

    def _add(self, param: Param[Any]) -> None:
        self.paths.setdefault(param.id, self.path)

    def visit_float(self, param: Param[FloatTensor]) -> None:
        self._add(param)

    def visit_int(self, param: Param[IntTensor]) -> None:
        self._add(param)

    def visit_bool(self, param: Param[BoolTensor]) -> None:
        self._add(param)

    def visit_flag(self, param: Param[Flag]) -> None:
        self._add(param)
