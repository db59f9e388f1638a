"""The name of a parameter that survives moves, renames and files: 64 bits.

Optimizer states and gradients are keyed by it. Burn draws ids at random; here an id is a hash of the backend's seed and
of a counter of this process, so that one script writes the same bytes every time it runs, and two parameters of one
process never share an id.

Text form (printing only; files hold the integer): the 8 little-endian bytes in base32hex, lowercase, unpadded.

Burn: `crates/burn-std/src/id.rs`.
"""

from __future__ import annotations

import base64
import itertools
from typing import Self

from minburn.backends import Backend
from minburn.module.error import check_backend

_counter = itertools.count()

BITS = 64


class ParamId(int):
    """An unsigned 64-bit integer; `str()` gives Burn's text form, `int()` the plain integer."""

    __slots__ = ()

    def __new__(cls, value: int) -> Self:
        if not isinstance(value, int) or not 0 <= value < 1 << BITS:
            raise ValueError(f"ParamId: expected an integer from 0 to 2^64 - 1, but got {value!r}.")
        return super().__new__(cls, value)

    @staticmethod
    def new(backend: Backend | None = None) -> ParamId:
        """A fresh id: the first 8 bytes of SHA-256(seed, counter). Without a backend the seed counts as 0.

        Burn: `IdGenerator`, `IdGenerator::generate`.
        """
        import hashlib  # 3 ms, and not needed to import a program

        seed = 0 if backend is None else check_backend("ParamId.new", backend).streams.seed
        digest = hashlib.sha256(f"{seed}\x00param\x00{next(_counter)}".encode()).digest()
        return ParamId(int.from_bytes(digest[:8], "little"))

    @staticmethod
    def parse(text: str) -> ParamId:
        """The id of a text form, in either case; a shorter one (older ids had 6 bytes) is extended with zeros."""
        try:
            data = base64.b32hexdecode(text.upper() + "=" * (-len(text) % 8))
        except (ValueError, AttributeError, TypeError) as error:
            raise ValueError(f"ParamId: {text!r} is not an id: expected up to 13 characters of 0-9 and a-v.") from error
        if len(data) > BITS // 8:
            raise ValueError(f"ParamId: {text!r} stands for {len(data)} bytes; an id has 8.")
        return ParamId(int.from_bytes(data, "little"))

    def __str__(self) -> str:
        return base64.b32hexencode(int.to_bytes(self, BITS // 8, "little")).decode().rstrip("=").lower()

    def __repr__(self) -> str:
        return f"ParamId({int(self)})"
