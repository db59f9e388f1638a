"""The entry points of `minburn.store`, for `test_bad_input.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from minburn import nn, store
from minburn.backends import NumPy
from minburn.dtype import DType
from minburn.store import PathFilter

LINEAR = nn.LinearConfig(2, 2).init(NumPy(seed=1))
STORES = (store.BurnpackStore, store.SafetensorsStore, store.PytorchStore, store.NpzStore)
OPTIONS: dict[str, Any] = {
    "filter": PathFilter.all(), "remap": [("a", "b")], "from_adapter": store.Adapter(), "to_adapter": store.Adapter(),
    "allow_partial": True, "validate": True, "skip_enum_variants": True, "map_indices_contiguous": True,
    "keep_indices": ["a"], "overwrite": True, "metadata": {"a": "b"},
}  # fmt: skip


def entries(folder: Path) -> Iterator[tuple[Callable[..., Any], tuple[Any, ...]]]:
    for name in ("regexes", "paths", "predicates"):
        yield lambda value, name=name: PathFilter(**{name: value}).matches("a", "b"), (["a"],)
    yield PathFilter.all().matches, ("a", "b")
    yield PathFilter.all().__or__, (PathFilter(),)
    yield store.KeyRemapper, ([("a", "b")],)
    yield lambda *rule: store.KeyRemapper([rule]), ("a", "b")
    yield store.KeyRemapper().rename, ("a",)
    yield store.Adapter().chain, (store.Adapter(),)
    yield store.FloatCastAdapter, (DType.F32,)
    yield store.HalfPrecisionAdapter, (["Linear"],)
    yield store.PytorchReader, (b"N.", "a")
    for number, kind in enumerate(STORES):
        whole = b"" if kind is store.PytorchStore else kind(b"").collect_into_bytes(LINEAR)
        yield lambda file, kind=kind: kind(file).keys(), (whole,)
        yield kind(whole).get_tensor, ("weight",)
        yield kind(whole).apply_to, (LINEAR,)
        yield kind(folder / f"store{number}", overwrite=True).collect_from, (LINEAR,)
        for name, right in OPTIONS.items():
            yield (
                lambda value, kind=kind, name=name, whole=whole: kind(whole, **{name: value}).apply_to(LINEAR),
                (right,),
            )
        if kind is not store.PytorchStore:
            for name in ("filter", "remap", "to_adapter", "metadata"):
                yield lambda value, kind=kind, name=name: kind(b"", **{name: value}).collect_into_bytes(LINEAR), (None,)
