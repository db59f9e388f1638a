"""Models for the tests of stores, with every kind of place that a tensor can have."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from minburn.backends import NumPy
from minburn.module import Module, Param, RunningState
from minburn.nn import (
    BatchNorm,
    BatchNormConfig,
    Conv2d,
    Conv2dConfig,
    Embedding,
    EmbeddingConfig,
    LayerNorm,
    LayerNormConfig,
    Linear,
    LinearConfig,
    LinearLayout,
    Normalization,
    NormalizationConfig,
)
from minburn.store import StoreError
from minburn.tensor import BoolTensor, FloatTensor, IntTensor, Tensor


class Two(Module):
    a: Linear
    b: Linear


class Zoo(Module):
    embed: Embedding
    conv: Conv2d
    bn: BatchNorm
    norm: LayerNorm
    choice: Normalization
    layers: list[Linear]
    col: Linear
    counts: Param[IntTensor]
    keep: Param[BoolTensor]
    scale: Param[FloatTensor]


def two(seed: int = 1, bias: bool = False, **sizes: int) -> Two:
    backend = NumPy(seed=seed)
    return Two(a=LinearConfig(3, 4).init(backend), b=LinearConfig(sizes.get("b_in", 4), 2, bias=bias).init(backend))


def zoo(seed: int = 1) -> Zoo:
    backend = NumPy(seed=seed)
    bn = BatchNormConfig(3).init(backend)
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> FloatTensor:
        return Tensor.from_data(rng.normal(size=shape).astype(np.float32), backend)

    return Zoo(
        embed=EmbeddingConfig(5, 4).init(backend),
        conv=Conv2dConfig((2, 3), (3, 3)).init(backend),
        bn=bn.replace(
            gamma=bn.gamma.with_value(drawn(3)), running_mean=RunningState(drawn(3)), running_var=RunningState(drawn(3))
        ),
        norm=LayerNormConfig(4).init(backend),
        choice=NormalizationConfig.Layer(LayerNormConfig(6)).init(backend),
        layers=[LinearConfig(4, 3).init(backend), LinearConfig(3, 3).init(backend)],
        col=LinearConfig(3, 5, layout=LinearLayout.Col).init(backend),
        counts=Param.from_data(rng.integers(-9, 9, 3).astype(np.int32), backend),
        keep=Param.from_data(rng.integers(0, 2, 4).astype(bool), backend),
        scale=Param.from_tensor(drawn(2)),
    )


def values(module: Module) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """What a module holds, by path, without ids."""
    return {
        entry.path: (str(entry.data.dtype), entry.data.shape, entry.data.bytes.tobytes())
        for entry in module.into_record()
    }


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The bytes with one to four places changed, left out, added to, or cut off."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        kind = rng.randrange(8)
        at = rng.randrange(len(changed)) if changed else 0
        if kind < 4 and changed:
            changed[at] = rng.randrange(256) if kind else changed[at] ^ (1 << rng.randrange(8))
        elif kind < 6:
            del changed[at : at + rng.randint(1, 9)]
        elif kind == 6:
            changed[at:at] = rng.randbytes(rng.randint(1, 9))
        else:
            del changed[at:]
    return bytes(changed)


def check_damaged(files: list[bytes], load: Callable[[bytes], object], rounds: int, seed: int) -> int:
    """Damaged files load, or are refused in one line that names them. Returns how many were refused."""
    rng = random.Random(seed)
    refusals = []
    for _ in range(rounds):
        try:
            load(damaged(rng.choice(files), rng))
        except StoreError as error:
            refusals.append(str(error))
    assert [text for text in refusals if not text.startswith("<bytes>: ") or "\n" in text] == []
    return len(refusals)
