"""What lies around the input of a convolution or a pool.

    PaddingConfig2d.Valid()                 nothing
    PaddingConfig2d.Explicit(1, 0, 1, 2)    top, left, bottom, right
    PaddingConfig2d.Same()                  so much that out = ⌈in / stride⌉

In 1d Explicit is (left, right); in 3d (depth, height, width), each on both sides.

Same pads max(0, (out - 1) · stride + kernel - in) elements, the smaller half before and the larger one behind. A
dilation is not part of the formula, as in Burn. In JSON they are `"Valid"` and `{"Explicit": [1, 0, 1, 2]}`.

Burn: `crates/burn-nn/src/padding.rs`.
"""

from __future__ import annotations

from typing import ClassVar

from minburn.backends.conv_options import LARGEST
from minburn.module import Config, ConfigError
from minburn.tensor import ShapeError

__all__ = ["PaddingConfig1d", "PaddingConfig2d", "PaddingConfig3d"]

Sizes = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]


class PaddingConfig(Config):
    """What the ranks share."""

    def pairs(self, size: Sizes, kernel: Sizes, stride: Sizes) -> Pairs:
        """The (begin, end) of each spatial dimension, for an input of that size."""
        raise TypeError(f"{type(self).__name__} is no padding: use {type(self).__name__}.Valid() or another.")

    def __str__(self) -> str:
        numbers = ", ".join(str(number) for number in self.__dict__.values())
        return f"{self._json_form.variant}({numbers})" if numbers else f"{self._json_form.variant}"


class PaddingConfig1d(PaddingConfig):
    """One of its variants; see the module."""

    Same: ClassVar[type[Same1d]]
    Valid: ClassVar[type[Valid1d]]
    Explicit: ClassVar[type[Explicit1d]]


class PaddingConfig2d(PaddingConfig):
    """One of its variants; see the module."""

    Same: ClassVar[type[Same2d]]
    Valid: ClassVar[type[Valid2d]]
    Explicit: ClassVar[type[Explicit2d]]


class PaddingConfig3d(PaddingConfig):
    """One of its variants; see the module."""

    Same: ClassVar[type[Same3d]]
    Valid: ClassVar[type[Valid3d]]
    Explicit: ClassVar[type[Explicit3d]]


class Valid1d(PaddingConfig1d, variant="Valid"):
    def pairs(self, size: Sizes, kernel: Sizes, stride: Sizes) -> Pairs:
        return ((0, 0),)


class Valid2d(PaddingConfig2d, variant="Valid"):
    def pairs(self, size: Sizes, kernel: Sizes, stride: Sizes) -> Pairs:
        return ((0, 0), (0, 0))


class Valid3d(PaddingConfig3d, variant="Valid"):
    def pairs(self, size: Sizes, kernel: Sizes, stride: Sizes) -> Pairs:
        return ((0, 0), (0, 0), (0, 0))


class Explicit1d(PaddingConfig1d, variant="Explicit", tuple_variant=True):
    left: int
    right: int

    def pairs(self, size: Sizes, kernel: Sizes, stride: Sizes) -> Pairs:
        return ((self.left, self.right),)


class Explicit2d(PaddingConfig2d, variant="Explicit", tuple_variant=True):
    top: int
    left: int
    bottom: int
    right: int

    def pairs(self, size: Sizes, kernel: Sizes, stride: Sizes) -> Pairs:
        return ((self.top, self.bottom), (self.left, self.right))


class Explicit3d(PaddingConfig3d, variant="Explicit", tuple_variant=True):
    depth: int
    height: int
    width: int

    def pairs(self, size: Sizes, kernel: Sizes, stride: Sizes) -> Pairs:
        return tuple((side, side) for side in (self.depth, self.height, self.width))


class Same1d(PaddingConfig1d, variant="Same"):
    def pairs(self, size: Sizes, kernel: Sizes, stride: Sizes) -> Pairs:
        return same_pairs(size, kernel, stride)


class Same2d(PaddingConfig2d, variant="Same"):
    def pairs(self, size: Sizes, kernel: Sizes, stride: Sizes) -> Pairs:
        return same_pairs(size, kernel, stride)


class Same3d(PaddingConfig3d, variant="Same"):
    """Equal on both sides, or refused, as in Burn."""

    def pairs(self, size: Sizes, kernel: Sizes, stride: Sizes) -> Pairs:
        pairs = same_pairs(size, kernel, stride)
        if any(begin != end for begin, end in pairs):
            raise ShapeError(
                f"Same padding would be {list(pairs)} for an input of size {list(size)}, kernel {list(kernel)} and "
                f"stride {list(stride)}: in 3 dimensions it must be equal on both sides. Use Explicit padding."
            )
        return pairs


PaddingConfig1d.Same, PaddingConfig1d.Valid, PaddingConfig1d.Explicit = Same1d, Valid1d, Explicit1d
PaddingConfig2d.Same, PaddingConfig2d.Valid, PaddingConfig2d.Explicit = Same2d, Valid2d, Explicit2d
PaddingConfig3d.Same, PaddingConfig3d.Valid, PaddingConfig3d.Explicit = Same3d, Valid3d, Explicit3d


def same_pairs(size: Sizes, kernel: Sizes, stride: Sizes) -> Pairs:
    """Of each dimension: total = max(0, (⌈n / s⌉ - 1) · s + k - n), ⌊total / 2⌋ of it before."""
    totals = (max(0, (-(-n // s) - 1) * s + k - n) for n, k, s in zip(size, kernel, stride, strict=True))
    return tuple((total // 2, total - total // 2) for total in totals)


def check_padding(layer: str, padding: PaddingConfig) -> None:
    """ConfigError for a negative number, or for a padding that is none of the variants."""
    if padding._json_form.variant is None:
        raise ConfigError(f"{layer}: {type(padding).__name__} has variants: use {type(padding).__name__}.Valid().")
    for name, number in padding.__dict__.items():
        if isinstance(number, bool) or number < 0:
            raise ConfigError(f"{layer}: padding {padding} has {name} {number}. It must be 0 or more.")
        if number > LARGEST:
            raise ConfigError(f"{layer}: padding {padding} has {name} {number}. It must be at most {LARGEST}.")
