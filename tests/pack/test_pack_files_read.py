"""Readers of files, bytes and file objects: nothing is read before it is asked for."""

import io
import threading
import tracemalloc

import pytest
from pack_files import large

from minburn.dtype import DType
from minburn.pack import (
    PackError,
    Reader,
    TensorEntry,
    TensorNotFoundError,
    Writer,
)


class Recorder(io.BytesIO):
    """A file that remembers which bytes were asked for."""

    def __init__(self, data):
        super().__init__(data)
        self.ranges = []

    def read(self, size=-1):
        start = self.tell()
        self.ranges.append((start, start + size))
        return super().read(size)


def test_one_tensor_is_read_without_touching_the_others():
    tensors = [TensorEntry(str(i), DType.U8, (1000,), bytes([i]) * 1000, i) for i in range(20)]
    data = Writer(tensors).into_bytes()
    file = Recorder(data)
    with Reader.from_reader(file) as reader:
        start = reader._data_start
        assert all(last <= start for _, last in file.ranges)
        file.ranges.clear()
        entry = reader["7"]
        assert entry.is_deferred
        assert file.ranges == []
        assert entry.bytes() == bytes([7]) * 1000
        assert file.ranges == [(start + 7 * 1024, start + 7 * 1024 + 1000)]


def test_mapped_views_share_the_file_and_outlive_reader_and_file(tmp_path):
    path = tmp_path / "m.bpk"
    large(7).write_to_file(path)
    reader = Reader.from_file(path)
    entry = reader["a"]
    view = entry.view()
    assert view.readonly
    assert view.obj is entry.view().obj
    reader.close()
    reader.close()
    path.unlink()
    assert view[-1] == 7
    assert entry.bytes() == bytes([7]) * (1 << 20)
    with pytest.raises(PackError, match=r"m.bpk: this reader is closed\."):
        reader["a"]


def test_views_of_bytes_are_not_copies():
    data = large(7).into_bytes()
    with Reader.from_bytes(data) as reader:
        view = reader["a"].view()
        tracemalloc.start()
        views = [reader["a"].view() for _ in range(100)]
        assert tracemalloc.get_traced_memory()[1] < 100_000
        tracemalloc.stop()
    assert view.obj is data
    assert views[0] == view


def test_opening_a_large_file_costs_nothing(tmp_path):
    path = tmp_path / "big.bpk"
    writer = Writer([TensorEntry.deferred("big", DType.U8, (8 << 30,), bytes)])
    with open(path, "wb") as file:
        file.write(writer._head)
        file.truncate(writer.size)  # sparse: 8 GiB of zeros that take no room
    tracemalloc.start()
    with Reader.from_file(path) as reader:
        assert reader["big"].view()[-1] == 0
        assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()


def test_a_file_object_that_lost_its_data_is_an_error():
    file = io.BytesIO(large().into_bytes())
    with Reader.from_reader(file) as reader:
        file.truncate(1 << 20)
        with pytest.raises(PackError, match="tensor 'b': its producer returned 0 bytes, but 1048576 were declared"):
            reader["b"].bytes()
        file.close()
        with pytest.raises(PackError, match="<BytesIO>: tensor 'a' cannot be read"):
            reader["a"].bytes()


def test_threads_may_read_one_file_object():
    data = Writer([TensorEntry(str(i), DType.U8, (999,), bytes([i]) * 999) for i in range(50)]).into_bytes()
    wrong = []
    with Reader.from_reader(io.BytesIO(data)) as reader:

        def read_all():
            wrong.extend(name for name, entry in reader.items() if entry.bytes() != bytes([int(name)]) * 999)

        threads = [threading.Thread(target=read_all) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_a_reader_is_a_mapping():
    with Reader.from_bytes(large().into_bytes()) as reader:
        assert list(reader) == reader.names() == ["a", "b", "c"]
        assert len(reader) == 3
        assert "a" in reader
        assert "z" not in reader
        assert reader.get("z") is None
        assert [entry.name for entry in reader.values()] == ["a", "b", "c"]
        with pytest.raises(TensorNotFoundError, match=r"^<bytes>: no tensor 'z' among its 3\.$"):
            reader["z"]
        with pytest.raises(KeyError):
            reader["z"]
        assert repr(reader) == "Reader('<bytes>', 3 tensors)"
        assert repr(reader["c"]) == "TensorEntry('c', U8, [3], 3 bytes)"


def test_a_reader_needs_bytes_or_a_seekable_binary_file():
    for bad in (None, 3, "text", [1], memoryview(bytes(600))[::2]):
        with pytest.raises(PackError, match="expected bytes"):
            Reader.from_bytes(bad)
    for bad in (None, b"bytes", io.StringIO("text"), object()):
        with pytest.raises(PackError, match="expected a binary file object"):
            Reader.from_reader(bad)
