"""Where minburn differs from Burn on purpose, and where Burn's own figure is not exact to the promised tolerance."""

DIFFERENT: dict[str, str] = {
    "ops/unary/clamp_inverted": "clamp with min > max is refused with and without autodiff; Burn gives min everywhere",
}
"""By case: what is different and why. These are not played; each has a test of its right value elsewhere."""

LOOSER: dict[str, tuple[float, float, str]] = {}
"""By case: the forward and the gradient tolerance, and why."""
