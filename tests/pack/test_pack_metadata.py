"""Metadata: what is written is shortest CBOR, what is read is what Burn's decoder takes, strangely laid out or not."""

import math
import struct

import cbor2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minburn.dtype import PLAIN_DTYPES, BlockScale, DType, QuantScheme
from minburn.pack import PackError, Reader, Scalar, TensorEntry, Writer, cbor, decode, metadata

DATA = struct.pack("<4f", 1, 2, 3, 4)
DESCRIPTOR = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16], "param_id": 7}


class Raw(bytes):
    """Bytes that stand for themselves inside an encoded tree."""


def encode(tree):
    """Plain CBOR, with `Raw` pieces put in as they are."""
    if isinstance(tree, Raw):
        return bytes(tree)
    if isinstance(tree, dict):
        return cbor.head(cbor.MAP, len(tree)) + b"".join(encode(k) + encode(v) for k, v in tree.items())
    if isinstance(tree, list):
        return cbor.head(cbor.ARRAY, len(tree)) + b"".join(map(encode, tree))
    return cbor2.dumps(tree)


def opened(tree, data=DATA):
    encoded = encode(tree)
    front = b"NRUB" + struct.pack("<HI", 1, len(encoded)) + encoded
    return Reader.from_bytes(front + bytes(-len(front) % 256) + data)


def one(**changes):
    """A file with one tensor `w`; a change to None leaves the key out."""
    descriptor = {key: value for key, value in {**DESCRIPTOR, **changes}.items() if value is not None}
    return {"tensors": {"w": descriptor}}


U8S = Raw(b"\x44\x01\x02\x02\x01")  # a byte string: 1, 2, 2, 1
ACCEPTED = {
    "as written": one(),
    "other order": {"tensors": {"w": dict(reversed(DESCRIPTOR.items()))}},
    "unknown keys": {"x": [1, {"y": None}], "tensors": {"w": {"z": -1.5, **DESCRIPTOR, "u": b"\0"}}, "t": "u"},
    "unknown keys twice": Raw(b"\xa3axaxax\xf6" + encode(one())[1:]),
    "no param_id": one(param_id=None),
    "null param_id": one(param_id=Raw(b"\xf6")),
    "undefined param_id": one(param_id=Raw(b"\xf7")),
    "indefinite map": Raw(b"\xbf" + encode(one())[1:] + b"\xff"),
    "indefinite descriptor": {"tensors": {"w": Raw(b"\xbf" + encode(DESCRIPTOR)[1:] + b"\xff")}},
    "indefinite shape": one(shape=Raw(b"\x9f\x04\xff")),
    "indefinite name": {"tensors": Raw(b"\xa1\x7faw\x60\xff" + encode(DESCRIPTOR))},
    "tags everywhere": Raw(b"\xd9\xd9\xf7" + encode(one(shape=Raw(b"\xc1\x81\xc0\x04"), dtype=Raw(b"\xc4cF32")))),
    "a number as bignum": one(shape=[Raw(b"\xc2\x41\x04")]),
    "a number in long form": one(shape=[Raw(b"\x1b" + bytes(7) + b"\x04")]),
    "shape as bytes": one(shape=U8S),
    "offsets as bytes": one(data_offsets=Raw(b"\x42\x00\x10")),
    "offsets as bytes with more": one(data_offsets=Raw(b"\x43\x00\x10\x09")),
    "keys as bytes": Raw(encode(one()).replace(b"\x65shape", b"\x45shape")),
    "dtype as a map without content": one(dtype=Raw(b"\xa1cF32")),
    "bool store as a bare text that follows": one(dtype=Raw(b"dBoolbU8"), shape=[16]),
    "a third offset that reads as a key": {
        "tensors": {"w": Raw(b"\xa5edtypecF32eshape\x81\x04ldata_offsets\x83\x00\x10ax\x07hparam_id\x07")}
    },
    "bytes behind": Raw(encode(one()) + b"\xff\xff"),
    "unknown nested 126 deep": {"x": Raw(b"\x81" * 126 + b"\x00"), **one()},
    "integer scalars in long form": {**one(), "scalars": {"s": {"Int": Raw(b"\x19\x00\x05")}}},
    "wide floats": {**one(), "scalars": {"s": {"Float": 0.5}}},
}

