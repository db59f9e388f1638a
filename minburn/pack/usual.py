"""A shortcut for the map of tensors in the layout that Burn and this package write: one match for each descriptor.

Reading 10,000 descriptors item by item takes longer than everything else about opening their file together, and nearly
every file has them in one layout: definite lengths, four keys in order, plain dtypes. So a map that looks like that
from end to end is read by a regular expression. Anything else is not an error here: `None` sends it down the ordinary
way, which decides. A test holds the two ways equal.
"""

from __future__ import annotations

import re
from functools import lru_cache

from minburn.pack.cbor import INDEFINITE, MAP, TEXT, CborReader
from minburn.pack.format import MAX_TENSORS
from minburn.pack.metadata import PLAIN_ENCODED, Descriptor

_UINT = rb"(?:[\x00-\x17]|\x18.|\x19..|\x1a.{4}|\x1b.{8})"
_DESCRIPTOR = re.compile(
    rb"(\xa3|\xa4)edtype((?:\xa1dBool)?[\x62-\x66][A-Za-z0-9]{2,6}?)eshape([\x80-\x97]%(uint)s*)"
    rb"ldata_offsets\x82(%(uint)s)(%(uint)s)(?:hparam_id(%(uint)s))?" % {b"uint": _UINT},
    re.DOTALL,
)
_DTYPES = dict(PLAIN_ENCODED.values())


def decode_usual_tensors(reader: CborReader) -> dict[str, Descriptor] | None:
    """The tensors at the reader's position; None, with nothing read, if anything is out of the ordinary."""
    start = reader.position
    major, info, count = reader.head()
    if major == MAP and info != INDEFINITE and count <= MAX_TENSORS:
        tensors = _usual_entries(reader, count)
        if len(tensors) == count:  # fewer: an unusual one, or a name that came twice
            return tensors
    reader.position = start
    return None


def _usual_entries(reader: CborReader, count: int) -> dict[str, Descriptor]:
    """As many of `count` entries as are usual. Written out flat: function calls are what costs here."""
    tensors: dict[str, Descriptor] = {}
    data, position = reader.data, reader.position
    match_at, integer = _DESCRIPTOR.match, int.from_bytes
    for _ in range(count):
        if position + 2 > len(data):
            break
        length = data[position] - (TEXT << 5)
        position += 1
        if length == 24:  # the length is in the next byte
            length = data[position]
            position += 1
        elif not 0 <= length < 24:
            break
        end = position + length
        match = match_at(data, end)
        if match is None:
            break
        size, kind, dims, first, last, param_id = match.groups()
        dtype, shape = _DTYPES.get(kind), _shape(dims)
        if dtype is None or shape is None or (size == b"\xa4") != (param_id is not None):
            break
        try:
            name = data[position:end].decode()
        except UnicodeDecodeError:
            break
        tensors[name] = (
            dtype,
            shape,
            integer(first[1:] or first),  # a short integer is its own head
            integer(last[1:] or last),
            None if param_id is None else integer(param_id[1:] or param_id),
        )
        position = match.end()
    reader.position = position
    return tensors


@lru_cache(maxsize=1024)  # most tensors of a model share a few shapes
def _shape(encoded: bytes) -> tuple[int, ...] | None:
    """The sizes in an array of integers; None if there are not as many as its head says."""
    reader = CborReader(encoded[1:])
    shape = []
    while reader.position < len(reader.data):
        shape.append(reader.uint())
    return tuple(shape) if len(shape) == encoded[0] & 31 else None
