"""Datasets that pick items of another one by a list of indices: chosen, shuffled, sampled, split by class.

Every random choice is a function of a seed (see `order.py`). Burn's sampler draws anew at each `get`, whatever the
index: the same batch cannot be made twice. Here the draw is a function of (seed, epoch, index): each epoch has its own
sample, and a resumed run finds it again.

Burn: `crates/burn-dataset/src/transform/{selection,shuffle,sampler}.rs`. Of its SelectionDataset, `new_select_all` is
the dataset itself, `new_shuffled` a ShuffledDataset, `slice` and `split` are PartialDataset's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from minburn.data.check import DataError, as_indices, check_index, check_indices, integer
from minburn.data.dataset import Dataset, require_dataset
from minburn.data.fingerprint import digest
from minburn.data.order import Indices, permutation, sample

T = TypeVar("T")

MAX_ITEMS = 1 << 40
"""No memory holds more indices."""


class SelectionDataset(Dataset[T]):
    """The items of `dataset` at `indices`, in that order; an index may occur several times.

    Burn: `SelectionDataset::from_indices_checked`.
    """

    def __init__(self, dataset: Dataset[T], indices: Sequence[int] | Indices) -> None:
        owner = type(self).__name__
        self.dataset = require_dataset(owner, dataset)
        self.indices = as_indices(owner, indices)
        if self.indices.size:
            check_index(self, int(self.indices.min()), len(dataset))
            check_index(self, int(self.indices.max()), len(dataset))

    def __len__(self) -> int:
        return self.indices.size

    def get(self, index: int) -> T:
        check_index(self, index, len(self))
        return self.dataset.get(int(self.indices[index]))

    def get_many(self, indices: Sequence[int]) -> list[T]:
        check_indices(self, indices, len(self))
        return self.dataset.get_many(self.indices[np.array(indices, dtype=np.int64)].tolist())

    def at_epoch(self, epoch: int) -> Dataset[T]:
        dataset = self.dataset.at_epoch(epoch)
        return self if dataset is self.dataset else SelectionDataset(dataset, self.indices)

    def fingerprint(self) -> str:
        return digest(["selection", self.dataset.fingerprint(), self.indices])


class ShuffledDataset(SelectionDataset[T]):
    """All items in one random order, fixed by `seed`. (A loader's `shuffle=True` has another order each epoch.)

    Burn: `SelectionDataset::new_shuffled` and `SelectionDataset::shuffle`.
    """

    def __init__(self, dataset: Dataset[T], seed: int = 0) -> None:
        self.seed = integer("ShuffledDataset", "seed", seed)
        length = len(require_dataset("ShuffledDataset", dataset))
        super().__init__(dataset, permutation(length, self.seed, "shuffled"))


class SamplerDataset(SelectionDataset[T]):
    """A random sample of `dataset`, drawn anew for every epoch of a loader.

    size: how many items; ratio: the same as a fraction of the dataset, truncated. Neither: as many as it has.
    replacement: each item of the sample is drawn independently (Burn's default). Without it, every item occurs
    ⌊size / len⌋ times and a random subset of them once more.
    Read directly, not by a loader, it is the sample of epoch 1.
    """

    def __init__(
        self,
        dataset: Dataset[T],
        size: int | None = None,
        *,
        ratio: float | None = None,
        replacement: bool = True,
        seed: int = 0,
    ) -> None:
        length = len(require_dataset("SamplerDataset", dataset))
        if size is not None and ratio is not None:
            raise DataError(f"SamplerDataset: give size or ratio, not both (got size={size}, ratio={ratio}).")
        if ratio is not None:
            if not (math.isfinite(ratio) and ratio >= 0):
                raise DataError(f"SamplerDataset: ratio must be a finite number of at least 0, but got {ratio}.")
            size = int(length * ratio)
        size = length if size is None else integer("SamplerDataset", "size", size, 0)
        if size > MAX_ITEMS:
            raise DataError(f"SamplerDataset: size must be at most {MAX_ITEMS}, but got {size}.")
        if size and not length:
            raise DataError(f"SamplerDataset: {size} items cannot be drawn from an empty dataset.")
        self.seed = integer("SamplerDataset", "seed", seed)
        self.replacement = replacement
        self._size = size
        super().__init__(dataset, self._draw(length, epoch=1))

    def _draw(self, length: int, epoch: int) -> Indices:
        return sample(length, self._size, self.seed, f"sample/{epoch}", self.replacement)

    def at_epoch(self, epoch: int) -> Dataset[T]:
        dataset = self.dataset.at_epoch(epoch)
        return SelectionDataset(dataset, self._draw(len(dataset), epoch))


def random_split(
    dataset: Dataset[T], valid: float = 0.2, seed: int = 42
) -> tuple[SelectionDataset[T], SelectionDataset[T]]:
    """(training part, validation part): a random fraction `valid` of the items is held out."""
    count = len(require_dataset("random_split", dataset))
    return _split("random_split", dataset, [0] * count, valid, seed)


def stratified_split(
    dataset: Dataset[T], labels: Sequence[int], valid: float = 0.2, seed: int = 42
) -> tuple[SelectionDataset[T], SelectionDataset[T]]:
    """(training part, validation part), holding out the fraction `valid` of every class.

    Of a class of n items, round(valid · n) are held out, halves up; which ones depends on the seed and the class alone.
    Both parts keep the dataset's order. labels: one integer per item.
    """
    return _split("stratified_split", dataset, labels, valid, seed)


def _split(
    name: str, dataset: Dataset[T], labels: Sequence[int], valid: float, seed: int
) -> tuple[SelectionDataset[T], SelectionDataset[T]]:
    classes = as_indices(name, labels)
    if len(classes) != len(require_dataset(name, dataset)):
        raise DataError(f"{name}: {len(classes)} labels for {len(dataset)} items.")
    if isinstance(valid, bool) or not isinstance(valid, (int, float)) or not 0 < valid < 1:
        raise DataError(f"{name}: valid must be a fraction between 0 and 1, but got {valid!r}.")
    seed = integer(name, "seed", seed)
    held_out = np.zeros(len(classes), dtype=np.bool_)
    for label in np.unique(classes).tolist():
        members = np.flatnonzero(classes == label)
        count = math.floor(valid * len(members) + 0.5)
        held_out[members[permutation(len(members), seed, f"split/{label}")[:count]]] = True
    return SelectionDataset(dataset, np.flatnonzero(~held_out)), SelectionDataset(dataset, np.flatnonzero(held_out))
