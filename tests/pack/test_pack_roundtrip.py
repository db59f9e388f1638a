"""Any tensors, texts and scalars: written, read, written again, they are the same file."""

import io
import math

from hypothesis import given, settings
from hypothesis import strategies as st

from minburn.dtype import PLAIN_DTYPES, BlockScale, DType, QuantScheme
from minburn.pack import Reader, Scalar, TensorEntry, Writer

names = st.text(max_size=30)
u64 = st.one_of(st.integers(0, 300), st.integers(0, (1 << 64) - 1))
quantized = st.builds(
    QuantScheme,
    value=st.sampled_from(["Q8S", "Q4F", "E2M1"]),
    tensor=st.sampled_from([None, "F32"]),
    block=st.sampled_from([None, BlockScale((32,), "UE4M3"), BlockScale((2, 16), "F16")]),
).map(DType.qfloat)


@st.composite
def tensors(draw, name):
    dtype = draw(st.sampled_from(PLAIN_DTYPES) | quantized)
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=4)))
    length = draw(st.integers(0, 700)) if dtype.kind == "qfloat" else math.prod(shape) * dtype.size
    data = draw(st.binary(min_size=length, max_size=length))
    param_id = draw(st.none() | u64)
    if draw(st.booleans()):
        return TensorEntry(name, dtype, shape, data, param_id)
    return TensorEntry.deferred(name, dtype, shape, lambda: data, param_id, nbytes=length)


entries = st.lists(names, unique=True, max_size=6).flatmap(lambda found: st.tuples(*map(tensors, found))).map(list)
scalars = st.one_of(
    st.integers(-(1 << 63), (1 << 63) - 1).map(Scalar.int),
    u64.map(Scalar.uint),
    st.floats().map(Scalar.float),
    st.booleans().map(Scalar.bool),
)


@settings(max_examples=150, deadline=None)
@given(entries, st.dictionaries(names, names), st.dictionaries(names, scalars))
def test_written_read_and_written_again(tensors, metadata, scalars):
    writer = Writer(tensors, metadata, scalars)
    data = writer.into_bytes()
    assert len(data) == writer.size
    buffer = bytearray(writer.size)
    writer.write_into(buffer)
    assert buffer == data
    for reader in (Reader.from_bytes(data), Reader.from_reader(io.BytesIO(data))):
        with reader:
            assert reader.names() == sorted(entry.name for entry in tensors)
            assert reader.metadata == metadata
            assert repr(dict(reader.scalars)) == repr({name: scalars[name] for name in sorted(scalars)})  # NaN too
            for entry in tensors:
                found = reader[entry.name]
                assert (found.dtype, found.shape, found.param_id) == (entry.dtype, entry.shape, entry.param_id)
                assert found.bytes() == entry.bytes()
            again = Writer([reader[name] for name in reader.names_by_position()], reader.metadata, reader.scalars)
            assert again.into_bytes() == data


@settings(max_examples=50, deadline=None)
@given(entries)
def test_layout(tensors):
    """Every tensor starts at a multiple of 256, gaps are zeros, and the file ends with the last byte."""
    writer = Writer(tensors)
    data = bytearray(writer.into_bytes())
    with Reader.from_bytes(bytes(data)) as reader:
        end = reader._data_start
        for entry in tensors:
            start = (end + 255) // 256 * 256
            assert not any(data[end:start])
            assert data[start : start + entry.nbytes] == entry.bytes()
            assert reader[entry.name].nbytes == entry.nbytes
            end = start + entry.nbytes
        assert end == len(data)
