"""The loader: which items make batch k of epoch e, and threads that make batches ahead of their use.

    order of the epoch   0 … n - 1, or permutation(n, seed, epoch) when shuffling
    batch k              batcher.batch(dataset.get_many(order[k · batch_size : (k + 1) · batch_size]))

Batch k is made from (seed, epoch, k) alone. So an epoch can start at any batch without making those before it, and
workers, which only make batches early, change neither their order nor a bit of them. The last batch may be smaller.

Burn: `crates/burn-core/src/data/dataloader/{builder,batch,multithread}.rs`. There the order comes from a generator that
is not saved, and with several workers batches arrive as they get ready.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np

from minburn.data.batcher import Batcher
from minburn.data.check import DataError, describe, integer
from minburn.data.dataset import Dataset, require_dataset
from minburn.data.order import Indices, epoch_order

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
B = TypeVar("B")

BATCHES_AHEAD = 2
"""How many batches per worker may be in work or waiting to be fetched."""

INDICES_SHOWN = 8


class DataLoader(Generic[B]):
    """Batches of a dataset, epoch after epoch.

    batcher: an object with `batch(items)`, or a function of the list of items.
    batch_size: items per batch, at least 1.
    shuffle: a new order each epoch, a function of (seed, epoch). The seed is 0 unless you give one: a run that is to be
    resumed must find its order again, so it is never drawn from the clock.
    num_workers: threads that make batches ahead; 0 makes each batch when it is asked for. Worth it when reading an item
    waits for a disk or runs long NumPy calls. Dataset and batcher must then be safe to call from several threads.
    Raises DataError for values out of range.

    Burn: `DataLoaderBuilder`, `DataLoaderBuilder::build`, `BatchDataLoader`, `MultiThreadDataLoader`.
    """

    def __init__(
        self,
        dataset: Dataset[T],
        batcher: Batcher[T, B] | Callable[[list[T]], B],
        batch_size: int = 1,
        shuffle: bool = False,
        seed: int = 0,
        num_workers: int = 0,
    ) -> None:
        self.dataset: Dataset[Any] = require_dataset("DataLoader", dataset)
        self.batch_size = integer("DataLoader", "batch_size", batch_size, 1)
        if not isinstance(shuffle, bool):
            raise DataError(f"DataLoader: shuffle must be True or False, but got {type(shuffle).__name__} {shuffle!r}.")
        self.shuffle = shuffle
        self.seed = integer("DataLoader", "seed", seed)
        self.num_workers = integer("DataLoader", "num_workers", num_workers, 0)
        self._make: Callable[[list[Any]], B] = _batch_function(batcher)
        self._next_epoch = 1
        self._digest: str | None = None

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        return -(-len(self.dataset) // self.batch_size)

    def num_items(self) -> int:
        """The number of items in an epoch."""
        return len(self.dataset)

    def __iter__(self) -> BatchIterator[B]:
        """The first loop over the loader plays epoch 1, the next one epoch 2, and so on."""
        epoch = self._next_epoch
        self._next_epoch += 1
        return self.iter_epoch(epoch)

    def iter_epoch(self, epoch: int, start_batch: int = 0) -> BatchIterator[B]:
        """The batches of that epoch (counted from 1) from batch `start_batch` (counted from 0) on.

        `start_batch = len(loader)` is the end of the epoch: no batches. Does not change what `iter(loader)` plays next.
        """
        epoch = integer("DataLoader.iter_epoch", "epoch", epoch, 1)
        start_batch = integer("DataLoader.iter_epoch", "start_batch", start_batch, 0)
        stop = len(self)
        if start_batch > stop:
            raise DataError(f"DataLoader.iter_epoch: start_batch {start_batch} is beyond the epoch's {stop} batches.")
        make = _BatchMaker(self, epoch)
        if self.num_workers == 0:
            return _DirectBatches(make, start_batch, stop)
        return _ThreadedBatches(make, start_batch, stop, self.num_workers)

    def fingerprint(self) -> dict[str, Any]:
        """What decides which batches come: `{items, digest, batch_size, shuffle, seed}`, ready for JSON.

        The seed is None when nothing is shuffled. `num_workers` is absent: it changes nothing. The digest is the
        dataset's `fingerprint()`, computed once.
        """
        if self._digest is None:
            self._digest = self.dataset.fingerprint()
        return {
            "items": self.num_items(),
            "digest": self._digest,
            "batch_size": self.batch_size,
            "shuffle": self.shuffle,
            "seed": self.seed if self.shuffle else None,
        }

    def __repr__(self) -> str:
        order = f"shuffle=True, seed={self.seed}" if self.shuffle else "shuffle=False"
        return f"DataLoader({self.num_items()} items, batch_size={self.batch_size}, {order})"


class BatchIterator(Iterator[B]):
    """The batches of one epoch. After an error it has ended; go on with `iter_epoch(epoch, start_batch=k + 1)`.

    `close()`, the end of a `with` block, or dropping it ends its threads, if it has any.

    Burn: `DataLoaderIterator` in `crates/burn-core/src/data/dataloader/base.rs`.
    """

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _BatchMaker(Generic[B]):
    """Makes batch k of one epoch. It holds no iterator, so threads that hold it keep none alive."""

    def __init__(self, loader: DataLoader[B], epoch: int) -> None:
        self.epoch = epoch
        self.dataset = loader.dataset.at_epoch(epoch)
        self.batch_size = loader.batch_size
        self.batch = loader._make
        length = len(self.dataset)
        self.order: Indices = (
            epoch_order(length, loader.seed, epoch) if loader.shuffle else np.arange(length, dtype=np.int64)
        )

    def __call__(self, number: int) -> B:
        start = number * self.batch_size
        indices: list[int] = self.order[start : start + self.batch_size].tolist()
        try:
            return self.batch(self.dataset.get_many(indices))
        except Exception as error:
            # A StopIteration from a dataset would otherwise end the epoch without a word.
            shown = ", ".join(map(str, indices[:INDICES_SHOWN])) + (", …" if len(indices) > INDICES_SHOWN else "")
            raise DataError(f"batch {number} of epoch {self.epoch} (items {shown}): {describe(error)}") from error


class _DirectBatches(BatchIterator[B]):
    """Each batch is made when it is asked for."""

    def __init__(self, make: Callable[[int], B], start: int, stop: int) -> None:
        self._make = make
        self._next = start
        self._stop = stop

    def __next__(self) -> B:
        number = self._next
        if number >= self._stop:
            raise StopIteration
        try:
            batch = self._make(number)
        except Exception:
            self.close()
            raise
        self._next = number + 1
        return batch

    def close(self) -> None:
        self._next = self._stop


class _ThreadedBatches(BatchIterator[B]):
    """A queue of batches in their order, made by whichever thread is free; fetching one makes room for the next."""

    def __init__(self, make: Callable[[int], B], start: int, stop: int, num_workers: int) -> None:
        # Imported here: it costs 8 ms, and few loaders need it.
        from concurrent.futures import ThreadPoolExecutor

        self._make = make
        self._next = start
        self._stop = stop
        self._queue: deque[Future[B]] = deque()
        self._pool = ThreadPoolExecutor(num_workers, thread_name_prefix="minburn-data")
        for _ in range(min(num_workers * BATCHES_AHEAD, stop - start)):
            self._submit()

    def _submit(self) -> None:
        if self._next < self._stop:
            self._queue.append(self._pool.submit(self._make, self._next))
            self._next += 1

    def __next__(self) -> B:
        if not self._queue:
            self.close()
            raise StopIteration
        # The batch stays first in the queue until it is there: Ctrl-C while waiting loses nothing.
        try:
            batch = self._queue[0].result()
        except Exception:
            self.close()
            raise
        self._queue.popleft()
        self._submit()
        return batch

    def close(self) -> None:
        """Drops what was made ahead and waits for the batches in work."""
        self._end(wait=True)

    def __del__(self) -> None:
        # May run in one of the pool's own threads (in a garbage collection), which cannot wait for itself.
        if hasattr(self, "_pool"):
            self._end(wait=False)

    def _end(self, wait: bool) -> None:
        self._next = self._stop
        self._queue.clear()
        self._pool.shutdown(wait=wait, cancel_futures=True)


def _batch_function(batcher: Batcher[T, B] | Callable[[list[T]], B]) -> Callable[[list[T]], B]:
    method = getattr(batcher, "batch", None)
    if callable(method):
        function: Callable[[list[T]], B] = method
        return function
    if callable(batcher) and not isinstance(batcher, type):
        return batcher
    raise DataError(
        f"DataLoader: batcher must have a method batch(items) or be a function of a list, but got {batcher!r}."
    )
