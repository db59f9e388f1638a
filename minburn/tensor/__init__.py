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
)
from minburn.tensor.custom import custom_array_op, custom_op
from minburn.tensor.data import TensorData
from minburn.tensor.kinds import BoolTensor, FloatTensor, IntTensor
from minburn.tensor.numeric import NumericTensor
from minburn.tensor.tensor import Tensor

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
    "ShapeError",
    "Tensor",
    "TensorData",
    "TensorError",
    "activation",
    "custom_array_op",
    "custom_op",
    "functional",
]
