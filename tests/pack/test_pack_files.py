"""Files: names and extensions, all-or-nothing saves, laziness, and what happens when the system refuses."""

import errno
import hashlib
import os
import stat
import tracemalloc

import pytest
from pack_files import large, small

from minburn.dtype import DType
from minburn.pack import (
    AlreadyExistsError,
    AtomicFile,
    PackError,
    Reader,
    TensorEntry,
    Writer,
    atomic,
)


def files(folder):
    return sorted(path.name for path in folder.iterdir())


# Names


@pytest.mark.parametrize(
    ("given", "saved"),
    [
        ("model", "model.bpk"),
        ("model.v1", "model.v1"),
        ("model.", "model."),
        (".hidden", ".hidden.bpk"),
        (".hidden.x", ".hidden.x"),
        ("model.bpk", "model.bpk"),
        ("d.x/model", "d.x/model.bpk"),
    ],
)
def test_bpk_is_appended_to_a_name_without_extension(tmp_path, given, saved):
    (tmp_path / given).parent.mkdir(exist_ok=True)
    report = small().write_to_file(tmp_path / given)
    assert report.path == tmp_path / saved
    assert (tmp_path / saved).stat().st_size == report.size == small().size
    assert report.sha256 is None
    with Reader.from_file(tmp_path / given) as reader:
        assert reader.names() == ["w"]


def test_loading_prefers_the_bare_name_and_saving_does_not(tmp_path):
    small(1).write_to_file(tmp_path / "model", auto_extension=False)
    small(2).write_to_file(tmp_path / "model")
    assert files(tmp_path) == ["model", "model.bpk"]
    assert Reader.from_file(tmp_path / "model")["w"].bytes() == b"\1\1\1"
    assert Reader.from_file_exact(tmp_path / "model.bpk")["w"].bytes() == b"\2\2\2"
    os.unlink(tmp_path / "model")
    assert Reader.from_file(str(tmp_path / "model"))["w"].bytes() == b"\2\2\2"
    with pytest.raises(PackError, match=r"model: cannot open it: No such file or directory\."):
        Reader.from_file_exact(tmp_path / "model")


def test_what_is_no_file_is_refused(tmp_path):
    for path in ("", "..", "/", str(tmp_path / ".."), b"bytes", "a\0b", 3, None):
        with pytest.raises(PackError, match="path"):
            small().write_to_file(path)
        with pytest.raises(PackError, match="path"):
            Reader.from_file(path)
    with pytest.raises(PackError, match="not a regular file"):
        Reader.from_file_exact(tmp_path)
    os.mkfifo(tmp_path / "fifo.bpk")
    with pytest.raises(PackError, match="not a regular file"):
        Reader.from_file(tmp_path / "fifo.bpk")
    (tmp_path / "folder.bpk").mkdir()
    with pytest.raises(PackError, match=r"folder.bpk: cannot replace it: Is a directory\."):
        small().write_to_file(tmp_path / "folder.bpk")
    with pytest.raises(PackError, match=r"nowhere/x.bpk: cannot write it: No such file or directory\."):
        small().write_to_file(tmp_path / "nowhere" / "x")
    assert files(tmp_path) == ["fifo.bpk", "folder.bpk"]


# Saves


def test_overwrite_false_keeps_what_is_there(tmp_path):
    path = tmp_path / "m.bpk"
    small(1).write_to_file(path, overwrite=False)
    for write in (small(2).write_to_file, small(2).write_to_file_in_place):
        with pytest.raises(AlreadyExistsError, match="already exists"):
            write(path, overwrite=False)
        assert path.read_bytes() == small(1).into_bytes()
    os.symlink(tmp_path / "nowhere", tmp_path / "dangling.bpk")
    with pytest.raises(AlreadyExistsError):
        small(2).write_to_file(tmp_path / "dangling", overwrite=False)
    assert files(tmp_path) == ["dangling.bpk", "m.bpk"]


def test_overwrite_false_without_hard_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    small(1).write_to_file(tmp_path / "m.bpk", overwrite=False)
    with pytest.raises(AlreadyExistsError):
        small(2).write_to_file(tmp_path / "m.bpk", overwrite=False)
    assert (tmp_path / "m.bpk").read_bytes() == small(1).into_bytes()
    assert files(tmp_path) == ["m.bpk"]


