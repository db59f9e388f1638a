"""The user's tensors: `Tensor` and its kinds, host data, activations and functional ops.

    x = Tensor.from_data([[1.0, 2.0]], backend)    # FloatTensor, shape (1, 2)

Rules (Burn's): operands have equal ranks and broadcast over sizes of 1; kinds and dtypes never mix silently; reductions
keep their dimension and a full one has shape [1]; nothing is changed in place.
"""

from minburn.tensor import activation, functional
from minburn.tensor.check import (
    DeviceError,
    DTypeError,
    GradError,
    IndexOutOfBounds,
    KindError,
    ShapeError,
    TensorError,
    assert_shape,
)
from minburn.tensor.compare import Tolerance
from minburn.tensor.custom import custom_array_op, custom_op
from minburn.tensor.data import TensorData
from minburn.tensor.kinds import BoolTensor, FloatTensor, IntTensor
from minburn.tensor.numeric import NumericTensor
from minburn.tensor.printing import PrintOptions, set_print_options
from minburn.tensor.tensor import Tensor
from minburn.tensor.transaction import Transaction

__all__ = [
    "BoolTensor",
    "DTypeError",
    "DeviceError",
    "FloatTensor",
    "GradError",
    "IndexOutOfBounds",
    "IntTensor",
    "KindError",
    "NumericTensor",
    "PrintOptions",
    "ShapeError",
    "Tensor",
    "TensorData",
    "TensorError",
    "Tolerance",
    "Transaction",
    "activation",
    "assert_shape",
    "custom_array_op",
    "custom_op",
    "functional",
    "set_print_options",
]
