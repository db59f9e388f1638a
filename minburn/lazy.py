"""A package whose names are loaded when they are first asked for (PEP 562), so that importing it costs next to nothing.

    if TYPE_CHECKING:
        from minburn.nn.linear import *              # what type checkers and editors see
        from minburn.nn.loss import *
    else:
        __all__, __getattr__, __dir__ = lazy_names(__name__, {"linear": ("Linear", "LinearConfig")}, ["loss"])

`from minburn.nn import Linear` then imports `minburn.nn.linear` and nothing beside it. A test compares the table with
the `__all__` of the files it names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module


def lazy_names(
    package: str, table: Mapping[str, Iterable[str]], folders: Iterable[str] = ()
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package.

    table: for each file of the package the names it gives; one that lies elsewhere is written in full.
    folders: packages in it that are lazy themselves, and all of whose names it gives, too.
    """
    members = {name: name if "." in name else f"{package}.{name}" for name in (*table, *folders)}
    homes = {name: members[file] for file, names in table.items() for name in names}
    for folder in folders:
        homes |= dict.fromkeys(import_module(members[folder]).__all__, members[folder])
    exported = sorted(homes)

    def get(name: str) -> object:
        if name in homes:
            value = getattr(import_module(homes[name]), name)
            setattr(sys.modules[package], name, value)  # found at once the next time
            return value
        if name in members:  # the file itself, as if it were imported
            return import_module(members[name])
        raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *members})

    return exported, get, names
