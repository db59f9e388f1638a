"""Datasets made of other datasets. Each is lazy: it stores no items, and asks for them when it is asked.

    MapperDataset       f(item) of every item
    ComposedDataset     several, one after the other
    PartialDataset      the items start … end - 1
    WindowsDataset      every run of `size` neighbours

The ones that choose items by a list of indices are in `selection.py`. All of them pass `at_epoch` on, and fingerprint
what they hold by the fingerprints of what they are made of.

Burn: `crates/burn-dataset/src/transform/{mapper,composed,partial,window}.rs`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeVar

from minburn.data.check import DataError, check_index, check_indices, integer, items_of
from minburn.data.dataset import Dataset, item_error, require_dataset
from minburn.data.fingerprint import digest

MAX_EMPTY_PARTS = 1 << 16
"""More parts than items are allowed, as in Burn, but not without end."""

T = TypeVar("T")
S = TypeVar("S")


class MapperDataset(Dataset[T]):
    """`mapper(item)` of every item of `dataset`, computed at each `get`.

    The mapper runs in the loader's threads and should be a function of its item: one that draws random numbers makes
    batches that cannot be made again, and a fingerprint that no resumed run recognises.
    """

    def __init__(self, dataset: Dataset[S], mapper: Callable[[S], T]) -> None:
        self.dataset: Dataset[S] = require_dataset("MapperDataset", dataset)
        if not callable(mapper):
            raise DataError(f"MapperDataset: mapper must be a function of an item, but got {type(mapper).__name__}.")
        self.mapper = mapper

    def __len__(self) -> int:
        return len(self.dataset)

    def get(self, index: int) -> T:
        check_index(self, index, len(self))
        return self.mapper(self.dataset.get(index))

    def get_many(self, indices: Sequence[int]) -> list[T]:
        items = []
        for index, item in zip(indices, self.dataset.get_many(indices), strict=True):
            try:
                items.append(self.mapper(item))
            except Exception as error:
                raise item_error(self, index, error) from error
        return items

    def at_epoch(self, epoch: int) -> Dataset[T]:
        dataset = self.dataset.at_epoch(epoch)
        return self if dataset is self.dataset else MapperDataset(dataset, self.mapper)

    def fingerprint(self) -> str:
        """The source's fingerprint with that of at most 32 mapped items, which show whether the mapper changed."""
        return digest([self.dataset.fingerprint(), super().fingerprint()])


class ComposedDataset(Dataset[T]):
    """The items of `datasets`, one dataset after the other."""

    def __init__(self, datasets: Sequence[Dataset[T]]) -> None:
        items = items_of("ComposedDataset", "datasets", datasets)
        self.datasets = tuple(require_dataset("ComposedDataset", dataset) for dataset in items)
        self._ends = list(accumulate(len(dataset) for dataset in self.datasets))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def get(self, index: int) -> T:
        check_index(self, index, len(self))
        which = bisect_right(self._ends, index)
        start = self._ends[which - 1] if which else 0
        return self.datasets[which].get(index - start)

    def at_epoch(self, epoch: int) -> Dataset[T]:
        datasets = [dataset.at_epoch(epoch) for dataset in self.datasets]
        same = all(new is old for new, old in zip(datasets, self.datasets, strict=True))
        return self if same else ComposedDataset(datasets)

    def fingerprint(self) -> str:
        return digest(["composed", [dataset.fingerprint() for dataset in self.datasets]])


class PartialDataset(Dataset[T]):
    """The items start … end - 1 of `dataset`. Burn cuts an end that is too large; here it is refused."""

    def __init__(self, dataset: Dataset[T], start: int, end: int) -> None:
        self.dataset = require_dataset("PartialDataset", dataset)
        self.start = integer("PartialDataset", "start", start, 0)
        self.end = integer("PartialDataset", "end", end, self.start)
        if self.end > len(dataset):
            raise DataError(f"PartialDataset: end {self.end} is beyond the dataset's {len(dataset)} items.")

    @staticmethod
    def split(dataset: Dataset[T], num: int) -> list[PartialDataset[T]]:
        """`num` parts of ⌊len / num⌋ items each; the last takes the rest too.

        Burn: `SelectionDataset::split` and `SqliteDataset::split`.
        """
        require_dataset("PartialDataset.split", dataset)
        num = integer("PartialDataset.split", "num", num, 1)
        if num > max(len(dataset), MAX_EMPTY_PARTS):
            raise DataError(f"PartialDataset.split: {num} parts of {len(dataset)} items would nearly all be empty.")
        size = len(dataset) // num
        ends = [size * (part + 1) for part in range(num - 1)] + [len(dataset)]
        return [PartialDataset(dataset, size * part, end) for part, end in enumerate(ends)]

    @staticmethod
    def split_chunks(dataset: Dataset[T], num: int, batch_size: int) -> list[PartialDataset[T]]:
        """At most `num` parts of whole batches, shared out evenly, the first parts one more; none is empty.

        Only the last part can end with a smaller batch.
        """
        require_dataset("PartialDataset.split_chunks", dataset)
        num = integer("PartialDataset.split_chunks", "num", num, 1)
        batch_size = integer("PartialDataset.split_chunks", "batch_size", batch_size, 1)
        batches = -(-len(dataset) // batch_size)
        parts, start = [], 0
        for part in range(min(num, batches)):
            share = batches // num + (part < batches % num)
            end = min(start + share * batch_size, len(dataset))
            parts.append(PartialDataset(dataset, start, end))
            start = end
        return parts

    def __len__(self) -> int:
        return self.end - self.start

    def get(self, index: int) -> T:
        check_index(self, index, len(self))
        return self.dataset.get(self.start + index)

    def get_many(self, indices: Sequence[int]) -> list[T]:
        check_indices(self, indices, len(self))
        return self.dataset.get_many([self.start + index for index in indices])

    def at_epoch(self, epoch: int) -> Dataset[T]:
        dataset = self.dataset.at_epoch(epoch)
        return self if dataset is self.dataset else PartialDataset(dataset, self.start, self.end)

    def fingerprint(self) -> str:
        return digest(["partial", self.dataset.fingerprint(), self.start, self.end])


class WindowsDataset(Dataset[list[T]]):
    """Every run of `size` neighbouring items, as a list: max(0, len - size + 1) of them, one step apart."""

    def __init__(self, dataset: Dataset[T], size: int) -> None:
        self.dataset = require_dataset("WindowsDataset", dataset)
        self.size = integer("WindowsDataset", "size", size, 1)

    def __len__(self) -> int:
        return max(0, len(self.dataset) - self.size + 1)

    def get(self, index: int) -> list[T]:
        check_index(self, index, len(self))
        return self.dataset.get_many(range(index, index + self.size))

    def at_epoch(self, epoch: int) -> Dataset[list[T]]:
        dataset = self.dataset.at_epoch(epoch)
        return self if dataset is self.dataset else WindowsDataset(dataset, self.size)

    def fingerprint(self) -> str:
        return digest(["windows", self.dataset.fingerprint(), self.size])
