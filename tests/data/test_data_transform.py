"""Every transform against what the same operation gives on a plain list."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minburn.data import (
    ComposedDataset,
    DataError,
    DataLoader,
    Dataset,
    InMemDataset,
    MapperDataset,
    PartialDataset,
    SamplerDataset,
    SelectionDataset,
    ShuffledDataset,
    WindowsDataset,
    random_split,
    stratified_split,
)

LETTERS = list("abcdefghij")
letters = InMemDataset(LETTERS)


def plain(dataset: Dataset[str]) -> list[str]:
    """The items read in three ways, which must agree."""
    one_by_one = [dataset.get(index) for index in range(len(dataset))]
    assert one_by_one == list(dataset) == dataset.get_many(range(len(dataset)))
    backwards = list(range(len(dataset)))[::-1]
    assert dataset.get_many(backwards) == one_by_one[::-1]
    for wrong in (-1, len(dataset)):
        with pytest.raises(IndexError, match=str(wrong)):
            dataset.get(wrong)
        with pytest.raises(IndexError, match=str(wrong)):
            dataset.get_many([wrong])
    return one_by_one


def test_mapper() -> None:
    assert plain(MapperDataset(letters, str.upper)) == [letter.upper() for letter in LETTERS]


def test_a_mapper_error_names_the_item() -> None:
    broken = MapperDataset(letters, lambda letter: {"a": 1}[letter])
    with pytest.raises(DataError, match="MapperDataset, item 3: KeyError: 'd'"):
        broken.get_many([0, 3])


def test_composed() -> None:
    empty = InMemDataset[str]([])
    assert plain(ComposedDataset([empty, letters, empty, InMemDataset("xy"), empty])) == [*LETTERS, "x", "y"]
    assert plain(ComposedDataset([])) == []


def test_partial() -> None:
    assert plain(PartialDataset(letters, 2, 5)) == LETTERS[2:5]
    assert plain(PartialDataset(letters, 10, 10)) == []


@settings(max_examples=60, deadline=None)
@given(length=st.integers(0, 40), num=st.integers(1, 12), batch_size=st.integers(1, 9))
def test_splits_cover_everything_in_order(length: int, num: int, batch_size: int) -> None:
    dataset = InMemDataset(range(length))
    parts = PartialDataset.split(dataset, num)
    assert [item for part in parts for item in part] == list(range(length))
    assert [len(part) for part in parts[:-1]] == [length // num] * (num - 1)

    chunks = PartialDataset.split_chunks(dataset, num, batch_size)
    assert [item for chunk in chunks for item in chunk] == list(range(length))
    assert len(chunks) <= num
    assert all(len(chunk) % batch_size == 0 for chunk in chunks[:-1])
    batches = [-(-len(chunk) // batch_size) for chunk in chunks]
    assert all(count > 0 for count in batches)
    assert batches == sorted(batches, reverse=True)
    assert not batches or batches[0] - batches[-1] <= 1


@settings(max_examples=40, deadline=None)
@given(length=st.integers(0, 12), size=st.integers(1, 14))
def test_windows(length: int, size: int) -> None:
    items = list(range(length))
    windows = WindowsDataset(InMemDataset(items), size)
    assert list(windows) == [items[start : start + size] for start in range(max(0, length - size + 1))]


def test_selection() -> None:
    assert plain(SelectionDataset(letters, [3, 3, 0])) == ["d", "d", "a"]
    assert plain(SelectionDataset(letters, [])) == []


def test_shuffled_is_one_fixed_permutation() -> None:
    shuffled = ShuffledDataset(letters, seed=1)
    assert sorted(plain(shuffled)) == LETTERS != list(shuffled)
    assert list(shuffled) == list(ShuffledDataset(letters, seed=1)) != list(ShuffledDataset(letters, seed=2))
    assert shuffled.at_epoch(5) is shuffled


@pytest.mark.parametrize("replacement", [True, False])
def test_sampler_sizes(replacement: bool) -> None:
    assert len(SamplerDataset(letters, replacement=replacement)) == 10
    assert len(SamplerDataset(letters, 25, replacement=replacement)) == 25
    assert len(SamplerDataset(letters, ratio=0.59, replacement=replacement)) == 5
    assert set(plain(SamplerDataset(letters, 25, replacement=replacement))) <= set(LETTERS)
    assert len(SamplerDataset(InMemDataset[str]([]), replacement=replacement)) == 0


def test_sampler_replacement() -> None:
    assert sorted(SamplerDataset(letters, replacement=False)) == LETTERS
    assert sorted(SamplerDataset(letters, 20, replacement=False)) == sorted(LETTERS * 2)
    assert len(set(SamplerDataset(letters))) < 10


def test_a_sampler_draws_anew_each_epoch_and_repeats_itself() -> None:
    def sampler(seed: int = 3) -> Dataset[str]:
        return SamplerDataset(letters, seed=seed)

    epochs = [list(sampler().at_epoch(epoch)) for epoch in range(1, 6)]
    assert epochs == [list(sampler().at_epoch(epoch)) for epoch in range(1, 6)]
    assert list(sampler()) == epochs[0] != list(sampler(seed=4))
    assert len({tuple(items) for items in epochs}) == 5


def wrapped(seed: int) -> dict[str, Dataset[Any]]:
    source = SamplerDataset(letters, seed=seed)
    return {
        "mapper": MapperDataset(source, str.upper),
        "composed": ComposedDataset([letters, source]),
        "partial": PartialDataset(source, 1, 9),
        "windows": WindowsDataset(source, 2),
        "selection": SelectionDataset(source, range(9)),
        "shuffled": ShuffledDataset(source),
        "sampler": SamplerDataset(source),
    }


@pytest.mark.parametrize("name", list(wrapped(0)))
def test_every_transform_passes_the_epoch_on(name: str) -> None:
    loader = DataLoader(wrapped(0)[name], lambda items: items, batch_size=100)
    first, second = next(loader.iter_epoch(1)), next(loader.iter_epoch(2))
    assert first == next(loader.iter_epoch(1)) == list(wrapped(0)[name])
    assert first != second == list(wrapped(0)[name].at_epoch(2))


@pytest.mark.parametrize("name", list(wrapped(0)))
def test_fingerprints_of_transforms_follow_their_source(name: str) -> None:
    assert wrapped(0)[name].fingerprint() == wrapped(0)[name].fingerprint() != wrapped(1)[name].fingerprint()


def test_fingerprints_follow_the_transform_itself() -> None:
    datasets: list[Dataset[Any]] = [
        MapperDataset(letters, str.upper),
        MapperDataset(letters, str.lower),
        PartialDataset(letters, 0, 5),
        PartialDataset(letters, 1, 6),
        WindowsDataset(letters, 2),
        WindowsDataset(letters, 3),
        ShuffledDataset(letters, 0),
        ShuffledDataset(letters, 1),
        ComposedDataset([letters]),
        ComposedDataset([letters, letters]),
    ]
    assert len({dataset.fingerprint() for dataset in datasets}) == len(datasets)


@settings(max_examples=40, deadline=None)
@given(labels=st.lists(st.integers(-2, 5), max_size=60), valid=st.floats(0.01, 0.99), seed=st.integers(0, 99))
def test_stratified_split(labels: list[int], valid: float, seed: int) -> None:
    train, held_out = stratified_split(InMemDataset(range(len(labels))), labels, valid, seed)
    assert sorted([*train, *held_out]) == list(range(len(labels)))
    assert list(train) == sorted(train)
    assert list(held_out) == sorted(held_out)
    for label in set(labels):
        count = sum(labels[item] == label for item in held_out)
        assert abs(count - valid * labels.count(label)) <= 0.5


def test_random_split() -> None:
    train, held_out = random_split(letters, valid=0.3, seed=5)
    assert (len(train), len(held_out)) == (7, 3)
    assert sorted([*train, *held_out]) == LETTERS
    assert list(held_out) != list(random_split(letters, valid=0.3, seed=6)[1])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: MapperDataset([1], str),
            r"MapperDataset: expected a Dataset, but got list. Wrap a list in InMemDataset",
        ),
        (lambda: ComposedDataset([letters, [1]]), "ComposedDataset: expected a Dataset"),
        (lambda: PartialDataset(letters, -1, 3), "start must be at least 0, but got -1"),
        (lambda: PartialDataset(letters, 4, 3), "end must be at least 4, but got 3"),
        (lambda: PartialDataset(letters, 0, 11), "end 11 is beyond the dataset's 10 items"),
        (lambda: PartialDataset.split(letters, 0), "num must be at least 1"),
        (lambda: PartialDataset.split_chunks(letters, 2, 0), "batch_size must be at least 1"),
        (lambda: WindowsDataset(letters, 0), "size must be at least 1"),
        (lambda: SelectionDataset(letters, [0.5]), "indices must be a flat sequence of integers"),
        (lambda: SelectionDataset(letters, [[1]]), "indices must be a flat sequence of integers"),
        (lambda: SelectionDataset(letters, [True]), "indices must be a flat sequence of integers"),
        (lambda: ShuffledDataset(letters, 1.5), "seed must be an integer, but got float 1.5"),
        (lambda: SamplerDataset(letters, -1), "size must be at least 0"),
        (lambda: SamplerDataset(letters, 3, ratio=0.5), "give size or ratio, not both"),
        (lambda: SamplerDataset(letters, ratio=float("nan")), "ratio must be a finite number"),
        (lambda: SamplerDataset(letters, ratio=-0.5), "ratio must be a finite number"),
        (lambda: SamplerDataset(InMemDataset([]), 3), "3 items cannot be drawn from an empty dataset"),
        (lambda: SamplerDataset(letters, seed=True), "seed must be an integer"),
        (lambda: stratified_split(letters, [1], 0.5), "1 labels for 10 items"),
        (lambda: random_split(letters, 1.0), "random_split: valid must be a fraction between 0 and 1, but got 1.0"),
        (lambda: random_split(letters, float("nan")), "valid must be a fraction"),
    ],
)
def test_bad_arguments_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        build()


def test_a_selection_out_of_range_is_refused() -> None:
    for indices in ([0, 10], [-1]):
        with pytest.raises(IndexError, match=r"SelectionDataset: index (10|-1) is outside a dataset of 10 items"):
            SelectionDataset(letters, indices)
