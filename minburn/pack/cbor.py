"""The part of CBOR (RFC 8949) that burnpack metadata uses: writing heads, texts and floats, reading typed items.

Reading is directed by what is expected next, as in Burn, whose decoder (serde over ciborium) never builds a tree: the
caller asks for an integer, a text, a variant, and everything else is an error or, for unknown fields, skipped. This
is why hostile input costs nothing here: a declared length of 2^62 is compared with the bytes that are left, no tag is
ever resolved, and an unknown value is stepped over without being built. It is also why the verdicts are Burn's: a
variant is a bare text or a map of exactly one entry, a field name may be text or bytes, an integer may be a bignum,
tags in front of a value mean nothing, and bytes after the last expected item are never looked at.

Burn: uses `ciborium` 0.2.2 with derived serde types; what it accepts is listed in `decode.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from minburn.pack.format import MAX_NESTING, U64_MAX

T = TypeVar("T")

UINT, NEGATIVE, BYTES, TEXT, ARRAY, MAP, TAG, OTHER = range(8)
FALSE, TRUE, NULL, UNDEFINED = 20, 21, 22, 23
INDEFINITE = 31
BREAK = 0xFF
POSITIVE_BIGNUM, NEGATIVE_BIGNUM = 2, 3
MAX_IDENTIFIER = 4096
"""Longest field or variant name, the size of ciborium's scratch buffer."""

_KINDS = (
    "an integer",
    "a negative integer",
    "bytes",
    "a text",
    "an array",
    "a map",
    "a tag",
    "a simple value or float",
)
_HEAD_16, _HEAD_32, _HEAD_64 = struct.Struct(">BH"), struct.Struct(">BI"), struct.Struct(">BQ")
_FLOATS = {25: struct.Struct(">e"), 26: struct.Struct(">f"), 27: struct.Struct(">d")}


class CborError(Exception):
    """What is wrong with an item, and at which byte of the metadata."""


# Writing


def head(major: int, argument: int) -> bytes:
    """The first bytes of an item: its major type and its value or length, in the shortest form."""
    if argument < 24:
        return bytes((major << 5 | argument,))
    if argument < 1 << 8:
        return bytes((major << 5 | 24, argument))
    if argument < 1 << 16:
        return _HEAD_16.pack(major << 5 | 25, argument)
    if argument < 1 << 32:
        return _HEAD_32.pack(major << 5 | 26, argument)
    return _HEAD_64.pack(major << 5 | 27, argument)


def encode_int(value: int) -> bytes:
    return head(UINT, value) if value >= 0 else head(NEGATIVE, -1 - value)


def encode_text(text: str) -> bytes:
    data = text.encode()
    return head(TEXT, len(data)) + data


def encode_float(value: float) -> bytes:
    """The narrowest of binary16, 32 and 64 that gives the same 64 bits back, NaNs included."""
    exact = struct.pack(">d", value)
    for info in (25, 26):
        packer = _FLOATS[info]
        try:
            narrow = packer.pack(value)
        except OverflowError:
            continue
        if struct.pack(">d", packer.unpack(narrow)[0]) == exact:
            return bytes((OTHER << 5 | info,)) + narrow
    return bytes((OTHER << 5 | 27,)) + exact


# Reading


