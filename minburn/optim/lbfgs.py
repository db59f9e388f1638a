"""L-BFGS: Newton's direction from the last few steps, for losses that are computed on all data at once.

    optim = LBFGSConfig(line_search_fn=LineSearchFn.StrongWolfe).init()
    model, loss = optim.step(1.0, model, closure)

    def closure(model):                                    called as often as the search needs
        loss = mse(model(x), y)
        return loss, GradientsParams.from_grads(loss.backward(), model)

It takes all float parameters as one vector x with the gradient g. The last steps s = Δx and their y = Δg tell how the
gradient changes; from them the two-loop recursion makes the direction d ≈ -H⁻¹ g without a matrix:

    q = -g;  newest to oldest:  αᵢ = sᵢ·q / yᵢ·sᵢ,  q -= αᵢ yᵢ
    r = q · (y·s / y·y) of the newest;  oldest to newest:  r += sᵢ (αᵢ - yᵢ·r / yᵢ·sᵢ);  d = r

and x moves by t·d: with t = lr, or as the line search finds from there. The very first direction is -g, and its first t
is lr · min(1, 1 / ‖g‖₁). One `step` makes up to max_iter of these moves.

A parameter without a gradient does not move. The state is one for the whole model, so it is recorded without ids.

Source: Liu and Nocedal, "On the limited memory BFGS method for large scale optimization". Burn:
`crates/burn-optim/src/optim/lbfgs.rs`.
"""

from __future__ import annotations

import enum
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar, final

from minburn.backends import BackendError
from minburn.dtype import DType
from minburn.module import Config, Module, ModuleVisitor, Param
from minburn.optim.error import OptimizerError, RecordWarning
from minburn.optim.grads import GradientsParams, plain
from minburn.optim.learning_rate import check_rate
from minburn.optim.line_search import Sample, strong_wolfe
from minburn.optim.record import OptimizerRecord
from minburn.optim.state import Incomplete, Leaves, flatten, unflatten
from minburn.optim.walks import with_params
from minburn.tensor import FloatTensor, Tensor, TensorData, TensorError

__all__ = ["LBFGS", "LBFGSConfig", "LBFGSState", "LineSearchFn"]

M = TypeVar("M", bound=Module)
Closure = Callable[[M], tuple[float | FloatTensor, GradientsParams]]
"""The loss of a model, and its gradients."""

LEAST_CURVATURE = 1e-10
"""A step whose y·s is below is not remembered: the loss is not convex along it."""


class LineSearchFn(enum.Enum):
    """None_ (in JSON `None`): t is the learning rate."""

    None_ = "None"
    StrongWolfe = "StrongWolfe"


@dataclass(frozen=True)
class LBFGSState:
    """history_s, history_y: the last steps and the changes of the gradient, oldest first. d, t: the last direction and
    the length gone along it. g_iter: moves made so far."""

    history_s: list[FloatTensor]
    history_y: list[FloatTensor]
    d: FloatTensor | None
    t: float | None
    prev_flat_grad: FloatTensor | None
    prev_loss: float | None
    g_iter: int


class LBFGSConfig(Config):
    """max_iter: moves per step. history_size: steps remembered, two vectors each. tolerance_grad: max |g| at which to
    stop. tolerance_change: of the loss, or of x. max_eval: of the closure, per step; None is 5/4 of max_iter.

    Errors: OptimizerError in `init` for a count below 1 or a negative tolerance.
    """

    max_iter: int = 20
    history_size: int = 100
    tolerance_grad: float = 1e-7
    tolerance_change: float = 1e-9
    max_eval: int | None = None
    line_search_fn: LineSearchFn = LineSearchFn.None_

    def init(self) -> LBFGS:
        for name in ("max_iter", "history_size", "max_eval"):
            count = getattr(self, name)
            if count is not None and count < 1:
                raise OptimizerError(f"LBFGSConfig: {name} must be at least 1, but is {count}.")
        for name in ("tolerance_grad", "tolerance_change"):
            if not getattr(self, name) >= 0.0:
                raise OptimizerError(f"LBFGSConfig: {name} must be at least 0, but is {getattr(self, name)}.")
        return LBFGS(self)