REFUSED = {
    "no tensors": ({}, "the key 'tensors' is missing"),
    "no dtype": (one(dtype=None), "tensor 'w': the key 'dtype' is missing"),
    "no shape": (one(shape=None), "tensor 'w': the key 'shape' is missing"),
    "no offsets": (one(data_offsets=None), "tensor 'w': the key 'data_offsets' is missing"),
    "tensors twice": (Raw(b"\xa2" + encode(one())[1:] * 2), "the key 'tensors' comes twice"),
    "dtype twice": ({"tensors": {"w": Raw(b"\xa5edtypecF32" + encode(DESCRIPTOR)[1:])}}, "the key 'dtype' comes twice"),
    "one tensor twice": ({"tensors": Raw(b"\xa2" + (b"aw" + encode(DESCRIPTOR)) * 2)}, "tensor 'w' comes twice"),
    "one text twice": ({**one(), "metadata": Raw(b"\xa2aaabaaac")}, "metadata 'a' comes twice"),
    "one scalar twice": ({**one(), "scalars": Raw(b"\xa2" + b"aa\xa1cInt\x01" * 2)}, "scalar 'a' comes twice"),
    "metadata null": ({**one(), "metadata": None}, "expected a map, found null"),
    "tensors null": ({"tensors": None}, "expected a map, found null"),
    "an array": ([], "expected a map, found an array"),
    "a float as size": (one(shape=[4.0]), "expected an integer, found a float"),
    "a float as offset": (one(data_offsets=[0.0, 16]), "expected an integer, found a float"),
    "a float as id": (one(param_id=7.0), "expected an integer, found a float"),
    "true as size": (one(shape=[True]), "expected an integer, found true"),
    "one offset": (one(data_offsets=[0]), "expected 2 integers, found 1"),
    "three offsets": (one(data_offsets=[0, 16, 16]), "expected a name, found the integer 16"),
    "indefinite offsets": (one(data_offsets=Raw(b"\x9f\x00\x10\xff")), "expected a name, found a break"),
    "size of 2^64": (one(shape=[1 << 64]), "expected an integer from 0"),
    "bignum of 17 bytes": (one(shape=[Raw(b"\xc2\x51" + b"\1" * 17)]), "17 bytes is too large"),
    "bignum of text": (one(shape=[Raw(b"\xc2\x61a")]), "expected the bytes of a bignum"),
    "unknown dtype": (one(dtype="F8"), "'F8' is no dtype; expected one of F64, F32"),
    "bool without store": (one(dtype="Bool"), "is no bool store"),
    "two variants": (one(dtype={"F32": None, "F16": None}), "expected dtype (a text, or a map of one entry)"),
    "indefinite variant": (one(dtype=Raw(b"\xbfdBoolbU8\xff")), "map of indefinite length"),
    "deep nesting": ({"x": Raw(b"\x81" * 128 + b"\x00"), **one()}, "nested more than 128 levels deep"),
    "deep tags": ({"x": Raw(b"\xc1" * 5000 + b"\x00"), **one()}, "nested more than 128 levels deep"),
    "huge array": (one(shape=Raw(b"\x9b" + b"\xff" * 8)), "expected an integer, found a text"),
    "huge text": ({"x": Raw(b"\x7b\x3f" + b"\xff" * 7), **one()}, "ends in the middle"),
    "huge key": (Raw(b"\xa1\x7a\x7f\xff\xff\xff"), "expected a name, found a text of length"),
    "text in pieces of bytes": ({**one(), "metadata": {"a": Raw(b"\x7f\x41a\xff")}}, "expected a piece of text"),
    "key in pieces": (Raw(b"\xa1\x7fgtensors\xff\xa0"), "expected a name, found a text of indefinite length"),
    "reserved length": ({"x": Raw(b"\x1c"), **one()}, "malformed item 0x1c"),
    "indefinite integer": ({"x": Raw(b"\x1f"), **one()}, "malformed item 0x1f"),
    "a break as value": ({"x": Raw(b"\xff"), **one()}, "a break outside"),
    "a break as map value": ({"x": Raw(b"\xbfaa\xff"), **one()}, "a break outside"),
    "unknown simple": ({"x": Raw(b"\xe0"), **one()}, "unknown simple value 0"),
    "bad UTF-8 in a skipped text": ({"x": Raw(b"\x62\xff\xfe"), **one()}, "not UTF-8"),
    "surrogate": ({**one(), "metadata": {"a": Raw(b"\x63\xed\xa0\x80")}}, "not UTF-8"),
    "text of a number": ({**one(), "metadata": {"a": 1}}, "metadata 'a': expected a text, found the integer 1"),
    "negative UInt": ({**one(), "scalars": {"s": {"UInt": -1}}}, "expected an integer from 0"),
    "Int of 2^63": ({**one(), "scalars": {"s": {"Int": 1 << 63}}}, "expected a signed 64-bit integer"),
    "Float of an integer": ({**one(), "scalars": {"s": {"Float": 1}}}, "expected a float, found the integer 1"),
    "Bool of an integer": ({**one(), "scalars": {"s": {"Bool": 1}}}, "expected a bool, found the integer 1"),
    "scalar of two": ({**one(), "scalars": {"s": {"Int": 1, "UInt": 1}}}, "expected scalar"),
    "overflowing shape": (one(shape=[1 << 63, 2, 0], data_offsets=[0, 0]), "overflows 64 bits"),
    "overflowing bytes": (one(shape=[1 << 62], data_offsets=[0, 0]), "overflows 64 bits"),
    "overflowing offset": (one(data_offsets=[(1 << 64) - 1, (1 << 64) - 1]), "overflow 64 bits"),
    "11 GiB": (one(dtype="U8", shape=[11 << 30], data_offsets=[0, 11 << 30]), "the limit is 10737418240"),
    "empty tensor behind the end": (one(shape=[0], data_offsets=[512, 512]), "truncated"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name):
    reader = opened(ACCEPTED[name])
    assert reader["w"].bytes() == DATA
    assert math.prod(reader["w"].shape) * reader["w"].dtype.size == 16


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    tree, message = REFUSED[name]
    with pytest.raises(PackError, match=r"^<bytes>: ") as caught:
        opened(tree)
    assert message in str(caught.value)


def test_zeros_in_front_of_a_huge_size_make_an_empty_tensor():
    assert opened(one(shape=[0, 1 << 63, 2], data_offsets=[0, 0]))["w"].nbytes == 0


def test_an_empty_pack_may_lack_its_padding_and_be_of_version_0():
    assert len(Reader.from_bytes(b"NRUB\0\0\x0a\0\0\0" + b"\xa1gtensors\xa0")) == 0


def test_more_than_100000_tensors_are_refused_both_ways():
    many = b"".join(b"\x66%06d" % i + b"\xa3edtypebU8eshape\x81\x00ldata_offsets\x82\x00\x00" for i in range(100_001))
    with pytest.raises(PackError, match="more than 100000 tensors"):
        opened({"tensors": Raw(cbor.head(cbor.MAP, 100_001) + many)})
    entry = TensorEntry("x", DType.U8, (0,), b"")
    with pytest.raises(PackError, match="100001 tensors; the limit is 100000"):
        Writer([entry] * 100_001)


# Writing


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.5, "f93800"),
        (65504.0, "f97bff"),
        (65536.0, "fa47800000"),
        (-0.0, "f98000"),
        (math.inf, "f97c00"),
        (-math.inf, "f9fc00"),
        (math.nan, "f97e00"),
        (5.960464477539063e-08, "f90001"),
        (struct.unpack("<f", struct.pack("<f", 0.1))[0], "fa3dcccccd"),
        (0.1, "fb3fb999999999999a"),
        (1e300, "fb7e37e43c8800759c"),
        (5e-324, "fb0000000000000001"),
    ],
)
def test_floats_take_the_narrowest_form(value, expected):
    assert cbor.encode_float(value).hex() == expected


