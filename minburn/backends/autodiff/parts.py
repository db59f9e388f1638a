"""The gradient of a tensor that was cut into pieces.

A piece tells only about its own range. To write each into a tensor of zeros and add these up would touch the whole
tensor several times per piece, so the engine collects the pieces until the gradient is needed. Pieces that lie side by
side along one dimension (`chunk`, `split`, q/k/v of an attention) are joined by one `cat`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, final

from minburn.backends.base import Shape, Slices


class Part(NamedTuple):
    slices: Slices
    grad: Any
    """The gradient of x[slices]."""


@final
class Parts:
    """A gradient of shape `size`, as the sum of parts; `ops`: the inner float table."""

    __slots__ = ("ops", "parts", "size")

    shape = None
    """No shape is equal to it: so the engine looks twice at what it adds."""

    def __init__(self, ops: Any, size: Shape, parts: list[Part]) -> None:
        self.ops = ops
        self.size = size
        self.parts = parts

    def whole(self) -> Any:
        """The gradient as one tensor."""
        dim = self._dim()
        if dim is not None:
            joined = self._joined(dim)
            if joined is not None:
                return joined
        ops, total = self.ops, None
        for slices, grad in self.parts:
            placed = ops.slice_assign(ops.zeros(self.size), grad, slices)
            total = placed if total is None else ops.add(total, placed)
        return total

    def _dim(self) -> int | None:
        """The only dimension in which parts do not span all of the tensor; None if there are several."""
        cut = {
            dim
            for slices, _ in self.parts
            for dim, (size, span) in enumerate(zip(self.size, slices, strict=True))
            if span != (0, size, 1)
        }
        return cut.pop() if len(cut) == 1 else None

    def _joined(self, dim: int) -> Any | None:
        """The parts one after the other, with zeros between them; None if they overlap or leave out elements."""
        ops, pieces, place = self.ops, [], 0
        for slices, grad in sorted(self.parts, key=lambda part: part.slices[dim]):
            start, end, step = slices[dim]
            if start < place or step != 1:
                return None
            pieces += [*self._gap(dim, place, start), grad]
            place = end
        pieces += self._gap(dim, place, self.size[dim])
        return ops.cat(pieces, dim)

    def _gap(self, dim: int, start: int, end: int) -> list[Any]:
        if start == end:
            return []
        return [self.ops.zeros((*self.size[:dim], end - start, *self.size[dim + 1 :]))]


def whole(grad: Any) -> Any:
    return grad.whole() if type(grad) is Parts else grad


def added(ops: Any, lhs: Any, rhs: Any) -> Any:
    """The sum of two gradients of one tensor."""
    if type(lhs) is Parts and type(rhs) is Parts:
        return Parts(ops, lhs.size, lhs.parts + rhs.parts)
    return ops.add(whole(lhs), whole(rhs))