@final
class LBFGS:
    """`LBFGSConfig(…).init()` makes one."""

    def __init__(self, config: LBFGSConfig) -> None:
        self.config = config
        self._state = LBFGSState([], [], None, 1.0, None, None, 0)
        self._loaded: Leaves | None = None  # until a step tells where the model is

    def step(self, lr: float, module: M, closure: Closure[M]) -> tuple[M, float]:
        """The module after up to max_iter moves, and its loss. The one passed in is unchanged.

        Errors: OptimizerError for a rate that is no finite number, parameters of several dtypes or devices, gradients
        of another shape than theirs, a state of another model, and a closure that returns something else.
        """
        rate = check_rate(lr)
        if not isinstance(module, Module):
            raise OptimizerError(f"step: expected the module as second argument, but got {type(module).__name__}.")
        if not callable(closure):
            raise OptimizerError(
                f"step: expected a closure as third argument, but got {type(closure).__name__}. It takes the module "
                "and returns (loss, grads)."
            )
        vector = Vector(module)
        loss, grads = evaluated(closure, module)
        if not vector.params:
            return module, loss
        return self._moves(rate, module, closure, vector, loss, grads)

    def _moves(
        self, lr: float, module: M, closure: Closure[M], vector: Vector, loss: float, grads: GradientsParams
    ) -> tuple[M, float]:
        config = self.config
        state = self._placed(vector)
        grad, x = vector.gradient(grads), vector.values()
        vector.hold_still(grads)
        if largest(grad) <= config.tolerance_grad:
            return module, loss
        evaluations, most = 1, config.max_eval or config.max_iter * 5 // 4
        for _ in range(config.max_iter):
            state = self._remembered(state, grad)
            d = vector.moving(direction(state, grad))
            first = state.g_iter == 1
            t = lr * min(1.0, 1.0 / float(grad.abs().sum().item())) if first else lr
            before = loss
            state = replace(state, d=d, t=t, prev_flat_grad=grad)
            slope = float(grad.dot(d).item())
            if slope > -config.tolerance_change:
                break

            def at(t: float, x: FloatTensor = x, d: FloatTensor = d) -> Sample:
                loss, grads = evaluated(closure, vector.put(module, x + d * t))
                grad = vector.gradient(grads)
                return Sample(t, loss, grad, float(grad.dot(d).item()))

            if config.line_search_fn is LineSearchFn.StrongWolfe:
                start = Sample(0.0, loss, grad, slope)
                found, more = strong_wolfe(
                    at, start, t, largest(d), config.tolerance_change, max(0, most - evaluations)
                )
            else:
                found, more = at(t), 1
            evaluations += more
            t, loss, grad = found.t, found.loss, found.grad
            state = replace(state, t=t)
            x = x + d * t
            if (
                evaluations >= most
                or largest(grad) <= config.tolerance_grad
                or largest(d * t) <= config.tolerance_change
                or abs(loss - before) < config.tolerance_change
            ):
                break
        self._state, self._loaded = replace(state, prev_loss=loss), None
        return vector.put(module, x), loss

    def _remembered(self, state: LBFGSState, grad: FloatTensor) -> LBFGSState:
        """The state at the beginning of a move, with the one before it in its history."""
        state = replace(state, g_iter=state.g_iter + 1)
        if state.g_iter == 1:
            return replace(state, history_s=[], history_y=[])
        if state.d is None or state.t is None or state.prev_flat_grad is None:
            return state
        s, y = state.d * state.t, grad - state.prev_flat_grad
        if not float(y.dot(s).item()) > LEAST_CURVATURE:
            return state
        kept = self.config.history_size
        return replace(state, history_s=[*state.history_s, s][-kept:], history_y=[*state.history_y, y][-kept:])

    # Records

    def into_record(self) -> OptimizerRecord:
        """The state. Data that lie on the host are not copied. Burn: `LBFGS::to_record`."""
        return OptimizerRecord(whole=flatten(self._state) if self._loaded is None else self._loaded)

    def load_record(self, record: OptimizerRecord) -> LBFGS:
        """Go on from a recorded state, which is looked at when a step meets the model; returns this optimizer."""
        if not isinstance(record, OptimizerRecord):
            raise OptimizerError(
                f"load_record: expected an OptimizerRecord, but got {type(record).__name__}. "
                "OptimizerRecord.load(path) reads one."
            )
        if record.whole is None:
            raise OptimizerError(
                "load_record: this record has a state for every parameter; that of L-BFGS is one for the whole model. "
                "OptimizerAdaptor.load_record takes it."
            )
        self._loaded = record.whole
        return self

    def _placed(self, vector: Vector) -> LBFGSState:
        """The state where the model is, if it fits it."""
        state, loaded = self._state, self._loaded
        if loaded is None and (state.d is None or state.d.ops is vector.ops):
            return vector.check(state)
        try:
            return vector.check(unflatten(LBFGSState, flatten(state) if loaded is None else loaded, vector.place))
        except Incomplete as missing:
            warnings.warn(
                f"step: the recorded state is not L-BFGS's ({missing}), so it starts from the beginning.",
                RecordWarning,
                stacklevel=4,
            )
            return LBFGSState([], [], None, 1.0, None, None, 0)

    def __repr__(self) -> str:
        return f"LBFGS({self.config!r}, {self._state.g_iter} moves)"


def direction(state: LBFGSState, grad: FloatTensor) -> FloatTensor:
    """The two-loop recursion; -g without a history."""
    q = -grad
    pairs = list(zip(state.history_s, state.history_y, strict=True))
    if not pairs:
        return q
    alphas = []
    for s, y in reversed(pairs):
        alpha = s.dot(q) / y.dot(s)
        alphas.append(alpha)
        q = q - y * alpha
    s, y = pairs[-1]
    r = q * (y.dot(s) / y.dot(y))
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        r = r + s * (alpha - y.dot(r) / y.dot(s))
    return r


