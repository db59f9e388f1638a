"""A training step in memory that stays: recorded by the device once, replayed without Python's part of it.

    step = RecordedStep(recorder, optimizer, model, batch, lr, measure)     calls train_step twice, changes nothing
    item, readings = step.replay(tensors, lr)                               a step; the results are in held memory
    model = step.settle(model)                                              and come out, as values, when wanted

Held are the batch's tensors, the parameters, the running states and the optimizer's states. A replay reads and
overwrites them; what leaves it is copied. Frozen parameters and constants are read where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from minburn.backends.base import Recorder
from minburn.backends.error import NotRecordable
from minburn.module import Module, ModuleMapper, Param, ParamId, RunningState
from minburn.optim import ModuleLearningRate, OptimizerAdaptor
from minburn.optim.grads import plain
from minburn.optim.recorded import RecordedOptimizer
from minburn.optim.walks import with_params
from minburn.tensor import FloatTensor, Tensor
from minburn.tensor.creation import float_constant
from minburn.train.output import TrainOutput
from minburn.train.parts import names_of, put_together, take_apart

M = TypeVar("M", bound=Module)


class RecordedStep(Generic[M]):
    """optimizer: of the model's present states. lr: of this step. measure: the readings of an item, by name; they are
    recorded, too. Errors: NotRecordable."""

    def __init__(
        self,
        recorder: Recorder,
        optimizer: RecordedOptimizer,
        model: M,
        batch: Any,
        lr: ModuleLearningRate,
        measure: Callable[[Any], dict[str, Any]],
    ) -> None:
        self.recorder = recorder
        self.optimizer = optimizer
        self._frame, tensors = take_apart(batch)
        device = optimizer.calls[0].states.ops.device
        for tensor in tensors:
            if tensor.device != device:
                raise NotRecordable(f"a tensor of its batch is on {tensor.device}, not on {device}")
            if isinstance(tensor, FloatTensor) and tensor.is_tracked:
                raise NotRecordable("a tensor of its batch is part of a graph")
        self._batch = [signature(tensor) for tensor in tensors]
        parts = _Parts.of(model)
        self._names = {id: path for id, (path, _) in parts.params.items()}
        self._params = [parts.params[id][1] for id in optimizer.ids]
        self._cells = parts.cells
        self._held_inputs = recorder.hold([primitive_of(tensor) for tensor in tensors])
        self._held_params = recorder.hold([primitive_of(param.value) for param in self._params])
        self._held_cells = recorder.hold([primitive_of(cell.value_sync()) for cell in self._cells.values()])
        self._model = with_params(model, self._params_of(self._held_params))
        self._present: Module | None = model  # whose values the held memory has
        self._item, self._readings, twin = recorder.record(lambda: self._run(batch, lr, measure))
        optimizer.check(twin, lr)
        self.load(model)  # the rehearsal has overwritten it

    def _run(
        self, batch: Any, lr: ModuleLearningRate, measure: Callable[[Any], dict[str, Any]]
    ) -> tuple[Any, dict[str, Any], OptimizerAdaptor]:
        """A step from the held memory into it."""
        # Another module each time: what one has cached of its parameters would be there already.
        model = with_params(self._model, self._params_of(self._held_params))
        given = take_apart(batch)[1]
        inputs = [like(tensor, held) for tensor, held in zip(given, self._held_inputs, strict=True)]
        before = [cell.value_sync() for cell in self._cells.values()]
        try:
            for cell, value, held in zip(self._cells.values(), before, self._held_cells, strict=True):
                _set(cell, like(value, held))
            output = model.train_step(put_together(batch, inputs))  # type: ignore[attr-defined]
            if not isinstance(output, TrainOutput):
                raise NotRecordable(f"it returns a {type(output).__name__}")
            item = self._apart(output.item)
            # In one piece already here, so that a replay has one copy to make of them.
            readings: dict[str, Any] = self._taken(measure(output.item), inputs, together=True)
            twin = self.optimizer.twin(self._tensors_of(self._held_params))
            after = _Parts.of(twin.step(lr, model, output.grads)).params
            sources = [primitive_of(after[id][1].value) for id in self.optimizer.ids]
            sources += [primitive_of(cell.value_sync()) for cell in self._cells.values()]
            sources += self.optimizer.results(twin)
            self.recorder.copy(sources, [*self._held_params, *self._held_cells, *self.optimizer.held])
        finally:
            for cell, value in zip(self._cells.values(), before, strict=True):
                _set(cell, value)
        return item, readings, twin

    def _apart(self, item: Any) -> Any:
        """The item, with copies of what lies in held memory, as parameters do: the end of the step writes over them."""
        tensors = take_apart(item)[1]
        found = [primitive_of(tensor) for tensor in tensors]
        held = [
            self.recorder.holds([primitive]) and all(primitive is not given for given in self._held_inputs)
            for primitive in found
        ]
        copies = iter(
            self.recorder.copies([primitive for primitive, is_held in zip(found, held, strict=True) if is_held])
        )
        return put_together(
            item,
            [like(tensor, next(copies)) if is_held else tensor for tensor, is_held in zip(tensors, held, strict=True)],
        )

    def match(self, batch: Any) -> list[Tensor] | str:
        """The tensors of a batch that is like the recorded one, or how it is not."""
        try:
            frame, tensors = take_apart(batch)
        except NotRecordable as error:
            return str(error)
        found = [signature(tensor) for tensor in tensors]
        if found == self._batch and frame == self._frame:
            return tensors
        for name, tensor, was in zip(names_of(batch, "batch"), tensors, self._batch, strict=False):
            if tensor.shape != was[1]:
                return f"{name} is {list(tensor.shape)}, but {list(was[1])} where the step was recorded"
        return "it is not like the recorded one"

    def replay(
        self, tensors: list[Tensor], lr: ModuleLearningRate, wants_item: bool = True
    ) -> tuple[Any, dict[str, Any]]:
        """A step. Returns the item, if it is wanted, and the readings."""
        self._present = None
        numbers = self.optimizer.numbers(lr)
        self.recorder.copy([primitive_of(tensor) for tensor in tensors], self._held_inputs)
        self.recorder.replay(numbers)
        item = self._taken(self._item, tensors, together=False) if wants_item else None
        readings: dict[str, Any] = self._taken(self._readings, tensors, together=True)
        return item, readings

    def _taken(self, value: Any, inputs: list[Tensor], together: bool) -> Any:
        """An output with its tensors as values: an input that went through as it came in, or a copy. together: all in
        one piece of memory, which stays as long as any of them."""
        outputs = take_apart(value)[1]
        passed = [
            next((given for held, given in zip(self._held_inputs, inputs, strict=True) if held is primitive), None)
            for primitive in map(primitive_of, outputs)
        ]
        computed = [primitive_of(tensor) for tensor, given in zip(outputs, passed, strict=True) if given is None]
        if together:
            copies = iter(self.recorder.copies(computed))
        else:
            copies = (copy for primitive in computed for copy in self.recorder.copies([primitive]))
        taken = [
            like(tensor, next(copies) if given is None else primitive_of(given))
            for tensor, given in zip(outputs, passed, strict=True)
        ]
        return put_together(value, taken)

    def settle(self, model: M) -> M:
        """The model, with the parameters after the last replay; running states and the optimizer are there, too."""
        params = self.recorder.copies(self._held_params)
        self.optimizer.settle(self._tensors_of(params))
        running = self.recorder.copies(self._held_cells)
        for cell, primitive in zip(self._cells.values(), running, strict=True):
            _set(cell, like(cell.value(), primitive))
        settled: M = with_params(model, self._params_of(params))
        self._present = settled
        return settled

    def is_present(self, model: Module) -> bool:
        """Whether the held memory has the values of the model and of the optimizer."""
        return self._present is model and self.optimizer.is_present()

    def load(self, model: M) -> bool:
        """Bring them there. False: the optimizer's steps are others now."""
        parts = _Parts.of(model)
        self.recorder.copy([primitive_of(parts.params[id][1].value) for id in self.optimizer.ids], self._held_params)
        self.recorder.copy([primitive_of(cell.value_sync()) for cell in self._cells.values()], self._held_cells)
        self._present = model
        return self.optimizer.load()

    def difference(
        self, model: M, given: tuple[Any, dict[str, Any]], replayed: tuple[Any, dict[str, Any]]
    ) -> str | None:
        """What is not the same to the last bit after a replay as after an ordinary step from the same place: the first
        of all that a step changes. None: nothing, and replays can go on from there.

        given, replayed: item and readings of both.
        """
        frame, outputs = take_apart(given)
        again, found = take_apart(replayed)
        if frame != again:
            return "what train_step returns beside tensors"
        if not self.optimizer.adopt():
            return "the calls of its optimizer"
        parts = _Parts.of(model)
        names = [
            *names_of(given[0]),
            *names_of(given[1], "readings"),
            *(f"running state {path}" for path in self._cells),
            *(f"parameter {self._names[id]}" for id in self.optimizer.ids),
            *self.optimizer.names(self._names),
        ]
        expected = [
            *map(primitive_of, outputs),
            *(primitive_of(cell.value_sync()) for cell in self._cells.values()),
            *(primitive_of(parts.params[id][1].value) for id in self.optimizer.ids),
            *self.optimizer.present(),
        ]
        here = [*map(primitive_of, found), *self._held_cells, *self._held_params, *self.optimizer.held]
        different = self.recorder.different(here, expected)
        self._present = model
        return names[different[0]] if different else None

    def _tensors_of(self, primitives: list[Any]) -> dict[ParamId, FloatTensor]:
        """Plain tensors by the id of the parameter."""
        found = {}
        for param, primitive in zip(self._params, primitives, strict=True):
            below = plain(param.value)
            found[param.id] = FloatTensor(primitive, below.ops, below.backend)
        return found

    def _params_of(self, primitives: list[Any]) -> dict[int, Param[FloatTensor]]:
        tensors = self._tensors_of(primitives)
        return {param.id: param.with_inner(tensors[param.id]) for param in self._params}


