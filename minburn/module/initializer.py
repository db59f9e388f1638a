"""How a parameter gets its first values.

    Initializer.KaimingUniform(gain=1.0).init_with((784, 256), fan_in=784, fan_out=256, backend=backend)

| `Initializer.…`                      | draws                                                                      |
|--------------------------------------|----------------------------------------------------------------------------|
| Zeros, Ones, Constant(value)         | the constant                                                               |
| Uniform(min, max)                    | U[min, max)                                                                |
| Normal(mean, std)                    | N(mean, std)                                                               |
| KaimingUniform(gain, fan_out_only)   | U(±a), a = √3 · gain / √fan; fan = fan_in, or fan_out if fan_out_only      |
| KaimingNormal(gain, fan_out_only)    | N(0, gain / √fan)                                                          |
| XavierUniform(gain)                  | U(±a), a = √3 · gain · √(2 / (fan_in + fan_out))                           |
| XavierNormal(gain)                   | N(0, gain · √(2 / (fan_in + fan_out)))                                     |
| Orthogonal(gain)                     | gain · Q of a QR decomposition of N(0, 1), [shape[0], the rest]; rank ≥ 2  |

As in Burn the Kaiming rules leave √2 out: He's rule for ReLU is `gain=√2`.

A parameter draws when it is first used, but from a stream of its own, numbered when it is made: `init/0`, `init/1` …
So neither the order of first use nor another layer's initializer changes what it draws.

Burn: `crates/burn-nn/src/initializer.rs`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from minburn.backends import Backend, Distribution
from minburn.backends.rng import stream_key
from minburn.module.config import Config
from minburn.module.error import ModuleError, check_backend
from minburn.module.fields import describe
from minburn.module.param import Param
from minburn.module.param_id import ParamId
from minburn.tensor import FloatTensor
from minburn.tensor.check import as_shape

STREAM = "init"


class Draw:
    """What an initializer is given: the shape, the fans (None if not told), and its random stream."""

    __slots__ = ("backend", "fan_in", "fan_out", "key", "shape")

    def __init__(
        self, shape: tuple[int, ...], fan_in: int | None, fan_out: int | None, backend: Backend, key: int
    ) -> None:
        self.shape = shape
        self.fan_in = fan_in
        self.fan_out = fan_out
        self.backend = backend
        self.key = key

    def full(self, value: float) -> FloatTensor:
        ops = self.backend.floats
        return FloatTensor(ops.full(self.shape, value), ops, self.backend)

    def random(self, distribution: Distribution, shape: tuple[int, ...] | None = None) -> FloatTensor:
        ops = self.backend.floats
        drawn = ops.random(self.shape if shape is None else shape, distribution, self.key, 0)
        return FloatTensor(drawn, ops, self.backend)

    def uniform(self, bound: float) -> FloatTensor:
        return self.random(Distribution.Uniform(-bound, bound))


class Initializer(Config):
    """One of its variants; see the module's table."""

    Constant: ClassVar[type[ConstantInit]]
    Ones: ClassVar[type[OnesInit]]
    Zeros: ClassVar[type[ZerosInit]]
    Uniform: ClassVar[type[UniformInit]]
    Normal: ClassVar[type[NormalInit]]
    KaimingUniform: ClassVar[type[KaimingUniformInit]]
    KaimingNormal: ClassVar[type[KaimingNormalInit]]
    XavierUniform: ClassVar[type[XavierUniformInit]]
    XavierNormal: ClassVar[type[XavierNormalInit]]
    Orthogonal: ClassVar[type[OrthogonalInit]]

    def init(self, shape: Iterable[int], backend: Backend) -> Param[FloatTensor]:
        """A lazy trainable parameter. For initializers that need no fans."""
        return self.init_with(shape, None, None, backend)

    def init_with(
        self, shape: Iterable[int], fan_in: int | None, fan_out: int | None, backend: Backend
    ) -> Param[FloatTensor]:
        """A lazy trainable parameter of a layer where an output sees fan_in inputs, and an input fan_out outputs."""
        sizes = as_shape("Initializer", shape)
        check_backend("Initializer", backend)
        self.check(sizes, fan_in, fan_out)
        number = backend.streams.get(STREAM).reserve(4)
        key = stream_key(backend.streams.seed, f"{STREAM}/{number}")
        return Param.uninitialized(
            ParamId.new(backend),
            lambda target: self.draw(Draw(sizes, fan_in, fan_out, target, key)),
            backend,
            sizes,
        )

    def check(self, shape: tuple[int, ...], fan_in: int | None, fan_out: int | None) -> None:
        """Refuse a shape or missing fans when the parameter is made, not when it is first used."""

    def draw(self, draw: Draw) -> FloatTensor:
        raise TypeError(f"{type(self).__name__} is not one of the initializers: use Initializer.Zeros() or another.")


class ConstantInit(Initializer, variant="Constant"):
    value: float

    def draw(self, draw: Draw) -> FloatTensor:
        return draw.full(self.value)


class OnesInit(Initializer, variant="Ones"):
    def draw(self, draw: Draw) -> FloatTensor:
        return draw.full(1.0)


class ZerosInit(Initializer, variant="Zeros"):
    def draw(self, draw: Draw) -> FloatTensor:
        return draw.full(0.0)


