"""Files of Burn, byte for byte: the reference dumps both ways, real records, and its verdict on hostile files."""

import hashlib
import io
import json
import struct
from pathlib import Path

import cbor2
import pytest

from minburn.dtype import DType
from minburn.pack import PackError, Reader, Scalar, TensorEntry, Writer

GOLDEN = Path(__file__).parent.parent / "golden" / "pack"
F32_TENTH = struct.unpack("<f", struct.pack("<f", 0.1))[0]


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


# What each dump contains: entries in writer order, metadata, scalars, and the SHA-256 of the file.
DUMPS = {
    "a": ([], {}, {}, "d51cafc1a9901c1d26d289a9e29457bb4bb041f704ee783577e890d516927813"),
    "b": (
        [("weight", DType.F32, (2, 2), floats(1, 2, 3, 4), 42)],
        {},
        {},
        "cd9cf522ffd28e20ceda1cac410bcd11168c934689eabe0b6fb546cd7104bf68",
    ),
    "c": (
        [
            ("weight", DType.F32, (2, 3), floats(1, 2, 3, 4, 5, 6), 0x0123456789ABCDEF),
            ("bias", DType.F32, (3,), floats(0.5, -1, 0), None),
        ],
        {},
        {},
        "4330c1975ea46c1d26b1f4179c4610959071c214f6b7e1a4f50b019d8c09aa88",
    ),
    "d": (
        [("42.momentum.velocity", DType.F32, (2, 2), floats(0.1, 0.2, 0.3, 0.4), 42)],
        {"42": "weight"},
        {"42.__rank": Scalar.uint(2)},
        "5d2cdf398412311ce0666438de667a88394f1abc0ef2562019f8749671572cbb",
    ),
    "e": (
        [],
        {},
        {"0.remaining_iters": Scalar.uint(11)},
        "b8ef16dcc421c29b08b273f57ef08de6edd05d2327e6c74236b9137ade5a47f3",
    ),
    "f": (
        [
            ("s", DType.F64, (), struct.pack("<d", 1.5), 7),
            ("m", DType.Bool, (3,), b"\1\0\1", 23),
            ("e", DType.F32, (0, 4), b"", 24),
        ],
        {"k": "v"},
        {
            "a": Scalar.int(-1),
            "b": Scalar.float(0.5),
            "c": Scalar.bool(True),
            "d": Scalar.uint(256),
            "f": Scalar.float(0.1),
            "g": Scalar.float(F32_TENTH),
            "h": Scalar.float(1e-3),
        },
        "8e726b7a833f80ca0d5e368101fe43e7a8825aa89050299482c9b506d0e01dea",
    ),
    "g": (
        [("a", DType.U8, (1,), b"\x09", None), ("b", DType.U8, (0,), b"", None)],
        {},
        {},
        "152d0b1e20815acec9fdcd5436813d463f3612a070b4f0532e5457f8e1e1ed00",
    ),
    "h": (
        [
            ("42.momentum.moment_1", DType.F32, (2,), floats(0.1, 0.2), 42),
            ("42.momentum.moment_2", DType.F32, (2,), floats(0.001, 0.004), 42),
        ],
        {"42": "fc.bias"},
        {"42.__rank": Scalar.uint(1), "42.momentum.time": Scalar.uint(1)},
        "bc03e02f6ec8c01e1e174200efd69087ff2633158d8310200a6cd5cd405d45fd",
    ),
}


@pytest.mark.parametrize("name", DUMPS)
def test_dump_is_written_byte_for_byte(name):
    entries, metadata, scalars, sha256 = DUMPS[name]
    data = (GOLDEN / "dumps" / f"{name}.bpk").read_bytes()
    assert hashlib.sha256(data).hexdigest() == sha256
    resident = Writer([TensorEntry(*entry) for entry in entries], metadata, scalars)
    assert resident.into_bytes() == data
    deferred = [TensorEntry.deferred(n, d, s, lambda b=b: b, i) for n, d, s, b, i in entries]
    assert Writer(deferred, metadata, scalars).into_bytes() == data


@pytest.mark.parametrize("name", DUMPS)
def test_dump_is_read_back(name):
    entries, metadata, scalars, _ = DUMPS[name]
    with Reader.from_file(GOLDEN / "dumps" / name) as reader:
        assert reader.names() == sorted(entry[0] for entry in entries)
        assert reader.names_by_position() == [entry[0] for entry in entries]
        assert (reader.metadata, reader.scalars) == (metadata, scalars)
        for entry_name, dtype, shape, data, param_id in entries:
            entry = reader[entry_name]
            assert (entry.name, entry.dtype, entry.shape, entry.param_id) == (entry_name, dtype, shape, param_id)
            assert entry.bytes() == data


