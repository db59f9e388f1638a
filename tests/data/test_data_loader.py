"""DataLoader: order, restart, workers, errors, threads."""

import gc
import json
import threading
import time
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minburn.data import DataError, DataLoader, Dataset, InMemDataset, SamplerDataset
from minburn.data.order import epoch_order


def as_list(items: list[int]) -> list[int]:
    return items


class Jittery(Dataset[int]):
    """Early items take longest, so that workers would deliver out of order if they could. Counts its reads."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.read: list[int] = []

    def __len__(self) -> int:
        return self.length

    def get(self, index: int) -> int:
        self.read.append(index)
        time.sleep(0.002 if index % 4 == 0 else 0)
        return index


class Failing(InMemDataset[int]):
    def get_many(self, indices: Sequence[int]) -> list[int]:
        if 5 in indices:
            raise OSError("disk gone")
        return super().get_many(indices)


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("minburn-data")]


def wait_for_no_threads() -> None:
    deadline = time.monotonic() + 5
    while threads() and time.monotonic() < deadline:
        time.sleep(0.005)
    assert threads() == []


def test_plain_order_and_the_last_smaller_batch() -> None:
    loader = DataLoader(InMemDataset(range(7)), as_list, batch_size=3)
    assert list(loader) == [[0, 1, 2], [3, 4, 5], [6]]
    assert (len(loader), loader.num_items()) == (3, 7)
    assert list(DataLoader(InMemDataset(range(2)), as_list)) == [[0], [1]]


def test_golden_batches() -> None:
    loader = DataLoader(InMemDataset(range(10)), as_list, batch_size=4, shuffle=True, seed=42)
    assert list(loader) == [[1, 3, 6, 8], [7, 4, 9, 0], [5, 2]]
    assert list(loader) == [[0, 2, 7, 9], [5, 6, 1, 8], [4, 3]]


def test_each_loop_plays_the_next_epoch() -> None:
    loader = DataLoader(InMemDataset(range(20)), as_list, batch_size=20, shuffle=True, seed=1)
    for epoch in (1, 2, 3):
        assert list(loader) == [epoch_order(20, 1, epoch).tolist()]
        assert list(loader.iter_epoch(7)) == [epoch_order(20, 1, 7).tolist()]


def test_the_default_seed_is_zero() -> None:
    dataset = InMemDataset(range(9))
    assert list(DataLoader(dataset, as_list, shuffle=True)) == list(DataLoader(dataset, as_list, shuffle=True, seed=0))


@settings(max_examples=30, deadline=None)
@given(
    length=st.integers(0, 30),
    batch_size=st.integers(1, 8),
    epoch=st.integers(1, 5),
    workers=st.sampled_from([0, 1, 3]),
    data=st.data(),
)
def test_an_epoch_can_start_at_any_batch(
    length: int, batch_size: int, epoch: int, workers: int, data: st.DataObject
) -> None:
    dataset = Jittery(length)
    loader = DataLoader(dataset, as_list, batch_size, shuffle=True, seed=9, num_workers=workers)
    whole = list(DataLoader(InMemDataset(range(length)), as_list, batch_size, shuffle=True, seed=9).iter_epoch(epoch))
    start = data.draw(st.integers(0, len(loader)))
    assert list(loader.iter_epoch(epoch, start)) == whole[start:]
    assert sorted(dataset.read) == sorted(item for batch in whole[start:] for item in batch)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_workers_change_nothing(workers: int) -> None:
    dataset = SamplerDataset(Jittery(60), 90, seed=2)
    alone = DataLoader(dataset, as_list, batch_size=7, shuffle=True, seed=4)
    together = DataLoader(dataset, as_list, batch_size=7, shuffle=True, seed=4, num_workers=workers)
    for _ in range(3):
        assert list(together) == list(alone)
    wait_for_no_threads()


def test_workers_make_batches_ahead_but_not_without_bound() -> None:
    dataset = Jittery(1000)
    with DataLoader(dataset, as_list, batch_size=10, num_workers=2).iter_epoch(1) as batches:
        next(batches)
        time.sleep(0.1)
        assert 10 < len(dataset.read) <= 50


def test_threads_end_with_the_epoch() -> None:
    loader = DataLoader(Jittery(20), as_list, num_workers=3)
    batches = iter(loader)
    next(batches)
    assert threads()
    assert len(list(batches)) == 19
    assert threads() == []
    with pytest.raises(StopIteration):
        next(batches)


def test_threads_end_when_the_iterator_is_closed() -> None:
    batches = DataLoader(Jittery(500), as_list, num_workers=3).iter_epoch(1)
    next(batches)
    batches.close()
    assert threads() == []
    assert list(batches) == []


def test_threads_end_when_the_iterator_is_dropped() -> None:
    """Without the garbage collector: a loop left by `break` must not leave threads behind."""
    gc.disable()
    try:
        for _batch in DataLoader(Jittery(500), as_list, num_workers=3):
            break
        wait_for_no_threads()
    finally:
        gc.enable()


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_comes_at_its_place_and_names_the_batch(workers: int) -> None:
    loader = DataLoader(Failing(range(12)), as_list, batch_size=2, num_workers=workers)
    batches = iter(loader)
    assert [next(batches), next(batches)] == [[0, 1], [2, 3]]
    with pytest.raises(DataError, match=r"batch 2 of epoch 1 \(items 4, 5\): OSError: disk gone") as caught:
        next(batches)
    assert isinstance(caught.value.__cause__, OSError)
    assert list(batches) == []
    assert list(loader.iter_epoch(1, start_batch=3)) == [[6, 7], [8, 9], [10, 11]]
    wait_for_no_threads()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stop_iteration_in_a_batcher_does_not_end_the_epoch_silently(workers: int) -> None:
    def batch(items: list[int]) -> int:
        return next(iter(items[2:]))

    loader = DataLoader(InMemDataset(range(4)), batch, batch_size=2, num_workers=workers)
    with pytest.raises(DataError, match=r"batch 0 of epoch 1 .*StopIteration"):
        list(loader)


def test_a_long_batch_shows_a_few_items() -> None:
    loader = DataLoader(Failing(range(12)), as_list, batch_size=12)
    with pytest.raises(DataError, match=r"\(items 0, 1, 2, 3, 4, 5, 6, 7, …\)"):
        list(loader)


@pytest.mark.parametrize("workers", [0, 2])
def test_an_empty_dataset_has_no_batches(workers: int) -> None:
    loader = DataLoader(InMemDataset[int]([]), as_list, batch_size=4, shuffle=True, num_workers=workers)
    assert (len(loader), list(loader)) == (0, [])
    assert loader.fingerprint()["items"] == 0


def test_a_batcher_may_be_an_object() -> None:
    class Sum:
        def batch(self, items: list[int]) -> int:
            return sum(items)

    assert list(DataLoader(InMemDataset(range(4)), Sum(), batch_size=2)) == [1, 5]


def test_fingerprint() -> None:
    def loader(**changes: object) -> DataLoader[list[int]]:
        arguments: dict[str, object] = {"batch_size": 2, "shuffle": True, "seed": 1, **changes}
        return DataLoader(InMemDataset([1, 2, 3]), as_list, **arguments)  # type: ignore[arg-type]

    base = loader().fingerprint()
    assert json.loads(json.dumps(base)) == base
    assert list(base) == ["items", "digest", "batch_size", "shuffle", "seed"]
    assert loader(num_workers=3).fingerprint() == base
    assert loader(batch_size=3).fingerprint() != base != loader(seed=2).fingerprint()
    assert loader(shuffle=False, seed=1).fingerprint() == loader(shuffle=False, seed=2).fingerprint() != base
    assert DataLoader(InMemDataset([1, 2, 4]), as_list, 2, True, 1).fingerprint()["digest"] != base["digest"]


numbers = InMemDataset(range(10))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: DataLoader([1, 2], as_list), "DataLoader: expected a Dataset, but got list"),
        (lambda: DataLoader(numbers, 3), r"batcher must have a method batch\(items\)"),
        (lambda: DataLoader(numbers, list), "batcher must have a method"),
        (lambda: DataLoader(numbers, as_list, 0), "batch_size must be at least 1, but got 0"),
        (lambda: DataLoader(numbers, as_list, 2.0), "batch_size must be an integer, but got float 2.0"),
        (lambda: DataLoader(numbers, as_list, num_workers=-1), "num_workers must be at least 0"),
        (lambda: DataLoader(numbers, as_list, seed=None), "seed must be an integer, but got NoneType None"),
        (lambda: DataLoader(numbers, as_list, seed="1"), "seed must be an integer"),
        (lambda: DataLoader(numbers, as_list).iter_epoch(0), "epoch must be at least 1, but got 0"),
        (lambda: DataLoader(numbers, as_list).iter_epoch(1, -1), "start_batch must be at least 0"),
        (lambda: DataLoader(numbers, as_list).iter_epoch(1, 11), "start_batch 11 is beyond the epoch's 10 batches"),
    ],
)
def test_bad_arguments_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        build()
