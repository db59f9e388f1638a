"""What a user sees who has none of the optional packages, whatever is installed here."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
sys.modules["ml_dtypes"] = None  # an import of it fails

from minburn import DType, Tensor, TensorData
from minburn.backends import BackendError, NumPy
from minburn.module import ModuleRecord, ParamId, RecordEntry
from minburn.tensor import DTypeError

def refused(action, error, text):
    try:
        action()
    except error as caught:
        assert text in str(caught), caught
    else:
        raise AssertionError(f"not refused: {text}")

plain = NumPy()
halves = TensorData.from_nested([1.0, -2.5], DType.BF16)
assert Tensor.from_data(halves, plain).numpy().tolist() == [1.0, -2.5]  # cast to F32
assert halves.cast(DType.F32).numpy().tolist() == [1.0, -2.5]
refused(lambda: halves.numpy(), DTypeError, "cast(DType.F32)")
refused(lambda: Tensor.from_data([1.0], plain, dtype=DType.BF16), DTypeError, "minburn[bf16]")
refused(lambda: NumPy(float_dtype=DType.BF16), BackendError, "minburn[bf16]")
record = ModuleRecord([RecordEntry("w", ParamId(1), halves)])
assert ModuleRecord.from_bytes(record.into_bytes()).into_bytes() == record.into_bytes()  # the bits are carried
print("fine")
"""


def test_bfloat16_is_carried_and_cast_without_ml_dtypes() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout == "fine\n", done.stderr
