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

from typing import TYPE_CHECKING

from minburn.lazy import lazy_names

if TYPE_CHECKING:
    from minburn.store.adapter import *
    from minburn.store.base import *
    from minburn.store.burnpack import *
    from minburn.store.error import *
    from minburn.store.filter import *
    from minburn.store.npz import *
    from minburn.store.place import *
    from minburn.store.pytorch import *
    from minburn.store.remap import *
    from minburn.store.result import *
    from minburn.store.safetensors import *
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "adapter": (
                "Adapter",
                "BurnToPyTorchAdapter",
                "FloatCastAdapter",
                "HalfPrecisionAdapter",
                "PyTorchToBurnAdapter",
            ),
            "base": ("Store",),
            "burnpack": ("BurnpackStore",),
            "error": ("StoreError",),
            "filter": ("PathFilter",),
            "npz": ("NpzStore",),
            "place": ("Place",),
            "pytorch": ("PytorchReader", "PytorchStore"),
            "remap": ("KeyRemapper",),
            "result": ("ApplyResult",),
            "safetensors": ("SafetensorsStore",),
        },
    )