class CborReader:
    """A position in CBOR bytes, and one method for each thing that may be expected there."""

    __slots__ = ("data", "depth", "position")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0
        self.depth = 0

    def head(self) -> tuple[int, int, int]:
        """(major type, additional information, argument); for floats the argument is their bits."""
        data = self.data
        start = self.position
        if start >= len(data):
            raise self.truncated()
        major, info = data[start] >> 5, data[start] & 31
        if info < 24 or info == INDEFINITE:
            if info == INDEFINITE and major in (UINT, NEGATIVE, TAG):
                raise self.error(f"malformed item {data[start]:#04x}", start)
            self.position = start + 1
            return major, info, info
        if info > 27:
            raise self.error(f"malformed item {data[start]:#04x}", start)
        end = start + 1 + (1 << (info - 24))
        if end > len(data):
            raise self.truncated()
        self.position = end
        return major, info, int.from_bytes(data[start + 1 : end])

    def untagged(self) -> tuple[int, int, int]:
        """The next head that is not a tag."""
        found = self.head()
        while found[0] == TAG:
            found = self.head()
        return found

    def take(self, length: int) -> bytes:
        end = self.position + length
        if end > len(self.data):
            raise self.truncated()
        taken = self.data[self.position : end]
        self.position = end
        return taken

    # Scalars

    def integer(self) -> int:
        """An integer or a bignum of at most 128 bits."""
        start = self.position
        found = self.head()
        while found[0] == TAG:
            if found[2] in (POSITIVE_BIGNUM, NEGATIVE_BIGNUM):
                value = self._bignum()
                return value if found[2] == POSITIVE_BIGNUM else -1 - value
            found = self.head()
        major, _, argument = found
        if major == UINT:
            return argument
        if major == NEGATIVE:
            return -1 - argument
        raise self.unexpected("an integer", found, start)

    def uint(self, largest: int = U64_MAX) -> int:
        start = self.position
        value = self.integer()
        if not 0 <= value <= largest:
            raise self.error(f"expected an integer from 0 to {largest}, found {value}", start)
        return value

    def int64(self) -> int:
        start = self.position
        value = self.integer()
        if not -(1 << 63) <= value < 1 << 63:
            raise self.error(f"expected a signed 64-bit integer, found {value}", start)
        return value

    def float(self) -> float:
        start = self.position
        found = self.untagged()
        major, info, argument = found
        packer = _FLOATS.get(info) if major == OTHER else None
        if packer is None:
            raise self.unexpected("a float", found, start)
        return float(packer.unpack(argument.to_bytes(packer.size))[0])

    def bool(self) -> bool:
        start = self.position
        found = self.untagged()
        if found[0] == OTHER and found[1] <= 24 and found[2] in (FALSE, TRUE):
            return found[2] == TRUE
        raise self.unexpected("a bool", found, start)

    def optional(self, decode: Callable[[CborReader], T]) -> T | None:
        """None for null and undefined, else what `decode` reads."""
        start = self.position
        major, info, argument = self.head()
        if major == OTHER and info <= 24 and argument in (NULL, UNDEFINED):
            return None
        self.position = start
        return decode(self)

    def text(self) -> str:
        start = self.position
        found = self.untagged()
        if found[0] != TEXT:
            raise self.unexpected("a text", found, start)
        return "".join(self._decode(piece) for piece in self._pieces(found))

    def identifier(self) -> str:
        """The name of a field or variant: a definite text, or bytes as serde allows."""
        start = self.position
        found = self.untagged()
        major, info, length = found
        if major not in (TEXT, BYTES) or info == INDEFINITE or length > MAX_IDENTIFIER:
            raise self.unexpected("a name", found, start)
        data = self.take(length)
        return self._decode(data) if major == TEXT else data.decode("latin-1")

    # Containers

    def entries(self) -> Iterator[None]:
        """Steps through a map: the caller reads one key and one value at each step."""
        start = self.position
        found = self.untagged()
        if found[0] != MAP:
            raise self.unexpected("a map", found, start)
        self.depth += 1
        yield from self._items(found)
        self.depth -= 1

    def uints(self, count: int | None = None, largest: int = U64_MAX) -> list[int]:
        """An array of unsigned integers, or bytes, each byte one integer.

        With `count`, that many are read and the rest of an array is left in the stream, for the next read to stumble
        over: serde does so with tuples.
        """
        start = self.position
        found = self.untagged()
        if found[0] == BYTES:
            values = list(b"".join(self._pieces(found)))[:count]
        elif found[0] == ARRAY:
            values = []
            if count != 0:
                for _ in self._items(found):
                    values.append(self.uint(largest))
                    if len(values) == count:
                        break
        else:
            raise self.unexpected("an array", found, start)
        if count is not None and len(values) < count:
            raise self.error(f"expected {count} integers, found {len(values)}", start)
        return values

    def fields(
        self, decoders: Mapping[str, Callable[[CborReader], object]], defaults: Mapping[str, object]
    ) -> dict[str, Any]:
        """A struct: a map with known keys in any order. Unknown keys are skipped, a known one may come once.

        decoders: how to read the value of each known key. defaults: values of the keys that may be missing.
        """
        values: dict[str, Any] = {}
        for _ in self.entries():
            start = self.position
            name = self.identifier()
            decode = decoders.get(name)
            if decode is None:
                self.skip()
            elif name in values:
                raise self.error(f"the key {name!r} comes twice", start)
            else:
                values[name] = decode(self)
        if len(values) < len(decoders):
            for name in decoders:
                if name not in values and name not in defaults:
                    raise self.error(f"the key {name!r} is missing", self.position)
            return {**defaults, **values}
        return values

    def variant(self, what: str, decoders: Mapping[str, Callable[[CborReader], T]]) -> T:
        """An enum value: a bare text, or a map of one entry whose key is the variant's name.

        A variant without content reads nothing after its name, whichever form it came in.
        """
        start = self.position
        found = self.untagged()
        if found[0] == TEXT:
            self.position = start  # the name follows; tags in front of it are skipped again
        elif found[0] != MAP or found[1] == INDEFINITE or found[2] != 1:
            raise self.unexpected(f"{what} (a text, or a map of one entry)", found, start)
        name = self.identifier()
        decode = decoders.get(name)
        if decode is None:
            raise self.error(f"{name!r} is no {what}; expected one of {', '.join(decoders)}", start)
        self.depth += 1
        value = decode(self)
        self.depth -= 1
        return value

    def skip(self) -> None:
        """Steps over one well-formed item of any type, at most 128 levels deep counted from the top."""
        open_items: list[Iterator[None]] = []
        while True:
            start = self.position
            found = self.head()
            major, info, argument = found
            if major in (BYTES, TEXT):
                for piece in self._pieces(found):
                    if major == TEXT:
                        self._decode(piece)
            elif major in (ARRAY, MAP, TAG):
                if major == TAG and argument in (POSITIVE_BIGNUM, NEGATIVE_BIGNUM):
                    self._bignum(largest=None)
                else:
                    if self.depth + len(open_items) >= MAX_NESTING:
                        raise self.error(f"nested more than {MAX_NESTING} levels deep", start)
                    open_items.append(self._items(found) if major != TAG else iter((None,)))
                    if major == MAP:
                        open_items[-1] = self._twice(open_items[-1])
            elif major == OTHER and info <= 24 and argument not in (FALSE, TRUE, NULL, UNDEFINED):
                raise self.error(f"unknown simple value {argument}", start)
            elif major == OTHER and info == INDEFINITE:
                raise self.error("a break outside an indefinite item", start)
            while open_items and next(open_items[-1], self) is self:
                open_items.pop()
            if not open_items:
                return

    # Pieces

    def _items(self, found: tuple[int, int, int]) -> Iterator[None]:
        """One step for each item of a container whose head was read; takes an indefinite one's break."""
        _, info, length = found
        if info != INDEFINITE:
            remaining = length
            while remaining:
                remaining -= 1
                yield None
            return
        while True:
            if self.position >= len(self.data):
                raise self.truncated()
            if self.data[self.position] == BREAK:
                self.position += 1
                return
            yield None

    @staticmethod
    def _twice(items: Iterator[None]) -> Iterator[None]:
        for item in items:
            yield item
            yield item

    def _pieces(self, found: tuple[int, int, int]) -> Iterator[bytes]:
        """The segments of a text or byte string whose head was read; one, unless its length is indefinite."""
        major, info, length = found
        if info != INDEFINITE:
            yield self.take(length)
            return
        nested = 1
        while nested:
            start = self.position
            kind, info, length = self.head()
            if kind == OTHER and info == INDEFINITE:
                nested -= 1
            elif kind != major:
                raise self.unexpected(f"a piece of {_KINDS[major].removeprefix('a ')}", (kind, info, length), start)
            elif info == INDEFINITE:
                nested += 1
            else:
                yield self.take(length)

    def _bignum(self, largest: int | None = (1 << 128) - 1) -> int:
        start = self.position
        found = self.head()
        if found[0] != BYTES:
            raise self.unexpected("the bytes of a bignum", found, start)
        digits = b"".join(self._pieces(found)).lstrip(b"\0")
        if largest is None:
            return 0
        if len(digits) > 16:
            raise self.error(f"an integer of {len(digits)} bytes is too large", start)
        return int.from_bytes(digits)

    def _decode(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise self.error(f"a text is not UTF-8: {error.reason}", self.position) from None

    # Errors

    def error(self, message: str, position: int) -> CborError:
        return CborError(f"{message} (byte {position})")

    def truncated(self) -> CborError:
        return CborError(f"it ends in the middle of an item ({len(self.data)} bytes)")

    def unexpected(self, expected: str, found: tuple[int, int, int], position: int) -> CborError:
        major, info, argument = found
        if major in (UINT, NEGATIVE):
            what = f"the integer {argument if major == UINT else -1 - argument}"
        elif major == OTHER and info in _FLOATS:
            what = "a float"
        elif major == OTHER and info == INDEFINITE:
            what = "a break"
        elif major == OTHER:
            what = {FALSE: "false", TRUE: "true", NULL: "null", UNDEFINED: "undefined"}.get(argument, "a simple value")
        elif info == INDEFINITE:
            what = f"{_KINDS[major]} of indefinite length"
        else:
            what = f"{_KINDS[major]} of length {argument}"
        return self.error(f"expected {expected}, found {what}", position)
