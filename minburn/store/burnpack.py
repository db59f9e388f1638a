"""Burn's own files, with what a store adds to a record: filters, renaming, adapters, partial loads.

Parameters keep their ids. The metadata say who wrote the file.

Burn: `BurnpackStore` in `crates/burn-store/src/burnpack.rs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from minburn.pack import Reader, TensorEntry, Writer
from minburn.pack.writer import save_path
from minburn.store.base import BURN_VERSION, File, Store
from minburn.store.check import as_flag
from minburn.store.files import Source

__all__ = ["BurnpackStore"]


class BurnpackStore(Store):
    """A `.bpk` file. auto_extension: the extension is appended to a name that has none, on save and load."""

    remaps_on_save: ClassVar[bool] = False
    keeps_ids: ClassVar[bool] = True

    def __init__(self, file: File, *, auto_extension: bool = True, **options: Any) -> None:
        super().__init__(file, **options)
        if isinstance(self.file, Path):
            self.file = save_path(self.file, as_flag("auto_extension", auto_extension))

    def read(self, source: Source) -> Mapping[str, TensorEntry]:
        reader = Reader.from_file_exact(self.file) if isinstance(self.file, Path) else Reader.from_bytes(source.view)
        return {name: reader[name] for name in reader.names_by_position()}

    def pieces(self, entries: list[TensorEntry]) -> Iterator[bytes | memoryview]:
        usual = {"format": "burnpack", "producer": "burn", "version": BURN_VERSION}
        return Writer(entries, {**usual, **self.metadata}).pieces()