def test_a_replaced_file_keeps_its_mode_a_new_one_gets_the_umask(tmp_path):
    path = tmp_path / "m.bpk"
    old = os.umask(0o027)
    try:
        small(1).write_to_file(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        small(2).write_to_file(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(old)


def test_a_symbolic_link_is_replaced_not_followed(tmp_path):
    small(1).write_to_file(tmp_path / "real.bpk")
    os.symlink("real.bpk", tmp_path / "link.bpk")
    small(2).write_to_file(tmp_path / "link.bpk")
    assert not (tmp_path / "link.bpk").is_symlink()
    assert (tmp_path / "real.bpk").read_bytes() == small(1).into_bytes()


def test_in_place_keeps_the_inode_and_follows_links(tmp_path):
    path = tmp_path / "m.bpk"
    large(1).write_to_file_in_place(path)
    os.link(path, tmp_path / "other.bpk")
    report = small(2).write_to_file_in_place(tmp_path / "m", digest=True)
    assert (tmp_path / "other.bpk").read_bytes() == small(2).into_bytes()
    assert report.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_in_place_leaves_a_partial_file_when_it_fails(tmp_path):
    with pytest.raises(PackError, match="its producer failed"):
        failing(1 << 20).write_to_file_in_place(tmp_path / "m")
    assert 0 < (tmp_path / "m.bpk").stat().st_size < failing(1 << 20).size


def test_the_digest_is_that_of_the_file(tmp_path):
    report = large().write_to_file(tmp_path / "m", digest=True)
    data = (tmp_path / "m.bpk").read_bytes()
    assert data == large().into_bytes()
    assert report.sha256 == hashlib.sha256(data).hexdigest()


def test_write_into_needs_room_and_keeps_to_its_own(tmp_path):
    writer = large()
    buffer = bytearray(b"\xee" * (writer.size + 3))
    assert writer.write_into(buffer) == writer.size
    assert buffer == writer.into_bytes() + b"\xee" * 3
    for bad in (bytearray(writer.size - 1), bytes(writer.size), "text", memoryview(bytearray(2 * writer.size))[::2]):
        with pytest.raises(PackError, match="write_into"):
            writer.write_into(bad)


def test_a_save_over_the_file_that_is_being_read(tmp_path):
    path = tmp_path / "m.bpk"
    large(1).write_to_file(path)
    with Reader.from_file(path) as reader:
        Writer([reader["b"], reader["a"]]).write_to_file(path)
        assert reader["a"].bytes() == b"\1" * (1 << 20)
    assert Reader.from_file(path).names_by_position() == ["b", "a"]


def failing(size=100):
    def fail():
        raise RuntimeError("no such layer")

    return Writer([TensorEntry("a", DType.U8, (size,), bytes(size)), TensorEntry.deferred("b", DType.F32, (4,), fail)])


def test_a_failing_producer_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.bpk"
    small().write_to_file(path)
    with pytest.raises(PackError, match="tensor 'b': its producer failed: RuntimeError: no such layer") as caught:
        failing().write_to_file(path)
    assert isinstance(caught.value.__cause__, RuntimeError)
    wrong = [
        (lambda: b"123", "its producer returned 3 bytes, but 16 were declared"),
        (lambda: bytes(17), "its producer returned 17 bytes, but 16 were declared"),
        (lambda: "text", "data must be bytes"),
        (lambda: None, "data must be bytes"),
    ]
    for produce, message in wrong:
        writer = Writer([TensorEntry.deferred("b", DType.F32, (4,), produce)])
        with pytest.raises(PackError, match=f"tensor 'b': {message}"):
            writer.write_to_file(path)
        with pytest.raises(PackError, match=message):
            writer.into_bytes()
    with pytest.raises(KeyboardInterrupt):
        Writer([TensorEntry.deferred("b", DType.F32, (4,), interrupt)]).write_to_file(path)
    assert files(tmp_path) == ["m.bpk"]
    assert path.read_bytes() == small().into_bytes()


def interrupt():
    raise KeyboardInterrupt


def test_a_deferred_tensor_is_made_once_and_dropped_before_the_next(tmp_path):
    made = []

    def produce(name):
        def make():
            made.append(name)
            return bytes(4 << 20)

        return make

    writer = Writer([TensorEntry.deferred(name, DType.U8, (4 << 20,), produce(name)) for name in "abcd"])
    assert made == []
    tracemalloc.start()
    writer.write_to_file(tmp_path / "m")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert made == list("abcd")
    assert peak < 5 << 20


@pytest.mark.parametrize("room", [0, 1, 1000, 1 << 20, (2 << 20) + 100])
def test_a_full_disk_leaves_the_old_file_and_no_scratch(tmp_path, monkeypatch, room):
    path = tmp_path / "m.bpk"
    small().write_to_file(path)
    real, left = os.write, [room]

    def write(descriptor, data):
        if left[0] == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real(descriptor, data[: left[0]])
        left[0] -= written
        return written

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(PackError, match=r"m.bpk: cannot write it: No space left on device\.") as caught:
        large(2).write_to_file(path)
    assert caught.value.__cause__.errno == errno.ENOSPC
    assert files(tmp_path) == ["m.bpk"]
    assert path.read_bytes() == small().into_bytes()


def test_short_writes_are_continued(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:100_003]))
    large().write_to_file(tmp_path / "m")
    assert (tmp_path / "m.bpk").read_bytes() == large().into_bytes()


