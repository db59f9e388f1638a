"""Rules of convolutions, one for all ranks."""

from __future__ import annotations

from minburn.backends.autodiff.modules.recorded import RecordedModules
from minburn.backends.autodiff.rule import Recorded, Rule, Value, composed, operands
from minburn.backends.conv_options import ConvOptions, ConvTransposeOptions
from minburn.backends.default.conv import DefaultConv

RANKS = (1, 2, 3)


def _conv(rank: int) -> Rule:
    name = f"conv{rank}d"

    def rule(self: RecordedModules, x: Value, weight: Value, bias: Value | None, options: ConvOptions) -> Recorded:
        ops = self.inner
        of_x, of_weight = getattr(ops, f"{name}_x_backward"), getattr(ops, f"{name}_weight_backward")
        size, kernel = x.shape[2:], weight.shape[2:]
        return (
            getattr(ops, name)(x, weight, bias, options),
            lambda g: of_x(weight, g, size, options),
            lambda g: of_weight(x, g, kernel, options),
            *_bias_pullback(ops, name, bias),
        )

    rule.__name__ = name
    return operands(0, 1, 2)(rule)


def _conv_transpose(rank: int) -> Rule:
    name = f"conv_transpose{rank}d"

    def rule(
        self: RecordedModules, x: Value, weight: Value, bias: Value | None, options: ConvTransposeOptions
    ) -> Recorded:
        ops = self.inner
        of_x, of_weight = getattr(ops, f"{name}_x_backward"), getattr(ops, f"{name}_weight_backward")
        kernel = weight.shape[2:]
        return (
            getattr(ops, name)(x, weight, bias, options),
            lambda g: of_x(weight, g, options),
            lambda g: of_weight(x, g, kernel, options),
            *_bias_pullback(ops, name, bias),
        )

    rule.__name__ = name
    return operands(0, 1, 2)(rule)


def _bias_pullback(ops: Value, name: str, bias: Value | None) -> Recorded:
    return () if bias is None else (getattr(ops, f"{name}_bias_backward"),)


def _composed(default: Rule, name: str) -> tuple[Rule, Rule, Rule]:
    """A backward op of each rank; `name` has a place for the rank."""
    one, two, three = (composed(default, name.format(rank)) for rank in RANKS)
    return one, two, three


class AutodiffConv(RecordedModules, DefaultConv):
    conv1d, conv2d, conv3d = (_conv(rank) for rank in RANKS)
    conv1d_x_backward, conv2d_x_backward, conv3d_x_backward = _composed(
        DefaultConv._conv_x_backward, "conv{}d_x_backward"
    )
    conv1d_weight_backward, conv2d_weight_backward, conv3d_weight_backward = _composed(
        DefaultConv._conv_weight_backward, "conv{}d_weight_backward"
    )
    conv1d_bias_backward, conv2d_bias_backward, conv3d_bias_backward = _composed(
        DefaultConv._conv_bias_backward, "conv{}d_bias_backward"
    )
    conv_transpose1d, conv_transpose2d, conv_transpose3d = (_conv_transpose(rank) for rank in RANKS)
    conv_transpose1d_x_backward, conv_transpose2d_x_backward, conv_transpose3d_x_backward = _composed(
        DefaultConv._conv_transpose_x_backward, "conv_transpose{}d_x_backward"
    )
    conv_transpose1d_weight_backward, conv_transpose2d_weight_backward, conv_transpose3d_weight_backward = _composed(
        DefaultConv._conv_transpose_weight_backward, "conv_transpose{}d_weight_backward"
    )
    conv_transpose1d_bias_backward, conv_transpose2d_bias_backward, conv_transpose3d_bias_backward = _composed(
        DefaultConv._conv_bias_backward, "conv_transpose{}d_bias_backward"
    )
