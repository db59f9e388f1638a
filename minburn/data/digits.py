"""The bundled handwritten digits: 1,797 pictures of 8x8 pixels, ten classes. The first model trains on them.

    train, valid = digits.split(valid=0.2, seed=42)
    loader = DataLoader(train, digits.Batcher(backend), batch_size=64, shuffle=True, seed=42)

Source: E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998,
doi 10.24432/C50P49, CC BY 4.0 (`bundled/ATTRIBUTION.md`). Burn's examples download MNIST instead.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from minburn.backends import Backend
from minburn.data.check import DataError
from minburn.data.dataset import InMemDataset
from minburn.data.files import read_bundled
from minburn.data.image import ImageBatch, ImageBatcher, ImageItem
from minburn.data.image import draw as draw_image
from minburn.data.selection import SelectionDataset, stratified_split

CLASSES = 10
SIZE = 8
WHITE = 16  # the largest grey level

Item = ImageItem
Batch = ImageBatch


class Batcher(ImageBatcher):
    """`Batch(images=[N, 8, 8] grey / 16, targets=[N])` on `backend`."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend, white=WHITE)


@cache
def load() -> InMemDataset[Item]:
    """All 1,797 digits in the file's order; the same object at every call. image: uint8 [8, 8], 0–16; label: 0–9."""
    import gzip

    text = gzip.decompress(read_bundled("digits.csv.gz"))
    table = np.array([list(map(int, line.split(b","))) for line in text.split()], dtype=np.uint8)
    images = table[:, :-1].reshape(-1, SIZE, SIZE).copy()
    images.flags.writeable = False
    return InMemDataset(map(ImageItem, images, table[:, -1].tolist()))


def split(valid: float = 0.2, seed: int = 42) -> tuple[SelectionDataset[Item], SelectionDataset[Item]]:
    """(training digits, validation digits): the fraction `valid` of every class is held out, chosen by the seed."""
    dataset = load()
    return stratified_split(dataset, [item.label for item in dataset], valid, seed)


def draw(digit: Item | np.ndarray[Any, Any]) -> str:
    """A digit as eight lines of ASCII. An array is [8, 8]: levels 0–16 if its numbers are integers, else 0–1.

    Of a batch: `digits.draw(batch.images.numpy()[0])`.
    """
    image = digit.image if isinstance(digit, ImageItem) else digit
    if not isinstance(image, np.ndarray) or image.dtype.kind not in "fiu":
        raise DataError(f"digits.draw: expected an item or a table of numbers, but got {digit!r}.")
    return draw_image(image if image.dtype.kind == "f" else image / WHITE)
