"""One parameter in the middle of a step: it, its gradient and its state are brought together, fit for the rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from minburn.backends import BackendError
from minburn.dtype import DType
from minburn.module import Param
from minburn.optim.error import OptimizerError
from minburn.optim.grads import plain
from minburn.optim.group import OptimizerGroup
from minburn.optim.kept import NO_STATE, Context
from minburn.optim.record import StateEntry
from minburn.optim.state import Incomplete, flatten, unflatten
from minburn.tensor import FloatTensor, Tensor, TensorData, TensorError


@final
class Item:
    """context: what is kept of the parameter, if it was stepped before."""

    __slots__ = (
        *("context", "given", "grad", "group", "id", "index", "param", "path", "rate", "shape", "states", "tensor"),
        "unusable",
    )

    def __init__(
        self,
        path: str,
        param: Param[FloatTensor],
        grad: FloatTensor,
        context: Context | None,
        group: OptimizerGroup,
        rate: float,
    ) -> None:
        self.path = path
        self.id = param._id
        self.given = param  # the object in the module
        self.param = param  # the same parameter on the gradient's device
        self.grad = grad
        self.tensor = plain(param.value)
        self.shape: tuple[int, ...] = self.tensor.primitive.shape
        self.context = context
        self.group = group
        self.rate = rate
        self.states: Sequence[Any] = NO_STATE
        self.index = 0
        self.unusable = ""  # why its recorded state cannot be used

    def prepare(self) -> None:
        """Duties 1 to 3: its plain tensor, gradient and state."""
        if self.tensor.ops is not self.grad.ops:
            self._bring_together()
        shape, context = self.shape, self.context
        if shape != self.grad.primitive.shape:
            raise OptimizerError(f"step: {self.path} has shape {list(shape)}, its gradient {list(self.grad.shape)}.")
        if context is not None:
            if context.ops is self.tensor.ops and context.shape == shape:
                self.states, self.index = context.states, context.index
            else:
                self.states = (self._fitted(context),)
        if self.group.grad_clipping is not None:
            self.grad = self.group.grad_clipping.clip(self.grad)

    def _bring_together(self) -> None:
        """The parameter to its gradient's device."""
        grad = self.grad = plain(self.grad)
        tensor = self.tensor
        if tensor.ops is grad.ops:
            return
        if tensor.dtype != grad.dtype:
            raise OptimizerError(
                f"step: {self.path} is {tensor.dtype}, its gradient {grad.dtype}. Cast one of them: grad.cast(dtype)."
            )
        self.param = self.param.to_device(grad.backend)
        self.tensor = plain(self.param.value)

    def _fitted(self, context: Context) -> Any:
        """A recorded state, or that of a parameter that changed place or shape, where its gradient is, if it fits."""
        if context.loaded is not None:
            state = self._restored(context.loaded)
        else:
            state = context.state()
            if state is not None:
                state = unflatten(type(state), flatten(state), self._placing())
        wrong = None if state is None else self.group.optimizer.check_state(self.tensor, state)
        if wrong is not None:
            raise OptimizerError(
                f"step: the optimizer's state of {self.path} does not fit: {wrong}. "
                "Load the record that was saved with this model, or start with a new optimizer."
            )
        return state

    def _restored(self, entry: StateEntry) -> Any:
        """A recorded state; None if its leaves do not make one up."""
        rule, state_class = self.group.rule, self.group.state_class
        if entry.rank != len(self.tensor.shape):
            raise OptimizerError(
                f"step: the recorded state of {self.path} is one of a tensor of rank {entry.rank}, but the parameter "
                f"has rank {len(self.tensor.shape)}. Load the record that was saved with this model."
            )
        if state_class is None:
            if not entry.leaves:
                return None
            raise OptimizerError(
                f"step: {rule} does not say what its states are, so the recorded one of {self.path} cannot be rebuilt. "
                f"Write class {rule}(SimpleOptimizer[State])."
            )
        try:
            return unflatten(state_class, entry.leaves, self._placing())
        except Incomplete as missing:
            if entry.leaves:
                self.unusable = str(missing)
            return None

    def _placing(self) -> Callable[[TensorData], Tensor]:
        """Puts a state's data where the parameter's gradient is, in their own dtype."""
        backend = self.grad.backend

        def place(data: TensorData) -> Tensor:
            try:
                tensor: Tensor = Tensor.from_data(
                    data, backend, DType.F32 if data.dtype == DType.Flex32 else data.dtype
                )
            except (TensorError, BackendError) as error:
                raise OptimizerError(f"step: the recorded state of {self.path} cannot be used: {error}") from error
            return tensor

        return place


def states_of(items: list[Item]) -> Sequence[Any]:
    """The states of the items; the very sequence that the last step made, if it was made for just these."""
    states = items[0].states
    if len(states) == len(items):
        for index, item in enumerate(items):
            if item.index != index or item.states is not states:
                break
        else:
            return states
    return [item.states[item.index] for item in items]
