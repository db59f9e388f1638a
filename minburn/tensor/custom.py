"""A user's own op with its own gradient.

    @custom_op
    def cube(x):
        return x * x * x, lambda grad: grad * x * x * 3.0       # the result, and a pullback per float tensor

    y = cube(tensor)

`custom_op` is given tensors, `custom_array_op` the arrays below them and their library. A pullback turns the gradient
of the result into that of one operand. What they are given belongs to the backend below the graph, so that nothing they
do is recorded; on a plain backend the pullbacks are not used.

Under `Autodiff(Autodiff(backend))` the tensors they are given are recorded by the inner level, and what pullbacks made
of tensors compute can be differentiated once more. What array code computes cannot: that is refused, by name, when it
is tried. Gradients are checked by `minburn.testing.check_gradients`.

Burn: its custom ops are backend extensions with a `Backward` each; here there is no trait to extend.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, cast

from minburn.backends import AutodiffError
from minburn.tensor import creation
from minburn.tensor.check import DeviceError, KindError, ShapeError, show
from minburn.tensor.floats import FloatTensor
from minburn.tensor.layout import Layout
from minburn.tensor.lift import one_table

P = ParamSpec("P")
Pullback = Callable[[FloatTensor], FloatTensor]


def custom_op(rule: Callable[P, tuple[Any, ...]]) -> Callable[P, FloatTensor]:
    """A function of tensors, with the gradient that `rule(*args) -> (result, *pullbacks)` says it has.

    There is one pullback for each float tensor among the positional arguments, in their order; a gradient has the shape
    of its operand, or one that it was broadcast to. Int and bool tensors and whatever else are passed on.

    Errors: KindError and DeviceError for what a rule must not return, ShapeError for a gradient that does not fit its
    operand.
    """
    name = _name_of(rule)

    @functools.wraps(rule)
    def op(*args: P.args, **options: P.kwargs) -> FloatTensor:
        lower: list[Any] = list(args)
        places = [place for place, arg in enumerate(lower) if isinstance(arg, FloatTensor)]
        if not places:
            raise KindError(f"{name}: a custom op takes a float tensor, by position, but got none.")
        operands: list[FloatTensor] = one_table(name, [lower[place] for place in places])
        backend = operands[0].backend
        if not backend.is_autodiff:
            return _run(name, rule, args, options, operands)[0]
        lower = [cast(Any, arg).inner() if isinstance(arg, Layout) else arg for arg in args]
        below = [operand.inner() for operand in operands]
        for place, operand in zip(places, below, strict=True):
            lower[place] = operand
        if not any(operand.is_tracked for operand in operands):
            return creation.from_inner(op(*lower, **options), backend)  # type: ignore[no-any-return]
        result, pullbacks = _run(name, rule, lower, options, below)
        return _record(name, _with_gradient(name, result, below, pullbacks), operands, pullbacks)

    return op


def custom_array_op(rule: Callable[Concatenate[Any, P], tuple[Any, ...]]) -> Callable[..., FloatTensor]:
    """`custom_op` written with arrays: `rule(xp, *args) -> (result, *pullbacks)`, where xp is NumPy, or like it.

    Tensors arrive as arrays that cannot be written to, and a pullback turns an array into an array. Results are
    converted to the operands' dtype.

    Errors: as `custom_op`; AutodiffError when a second derivative is asked for.
    """
    name = _name_of(rule)

    def tensor_rule(*args: Any, **options: Any) -> tuple[Any, ...]:
        operands = [arg for arg in args if isinstance(arg, FloatTensor)]
        backend, floats = operands[0].backend, _plain(operands[0]).ops
        if not hasattr(floats, "xp"):
            raise KindError(f"{name}: {backend.name} does not compute with arrays. Write the op with custom_op.")
        result, *pullbacks = _parts(name, rule(floats.xp, *map(_lent, args), **options))
        if not all(map(callable, pullbacks)):
            return result, *pullbacks  # custom_op tells what is wrong with them

        def with_arrays(pullback: Callable[[Any], Any]) -> Pullback:
            def apply(grad: FloatTensor) -> FloatTensor:
                found = creation.float_constant(_adopted(name, floats, pullback(_lent(grad))), backend)
                return _once_only(name, found, [grad, *operands])

            return apply

        return creation.float_constant(_adopted(name, floats, result), backend), *map(with_arrays, pullbacks)

    functools.update_wrapper(tensor_rule, rule)
    return custom_op(tensor_rule)


def _parts(name: str, returned: Any) -> tuple[Any, ...]:
    if isinstance(returned, tuple) and returned:
        return returned
    raise KindError(
        f"{name}: a rule returns (result, pullback, …), one pullback for each float tensor, but this one returned "
        f"{'an empty tuple' if isinstance(returned, tuple) else type(returned).__name__}."
    )


def _name_of(rule: Any) -> str:
    if not callable(rule):
        raise KindError(f"custom_op: expected a function, but got {type(rule).__name__} {rule!r}.")
    return getattr(rule, "__name__", type(rule).__name__)


def _run(
    name: str, rule: Callable[..., Any], args: Sequence[Any], options: Any, operands: list[FloatTensor]
) -> tuple[FloatTensor, list[Pullback]]:
    """The result and the pullbacks of a rule, checked."""
    result, *pullbacks = _parts(name, rule(*args, **options))
    if len(pullbacks) != len(operands) or not all(map(callable, pullbacks)):
        raise KindError(
            f"{name}: a rule returns (result, pullback, …), one pullback for each float tensor. It was given "
            f"{len(operands)} and returned {', '.join(type(part).__name__ for part in (result, *pullbacks))}."
        )
    checked = [_checked(name, place, *pair) for place, pair in enumerate(zip(pullbacks, operands, strict=True))]
    return _on_level(name, "a result", result, operands[0]), checked


def _on_level(name: str, what: str, tensor: Any, like: FloatTensor) -> FloatTensor:
    """A float tensor that may be a constant of a level below."""
    if not isinstance(tensor, FloatTensor):
        raise KindError(f"{name}: {what} is a float tensor, but its rule made {type(tensor).__name__}.")
    found = one_table(name, [tensor, like])[0]
    if found.ops is not like.ops:
        raise DeviceError(
            f"{name}: {what} belongs to {found.backend.name}, the operands that its rule was given to "
            f"{like.backend.name}. Pass every tensor that the rule uses as an argument."
        )
    return found


def _checked(name: str, place: int, pullback: Pullback, operand: FloatTensor) -> Pullback:
    shape = operand.shape

    def checked(grad: FloatTensor) -> FloatTensor:
        found = _on_level(name, f"the gradient of float operand {place}", pullback(grad), grad)
        sizes = zip(found.shape, shape, strict=False)
        if len(found.shape) != len(shape) or any(have != want and want != 1 for have, want in sizes):
            raise ShapeError(
                f"{name}: float operand {place} has shape {show(shape)}, but its pullback returned a gradient of shape "
                f"{show(found.shape)}."
            )
        return found

    return checked


def _record(
    name: str, value: FloatTensor, operands: Sequence[FloatTensor], pullbacks: Sequence[Pullback]
) -> FloatTensor:
    """`value`, of the level below, on the level of its operands, with its gradient."""
    backend: Any = operands[0].backend
    below = backend.inner

    def of_primitives(pullback: Pullback) -> Callable[[Any], Any]:
        return lambda grad: pullback(FloatTensor(grad, below.floats, below)).primitive

    primitives = [operand.primitive for operand in operands]
    recorded = backend.floats.record(value.primitive, primitives, [of_primitives(pull) for pull in pullbacks])
    return FloatTensor(recorded, backend.floats, backend)


def _with_gradient(
    name: str, result: FloatTensor, operands: Sequence[FloatTensor], pullbacks: Sequence[Pullback]
) -> FloatTensor:
    """A result with the gradient that its rule says it has, on this level and those below, however it was computed.

    Without this an inner level would differentiate the rule's own operations, and see another function where the
    gradient is not the true one (a rounding that passes its gradient on).
    """
    backend = operands[0].backend
    if not backend.is_autodiff:
        return result

    def lowered(pullback: Pullback) -> Pullback:
        return lambda grad: pullback(creation.from_inner(grad, backend)).inner()

    below = [lowered(pullback) for pullback in pullbacks]
    value = _with_gradient(name, result.inner(), [operand.inner() for operand in operands], below)
    return _record(name, value, operands, below)


def _once_only(name: str, grad: FloatTensor, sources: Sequence[FloatTensor]) -> FloatTensor:
    """A gradient that depends on these tensors in a way that nobody knows how to differentiate."""
    if not grad.backend.is_autodiff:
        return grad

    def refuse(_: FloatTensor) -> FloatTensor:
        raise AutodiffError(
            f"{name}: its backward is written with arrays, so it has no derivative of its own. For second derivatives "
            "write the op with custom_op, whose pullbacks are made of tensors."
        )

    value = _once_only(name, grad.inner(), [source.inner() for source in sources])
    return _record(name, value, sources, [refuse] * len(sources))


def _plain(tensor: Any) -> Any:
    """The tensor below all autodiff levels."""
    while tensor.backend.is_autodiff:
        tensor = tensor.inner()
    return tensor


def _lent(argument: Any) -> Any:
    if not isinstance(argument, Layout):
        return argument
    plain = _plain(argument)
    return plain.ops.lend(plain.primitive)


def _adopted(name: str, floats: Any, array: Any) -> Any:
    try:
        return floats.adopt(array)
    except (TypeError, ValueError, OverflowError) as error:
        raise KindError(
            f"{name}: its rule and its pullbacks make arrays of numbers, but made {type(array).__name__}: {error}."
        ) from error
