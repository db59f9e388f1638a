"""LoRA: a frozen matrix and a trained product of two thin ones.

    W + α/r · A·B        W [d_in, d_out] frozen, A [d_in, r] ~ N(0, init_std), B [r, d_out] = 0

    model = model.apply_lora(Lora(rank=8, alpha=16.0, param_group=ParamGroup.from_any_predicates(["query", "value"])))
    …                                              train it; an optimizer sees `query.weight.lora.a` and `.b` only
    model.into_record()                            has the matrix and both factors
    merged = model.valid().materialize()           plain weights for inference

B is zero, so that the model computes what it did before. Every float parameter is frozen, adapted or not; `unfreeze`
would unfreeze all of them, `unfreeze_group` those that you mean. The scale α/r is no parameter and not in the record:
a model that loads it has got an equal `apply_lora` before.

Source: Hu et al., "LoRA: Low-rank adaptation of large language models". Burn: `crates/burn-core/src/module/lora.rs`.
"""

from __future__ import annotations

import math

from minburn.dtype import DType
from minburn.module.error import ModuleError
from minburn.module.group import ParamGroup, check_group
from minburn.module.initializer import Initializer
from minburn.module.param import Param
from minburn.module.reparameterization import Reparameterization
from minburn.tensor import FloatTensor


class LoraAdapter(Reparameterization):
    """The factors beside a matrix."""

    NAME = "lora"

    a: Param[FloatTensor]
    b: Param[FloatTensor]
    scale: float

    def delta(self) -> FloatTensor:
        """scale · A·B."""
        return self.a.value.matmul(self.b.value) * self.scale

    def apply(self, base: FloatTensor) -> FloatTensor:
        delta = self.delta().reshape(base.shape)
        return (base if base.dtype == delta.dtype else base.cast(delta.dtype)) + delta


class Lora:
    """How to adapt a model.

    rank: r. alpha: α. init_std: of A, by default 1 / rank. dtype: of the factors, by default the matrix's.
    param_group: which matrices; a parameter of another rank than 2 is never adapted.
    Errors: ModuleError for a rank below 1, and for numbers that are none.
    """

    __slots__ = ("alpha", "dtype", "init_std", "param_group", "rank")

    def __init__(
        self,
        rank: int,
        alpha: float,
        *,
        init_std: float | None = None,
        dtype: DType | None = None,
        param_group: ParamGroup | None = None,
    ) -> None:
        if isinstance(rank, bool) or not isinstance(rank, int) or rank < 1:
            raise ModuleError(f"Lora: the rank must be an int greater than 0, but is {rank!r}.")
        init_std = 1.0 / rank if init_std is None else init_std
        for name, number in (("alpha", alpha), ("init_std", init_std)):
            if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
                raise ModuleError(f"Lora: {name} must be a finite number, but is {number!r}.")
        if init_std < 0:
            raise ModuleError(f"Lora: init_std must be at least 0, but is {init_std!r}.")
        if dtype is not None and not (isinstance(dtype, DType) and dtype.is_float):
            raise ModuleError(f"Lora: dtype must be that of floats, but is {dtype!r}.")
        self.rank = rank
        self.alpha = float(alpha)
        self.init_std = float(init_std)
        self.dtype = dtype
        self.param_group = ParamGroup.all() if param_group is None else check_group("Lora", param_group)

    def reparameterize(self, path: str, param: Param[FloatTensor]) -> tuple[Param[FloatTensor], LoraAdapter | None]:
        """The parameter frozen, and the factors beside it if it is a matrix of the group."""
        base = param.set_require_grad(False)
        if len(param.shape) != 2 or not self.param_group.matches(param.id, path):
            return base, None
        d_in, d_out = param.shape
        backend = param.backend.with_dtypes(float_dtype=self.dtype or param.dtype)
        return base, LoraAdapter(
            a=Initializer.Normal(0.0, self.init_std).init((d_in, self.rank), backend),
            b=Initializer.Zeros().init((self.rank, d_out), backend),
            scale=self.alpha / self.rank,
        )

    def __repr__(self) -> str:
        return f"Lora(rank={self.rank}, alpha={self.alpha}, init_std={self.init_std}, dtype={self.dtype})"
