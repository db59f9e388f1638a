"""A batcher makes one batch, usually of tensors, from a list of items.

Burn: `crates/burn-core/src/data/dataloader/batcher.rs`. There `batch(items, device)` is told the device; here a batcher
that makes tensors is given its backend when it is built.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

T = TypeVar("T")
B = TypeVar("B", covariant=True)


class Batcher(Protocol[T, B]):
    """Anything with this method; a loader also takes a plain function of the list.

    It runs in the loader's threads, several at once, and should be a function of the items: one that draws from a
    stream that others share gives batches that depend on their order.
    """

    def batch(self, items: list[T]) -> B: ...
