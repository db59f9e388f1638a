"""Wrong arguments: one PackError that says which, before anything is written."""

import array
import math

import numpy as np
import pytest

from minburn.dtype import DType, QuantScheme
from minburn.pack import PackError, Scalar, TensorEntry, Writer

F32x2 = bytes(8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, DType.F32, (2,), F32x2), "tensor: the name must be a str, got int 3."),
        ((b"w", DType.F32, (2,), F32x2), "tensor: the name must be a str, got bytes b'w'."),
        (("\ud800", DType.F32, (2,), F32x2), "cannot be encoded as UTF-8"),
        (("w", "F32", (2,), F32x2), "tensor 'w': dtype must be a DType, got str 'F32'."),
        (("w", DType.F32, 2, F32x2), "tensor 'w': shape must be integers, got 2."),
        (("w", DType.F32, (2.0,), F32x2), "tensor 'w': shape must be integers, got (2.0,)."),
        (("w", DType.F32, "2", F32x2), "tensor 'w': shape must be integers, got '2'."),
        (("w", DType.F32, (-2, -1), F32x2), "tensor 'w': shape [-2, -1] has a negative dimension."),
        (("w", DType.F32, (0, 1 << 64), b""), "tensor 'w': shape [0, 18446744073709551616] with dtype F32 overflows"),
        (("w", DType.F32, (1 << 63, 2, 0), b""), "overflows 64 bits."),
        (("w", DType.F32, (2,), "12345678"), "tensor 'w': data must be bytes or have the buffer protocol, got str."),
        (("w", DType.F32, (2,), None), "got NoneType."),
        (("w", DType.F32, (2,), [0.0, 1.0]), "got list."),
        (("w", DType.F32, (2,), bytes(7)), "tensor 'w' has 7 bytes, but its shape [2] and dtype F32 need 8."),
        (("w", DType.F32, (), F32x2), "tensor 'w' has 8 bytes, but its shape [] and dtype F32 need 4."),
        (("w", DType.F32, (2,), np.zeros((2, 2), "<f4")[:, 0]), "tensor 'w': data is not contiguous"),
        (("w", DType.F32, (2, 2), np.zeros((2, 2), "<f4", order="F").T[:, ::-1]), "tensor 'w': data is not contiguous"),
        (("w", DType.F32, (2,), np.zeros(2, ">f4")), "tensor 'w': data has big-endian elements ('>f')."),
        (("w", DType.F32, (2,), F32x2, -1), "tensor 'w': param_id must be an integer, 0 .. 2^64 - 1, got int -1."),
        (("w", DType.F32, (2,), F32x2, 1 << 64), "got int 18446744073709551616."),
        (("w", DType.F32, (2,), F32x2, "id"), "got str 'id'."),
        (("w", DType.F32, (2,), F32x2, True), "got bool True."),
        (("w", DType.F32, (2,), F32x2, 1.0), "got float 1.0."),
    ],
)
def test_tensor_entry(arguments, message):
    with pytest.raises(PackError) as caught:
        TensorEntry(*arguments)
    assert message in str(caught.value)


def test_deferred_tensor_entry():
    scheme = DType.qfloat(QuantScheme("Q8S"))
    for arguments, options, message in [
        (("w", DType.F32, (2,), b"12345678"), {}, "the producer is bytes, not callable"),
        (("w", DType.F32, (2,), bytes), {"nbytes": 9}, "has 9 bytes, but its shape [2] and dtype F32 need 8"),
        (("w", DType.F32, (2,), bytes), {"nbytes": -1}, "nbytes must be an integer"),
        (("w", scheme, (2,), bytes), {}, "must say its length: nbytes="),
        (("w", DType.F32, (1 << 63,), bytes), {}, "overflows 64 bits"),
        (("w", DType.F32, (2,), bytes, 1.5), {}, "param_id must be"),
    ]:
        with pytest.raises(PackError) as caught:
            TensorEntry.deferred(*arguments, **options)
        assert message in str(caught.value)


def test_data_may_be_any_contiguous_buffer():
    expected = np.arange(4, dtype="<f4").tobytes()
    for data in (
        expected,
        bytearray(expected),
        memoryview(expected),
        array.array("f", range(4)),
        np.arange(4, dtype="<f4").reshape(2, 2),
        np.arange(4, dtype="<f4").data,
    ):
        assert TensorEntry("w", DType.F32, [2, np.int64(2)], data, np.uint64(7)).bytes() == expected
    assert TensorEntry("w", DType.F32, (0, 3), np.zeros((0, 3), "<f4")).bytes() == b""
    assert TensorEntry("w", DType.F16, (3,), np.zeros(3, "<f2")).nbytes == 6
    assert TensorEntry("w", DType.Bool, (3,), np.array([True, False, True])).bytes() == b"\1\0\1"
    assert TensorEntry("w", DType.F64, (), np.float64(1)).nbytes == 8


