"""What `CuPy().recorder` records, copies and refuses, op by op; and that the emulated device refuses what CUDA does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import cupy
import numpy as np
import pytest
from device import EMULATED, counted, flat, host
from rows import Row, primitive
from table import ROWS

from minburn import Tensor
from minburn.backends import CuPy, Distribution
from minburn.backends.error import NotRecordable

emulated = pytest.mark.skipif(not EMULATED, reason="counts are known on the emulated device only")

WAITING = {
    "into_data": "asks for a value on the host",
    "argwhere": "D2H transfers are disallowed|asks for a value",
    "argsort": "cannot be captured",  # CuPy's sort waits
    "random": "from a stream that the run does not know",  # of a key of its own
}


@pytest.mark.parametrize("row", [row for row in ROWS if row.cases], ids=lambda row: row.name)
def test_every_op_is_recorded_or_refused(row: Row) -> None:
    """Recorded on some inputs, replayed on others: the bits of the op on these."""
    backend = CuPy(seed=1)
    op = getattr(getattr(backend, row.table), row.op)
    for case in row.cases[: 1 if row.op in WAITING else 2]:
        arguments = [primitive(backend, argument) for argument in case]
        arrays = list(arrays_of(arguments))
        recorder = backend.recorder([backend.streams])
        held = recorder.hold(arrays)
        given = with_arrays(arguments, iter(held))
        if row.op in WAITING:
            with pytest.raises(NotRecordable, match=WAITING[row.op]):
                recorder.record(lambda op=op, given=given: op(*given))
            continue
        results = recorder.record(lambda op=op, given=given: flat(op(*given)))
        for array in held:
            array.fill(0)
        recorder.copy(arrays, held)
        recorder.replay(recorder.scalars)
        for got, want in zip(host(results), host(flat(op(*arguments))), strict=True):
            np.testing.assert_array_equal(got, want, err_msg=f"{row.name}{case}")


def arrays_of(value: Any) -> Iterator[Any]:
    if isinstance(value, cupy.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from arrays_of(part)


def with_arrays(value: Any, arrays: Iterator[Any]) -> Any:
    if isinstance(value, cupy.ndarray):
        return next(arrays)
    if type(value) in (list, tuple):
        return type(value)(with_arrays(part, arrays) for part in value)
    return value


def test_streams_and_scalars_move_on() -> None:
    backend = CuPy(seed=5)

    def draw() -> Any:
        parts = [Tensor.random([3, 4], backend, Distribution.Normal(0.0, 1.0), stream) for stream in "abab"]
        return [part.primitive for part in parts]

    expected = [host(draw()) for _ in range(3)]
    after = backend.streams.state()
    backend.streams.load_state({})
    recorder = backend.recorder([backend.streams])
    found = recorder.record(draw)
    assert backend.streams.state() == {"a": 0, "b": 0}
    for want in expected:
        recorder.replay(())
        for one, two in zip(host(found), want, strict=True):
            np.testing.assert_array_equal(one, two)
    assert backend.streams.state() == after


@emulated
def test_copies_of_neighbours_go_together() -> None:
    recorder = CuPy().recorder([])
    arrays = [cupy.arange(size, dtype=np.float32) for size in (3, 200, 1, 40)]
    held = recorder.hold(arrays)
    with counted() as counts:
        copies = recorder.copies(held)
    assert counts.on_device == 1
    with counted() as counts:
        recorder.copy([held[0], held[2], held[3]], [copies[0], copies[2], copies[3]])
    assert counts.on_device == 2  # not over what lies between
    for one, two in zip(host(copies), host(arrays), strict=True):
        np.testing.assert_array_equal(one, two)
    turned = cupy.arange(6.0).reshape(2, 3).T
    [copy] = recorder.copies([turned])
    assert copy.strides == turned.strides
    np.testing.assert_array_equal(host(copy), host(turned))


@emulated
def test_the_emulated_device_refuses_what_cuda_does() -> None:
    stream, array = cupy.cuda.Stream(non_blocking=True), cupy.ones(3)
    for forbidden in (
        lambda: stream.synchronize(),
        lambda: cupy.cuda.Device().synchronize(),
        lambda: cupy.cuda.Memory(1 << 20),
        lambda: array.get(),
        lambda: cupy.asarray(np.ones(3)),
        lambda: cupy.cuda.Stream.null.begin_capture(),
    ):
        with stream:
            stream.begin_capture()
            with pytest.raises(RuntimeError):
                forbidden()
            with contextlib.suppress(RuntimeError):
                stream.end_capture()
        assert not stream.is_capturing()
