"""The affine layer. Burn: `crates/burn-nn/src/modules/linear.rs`."""

from __future__ import annotations

import enum
import math

from minburn.backends import Backend
from minburn.module import Config, Initializer, Module, Param, StoredForm
from minburn.tensor import FloatTensor, Tensor, functional

__all__ = ["Linear", "LinearConfig", "LinearLayout"]


class LinearLayout(enum.Enum):
    """How the weight lies in a file: Row [d_input, d_output], or Col [d_output, d_input]. In memory both are Row."""

    Row = "Row"
    Col = "Col"


class Transposed(StoredForm):
    """A matrix that is stored as its transpose."""

    def save(self, tensor: FloatTensor) -> FloatTensor:
        return tensor.swap_dims(0, 1)

    def load(self, tensor: FloatTensor) -> FloatTensor:
        return transposed_copy(tensor)

    def shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape[::-1]


class Linear(Module):
    """y = x · weight + bias, over the last axis: x [..., d_input] → y [..., d_output].

    weight: [d_input, d_output]. bias: [d_output], or None.
    """

    weight: Param[FloatTensor]
    bias: Param[FloatTensor] | None

    def forward(self, x: FloatTensor) -> FloatTensor:
        bias = self.bias
        return functional.linear(x, self.weight.value, None if bias is None else bias.value)

    def display_attributes(self) -> dict[str, object]:
        d_input, d_output = self.weight.shape
        return {"d_input": d_input, "d_output": d_output, "bias": self.bias is not None}


class LinearConfig(Config):
    """initializer: of weight and bias, with fan_in = d_input and fan_out = d_output; the default is U(±1/√d_input).

    layout: Col swaps the fans of the weight, as it is drawn as it is stored.
    """

    d_input: int
    d_output: int
    bias: bool = True
    initializer: Initializer = Initializer.KaimingUniform(gain=1.0 / math.sqrt(3.0), fan_out_only=False)
    layout: LinearLayout = LinearLayout.Row

    def init(self, backend: Backend) -> Linear:
        rows, cols = self.d_input, self.d_output
        if self.layout is LinearLayout.Row:
            weight = self.initializer.init_with((rows, cols), rows, cols, backend)
        else:
            stored = self.initializer.init_with((cols, rows), cols, rows, backend)
            weight = Param.uninitialized(
                stored.id, lambda target: transposed_copy(stored.to_device(target).value), backend, (rows, cols)
            ).with_stored_form(Transposed())
        bias = self.initializer.init_with((cols,), rows, cols, backend) if self.bias else None
        return Linear(weight=weight, bias=bias)


def transposed_copy(tensor: FloatTensor) -> FloatTensor:
    """Contiguous, as every parameter is: the last bit of a product depends on the memory layout."""
    transposed = tensor.swap_dims(0, 1)
    return Tensor.from_data(transposed.into_data(), tensor.backend, tensor.dtype)  # type: ignore[no-any-return]
