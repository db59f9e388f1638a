"""What a tensor must become on its way from another framework's layout to ours, or back.

    PyTorch                                     here, as in Burn
    Linear.weight [out, in]                     [in, out]
    norm.weight, norm.bias                      norm.gamma, norm.beta
    running_mean, running_var, convolutions,    the same
    transposed convolutions, embeddings

The class that declares a parameter decides (`Place.owner`), not its name: a matrix called `weight` in a Linear is
transposed, one in an Embedding is not. Recurrent layers and attention have matrices apart here that are one in PyTorch:
they are cut out of it (fused.py).

An adapter makes an entry from an entry; bytes are converted when they are asked for, one tensor at a time.

Burn: `ModuleAdapter` and its kinds in `crates/burn-store/src/adapter.rs`; its PyTorch adapters leave out InstanceNorm.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from minburn.dtype import DType
from minburn.pack import TensorEntry
from minburn.store.check import as_texts
from minburn.store.error import StoreError
from minburn.store.fused import Part, part_of
from minburn.store.place import Place
from minburn.tensor import TensorData

__all__ = ["Adapter", "BurnToPyTorchAdapter", "FloatCastAdapter", "HalfPrecisionAdapter", "PyTorchToBurnAdapter"]

NORMS = frozenset({"BatchNorm", "GroupNorm", "InstanceNorm", "LayerNorm", "RmsNorm"})
FROM_PYTORCH = {"weight": "gamma", "bias": "beta"}
TO_PYTORCH = {ours: theirs for theirs, ours in FROM_PYTORCH.items()}

TRANSPOSED_ROWS = 32  # at a time: twice as fast as a whole large matrix, whose columns fall on the same cache lines

_OTHER_PRECISION = {DType.F32: DType.F16, DType.F16: DType.F32}


class Adapter:
    """Leaves everything as it is. Burn: `IdentityAdapter`, `ModuleAdapter`."""

    def adapt(self, entry: TensorEntry, place: Place) -> TensorEntry:
        """The tensor that belongs in `place`, or, for a save, in the file."""
        return entry

    def alternative(self, name: str, place: Place) -> str | None:
        """Another name to look for if a file has no tensor of this one.

        Burn: `ModuleAdapter::get_alternative_param_name`.
        """
        return None

    def part(self, place: Place) -> Part | None:
        """The larger tensor to cut it from, if a file has none for this place alone."""
        return None

    def chain(self, then: Adapter) -> Adapter:
        """This adapter, then another one. Burn: `ChainAdapter`."""
        return _Chain(self, as_adapter("chain", then))


class _Chain(Adapter):
    def __init__(self, first: Adapter, then: Adapter) -> None:
        self._first = first
        self._then = then

    def adapt(self, entry: TensorEntry, place: Place) -> TensorEntry:
        return self._then.adapt(self._first.adapt(entry, place), place)

    def alternative(self, name: str, place: Place) -> str | None:
        first = self._first.alternative(name, place)
        then = self._then.alternative(name if first is None else first, place)
        return first if then is None else then

    def part(self, place: Place) -> Part | None:
        return self._first.part(place) or self._then.part(place)


class PyTorchToBurnAdapter(Adapter):
    """For loading what PyTorch saved. Gates, queries, keys and values are cut from the matrix that holds them."""

    def adapt(self, entry: TensorEntry, place: Place) -> TensorEntry:
        return _linear_weight_transposed(entry, place)

    def alternative(self, name: str, place: Place) -> str | None:
        return _last_renamed(name, place, TO_PYTORCH)

    def part(self, place: Place) -> Part | None:
        return part_of(place)


class BurnToPyTorchAdapter(Adapter):
    """For saving what PyTorch can load. Gates, queries, keys and values keep names of their own: see fused.py."""

    def adapt(self, entry: TensorEntry, place: Place) -> TensorEntry:
        entry = _linear_weight_transposed(entry, place)
        name = _last_renamed(entry.name, place, TO_PYTORCH)
        return entry if name is None else with_name(entry, name)

    def alternative(self, name: str, place: Place) -> str | None:
        return _last_renamed(name, place, FROM_PYTORCH)


class FloatCastAdapter(Adapter):
    """All floats in one dtype. Burn: `FloatCastAdapter::to`."""

    def __init__(self, dtype: DType) -> None:
        if not (isinstance(dtype, DType) and dtype.is_float):
            raise StoreError(f"FloatCastAdapter: expected a float dtype such as DType.F32, but got {dtype!r}.")
        self._dtype = dtype

    def adapt(self, entry: TensorEntry, place: Place) -> TensorEntry:
        return cast(entry, self._dtype) if entry.dtype.is_float else entry


class HalfPrecisionAdapter(Adapter):
    """F32 becomes F16, and F16 becomes F32, in the layers that bear it (not in batch norms).

    So the same adapter halves a file when saving and restores it when loading.
    """

    MODULES = frozenset(
        {"Linear", "Embedding", "LayerNorm", "GroupNorm", "InstanceNorm", "RmsNorm", "PRelu"}
        | {f"{kind}{dims}d" for kind in ("Conv", "ConvTranspose") for dims in (1, 2, 3)}
        | {"DeformConv2d"}
    )

    def __init__(self, modules: Iterable[str] = MODULES) -> None:
        self._modules = frozenset(as_texts("HalfPrecisionAdapter: modules", modules))

    def with_module(self, name: str) -> HalfPrecisionAdapter:
        return HalfPrecisionAdapter(self._modules | {name})

    def without_module(self, name: str) -> HalfPrecisionAdapter:
        return HalfPrecisionAdapter(self._modules - {name})

    def adapt(self, entry: TensorEntry, place: Place) -> TensorEntry:
        other = _OTHER_PRECISION.get(entry.dtype)
        return entry if other is None or place.owner not in self._modules else cast(entry, other)


def as_adapter(owner: str, adapter: object) -> Adapter:
    if not isinstance(adapter, Adapter):
        raise StoreError(f"{owner}: expected an Adapter, but got {type(adapter).__name__} {adapter!r}.")
    return adapter


def with_name(entry: TensorEntry, name: str) -> TensorEntry:
    return TensorEntry.deferred(name, entry.dtype, entry.shape, entry.view, entry.param_id, entry.nbytes)


def cast(entry: TensorEntry, dtype: DType) -> TensorEntry:
    """The same numbers in another dtype."""
    if dtype == entry.dtype:
        return entry

    def produce() -> memoryview:
        return TensorData(entry.view(), entry.shape, entry.dtype).cast(dtype).bytes

    return TensorEntry.deferred(entry.name, dtype, entry.shape, produce, entry.param_id)


def transposed(entry: TensorEntry) -> TensorEntry:
    """A matrix with rows and columns exchanged."""

    def produce() -> object:
        matrix = np.frombuffer(entry.view(), f"<u{entry.dtype.size}").reshape(entry.shape)
        result = np.empty(entry.shape[::-1], matrix.dtype)
        for row in range(0, len(matrix), TRANSPOSED_ROWS):
            result[:, row : row + TRANSPOSED_ROWS] = matrix[row : row + TRANSPOSED_ROWS].T
        return result

    return TensorEntry.deferred(entry.name, entry.dtype, entry.shape[::-1], produce, entry.param_id)


def _linear_weight_transposed(entry: TensorEntry, place: Place) -> TensorEntry:
    """The weight of a Linear the other way round. A record holds one with Col layout as PyTorch does."""
    if place.owner != "Linear" or _last(place.name) != "weight" or place.has_stored_form:
        return entry
    return transposed(entry) if len(entry.shape) == 2 and entry.dtype.kind != "qfloat" else entry


def _last_renamed(name: str, place: Place, names: dict[str, str]) -> str | None:
    last = _last(name)
    if place.owner not in NORMS or last not in names:
        return None
    return name.removesuffix(last) + names[last]


def _last(name: str) -> str:
    return name.rpartition(".")[2]
