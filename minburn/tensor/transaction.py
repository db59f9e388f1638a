"""Reading several tensors at once. Burn: `crates/burn-tensor/src/tensor/api/transaction.rs`."""

from __future__ import annotations

from typing import Any

from minburn.tensor.check import KindError
from minburn.tensor.data import TensorData
from minburn.tensor.layout import Layout


class Transaction:
    """Collects tensors and reads them together, so that the device is waited for once.

    loss, accuracy = Transaction().register(loss).register(accuracy).execute()
    """

    __slots__ = ("_tensors",)

    def __init__(self, tensors: tuple[Any, ...] = ()) -> None:
        self._tensors = tensors

    def register(self, tensor: Any) -> Transaction:
        """The transaction with one more tensor to read."""
        if not isinstance(tensor, Layout):
            raise KindError(f"Transaction: expected a tensor, but got {type(tensor).__name__} {tensor!r}.")
        return Transaction((*self._tensors, tensor))

    def execute(self) -> list[TensorData]:
        """The data of the tensors, in the order in which they were registered."""
        for tensor in self._tensors:
            tensor.backend.sync()
        return [tensor.into_data() for tensor in self._tensors]