def rewritten(reader):
    return Writer([reader[name] for name in reader.names_by_position()], reader.metadata, reader.scalars).into_bytes()


@pytest.mark.parametrize("path", sorted((GOLDEN / "extra").glob("*.bpk")), ids=lambda path: path.stem)
def test_burns_own_files_are_rewritten_byte_for_byte(path):
    with Reader.from_file(path) as reader:
        assert rewritten(reader) == path.read_bytes()


@pytest.mark.parametrize(
    "path", sorted([*(GOLDEN / "extra").glob("*.bpk"), *(GOLDEN / "dumps").glob("*.bpk")]), ids=lambda path: path.stem
)
def test_metadata_agree_with_an_independent_cbor_decoder(path):
    data = path.read_bytes()
    size = int.from_bytes(data[6:10], "little")
    tree = cbor2.loads(data[10 : 10 + size])
    with Reader.from_bytes(data) as reader:
        assert list(reader) == list(tree["tensors"])
        assert dict(reader.metadata) == tree.get("metadata", {})
        scalars = {name: {scalar.kind: scalar.value} for name, scalar in reader.scalars.items()}
        assert scalars == tree.get("scalars", {})
        for name, found in tree["tensors"].items():
            entry = reader[name]
            start = (10 + size + 255) // 256 * 256
            first, last = found["data_offsets"]
            assert list(entry.shape) == found["shape"]
            assert entry.param_id == found.get("param_id")
            assert entry.bytes() == data[start + first : start + last]


def test_quantized_schemes_are_read():
    with Reader.from_file(GOLDEN / "extra" / "quant_q8s_tensor") as reader:
        schemes = {name: entry.dtype.scheme for name, entry in reader.items() if entry.dtype.kind == "qfloat"}
    assert schemes
    assert all(
        (scheme.value, scheme.store, scheme.mode) == ("Q8S", "Native", "Symmetric") for scheme in schemes.values()
    )


CASES = json.loads((GOLDEN / "hostile" / "expected.json").read_text())["cases"]
FORMATS = {"F32": "f", "F64": "d", "I32": "i"}


@pytest.mark.parametrize("opening", ["file", "bytes", "reader"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_hostile_file_gets_burns_verdict(case, opening):
    path = GOLDEN / "hostile" / f"{case['name']}.bpk"
    verdict = case["reader"]
    if verdict["exit"] == 1:
        with pytest.raises(PackError) as caught:
            opened(path, opening)
        message = str(caught.value)
        assert message.startswith({"file": f"{path}: ", "bytes": "<bytes>: ", "reader": "<BytesIO>: "}[opening])
        assert message.endswith(".")
        assert "\n" not in message
        return
    with opened(path, opening) as reader:
        contents = summary(reader)
        if verdict.get("same_as_good"):
            with Reader.from_file(GOLDEN / "hostile" / "good") as good:
                assert contents == summary(good)
        elif "result" in verdict:
            expected = verdict["result"]
            assert contents[0] == [
                (t["name"], t["dtype"], t["shape"], t["param_id"] and int(t["param_id"]), rounded(t["data"]))
                for t in expected["tensors"]
            ]
            assert contents[1] == expected["metadata"]
            assert contents[2] == {
                name: {kind: int(value) if kind in ("Int", "UInt") else value for kind, value in scalar.items()}
                for name, scalar in expected["scalars"].items()
            }
        assert Reader.from_bytes(rewritten(reader)).names() == reader.names()


def opened(path, opening):
    if opening == "file":
        return Reader.from_file(path)
    if opening == "bytes":
        return Reader.from_bytes(path.read_bytes())
    return Reader.from_reader(io.BytesIO(path.read_bytes()))


def rounded(values):
    """Burn printed the shortest decimal of an f32: compare as f32 does."""
    return [struct.unpack("<f", struct.pack("<f", v))[0] if isinstance(v, float) else v for v in values]


def summary(reader):
    tensors = []
    for name in reader:
        entry = reader[name]
        count = entry.nbytes // entry.dtype.size
        values = struct.unpack(f"<{count}{FORMATS[entry.dtype.name]}", entry.bytes())
        tensors.append((name, entry.dtype.name, list(entry.shape), entry.param_id, rounded(values)))
    scalars = {name: {scalar.kind: scalar.value} for name, scalar in reader.scalars.items()}
    return tensors, dict(reader.metadata), scalars
