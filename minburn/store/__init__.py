"""Weights from elsewhere, and for elsewhere: files of other frameworks, and parts of files.

    model, result = SafetensorsStore("model.safetensors").apply_to(model)
    model, result = PytorchStore("model.pt", top_level_key="state_dict").apply_to(model)    # without PyTorch
    SafetensorsStore("for-torch.safetensors", to_adapter=BurnToPyTorchAdapter()).collect_from(model)

A store is a file and how to read it: which parameters (`PathFilter`), under which names (`KeyRemapper`), in whose
layout (an `Adapter`), and whether some may be missing. `result` lists what was applied, skipped, missing, unused and
wrong, and what to try. What is damaged or hostile is refused with a `StoreError` that names the file and the tensor;
nothing in a file is ever executed.

    place.py, apply.py, result.py    modules and tensors find each other
    filter.py, remap.py, adapter.py  which, under which names, in which layout
    files.py, base.py                mapped files, atomic saves; what all stores share
    burnpack.py, safetensors.py, pytorch/, npz.py    one format each

Burn: `crates/burn-store`.
"""

from minburn.store.adapter import (
    Adapter,
    BurnToPyTorchAdapter,
    FloatCastAdapter,
    HalfPrecisionAdapter,
    PyTorchToBurnAdapter,
)
from minburn.store.base import Store
from minburn.store.burnpack import BurnpackStore
from minburn.store.error import StoreError
from minburn.store.filter import PathFilter
from minburn.store.npz import NpzStore
from minburn.store.place import Place
from minburn.store.pytorch import PytorchReader, PytorchStore
from minburn.store.remap import KeyRemapper
from minburn.store.result import ApplyResult
from minburn.store.safetensors import SafetensorsStore

__all__ = [
    "Adapter",
    "ApplyResult",
    "BurnToPyTorchAdapter",
    "BurnpackStore",
    "FloatCastAdapter",
    "HalfPrecisionAdapter",
    "KeyRemapper",
    "NpzStore",
    "PathFilter",
    "Place",
    "PyTorchToBurnAdapter",
    "PytorchReader",
    "PytorchStore",
    "SafetensorsStore",
    "Store",
    "StoreError",
]
