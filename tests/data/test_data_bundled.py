"""The bundled digits and names, their attribution, and the pictures drawn of digits."""

import re
from importlib.resources import files

import numpy as np
import pytest

from minburn.backends import Autodiff, NumPy
from minburn.data import DataError, DataLoader, digits, names
from minburn.dtype import DType


def test_digits_are_what_the_attribution_says() -> None:
    dataset = digits.load()
    assert len(dataset) == 1797
    assert dataset is digits.load()
    images = np.stack([item.image for item in dataset])
    assert images.shape == (1797, 8, 8)
    assert images.dtype == np.uint8
    assert (images.min(), images.max()) == (0, 16)
    counts = np.bincount([item.label for item in dataset])
    assert counts.tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    with pytest.raises(ValueError, match="read-only"):
        dataset[0].image[0, 0] = 1


def test_the_attribution_is_bundled() -> None:
    text = files("minburn.data").joinpath("bundled", "ATTRIBUTION.md").read_text(encoding="utf-8")
    for part in ("E. Alpaydin and C. Kaynak", "10.24432/C50P49", "CC BY 4.0", "US Census Bureau", "Public domain"):
        assert part in text


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 42])
def test_the_split_is_stratified(seed: int) -> None:
    train, valid = digits.split(valid=0.2, seed=seed)
    chosen = [*train.indices.tolist(), *valid.indices.tolist()]
    assert sorted(chosen) == list(range(1797))
    assert [item.label for item in digits.split(0.2, seed)[1]] == [item.label for item in valid]
    assert valid.indices.tolist() == digits.split(0.2, seed)[1].indices.tolist()
    held_out = np.bincount([item.label for item in valid])
    # round(0.2 · n) of 178, 182, 177 …
    assert held_out.tolist() == [36, 36, 35, 37, 36, 36, 36, 36, 35, 36]


def test_seeds_split_differently() -> None:
    splits = {tuple(digits.split(seed=seed)[1].indices.tolist()) for seed in range(5)}
    assert len(splits) == 5


def test_the_split_never_changes() -> None:
    assert digits.split(valid=0.2, seed=42)[1].indices[:8].tolist() == [1, 7, 12, 13, 15, 17, 20, 22]


def test_digit_batches() -> None:
    backend = NumPy()
    train, _ = digits.split()
    batch = next(iter(DataLoader(train, digits.Batcher(backend), batch_size=5)))
    assert len(batch) == 5
    assert (batch.images.shape, batch.targets.shape) == ((5, 8, 8), (5,))
    assert (batch.images.dtype, batch.targets.dtype) == (DType.F32, DType.I32)
    expected = np.stack([train[index].image for index in range(5)]) / 16
    assert np.array_equal(batch.images.numpy(), expected)
    assert batch.targets.numpy().tolist() == [train[index].label for index in range(5)]


def test_digit_batches_live_on_the_backend_given() -> None:
    backend = Autodiff(NumPy(float_dtype=DType.F64))
    batch = digits.Batcher(backend).batch([digits.load()[0]])
    assert batch.images.backend is backend
    assert batch.images.dtype == DType.F64


def test_batches_are_equal_for_any_number_of_workers() -> None:
    train, _ = digits.split()
    loaders = [
        DataLoader(train, digits.Batcher(NumPy()), 64, shuffle=True, seed=1, num_workers=workers)
        for workers in (0, 1, 3)
    ]
    epochs = [[(b.images.numpy().tobytes(), b.targets.numpy().tobytes()) for b in loader] for loader in loaders]
    assert epochs[0] == epochs[1] == epochs[2]


def test_a_batcher_refuses_what_it_cannot_stack() -> None:
    batcher = digits.Batcher(NumPy())
    with pytest.raises(DataError, match="at least one item"):
        batcher.batch([])
    wide = digits.Item(np.zeros((8, 9), np.uint8), 0)
    with pytest.raises(DataError, match=r"differ in shape: \[\(8, 8\), \(8, 9\)\]"):
        batcher.batch([digits.load()[0], wide])


def test_drawing() -> None:
    item = digits.load()[0]
    picture = digits.draw(item)
    assert [len(line) for line in picture.split("\n")] == [16] * 8
    assert picture.isascii()
    assert digits.draw(item.image) == digits.draw(item.image / np.float32(16)) == picture
    assert digits.draw(np.array([[0, 16], [8, 0]], np.uint8)) == "  @@\n++  "
    assert digits.draw(np.array([[-1.0, 2.0, np.nan]])) == "  @@  "
    with pytest.raises(DataError, match=r"one picture \[height, width\], but got shape \[2, 8, 8\]"):
        digits.draw(np.zeros((2, 8, 8)))


def test_names() -> None:
    every = list(names.load())
    assert len(every) == 5163
    assert every == sorted(set(every))
    assert all(re.fullmatch("[a-z]+", name) for name in every)
    train, valid = names.split(valid=0.1, seed=42)
    assert len(valid) == 516
    assert sorted([*train, *valid]) == every
