"""Random orders that are functions of integers, so that an epoch can be played again, anywhere.

    order of an epoch = permutation(length, seed, "order/{epoch}") = stable argsort of `length` 64-bit words

The words are those of the Philox stream (seed, name) of `minburn.backends.rng`. Sorting integers is exact: the order is
the same on every machine and with every version of NumPy, whose own `permutation` promises neither. Two equal words
(probability below length² / 2⁶⁵) keep their places, so even a tie changes nothing.

Burn shuffles with a generator whose state it does not save: a resumed run sees other orders.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from minburn.backends.array.philox import words as philox_words
from minburn.backends.rng import stream_key

Indices: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Words: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]


def words(seed: int, name: str, count: int) -> Words:
    """The first `count` 64-bit words of the stream (seed, name)."""
    return philox_words(count, stream_key(seed, name), counter=0)


def permutation(length: int, seed: int, name: str) -> Indices:
    """0 … length - 1 in random order, read-only.

    Burn: `shuffled_indices` in `crates/burn-dataset/src/transform/selection.rs`.
    """
    order = np.argsort(words(seed, name, length), kind="stable").astype(np.int64, copy=False)
    order.flags.writeable = False
    return order


def epoch_order(length: int, seed: int, epoch: int) -> Indices:
    """The order in which a shuffling loader plays `length` items in that epoch."""
    return permutation(length, seed, f"order/{epoch}")


def sample(length: int, size: int, seed: int, name: str, replacement: bool) -> Indices:
    """`size` of the numbers 0 … length - 1.

    With replacement each is drawn independently (word mod length: off from uniform by less than length / 2⁶⁴).
    Without, every number appears ⌊size / length⌋ times and a random subset of them once more, in random order.
    """
    if replacement:
        drawn = (words(seed, name, size) % np.uint64(max(length, 1))).astype(np.int64)
    else:
        copies, rest = divmod(size, max(length, 1))
        pool = np.concatenate([np.tile(np.arange(length), copies), permutation(length, seed, f"{name}/rest")[:rest]])
        drawn = pool[permutation(size, seed, name)]
    drawn.flags.writeable = False
    return drawn
