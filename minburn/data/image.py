"""Small grey pictures with a label: the item, the batch and the batcher that `digits` and `idx` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minburn.backends import Backend
from minburn.data.check import DataError, items_of
from minburn.tensor import FloatTensor, IntTensor, Tensor

SHADES = " .:-=+*#%@"


@dataclass(frozen=True, slots=True, eq=False)
class ImageItem:
    """image: uint8 [height, width], read-only, 0 = background. label: the class, from 0.

    Burn: `MnistItem` in `crates/burn-dataset/src/vision/mnist.rs`.
    """

    image: np.ndarray[Any, np.dtype[np.uint8]]
    label: int


@dataclass(frozen=True, slots=True, eq=False)
class ImageBatch:
    """images: [N, height, width], from 0 to 1. targets: [N]. `len(batch)` is N."""

    images: FloatTensor
    targets: IntTensor

    def __len__(self) -> int:
        return self.targets.shape[0]


class ImageBatcher:
    """Stacks items: images · 1/white on `backend`, and their labels. All images must have one size."""

    def __init__(self, backend: Backend, white: int) -> None:
        self.backend = backend
        self.white = white
        self._scale = np.float32(1 / white)

    def batch(self, items: list[ImageItem]) -> ImageBatch:
        items = items_of(type(self).__name__, "items", items)
        if not all(isinstance(item, ImageItem) for item in items):
            raise DataError(f"{type(self).__name__}: expected a list of items with image and label, but got {items!r}.")
        if not items:
            raise DataError(f"{type(self).__name__}: a batch needs at least one item.")
        try:
            levels = np.array([item.image for item in items])
        except ValueError:
            shapes = sorted({item.image.shape for item in items})
            raise DataError(f"{type(self).__name__}: the images of a batch differ in shape: {shapes}.") from None
        images = np.multiply(levels, self._scale, dtype=np.float32)
        targets = np.array([item.label for item in items], dtype=np.int64)
        return ImageBatch(
            images=Tensor.from_data(images, self.backend),
            targets=Tensor.from_data(targets, self.backend),
        )


def draw(image: np.ndarray[Any, Any]) -> str:
    """A picture [height, width] of greys from 0 to 1 as lines of ASCII, two characters a pixel."""
    if image.ndim != 2:
        raise DataError(f"draw: expected one picture [height, width], but got shape {list(image.shape)}.")
    shades = np.nan_to_num(np.clip(image, 0.0, 1.0) * (len(SHADES) - 1) + 0.5).astype(np.int64)
    return "\n".join("".join(SHADES[shade] * 2 for shade in row) for row in shades.tolist())