@given(st.floats(width=64))
def test_every_float_comes_back_to_the_bit(value):
    found = cbor.CborReader(cbor.encode_float(value)).float()
    assert struct.pack(">d", found) == struct.pack(">d", value)


@given(st.integers(-(1 << 64), (1 << 64) - 1), st.text())
def test_integers_and_texts_are_encoded_as_cbor2_does(number, text):
    assert cbor.encode_int(number) == cbor2.dumps(number)
    assert cbor.encode_text(text) == cbor2.dumps(text)


scales = st.sampled_from(metadata.SCALE_DTYPES)
schemes = st.builds(
    lambda store, **others: QuantScheme(store=store[0], store_dim=store[1], **others),
    value=st.sampled_from(metadata.QUANT_VALUES),
    store=st.one_of(
        st.just(("Native", 0)), st.tuples(st.sampled_from(["PackedNative", "PackedU32"]), st.integers(0, (1 << 64) - 1))
    ),
    mode=st.sampled_from(metadata.QUANT_MODES),
    tensor=st.none() | scales,
    block=st.none() | st.builds(BlockScale, st.lists(st.integers(0, 255), max_size=5).map(tuple), scales),
)
u64 = st.one_of(st.integers(0, 300), st.integers(0, (1 << 64) - 1))
descriptors = st.tuples(
    st.sampled_from(PLAIN_DTYPES) | schemes.map(DType.qfloat),
    st.lists(u64, max_size=30).map(tuple),
    u64,
    u64,
    st.none() | u64,
)
scalars = st.one_of(
    st.integers(-(1 << 63), (1 << 63) - 1).map(Scalar.int),
    u64.map(Scalar.uint),
    st.floats(allow_nan=False).map(Scalar.float),
    st.booleans().map(Scalar.bool),
)
names = st.text(max_size=40) | st.text("ab.", min_size=200, max_size=300)


