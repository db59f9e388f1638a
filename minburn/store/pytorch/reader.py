"""The tensors of a PyTorch file by name, and a store that loads them.

Burn: the crate `pytorch-reader`, and `PytorchStore` in `crates/burn-store/src/pytorch/store.rs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from minburn.pack import TensorEntry
from minburn.store.adapter import Adapter, PyTorchToBurnAdapter
from minburn.store.base import File, Store
from minburn.store.check import as_flag, as_text
from minburn.store.error import StoreError
from minburn.store.files import Source, open_source
from minburn.store.pytorch.containers import read_object
from minburn.store.pytorch.entries import entry_of
from minburn.store.pytorch.names import Scalar, describe, is_module, named_values


class PytorchReader(Mapping[str, TensorEntry]):
    """Everything is checked when it is made; the elements of a tensor are read when they are asked for.

    top_level_key: which entry of the file's dict to read, `"state_dict"`; None is all.
    skip_unknown_calls: ignore values made by a call that is not known, instead of refusing the file. Nothing is
    called in either case.

    format: `zip`, `legacy`, `tar` or `pickle`. scalars: numbers and texts beside the tensors, by name.
    Errors: StoreError naming the file, and the tensor or call.
    """

    format: str
    scalars: Mapping[str, Scalar]

    def __init__(
        self, file: File | Source, top_level_key: str | None = None, *, skip_unknown_calls: bool = False
    ) -> None:
        source = file if isinstance(file, Source) else open_source(file)
        self.name = source.name
        self.format, root = read_object(source, skip_unknown_calls)
        if top_level_key is not None:
            root = _entry(source, root, as_text("top_level_key", top_level_key))
        if not isinstance(root, (dict, list, tuple)) and not is_module(root) and not _is_script(root):
            raise source.error(f"expected a dict of tensors or a whole model, but found {describe(root)}.")
        tensors, self.scalars = named_values(source.name, root)
        self._tensors = {name: entry_of(source.name, name, tensor) for name, tensor in tensors.items()}

    def __getitem__(self, name: str) -> TensorEntry:
        return self._tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __repr__(self) -> str:
        return f"PytorchReader({self.name!r}, {self.format}, {len(self)} tensors)"


class PytorchStore(Store):
    """A `.pt` or `.pth` file to load from, its layouts adapted. Saving is refused: save as safetensors, for PyTorch.

    top_level_key, skip_unknown_calls: as in PytorchReader. from_adapter: applied after PyTorchToBurnAdapter.
    """

    skips_enum_variants: ClassVar[bool] = True
    maps_indices: ClassVar[bool] = True

    def __init__(
        self,
        file: File,
        *,
        top_level_key: str | None = None,
        skip_unknown_calls: bool = False,
        from_adapter: Adapter | None = None,
        **options: Any,
    ) -> None:
        adapter: Adapter = PyTorchToBurnAdapter()
        super().__init__(file, from_adapter=adapter if from_adapter is None else adapter.chain(from_adapter), **options)
        self.top_level_key = top_level_key
        self.skip_unknown_calls = as_flag("skip_unknown_calls", skip_unknown_calls)

    def read(self, source: Source) -> Mapping[str, TensorEntry]:
        return PytorchReader(source, self.top_level_key, skip_unknown_calls=self.skip_unknown_calls)

    def pieces(self, entries: list[TensorEntry]) -> Iterator[bytes | memoryview]:
        raise StoreError(
            "PyTorch's format cannot be written. PyTorch reads safetensors: use "
            "SafetensorsStore(path, to_adapter=BurnToPyTorchAdapter())."
        )


def _entry(source: Source, root: Any, key: str) -> Any:
    if not isinstance(root, dict):
        raise source.error(f"it holds {describe(root)}, so there is no top level key {key!r}.")
    if key not in root:
        known = ", ".join(repr(name) for name in list(root)[:50] if isinstance(name, (str, int)))
        raise source.error(f"no top level key {key!r}. There are {known or 'none'}.")
    return root[key]


def _is_script(root: Any) -> bool:
    return bool(describe(root).startswith("an object of __torch__"))