@pytest.mark.parametrize("call", ["fsync", "chmod", "replace"])
def test_any_other_failure_before_publishing(tmp_path, monkeypatch, call):
    path = tmp_path / "m.bpk"
    small().write_to_file(path)

    def refuse(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(PackError, match="Input/output error"):
        small(2).write_to_file(path)
    assert files(tmp_path) == ["m.bpk"]
    assert path.read_bytes() == small().into_bytes()


def test_a_folder_that_cannot_be_synced_is_said_after_the_save(tmp_path, monkeypatch):
    real, calls = os.fsync, []

    def second_fails(descriptor):
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(errno.EIO, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", second_fails)
    with pytest.raises(PackError, match="saved, but it may not survive a power loss"):
        small(2).write_to_file(tmp_path / "m.bpk")
    assert (tmp_path / "m.bpk").read_bytes() == small(2).into_bytes()
    assert files(tmp_path) == ["m.bpk"]


def test_a_scratch_file_left_by_a_killed_process_is_stepped_over(tmp_path):
    number = next(atomic._scratch_numbers) + 1
    stale = tmp_path / f"m.bpk.{os.getpid()}-{number}.tmp"
    stale.write_bytes(b"stale")
    small().write_to_file(tmp_path / "m")
    assert stale.read_bytes() == b"stale"
    assert files(tmp_path) == ["m.bpk", stale.name]


def test_atomic_file_for_other_formats(tmp_path):
    with AtomicFile(tmp_path / "set.json") as file:
        file.write(b"{}")
    assert files(tmp_path) == []
    with AtomicFile(tmp_path / "set.json") as file:
        file.write(b"{}")
        file.commit()
        with pytest.raises(PackError, match="already committed"):
            file.commit()
    assert (tmp_path / "set.json").read_bytes() == b"{}"
    assert files(tmp_path) == ["set.json"]


def kill_points(folder, save):
    """Runs `save` in forked children, each killed one system call later than the one before; yields after each."""
    path = folder / "m.bpk"
    for point in range(10_000):
        small().write_to_file(path)
        child = os.fork()
        if child == 0:
            kill_at(point)
            save(path)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        yield path, point
        if os.WIFEXITED(status):
            return


def kill_at(point):
    """SIGKILL before, in the middle of, or after one of this process' next system calls: three points a call."""
    count = [0]

    def wrap(name):
        real = getattr(os, name)

        def call(*arguments, **options):
            call_number, phase = divmod(point, 3)
            now = count[0] == call_number
            count[0] += 1
            if now and phase == 0:
                os.kill(os.getpid(), 9)
            if now and phase == 1 and name == "write":
                real(arguments[0], arguments[1][: len(arguments[1]) // 2])
                os.kill(os.getpid(), 9)
            result = real(*arguments, **options)
            if now:
                os.kill(os.getpid(), 9)
            return result

        setattr(os, name, call)

    for name in ("open", "write", "fsync", "close", "chmod", "lstat", "replace", "link", "unlink"):
        wrap(name)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_save_killed_at_any_system_call_leaves_the_old_file_or_the_new_one(tmp_path):
    seen = set()
    for path, point in kill_points(tmp_path, lambda path: large(2).write_to_file(path)):
        contents = path.read_bytes()
        assert contents in (small().into_bytes(), large(2).into_bytes()), f"kill point {point}"
        seen.add(len(contents))
        small(3).write_to_file(path)  # the next save is not hindered by what the killed one left
        assert path.read_bytes() == small(3).into_bytes()
    assert seen == {small().size, large().size}
    assert point > 30


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_killed_first_save_leaves_nothing_or_the_file(tmp_path):
    for path, point in kill_points(
        tmp_path, lambda path: large(2).write_to_file(path.with_name("new"), overwrite=False)
    ):
        new = path.with_name("new.bpk")
        if new.exists():
            assert new.read_bytes() == large(2).into_bytes(), f"kill point {point}"
            new.unlink()