@given(st.dictionaries(names, descriptors), st.dictionaries(names, names), st.dictionaries(names, scalars))
def test_metadata_round_trip_both_ways_of_reading(tensors, texts, values):
    encoded = metadata.encode_metadata(tensors, texts, values)
    expected = (tensors, texts, values)
    assert decode.decode_metadata(encoded) == expected
    assert read_the_long_way(encoded) == expected
    assert list(cbor2.loads(encoded)["tensors"]) == sorted(tensors)


@settings(max_examples=300)
@given(st.dictionaries(names, descriptors, min_size=1, max_size=3), st.data())
def test_the_shortcut_agrees_with_the_long_way_on_damaged_metadata(tensors, data):
    encoded = bytearray(metadata.encode_metadata(tensors, {}, {}))
    for _ in range(data.draw(st.integers(1, 3))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    assert outcome(decode.decode_metadata, bytes(encoded)) == outcome(read_the_long_way, bytes(encoded))


def outcome(read, encoded):
    try:
        return read(encoded)
    except cbor.CborError as error:
        return str(error)


def read_the_long_way(encoded):
    reader = cbor.CborReader(encoded)
    decoders = {**decode.METADATA_FIELDS, "tensors": decode.decode_any_tensors}
    return metadata.Metadata(**reader.fields(decoders, defaults={"metadata": {}, "scalars": {}}))


def test_a_scheme_that_burn_does_not_have_is_refused():
    for scheme in (
        QuantScheme("Q9"),
        QuantScheme("Q8S", store="Loose"),
        QuantScheme("Q8S", mode="Odd"),
        QuantScheme("Q8S", tensor="F64"),
        QuantScheme("Q8S", block=BlockScale((1, 1, 1, 1, 1, 1), "F32")),
        QuantScheme("Q8S", block=BlockScale((256,), "F32")),
        QuantScheme("Q8S", store="PackedU32", store_dim=-1),
    ):
        with pytest.raises(PackError, match="scheme cannot be written"):
            Writer([TensorEntry("q", DType.qfloat(scheme), (4,), b"abc")])
    with pytest.raises(PackError, match="no such element type"):
        Writer([TensorEntry("q", DType("F128", 16, "float"), (1,), bytes(16))])
