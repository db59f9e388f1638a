"""What a dtype says of its numbers."""

from __future__ import annotations

import numpy as np
import pytest

from minburn.backends import Distribution
from minburn.dtype import PLAIN_DTYPES, DType, QuantScheme

ml_dtypes = pytest.importorskip("ml_dtypes")


@pytest.mark.parametrize(
    ("dtype", "limits"),
    [
        (DType.F64, np.finfo(np.float64)),
        (DType.F32, np.finfo(np.float32)),
        (DType.F16, np.finfo(np.float16)),
        (DType.Flex32, np.finfo(np.float16)),
        (DType.BF16, ml_dtypes.finfo(ml_dtypes.bfloat16)),
    ],
)
def test_the_limits_of_floats(dtype: DType, limits: np.finfo) -> None:  # type: ignore[type-arg]
    info = dtype.finfo
    assert info is not None
    expected = [float(getattr(limits, name)) for name in ("eps", "max", "min", "smallest_normal")]
    assert [info.epsilon, info.max, info.min, info.min_positive] == expected


def test_only_floats_have_them() -> None:
    assert all((dtype.finfo is None) != dtype.is_float for dtype in PLAIN_DTYPES)
    assert [dtype.name for dtype in PLAIN_DTYPES if dtype.is_uint] == ["U64", "U32", "U16", "U8"]


def test_a_dtype_and_a_distribution_are_shown_as_they_are_written() -> None:
    for dtype in PLAIN_DTYPES:
        assert eval(repr(dtype)) == dtype
    scheme = QuantScheme("Q8S", tensor="F32")
    assert eval(repr(DType.qfloat(scheme))) == DType.qfloat(scheme)
    for made in (Distribution.Default, Distribution.Normal(0.0, 2.0), Distribution.Bernoulli(0.25)):
        assert eval(repr(made)) == made
