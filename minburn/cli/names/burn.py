"""The public names of Burn 0.22.1, and what became of each.

`burn/` has a file for each crate, made of its sources by `tests/names/collect.py`: a line for each source file, and
below it, indented, the kind and path of each public name in it.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import NamedTuple

from minburn.cli.names.left_out import Pattern, left_out
from minburn.cli.names.match import Match, match

FOLDER = Path(__file__).resolve().parent / "burn"
MEMBERS = ("method", "field", "variant")
OTHER_CRATES: dict[str, str] = {
    "burn-capture burn-cubecl-fusion burn-fusion burn-ir": "one op runs at a time, and nothing rewrites the program",
    "burn-dispatch burn-remote burn-router": "a backend is a value, and works on a device of this machine",
    "burn-cpu burn-cubecl burn-cuda burn-rocm burn-tch burn-wgpu": "backends: here these are NumPy and CuPy",
    "burn-flex burn-ndarray": "backends: here it is NumPy",
    "burn-backend-extension": "a macro for ops of one's own: here `tensor.custom_op`",
    "burn-rl burn-vision": "reinforcement learning and image processing are not part of minburn",
}
"""Crates of which nothing is listed, because nothing here is for them, and why."""


class Name(NamedTuple):
    """`method` `SgdConfig::init` of `burn-optim`, in `src/optim/sgd.rs`."""

    crate: str
    kind: str
    path: str
    file: str

    @property
    def is_member(self) -> bool:
        return self.kind in MEMBERS

    @property
    def whole(self) -> str:
        return f"{self.crate.replace('-', '_')}::{self.path}"

    @property
    def place(self) -> str:
        return f"crates/{self.crate}/{self.file}"

    def matches(self) -> list[Match]:
        """What it is here."""
        pattern = left_out(self.crate, self.path, self.is_member)
        return [] if pattern and pattern.beside else match(self.crate, self.path)

    def pattern(self) -> Pattern | None:
        """What says that it is left out, or that what it belongs to is."""
        own = left_out(self.crate, self.path, self.is_member)
        owner = by_path().get((self.crate, self.path.rpartition("::")[0]))
        if own is None and self.is_member and owner is not None and not owner.matches():
            return owner.pattern()
        return own

    def reason(self) -> str | None:
        """Why it is not here, if it is not."""
        pattern = self.pattern()
        return pattern.reason if pattern else None

    def __str__(self) -> str:
        return f"{self.crate} {self.kind} {self.path} ({self.file})"


@functools.cache
def sources() -> dict[tuple[str, str], list[Name]]:
    """The names in each source file of each crate; in some there are none."""
    found: dict[tuple[str, str], list[Name]] = {}
    for data in sorted(FOLDER.glob("*.txt")):
        file = ""
        for line in data.read_text("utf-8").splitlines():
            if line.startswith("  "):
                kind, path = line.split()
                found[data.stem, file].append(Name(data.stem, kind, path, file))
            elif not line.startswith("#"):
                file = line
                found[data.stem, file] = []
    return found


@functools.cache
def names() -> tuple[Name, ...]:
    """All of them, by crate, source file and path."""
    return tuple(name for of_file in sources().values() for name in of_file)


@functools.cache
def by_path() -> dict[tuple[str, str], Name]:
    return {(name.crate, name.path): name for name in names()}


def called(asked: str) -> list[Name]:
    """Those that a text may mean, by the ends of their paths; a member without its owner if nothing else is so called.

    `Linear`, `Tensor::backward`, `B::float_add`, `Tensor<D, Int>::arange`, `#[derive(Module)]`, `einsum!`
    """
    path = re.sub(r"<[^>]*>|#\[|\]|!$|^(?:burn|B)::", "", asked)
    ended = [name for name in names() if f"::{name.whole}".removesuffix("!").endswith(f"::{path}")]
    if "::" not in path:
        return [name for name in ended if not name.is_member] or ended
    if ended:
        return ended
    owner, _, last = path.rpartition("::")
    if owner.rpartition("::")[2][:1].isupper():  # what Burn derives for a config: `new`, and a setter for each field
        return called(owner) if last == "new" else called(path.replace("::with_", "::")) if "::with_" in path else []
    return called(path.partition("::")[2])  # `nn::Linear` is `burn_nn::Linear`