class Vector(ModuleVisitor):
    """The float parameters of a module as one vector, in their order, each once."""

    def __init__(self, module: Module) -> None:
        self.params: dict[int, tuple[str, Param[FloatTensor]]] = {}
        self.still: dict[int, bool] = {}
        self._mask: FloatTensor | None = None
        module.visit(self)
        if self.params:
            path, first = next(iter(self.params.values()))
            tensor = plain(first.value)
            self.ops, self.backend = tensor.ops, tensor.backend
            for other, param in self.params.values():
                if plain(param.value).ops is not tensor.ops:
                    raise OptimizerError(
                        f"step: L-BFGS needs one dtype and device, but {path} is {tensor.dtype} on {tensor.device} and "
                        f"{other} is {param.dtype} on {param.backend.device}."
                    )

    def visit_float(self, param: Param[FloatTensor]) -> None:
        self.params.setdefault(param.id, (self.path, param))

    def values(self) -> FloatTensor:
        return joined([plain(param.value) for _, param in self.params.values()])

    def gradient(self, grads: GradientsParams) -> FloatTensor:
        """Zero where a parameter has none."""
        parts = []
        for id, (path, param) in self.params.items():
            grad = grads.get(id)
            if grad is None:
                grad = plain(param.value).zeros_like()
            if grad.shape != param.shape or grad.ops is not self.ops:
                raise OptimizerError(
                    f"step: {path} is a {param.dtype} tensor of shape {list(param.shape)} on {param.backend.device}, "
                    f"its gradient a {grad.dtype} tensor of shape {list(grad.shape)} on {grad.device}."
                )
            parts.append(grad)
        return joined(parts)

    def hold_still(self, grads: GradientsParams) -> None:
        """Parameters without a gradient do not move in this step, whatever the history says."""
        self.still = {id: grads.get(id) is None for id in self.params}
        if any(self.still.values()):
            values = {id: plain(param.value) for id, (_, param) in self.params.items()}
            self._mask = joined(
                [value.zeros_like() if self.still[id] else value.ones_like() for id, value in values.items()]
            )

    def moving(self, direction: FloatTensor) -> FloatTensor:
        return direction if self._mask is None else direction * self._mask

    def put(self, module: M, x: FloatTensor) -> M:
        """The module with the values of x."""
        mapped, start = {}, 0
        for id, (_, param) in self.params.items():
            count = param.value.num_elements()
            if not self.still[id]:
                mapped[id] = param.with_inner(x.slice((start, start + count)).reshape(param.shape))
            start += count
        result: M = with_params(module, mapped)
        return result

    def check(self, state: LBFGSState) -> LBFGSState:
        """Errors: OptimizerError if it is another model's."""
        count = sum(param.value.num_elements() for _, param in self.params.values())
        for name, tensor in (("d", state.d), ("prev_flat_grad", state.prev_flat_grad), *histories(state)):
            if tensor is not None and (tensor.shape != (count,) or tensor.ops is not self.ops):
                raise OptimizerError(
                    f"step: the state of L-BFGS does not fit: {name} is a {tensor.dtype} tensor of shape "
                    f"{list(tensor.shape)}, the model has {count} elements of {self.backend.float_dtype}. "
                    "Load the record that was saved with this model, or start with a new optimizer."
                )
        if len(state.history_s) != len(state.history_y):
            raise OptimizerError(
                f"step: the state of L-BFGS has {len(state.history_s)} steps, but {len(state.history_y)} changes of "
                "the gradient. Load another record, or start with a new optimizer."
            )
        return state

    def place(self, data: TensorData) -> Tensor:
        try:
            tensor: Any = Tensor.from_data(data, self.backend, DType.F32 if data.dtype == DType.Flex32 else data.dtype)
        except (TensorError, BackendError) as error:
            raise OptimizerError(f"step: the recorded state cannot be used: {error}") from error
        return tensor  # type: ignore[no-any-return]


def histories(state: LBFGSState) -> list[tuple[str, FloatTensor]]:
    return [
        (f"{name}.{index}", tensor)
        for name, tensors in (("history_s", state.history_s), ("history_y", state.history_y))
        for index, tensor in enumerate(tensors)
    ]


def joined(tensors: list[FloatTensor]) -> FloatTensor:
    return Tensor.cat([tensor.reshape([tensor.num_elements()]) for tensor in tensors], 0)


def largest(tensor: FloatTensor) -> float:
    return float(tensor.abs().max().item())


def evaluated(closure: Closure[M], module: M) -> tuple[float, GradientsParams]:
    """The closure's results, the loss as a number."""
    result: Any = closure(module)
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], GradientsParams):
        loss, grads = result
        if isinstance(loss, FloatTensor):
            return float(loss.item()), grads
        if isinstance(loss, (int, float)) or hasattr(loss, "__float__"):
            return float(loss), grads
    raise OptimizerError(
        "step: the closure must return (loss, grads): a number or a tensor of one element, and "
        "GradientsParams.from_grads(loss.backward(), model)."
    )
