"""The three kinds of tensor, for the modules that define what they inherit.

`x > 0` is written once for floats and ints and gives a BoolTensor, whose class is built on the same base: the modules
need each other. So they import this module, not names from it, and look a class up when a method runs. The package
imports this module first.
"""

from __future__ import annotations

from minburn.tensor.bools import BoolTensor
from minburn.tensor.floats import FloatTensor
from minburn.tensor.ints import IntTensor

__all__ = ["BoolTensor", "FloatTensor", "IntTensor"]