class _Parts(ModuleMapper):
    """The float parameters of a module by id, with their paths, and its running states by path."""

    def __init__(self) -> None:
        self.params: dict[ParamId, tuple[str, Param[FloatTensor]]] = {}
        self.cells: dict[str, RunningState] = {}

    @staticmethod
    def of(model: Module) -> _Parts:
        parts = _Parts()
        model.map(parts)
        return parts

    def map_float(self, param: Param[FloatTensor]) -> Param[FloatTensor]:
        self.params.setdefault(param.id, (self.path, param))
        return param

    def map_running(self, state: RunningState) -> RunningState:
        self.cells.setdefault(self.path, state)
        return state


def primitive_of(tensor: Tensor) -> Any:
    """Below every autodiff decorator."""
    return plain(tensor).primitive if isinstance(tensor, FloatTensor) else tensor.primitive


def like(tensor: Tensor, primitive: Any) -> Tensor:
    """A tensor of the same kind on the same backend, outside any graph."""
    if isinstance(tensor, FloatTensor):
        made: Tensor = float_constant(primitive, tensor.backend)
        return made
    return tensor._with(primitive)


def signature(tensor: Tensor) -> tuple[Any, ...]:
    """What the tensor of another batch must have, too."""
    primitive = primitive_of(tensor)
    return tensor.ops, tensor.shape, primitive.strides, tensor.backend.streams


def _set(cell: RunningState, value: Any) -> None:
    cell.update(value)
    cell.value_sync()
