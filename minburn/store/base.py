"""What the stores have in common: a file, and how its tensors and the parameters of a module find each other.

    model, result = SafetensorsStore("model.safetensors", allow_partial=True).apply_to(model)
    SafetensorsStore("model.safetensors", overwrite=True).collect_from(model)

On a load: read the names, rename them (`remap`), close gaps between indices, then for each parameter adapt and check.
On a save: filter, adapt, rename.

Burn: `ModuleStore` in `crates/burn-store/src/traits.rs`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from minburn.pack import TensorEntry
from minburn.store.adapter import Adapter, as_adapter, with_name
from minburn.store.apply import Matching, collect
from minburn.store.check import as_flag, as_list, as_text, as_text_map
from minburn.store.error import StoreError, told_as
from minburn.store.files import Source, as_path, open_source, refuse_existing, write_atomically
from minburn.store.filter import PathFilter, compiled
from minburn.store.remap import KeyRemapper, contiguous_indices, renamed
from minburn.store.result import ApplyResult

if TYPE_CHECKING:
    from minburn.module import Module

    M = TypeVar("M", bound=Module)

__all__ = ["Store"]

File = str | os.PathLike[str] | bytes | bytearray | memoryview
Rules = KeyRemapper | Iterable[tuple[str, str]] | Mapping[str, str]

BURN_VERSION = "0.22.1"
"""The version of burn-store whose files these are: it is written into their metadata."""


class Store:
    """A file, or bytes in memory, to load a module from or save it to.

    filter: which parameters, by their path in the module; None is all.
    remap: rules (regex, replacement) that turn names in the file into paths on a load, and paths into names on a save.
    from_adapter, to_adapter: what a tensor becomes on a load, on a save.
    allow_partial: parameters that the file lacks keep their values. validate: False ignores tensors that do not fit.
    skip_enum_variants: names in the file lack the variants of enums.
    map_indices_contiguous: numbers in names are made 0, 1, 2 … after each prefix, except after those in which one of
    the regexes keep_indices is found.
    overwrite: a save may replace a file. metadata: texts to save besides the usual ones.

    Burn: `ModuleStore` in `crates/burn-store/src/traits.rs`.
    """

    skips_enum_variants: ClassVar[bool] = False
    maps_indices: ClassVar[bool] = False
    remaps_on_save: ClassVar[bool] = True
    keeps_ids: ClassVar[bool] = False

    def __init__(
        self,
        file: File,
        *,
        filter: PathFilter | None = None,
        remap: Rules = (),
        from_adapter: Adapter | None = None,
        to_adapter: Adapter | None = None,
        allow_partial: bool = False,
        validate: bool = True,
        skip_enum_variants: bool | None = None,
        map_indices_contiguous: bool | None = None,
        keep_indices: Iterable[str] = (),
        overwrite: bool = False,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        if filter is not None and not isinstance(filter, PathFilter):
            raise StoreError(f"{type(self).__name__}: filter is a PathFilter, but got {type(filter).__name__}.")
        self.file = file if isinstance(file, (bytes, bytearray, memoryview)) else as_path(file)
        self.filter = filter
        self.remap = remap if isinstance(remap, KeyRemapper) else KeyRemapper(remap)
        self.from_adapter = as_adapter("from_adapter", Adapter() if from_adapter is None else from_adapter)
        self.to_adapter = as_adapter("to_adapter", Adapter() if to_adapter is None else to_adapter)
        self.allow_partial = as_flag("allow_partial", allow_partial)
        self.validate = as_flag("validate", validate)
        skips = self.skips_enum_variants if skip_enum_variants is None else skip_enum_variants
        self.skip_enum_variants = as_flag("skip_enum_variants", skips)
        maps = self.maps_indices if map_indices_contiguous is None else map_indices_contiguous
        self.map_indices_contiguous = as_flag("map_indices_contiguous", maps)
        self.keep_indices = tuple(compiled("keep_indices", regex) for regex in as_list("keep_indices", keep_indices))
        self.overwrite = as_flag("overwrite", overwrite)
        self.metadata = as_text_map("metadata", {} if metadata is None else metadata)
        self._tensors: dict[str, TensorEntry] | None = None

    # What a format says

    def read(self, source: Source) -> Mapping[str, TensorEntry]:
        """The tensors of the file by name; their bytes are read when they are asked for."""
        raise NotImplementedError

    def pieces(self, entries: list[TensorEntry]) -> Iterator[bytes | memoryview]:
        """The file with these tensors, from front to back. What cannot be written is refused now, not on the way."""
        raise NotImplementedError

    # Loading

    def get_all_tensors(self) -> dict[str, TensorEntry]:
        """The tensors of the file under their new names."""
        if self._tensors is None:
            with told_as(self.name):
                found = self.read(open_source(self.file))
                names = {name: self.remap.rename(name) for name in found}
                tensors = renamed(found, names)
                if self.map_indices_contiguous:
                    tensors = renamed(tensors, contiguous_indices(tensors, self.keep_indices))
                self._tensors = tensors
        return dict(self._tensors)

    def keys(self) -> list[str]:
        return list(self.get_all_tensors())

    def get_tensor(self, name: str) -> TensorEntry:
        """One tensor: dtype, shape, and `view()` for its bytes. StoreError if there is none of that name."""
        tensors = self.get_all_tensors()
        as_text("get_tensor: a name", name)
        if name not in tensors:
            raise StoreError(f"{self.name}: no tensor {name!r} among its {len(tensors)}.")
        return tensors[name]

    def apply_to(self, module: M) -> tuple[M, ApplyResult]:
        """The module with the file's tensors, and what became of each.

        StoreError, its `result` set, if a tensor does not fit (unless validate=False) or one is missing (unless
        allow_partial=True).

        Burn: `ModuleSnapshot::load_from`.
        """
        self._check_module(module)
        with told_as(self.name):
            tensors = self.get_all_tensors()
            matching = Matching(module, tensors, self.filter, self.from_adapter, self.skip_enum_variants)
            result = matching.result
            if (self.validate and result.errors) or (not self.allow_partial and result.missing):
                advice = (
                    "" if self.allow_partial or not result.missing else " allow_partial=True keeps what is missing."
                )
                raise StoreError(f"{self.name}: {result.problems()}{advice}", result)
            return matching.load(), result

    # Saving

    def collect_from(self, module: Module) -> None:
        """Write the module's parameters to the file, which appears when it is complete.

        Burn: `ModuleSnapshot::save_into`.
        """
        if not isinstance(self.file, Path):
            raise StoreError("collect_from: this store reads from bytes. collect_into_bytes(module) returns new ones.")
        refuse_existing(self.file, self.overwrite)
        with told_as(self.name):
            write_atomically(self.file, self.pieces(self._entries(module)), self.overwrite)
        self._tensors = None

    def collect_into_bytes(self, module: Module) -> bytes:
        """The same file in memory. Burn: `BurnpackStore::get_bytes`, `SafetensorsStore::get_bytes`."""
        with told_as(self.name):
            return b"".join(self.pieces(self._entries(module)))

    def _entries(self, module: Module) -> list[TensorEntry]:
        self._check_module(module)
        entries = collect(module, self.filter, self.to_adapter, self.skip_enum_variants, keep_ids=self.keeps_ids)
        if not self.remaps_on_save:
            return entries
        names = [self.remap.rename(entry.name) for entry in entries]
        return [
            entry if name == entry.name else with_name(entry, name) for entry, name in zip(entries, names, strict=True)
        ]

    def _check_module(self, module: object) -> None:
        from minburn.module import Module

        if not isinstance(module, Module):
            raise StoreError(f"{self.name}: expected a Module, but got {type(module).__name__}.")

    @property
    def name(self) -> str:
        """The file in messages."""
        return str(self.file) if isinstance(self.file, Path) else "<bytes>"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"
