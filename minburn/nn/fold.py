"""Images as columns of windows, and back. Burn: `crates/burn-nn/src/modules/{unfold,fold}.rs`."""

from __future__ import annotations

from minburn.module import Config, Module
from minburn.tensor import FloatTensor, functional
from minburn.tensor.functional.pool import padding_of, sizes_of

__all__ = ["Fold4d", "Fold4dConfig", "Unfold4d", "Unfold4dConfig"]

Pair = tuple[int, int]


def check_windows(layer: str, kernel_size: Pair, stride: Pair, padding: Pair, dilation: Pair) -> None:
    """Errors: KindError, TensorError."""
    for what, value in (("kernel_size", kernel_size), ("stride", stride), ("dilation", dilation)):
        sizes_of(layer, what, 2, value)
    padding_of(layer, 2, padding)


class Unfold4d(Module):
    """x [N, C, H, W] → [N, C · kh · kw, windows]. Padding is on both sides and reads as 0."""

    kernel_size: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[int, int]

    def check_fields(self) -> None:
        check_windows("Unfold4d", self.kernel_size, self.stride, self.padding, self.dilation)

    def forward(self, x: FloatTensor) -> FloatTensor:
        return functional.unfold4d(x, self.kernel_size, self.stride, self.padding, self.dilation)

    def display_attributes(self) -> dict[str, object]:
        return {
            "kernel_size": self.kernel_size,
            "stride": self.stride,
            "dilation": self.dilation,
            "padding": self.padding,
        }


class Unfold4dConfig(Config):
    kernel_size: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)

    def init(self) -> Unfold4d:
        return Unfold4d(kernel_size=self.kernel_size, stride=self.stride, dilation=self.dilation, padding=self.padding)


class Fold4d(Module):
    """The adjoint of Unfold4d, [N, C · kh · kw, windows] → [N, C, *output_size]: windows that overlap are added."""

    output_size: tuple[int, int]
    kernel_size: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[int, int]

    def check_fields(self) -> None:
        sizes_of("Fold4d", "output_size", 2, self.output_size)
        check_windows("Fold4d", self.kernel_size, self.stride, self.padding, self.dilation)

    def forward(self, columns: FloatTensor) -> FloatTensor:
        return functional.fold4d(columns, self.output_size, self.kernel_size, self.stride, self.padding, self.dilation)

    def display_attributes(self) -> dict[str, object]:
        return {
            "output_size": self.output_size,
            "kernel_size": self.kernel_size,
            "stride": self.stride,
            "dilation": self.dilation,
            "padding": self.padding,
        }


class Fold4dConfig(Config):
    output_size: tuple[int, int]
    kernel_size: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)

    def init(self) -> Fold4d:
        return Fold4d(
            output_size=self.output_size,
            kernel_size=self.kernel_size,
            stride=self.stride,
            dilation=self.dilation,
            padding=self.padding,
        )
