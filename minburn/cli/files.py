"""What the commands that look into record files share: opening them, and their tensors as float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minburn.cli.error import CommandError

if TYPE_CHECKING:
    import numpy as np

    from minburn.pack import Reader, TensorEntry


def open_file(path: str) -> Reader:
    """The file, or one line that says what it is not."""
    from minburn.pack import PackError, Reader

    try:
        return Reader.from_file(path)
    except PackError as error:
        raise CommandError(str(error), status=1) from error


def numbers(entry: TensorEntry) -> np.ndarray[Any, Any] | None:
    """The values in float64, flat; None for what is stored in another way than as numbers (quantized)."""
    from minburn.dtype import DType
    from minburn.tensor import TensorData

    if entry.dtype.kind == "qfloat":
        return None
    return TensorData(entry.view(), entry.shape, entry.dtype).cast(DType.F64).numpy().reshape(-1)


def size_text(count: int) -> str:
    """`17.2 kB`."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
