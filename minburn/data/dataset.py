"""A dataset is a length and a `get(index)`; the rest follows.

    class Squares(Dataset[int]):
        def __len__(self) -> int:
            return 100

        def get(self, index: int) -> int:
            return index * index

The items are a function of the index: nothing here remembers which ones were read, so that any batch of any epoch can
be made alone. A loader with workers calls `get` from several threads at once. A dataset whose items change from epoch
to epoch (a sampler) says so in `at_epoch`.

Burn: `crates/burn-dataset/src/dataset/{base,in_memory}.rs`. There `get` returns a Result; here it raises.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from minburn.data.check import DataError, as_path, cannot_read, check_index, check_indices, describe, items_of
from minburn.data.fingerprint import digest, spread

T = TypeVar("T")

SAMPLED_ITEMS = 32
"""How many items the fingerprint of an unknown dataset reads: reading one may be slow."""

SAMPLED_ITEMS_IN_MEMORY = 65_536


class Dataset(ABC, Generic[T]):
    """Items numbered 0 … len - 1. Subclasses write `__len__` and `get`, and may write the others for speed."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def get(self, index: int) -> T:
        """The item, with 0 ≤ index < len. The datasets here raise IndexError for any other index."""

    def get_many(self, indices: Sequence[int]) -> list[T]:
        """The items in that order. Override it where many at once are cheaper than one by one.

        Raises IndexError before reading anything; an error from `get` becomes a DataError that names the item.
        """
        check_indices(self, indices, len(self))
        items = []
        for index in indices:
            try:
                items.append(self.get(index))
            except Exception as error:
                raise item_error(self, index, error) from error
        return items

    def at_epoch(self, epoch: int) -> Dataset[T]:
        """The dataset that a loader plays in that epoch: this one, unless items are drawn anew (SamplerDataset)."""
        return self

    def fingerprint(self) -> str:
        """A digest by which a resumed run recognises its data.

        Here: the length and at most 32 evenly spaced items. Write your own where items are random or slow to read.
        """
        length = len(self)
        return digest([length, *(self.get(index) for index in spread(length, SAMPLED_ITEMS))])

    def __getitem__(self, index: int) -> T:
        check_index(self, index, len(self))
        return self.get(index)

    def __iter__(self) -> Iterator[T]:
        """Burn: `DatasetIterator` in `crates/burn-dataset/src/dataset/iterator.rs`."""
        for index in range(len(self)):
            yield self.get(index)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} items)"


class InMemDataset(Dataset[T]):
    """A list of items. The list is copied, the items are not: leave them as they are."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items = items_of("InMemDataset", "items", items)

    def __len__(self) -> int:
        return len(self._items)

    def get(self, index: int) -> T:
        check_index(self, index, len(self._items))
        return self._items[index]

    def get_many(self, indices: Sequence[int]) -> list[T]:
        items = self._items
        check_indices(self, indices, len(items))
        return [items[index] for index in indices]

    def fingerprint(self) -> str:
        """A digest of all items (of 65,536 evenly spaced ones if there are more)."""
        items = self._items
        return digest([len(items), *(items[index] for index in spread(len(items), SAMPLED_ITEMS_IN_MEMORY))])

    @staticmethod
    def from_dataset(dataset: Dataset[T]) -> InMemDataset[T]:
        """Every item of another dataset, read now."""
        dataset = require_dataset("InMemDataset.from_dataset", dataset)
        return InMemDataset(dataset.get_many(range(len(dataset))))

    @staticmethod
    def from_json_rows(path: str | os.PathLike[str]) -> InMemDataset[Any]:
        """A UTF-8 file of one JSON value a line; empty lines are skipped.

        Raises DataError naming file and line.
        """
        import json

        items = []
        for number, line in enumerate(_read_text(path).split("\n"), start=1):
            if line.strip():
                try:
                    items.append(json.loads(line))
                except (ValueError, RecursionError) as error:
                    raise DataError(f"{path}, line {number}: not a JSON value: {error}.") from error
        return InMemDataset(items)

    @staticmethod
    def from_csv(path: str | os.PathLike[str], delimiter: str = ",") -> InMemDataset[dict[str, str]]:
        """A UTF-8 CSV file whose first row names the columns; an item is {column: text}.

        Raises DataError naming file and line, also for a row with too few or too many cells.
        """
        import csv
        import io

        reader = csv.reader(io.StringIO(_read_text(path), newline=""), delimiter=delimiter, strict=True)
        items: list[dict[str, str]] = []
        columns: list[str] | None = None
        try:
            for cells in reader:
                if not cells:
                    continue
                if columns is None:
                    columns = cells
                    if len(set(columns)) != len(columns):
                        raise DataError(f"{path}, line 1: two columns have one name: {columns}.")
                elif len(cells) != len(columns):
                    raise DataError(
                        f"{path}, line {reader.line_num}: {len(cells)} cells, but the first row names {len(columns)}."
                    )
                else:
                    items.append(dict(zip(columns, cells, strict=True)))
        except csv.Error as error:
            raise DataError(f"{path}, line {reader.line_num}: not CSV: {error}.") from error
        if columns is None:
            raise DataError(f"{path}: empty. The first row must name the columns.")
        return InMemDataset(items)


def require_dataset(owner: str, dataset: Dataset[T]) -> Dataset[T]:
    """`dataset` itself; a list in its place is the common mistake."""
    if not isinstance(dataset, Dataset):
        raise DataError(
            f"{owner}: expected a Dataset, but got {type(dataset).__name__}. "
            "Wrap a list in InMemDataset(items), or write a subclass of Dataset with __len__ and get."
        )
    return dataset


def item_error(dataset: Dataset[Any], index: int, error: Exception) -> DataError:
    """The error to raise when making item `index` of `dataset` raised `error`."""
    return DataError(f"{type(dataset).__name__}, item {index}: {describe(error)}")


def _read_text(path: str | os.PathLike[str]) -> str:
    try:
        return as_path("InMemDataset", path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise cannot_read(path, error) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}.") from error
