"""Damages valid files and opens them: `python tests/pack/pack_fuzz.py --count 1000000 --seed 7`.

For every damaged file: it opens, or PackError says why, and nothing else escapes. Whatever it is takes at most 50 ms of
CPU time and 10 MB. The two ways of reading metadata agree. What opens can be written again, and that opens with the
same contents.
"""

import argparse
import io
import random
import struct
import sys
import time
import tracemalloc
from pathlib import Path

from minburn.dtype import BlockScale, DType, QuantScheme
from minburn.pack import PackError, Reader, Scalar, TensorEntry, Writer, cbor, decode

GOLDEN = Path(__file__).parent.parent / "golden" / "pack"
MAX_SECONDS = 0.05
MAX_BYTES = 10_000_000
HEADER = struct.Struct("<4sHI")
INTERESTING = bytes(
    [0x00, 0x17, 0x18, 0x1B, 0x1F, 0x3B, 0x5F, 0x7B, 0x7F, 0x80, 0x9B, 0x9F, 0xA1, 0xBB, 0xBF, 0xC2, 0xF6, 0xFF]
)
PIECES = [
    b"\xff" * 8,
    b"\x1b" + b"\xff" * 8,
    b"\x9b" + b"\x7f" * 8,
    b"\xbb" + b"\x00" * 7 + b"\x10",
    b"\x7b\x00\x00\x00\x7f\xff\xff\xff\xff",
    b"\x81" * 200,
    b"\xc1" * 200,
    b"\xd9\xd9\xf7",
    b"\xc2\x51" + b"\x01" * 17,
    b"gtensors",
    b"eshape",
    b"hparam_id",
    b"dBoolbU8",
    b"\xfb\x7f\xf8\x00\x00\x00\x00\x00\x01",
]


def seeds():
    """Valid files: Burn's own, the dumps, one with everything, one with many tensors."""
    found = [path.read_bytes() for folder in ("dumps", "extra") for path in sorted((GOLDEN / folder).glob("*.bpk"))]
    scheme = QuantScheme("Q4F", "PackedU32", 1, "Lookup", "F32", BlockScale((2, 16), "UE4M3"))
    rich = [
        TensorEntry("quantized", DType.qfloat(scheme), (4, 4), b"payload", 1),
        TensorEntry("flags", DType.BoolU32, (2,), bytes(8), 2),
        TensorEntry("é" * 30, DType.BF16, (), b"ab"),
    ]
    scalars = {"a": Scalar.int(-(1 << 40)), "b": Scalar.float(0.1), "c": Scalar.bool(True), "d": Scalar.uint(1 << 63)}
    found.append(Writer(rich, {"text": "x" * 300, "": ""}, scalars).into_bytes())
    many = [TensorEntry(f"layer.{i}.weight", DType.F32, (i % 5, 3), bytes(i % 5 * 12), i << 40) for i in range(60)]
    found.append(Writer(many).into_bytes())
    return found


def damaged(rng, files):
    """One of the files with a few changes, half of the time with a header and padding that fit the changed metadata."""
    data = rng.choice(files)
    size = HEADER.unpack_from(data)[2]
    start = (10 + size + 255) // 256 * 256
    header, metadata = bytearray(data[:10]), bytearray(data[10 : 10 + size])
    padding, tensors = bytearray(start - 10 - size), bytearray(data[start:])
    for _ in range(rng.randint(1, 3)):
        part = rng.choices((header, metadata, padding, tensors), (1, 12, 1, 2))[0]
        change(rng, part, rng.choice(files))
    if rng.random() < 0.5:
        header = HEADER.pack(b"NRUB", 1, len(metadata))
        padding = bytes(-(10 + len(metadata)) % 256)
    return bytes(header + metadata + padding + tensors)


def change(rng, part, other):
    place = rng.randint(0, len(part))
    kind = rng.randrange(8)
    if kind == 0 and part:
        part[place - 1] ^= 1 << rng.randrange(8)
    elif kind == 1 and part:
        part[place - 1] = rng.choice(INTERESTING)
    elif kind == 2:
        del part[place : place + rng.choice((1, 1, 1, 2, 8, 100))]
    elif kind == 3:
        part[place:place] = rng.choice(PIECES)
    elif kind == 4:
        piece = rng.choice(PIECES)
        part[place : place + len(piece)] = piece
    elif kind == 5:
        start = rng.randint(0, len(part))
        part[place:place] = part[start : start + rng.randint(1, 60)]
    elif kind == 6:
        start = rng.randint(0, len(other))
        part[place:place] = other[start : start + rng.randint(1, 60)]
    else:
        del part[place:]


def contents(reader):
    tensors = {name: (e.dtype, e.shape, e.param_id, e.bytes()) for name, e in reader.items()}
    scalars = {name: (scalar.kind, repr(scalar.value)) for name, scalar in reader.scalars.items()}
    return tensors, dict(reader.metadata), scalars


def read(data):
    """What the file holds, or the PackError."""
    try:
        with Reader.from_bytes(data) as reader:
            return contents(reader)
    except PackError as error:
        return error


def check_agreement(data, outcome):
    """The outcome again by other ways: metadata item by item, a file object, and written anew if it opened."""
    size = HEADER.unpack_from(data.ljust(10, b"\0"))[2]
    encoded = data[10 : 10 + size]
    assert metadata(decode.decode_metadata, encoded) == metadata(long_way, encoded)
    if isinstance(outcome, PackError):
        assert str(outcome).startswith("<bytes>: "), outcome
        assert "\n" not in str(outcome), outcome
        return
    with Reader.from_reader(io.BytesIO(data)) as reader:
        assert contents(reader) == outcome
        again = Writer([reader[name] for name in reader.names_by_position()], reader.metadata, reader.scalars)
        rewritten = read(again.into_bytes())
        assert rewritten == outcome, rewritten


def metadata(decoder, encoded):
    try:
        return repr(decoder(encoded))
    except cbor.CborError as error:
        return str(error)


def long_way(encoded):
    decoders = {**decode.METADATA_FIELDS, "tensors": decode.decode_any_tensors}
    return decode.Metadata(**cbor.CborReader(encoded).fields(decoders, defaults={"metadata": {}, "scalars": {}}))


def measured(data):
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    start = time.process_time()
    outcome = read(data)
    seconds = time.process_time() - start
    return outcome, seconds, tracemalloc.get_traced_memory()[1] - before


def fuzz(count, seed):
    """Checks `count` damaged files; returns how many opened. AssertionError with the first bad file in hex."""
    rng = random.Random(seed)
    files = seeds()
    opened = 0
    tracemalloc.start()
    try:
        for number in range(count):
            data = damaged(rng, files)
            try:
                outcome, seconds, memory = measured(data)
                if seconds > MAX_SECONDS:  # once more: something else of this process may have been in between
                    outcome, seconds, memory = measured(data)
                assert seconds <= MAX_SECONDS, f"{seconds * 1e3:.0f} ms"
                assert memory <= MAX_BYTES, f"{memory} bytes"
                if number % 4 == 0:
                    check_agreement(data, outcome)
            except Exception as error:
                raise AssertionError(f"case {number} of seed {seed}: {data.hex()}") from error
            opened += not isinstance(outcome, PackError)
    finally:
        tracemalloc.stop()
    return opened


def main():
    parser = argparse.ArgumentParser(description="Damages valid burnpack files and opens them.")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.perf_counter()
    opened = fuzz(options.count, options.seed)
    seconds = time.perf_counter() - start
    print(f"{options.count} damaged files, {opened} opened, the others refused by PackError, in {seconds:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
