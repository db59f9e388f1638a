"""A pytest plugin: other folders' tests with CuPy in the place of NumPy. See test_cupy_in_place.py."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
if os.environ.get("MINBURN_CUDA") == "emulated":
    import emulator

    emulator.install()

import minburn.backends
from minburn.backends import CuPy

minburn.backends.NumPy = CuPy  # type: ignore[misc, assignment]

NOT_HERE = {
    "they look at NumPy's arrays, or at its name": """
        test_plain_floats_are_lifted_other_levels_refused test_a_gradient_can_be_replaced test_shapes
        test_rules_that_are_wrong_are_told_so test_arrays test_dlpack_shares_memory_only_with_who_promises_not_to_write
        test_array_rules_cannot_write_to_what_they_are_given
        test_repr_shows_values_shape_dtype_kind_and_backend test_a_plain_backend_has_no_graph
        test_strategies_meet_in_no_operation
        test_gradients_of_parameters_are_contiguous_and_no_bit_depends_on_the_batch_layout
        test_plain_cross_entropy_is_one_op_of_the_backend
    """,
    "what was computed on the device is refused later": "test_int_arithmetic test_cross_entropy",
    "CuPy's gradient at the largest numbers is no NaN": "test_values_and_gradients[gelu_approximate]",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    names = {name for text in NOT_HERE.values() for name in text.split()}
    left = [item for item in items if {item.name, item.name.split("[")[0]} & names]
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=left)
