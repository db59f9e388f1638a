"""Where minburn differs from Burn on purpose, and where a figure of Burn is not exact to the promised tolerance."""

_FINITE = "the gradient is finite where the other branch overflows; Burn's is NaN at infinity, and in F32 from 89 on"
_NEAREST_EXACT = "minburn has this mode; Burn's CPU backend panics"
_RESUMED = "the state resumes in the dtype it was saved in; Burn makes it F32, and the next step panics"
_SINGLE = "Burn computes it in F32 whatever the dtype; minburn in the dtype of the tensor"

DIFFERENT: dict[str, str] = {
    "ops/unary/clamp_inverted": "clamp with min > max is refused with autodiff too; Burn gives min there",
    "ops/unary/powi_0": "the result stays in the graph, with a zero gradient; Burn's is untracked, so backward() fails",
    "ops/unary/div_scalar_f64": "the gradient is divided; Burn multiplies by the reciprocal, rounded to F32",
    "ops/unary/sqrt": "at -inf the gradient is NaN, as the root is; Burn's is -0",
    "ops/unary/sqrt_f64": "at -inf the gradient is NaN, as the root is; Burn's is -0",
    "ops/binary_matmul_einsum/fmod_edges": "where the divisor is 0 or NaN the gradient of x is passed on, as Burn 0.23 "
    "does; 0.22 has NaN there",
    "ops/shape_creation_module/chunk_5_of_4": "5 in 4 chunks are chunks of 2, 2 and 1; Burn panics behind the last",
    **{f"activations/{name}": _FINITE for name in ("elu", "elu_f64", "elu_0.4", "elu_0.4_f64", "selu", "selu_f64")},
    **{f"activations/{name}": _FINITE for name in ("celu_f64", "celu_2", "celu_2_f64")},
    "activations/hard_sigmoid_f64": _SINGLE,
    "activations/hard_swish_f64": _SINGLE,
    "ops/plain_device/hard_sigmoid_f64": _SINGLE,
    "ops/plain_device/sigmoid_f64": _SINGLE,
    "losses/ctc_infinite": "an infinite loss has gradient 0; Burn's is finite, as if it had reached the last label",
    **{f"optimizers/resume_other_dtypes_and_errors/adam_{dtype}": _RESUMED for dtype in ("F64", "BF16")},
    **{
        f"layers/fold_shuffle_interpolate/interpolate{name}": _NEAREST_EXACT
        for name in (
            *(f"2d_nearest_exact_{size}_{corners}" for size in ("up", "down") for corners in ("align", "half")),
            "1d_nearest_exact_scale_align",
            "1d_nearest_exact_scale_half",
        )
    },
}
"""By case: what is different and why. These are not played; the right values are in tests of their own."""

LOOSER: dict[str, tuple[float, float, str]] = {}
"""By case: the forward and the gradient tolerance, and why."""
