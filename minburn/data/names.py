"""The bundled first names: 5,163 in lower case, sorted, for models that spell.

Source: US Census Bureau, 1990 census name files, public domain (`bundled/ATTRIBUTION.md`).
"""

from __future__ import annotations

from functools import cache

from minburn.data.dataset import InMemDataset
from minburn.data.files import read_bundled
from minburn.data.selection import SelectionDataset, random_split


@cache
def load() -> InMemDataset[str]:
    """All names, sorted; the same object at every call. Every character is one of a–z."""
    return InMemDataset(read_bundled("names.txt").decode("ascii").split())


def split(valid: float = 0.1, seed: int = 42) -> tuple[SelectionDataset[str], SelectionDataset[str]]:
    """(training names, validation names): a random fraction `valid` is held out, chosen by the seed."""
    return random_split(load(), valid, seed)