class UniformInit(Initializer, variant="Uniform"):
    min: float
    max: float

    def draw(self, draw: Draw) -> FloatTensor:
        return draw.random(Distribution.Uniform(self.min, self.max))


class NormalInit(Initializer, variant="Normal"):
    mean: float
    std: float

    def draw(self, draw: Draw) -> FloatTensor:
        return draw.random(Distribution.Normal(self.mean, self.std))


def check_fan(initializer: str, name: str, fan: int | None) -> None:
    """ModuleError for a fan of 0, which has no scale, and for what is no number of connections."""
    if fan is not None and (
        isinstance(fan, bool) or not isinstance(fan, (int, float)) or not 1 <= fan <= sys.float_info.max
    ):
        raise ModuleError(
            f"{initializer} initialization: {name} must be a number of at least 1, but got {describe(fan)}. "
            "A layer without inputs or outputs can use Initializer.Zeros()."
        )


def kaiming_scale(gain: float, fan_out_only: bool, fan_in: int | None, fan_out: int | None) -> float:
    """gain / √fan."""
    fan = fan_out if fan_out_only else fan_in
    check_fan("Kaiming", "fan out" if fan_out_only else "fan in", fan)
    if fan is None:
        raise ValueError(
            "Can't use Kaiming initialization without specifying fan. Use init_with(shape, fan_in, fan_out, backend)."
        )
    return gain / math.sqrt(fan)


def xavier_scale(gain: float, fan_in: int | None, fan_out: int | None) -> float:
    """gain · √(2 / (fan_in + fan_out))."""
    for fan, name in ((fan_in, "fan in"), (fan_out, "fan out")):
        if fan is None:
            raise ValueError(
                f"Can't use Xavier initialization without specifying {name}. "
                "Use init_with(shape, fan_in, fan_out, backend)."
            )
        check_fan("Xavier", name, fan)
    assert fan_in is not None
    assert fan_out is not None
    return gain * math.sqrt(2.0 / (fan_in + fan_out))


class KaimingUniformInit(Initializer, variant="KaimingUniform"):
    gain: float
    fan_out_only: bool

    def check(self, shape: tuple[int, ...], fan_in: int | None, fan_out: int | None) -> None:
        kaiming_scale(self.gain, self.fan_out_only, fan_in, fan_out)

    def draw(self, draw: Draw) -> FloatTensor:
        return draw.uniform(math.sqrt(3.0) * kaiming_scale(self.gain, self.fan_out_only, draw.fan_in, draw.fan_out))


class KaimingNormalInit(Initializer, variant="KaimingNormal"):
    gain: float
    fan_out_only: bool

    def check(self, shape: tuple[int, ...], fan_in: int | None, fan_out: int | None) -> None:
        kaiming_scale(self.gain, self.fan_out_only, fan_in, fan_out)

    def draw(self, draw: Draw) -> FloatTensor:
        std = kaiming_scale(self.gain, self.fan_out_only, draw.fan_in, draw.fan_out)
        return draw.random(Distribution.Normal(0.0, std))


class XavierUniformInit(Initializer, variant="XavierUniform"):
    gain: float

    def check(self, shape: tuple[int, ...], fan_in: int | None, fan_out: int | None) -> None:
        xavier_scale(self.gain, fan_in, fan_out)

    def draw(self, draw: Draw) -> FloatTensor:
        return draw.uniform(math.sqrt(3.0) * xavier_scale(self.gain, draw.fan_in, draw.fan_out))


class XavierNormalInit(Initializer, variant="XavierNormal"):
    gain: float

    def check(self, shape: tuple[int, ...], fan_in: int | None, fan_out: int | None) -> None:
        xavier_scale(self.gain, fan_in, fan_out)

    def draw(self, draw: Draw) -> FloatTensor:
        return draw.random(Distribution.Normal(0.0, xavier_scale(self.gain, draw.fan_in, draw.fan_out)))


class OrthogonalInit(Initializer, variant="Orthogonal"):
    gain: float

    def check(self, shape: tuple[int, ...], fan_in: int | None, fan_out: int | None) -> None:
        if len(shape) < 2:
            raise ValueError(f"Initializer.Orthogonal: needs a shape of rank 2 or more, but got {list(shape)}.")

    def draw(self, draw: Draw) -> FloatTensor:
        rows, cols = draw.shape[0], math.prod(draw.shape[1:])
        normal = draw.random(Distribution.Normal(0.0, 1.0), (rows, cols)).numpy().astype(np.float64)
        q, r = np.linalg.qr(normal.T if rows < cols else normal)
        q = q * np.where(np.diagonal(r) < 0.0, -1.0, 1.0)  # makes the decomposition unique, hence the draw uniform
        weights = self.gain * (q.T if rows < cols else q).reshape(draw.shape)
        ops = draw.backend.floats
        return FloatTensor(ops.from_data(weights), ops, draw.backend)


Initializer.Constant = ConstantInit
Initializer.Ones = OnesInit
Initializer.Zeros = ZerosInit
Initializer.Uniform = UniformInit
Initializer.Normal = NormalInit
Initializer.KaimingUniform = KaimingUniformInit
Initializer.KaimingNormal = KaimingNormalInit
Initializer.XavierUniform = XavierUniformInit
Initializer.XavierNormal = XavierNormalInit
Initializer.Orthogonal = OrthogonalInit
