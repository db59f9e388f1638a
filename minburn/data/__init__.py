"""Datasets, transforms of them, batchers, the loader, and data to train on.

    dataset.py      Dataset: a length and get(index)        order.py        random orders as functions of integers
    transform.py    map, compose, cut, windows              fingerprint.py  what a resumed run compares
    selection.py    choose, shuffle, sample, split          digits, names   bundled data
    batcher.py      items → batch                           idx             local MNIST files
    loader.py       DataLoader: batch k of epoch e

Burn: `crates/burn-dataset`, `crates/burn-core/src/data`.
"""

from minburn.data import digits, idx, names
from minburn.data.batcher import Batcher
from minburn.data.check import DataError
from minburn.data.dataset import Dataset, InMemDataset
from minburn.data.loader import BatchIterator, DataLoader
from minburn.data.selection import SamplerDataset, SelectionDataset, ShuffledDataset, random_split, stratified_split
from minburn.data.transform import ComposedDataset, MapperDataset, PartialDataset, WindowsDataset

__all__ = [
    "BatchIterator",
    "Batcher",
    "ComposedDataset",
    "DataError",
    "DataLoader",
    "Dataset",
    "InMemDataset",
    "MapperDataset",
    "PartialDataset",
    "SamplerDataset",
    "SelectionDataset",
    "ShuffledDataset",
    "WindowsDataset",
    "digits",
    "idx",
    "names",
    "random_split",
    "stratified_split",
]
