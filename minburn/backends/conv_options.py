"""What a convolution is told beside its tensors, and the sizes that follow from it.

Per spatial dimension, with n the input size, k the kernel size, (b, e) the zeros put before and after the input, s the
stride and d the dilation (the distance of neighbouring kernel elements in the input):

    convolution   out = ⌊(n + b + e - d(k - 1) - 1) / s⌋ + 1
    transposed    out = (n - 1)s - 2p + d(k - 1) + padding_out + 1

Channels are cut into `groups` of equal size that do not see each other.

Burn: `crates/burn-backend/src/backend/ops/modules/{base,conv}.rs`.
"""

from __future__ import annotations

from dataclasses import dataclass

from minburn.backends.error import BackendError

LARGEST = 2**31 - 1
"""No size, stride, padding or dilation is larger."""

Sizes = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ConvOptions:
    """One number, and one (begin, end) pair of padding, per spatial dimension."""

    stride: Sizes
    padding: Pairs
    dilation: Sizes
    groups: int = 1

    def __post_init__(self) -> None:
        _check("stride", self.stride, 1)
        _check_pairs(self.padding)
        _check("dilation", self.dilation, 1)
        _check("groups", (self.groups,), 1)

    def output_size(self, size: Sizes, kernel: Sizes) -> Sizes:
        """May be 0 or less where the kernel is larger than the padded input.

        Burn: `calculate_conv_output_size` in `crates/burn-backend/src/backend/ops/modules/conv.rs`.
        """
        return tuple(
            (n + b + e - d * (k - 1) - 1) // s + 1
            for n, k, s, (b, e), d in zip(size, kernel, self.stride, self.padding, self.dilation, strict=True)
        )


@dataclass(frozen=True, slots=True)
class DeformConvOptions:
    """padding: on both sides. weight_groups: as the groups of a convolution; offset_groups: of the input's channels,
    each of which has offsets of its own."""

    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    weight_groups: int = 1
    offset_groups: int = 1

    def __post_init__(self) -> None:
        _check("stride", self.stride, 1)
        _check("padding", self.padding, 0)
        _check("dilation", self.dilation, 1)
        _check("groups", (self.weight_groups, self.offset_groups), 1)

    def convolution(self) -> ConvOptions:
        """That without offsets."""
        return ConvOptions(self.stride, tuple((p, p) for p in self.padding), self.dilation, self.weight_groups)


@dataclass(frozen=True, slots=True)
class ConvTransposeOptions:
    """The transposed convolution undoes the shape of a convolution with the same stride, padding and dilation.

    padding: taken away from both sides of the output. padding_out: added to its end, as a strided convolution takes
    several input sizes to one output size.
    """

    stride: Sizes
    padding: Sizes
    padding_out: Sizes
    dilation: Sizes
    groups: int = 1

    def __post_init__(self) -> None:
        _check("stride", self.stride, 1)
        _check("padding", self.padding, 0)
        _check("padding_out", self.padding_out, 0)
        _check("dilation", self.dilation, 1)
        _check("groups", (self.groups,), 1)

    def output_size(self, size: Sizes, kernel: Sizes) -> Sizes:
        """May be 0 or less where the padding takes everything away.

        Burn: `calculate_conv_transpose_output_size` in `crates/burn-backend/src/backend/ops/modules/conv.rs`.
        """
        numbers = zip(size, kernel, self.stride, self.padding, self.padding_out, self.dilation, strict=True)
        return tuple((n - 1) * s - 2 * p + d * (k - 1) + more + 1 for n, k, s, p, more, d in numbers)

    def input_size(self, size: Sizes, kernel: Sizes) -> Sizes:
        """The input size that gives this output size."""
        numbers = zip(size, kernel, self.stride, self.padding, self.padding_out, self.dilation, strict=True)
        return tuple((n + 2 * p - d * (k - 1) - more - 1) // s + 1 for n, k, s, p, more, d in numbers)

    def convolution(self) -> ConvOptions:
        """The convolution whose gradient this is."""
        return ConvOptions(self.stride, tuple((p, p) for p in self.padding), self.dilation, self.groups)


def _check(name: str, values: Sizes, least: int) -> None:
    if not (isinstance(values, tuple) and all(type(value) is int and least <= value <= LARGEST for value in values)):
        raise BackendError(
            f"convolution: {name} must be a tuple of ints of {least} or more, and at most {LARGEST}, but is "
            f"{values!r:.80}."
        )


def _check_pairs(padding: Pairs) -> None:
    is_pairs = isinstance(padding, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in padding)
    if not is_pairs:
        raise BackendError(
            f"convolution: padding must be a tuple of (begin, end) pairs, one per dimension, but is {padding!r:.80}."
        )
    _check("padding", tuple(side for pair in padding for side in pair), 0)