def test_an_entry_shares_memory_and_gives_it_out_read_only():
    values = np.zeros(2, "<f4")
    entry = TensorEntry("w", DType.F32, (2,), values)
    values[1] = 1
    assert entry.bytes() == values.tobytes()
    with pytest.raises(TypeError):
        entry.view()[0] = 1


W = TensorEntry("w", DType.F32, (2,), F32x2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None,), "Writer: entries must be TensorEntry values, got NoneType. Pass a list of them."),
        ((W,), "Writer: entries must be TensorEntry values, got TensorEntry. Pass a list of them."),
        (({"w": W},), "Writer: entries must be TensorEntry values, got str."),
        (([W, W],), "Writer: tensor 'w' comes twice."),
        (([W], "text"), "Writer: metadata must be a mapping from names, got str."),
        (([W], {1: "x"}), "Writer: a metadata name must be a str, got int 1."),
        (([W], {"x": 1}), "Writer: metadata 'x' must be a str, got int 1."),
        (([W], {"x": "\ud800"}), "cannot be encoded as UTF-8"),
        (([W], {}, [1]), "Writer: scalars must be a mapping from names, got list."),
        (([W], {}, {b"s": Scalar.int(1)}), "Writer: a scalar name must be a str, got bytes b's'."),
        (([W], {}, {"s": 1}), "Writer: scalar 's' must be a Scalar, got int. Use Scalar.int, .uint, .float or .bool."),
    ],
)
def test_writer(arguments, message, tmp_path):
    with pytest.raises(PackError) as caught:
        Writer(*arguments).write_to_file(tmp_path / "m")
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_writer_refuses_what_no_reader_opens():
    with pytest.raises(PackError, match="tensor 'x' has 11811160064 bytes; the limit is 10737418240"):
        Writer([TensorEntry.deferred("x", DType.U8, (11 << 30,), bytes)])
    with pytest.raises(PackError, match=r"the file would have .* bytes; the limit is 107374182400"):
        Writer([TensorEntry.deferred(str(i), DType.U8, (10 << 30,), bytes) for i in range(11)])
    with pytest.raises(PackError, match="bytes of metadata; the limit is 104857600"):
        Writer([], {"x": "y" * (100 << 20)})


@pytest.mark.parametrize(
    ("make", "value", "message"),
    [
        (Scalar.int, 1 << 63, "Scalar.int: 9223372036854775808 is outside"),
        (Scalar.int, -(1 << 63) - 1, "Scalar.int: -9223372036854775809 is outside"),
        (Scalar.int, True, "Scalar.int: True is a bool. Use Scalar.bool."),
        (Scalar.int, 1.0, "Scalar.int: expected an integer, got float 1.0."),
        (Scalar.uint, -1, "Scalar.uint: -1 is outside 0 .. 18446744073709551615."),
        (Scalar.uint, "1", "Scalar.uint: expected an integer, got str '1'."),
        (Scalar.float, "1", "Scalar.float: expected a number, got str '1'."),
        (Scalar.float, True, "Scalar.float: expected a number, got bool True."),
        (Scalar.float, 10**400, "Scalar.float: the integer is too large for a float."),
        (Scalar.bool, 1, "Scalar.bool: expected True or False, got int 1."),
        (lambda value: Scalar("Text", value), "x", "Scalar: unknown kind 'Text'."),
    ],
)
def test_scalar(make, value, message):
    with pytest.raises(PackError) as caught:
        make(value)
    assert str(caught.value).startswith(message)


def test_scalars_convert_as_burn_does():
    minus, big, half, yes = Scalar.int(-1), Scalar.uint((1 << 64) - 1), Scalar.float(0.5), Scalar.bool(True)
    assert [minus.as_int(), big.as_int(), half.as_int(), yes.as_int()] == [-1, None, None, None]
    assert [minus.as_uint(), big.as_uint(), half.as_uint(), yes.as_uint()] == [None, (1 << 64) - 1, None, None]
    assert [minus.as_float(), Scalar.uint(3).as_float(), half.as_float(), yes.as_float()] == [-1.0, 3.0, 0.5, None]
    assert [minus.as_bool(), big.as_bool(), half.as_bool(), yes.as_bool()] == [None, None, None, True]
    assert [s.kind for s in (minus, big, half, yes)] == ["Int", "UInt", "Float", "Bool"]
    assert type(Scalar.float(np.float64(1)).value) is float
    assert type(Scalar.uint(np.uint8(1)).value) is int
    assert math.isnan(Scalar.float(math.nan).value)
