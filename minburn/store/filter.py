"""Which parameters to load or save: all that one of the criteria names.

    PathFilter(regexes=[r"^encoder\\."])                                the paths in which a regex is found
    PathFilter(paths=["head.weight", "head.bias"])                     exactly these
    PathFilter(predicates=[lambda path, container: "Norm" in container])
    PathFilter.all()

A path is that of the parameter in the module, not its key in a file. The container path says what it lies in, from the
outside to the inside: `Struct:Model.Vec.Struct:Linear`.

Burn: `PathFilter` in `crates/burn-store/src/filter.rs`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from minburn.store.check import as_list, as_text, as_texts
from minburn.store.error import StoreError

__all__ = ["PathFilter"]

Predicate = Callable[[str, str], bool]


class PathFilter:
    """Criteria, of which one must match. Without any, nothing matches.

    regexes: searched, not anchored. paths: equal. predicates: functions of path and container path.
    Errors: StoreError for a regex that is none.

    Burn: `PathFilter::none`.
    """

    __slots__ = ("_all", "_paths", "_predicates", "_regexes")

    def __init__(
        self, *, regexes: Iterable[str] = (), paths: Iterable[str] = (), predicates: Iterable[Predicate] = ()
    ) -> None:
        self._regexes = tuple(compiled("PathFilter", regex) for regex in as_list("PathFilter: regexes", regexes))
        self._paths = frozenset(as_texts("PathFilter: paths", paths))
        self._predicates = tuple(as_list("PathFilter: predicates", predicates))
        self._all = False
        if not all(callable(predicate) for predicate in self._predicates):
            raise StoreError("PathFilter: a predicate is a function of a path and a container path.")

    @staticmethod
    def all() -> PathFilter:
        """Every parameter.

        Burn: `PathFilter::match_all` and `BurnpackStore::match_all`, `SafetensorsStore::match_all`,
        `PytorchStore::match_all`.
        """
        every = PathFilter()
        every._all = True
        return every

    def matches(self, path: str, container_path: str = "") -> bool:
        as_text("PathFilter: a path", path)
        return (
            self._all
            or path in self._paths
            or any(regex.search(path) for regex in self._regexes)
            or any(predicate(path, container_path) for predicate in self._predicates)
        )

    def __or__(self, other: PathFilter) -> PathFilter:
        """What either matches. Burn: `PathFilter::or`."""
        if not isinstance(other, PathFilter):
            return NotImplemented
        both = PathFilter(predicates=self._predicates + other._predicates)
        both._regexes = self._regexes + other._regexes
        both._paths = self._paths | other._paths
        both._all = self._all or other._all
        return both

    def __repr__(self) -> str:
        if self._all:
            return "PathFilter.all()"
        parts = [repr(regex.pattern) for regex in self._regexes] + sorted(map(repr, self._paths))
        parts += [getattr(predicate, "__name__", "predicate") for predicate in self._predicates]
        return f"PathFilter({', '.join(parts)})"


def compiled(owner: str, pattern: object) -> re.Pattern[str]:
    """The regex; StoreError saying what is wrong with it."""
    if not isinstance(pattern, str):
        raise StoreError(f"{owner}: a regex is a str, but got {type(pattern).__name__} {pattern!r}.")
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise StoreError(f"{owner}: {pattern!r} is not a regex: {error}.") from error
