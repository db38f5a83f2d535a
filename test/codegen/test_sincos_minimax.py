"""The constants in the kernel's text are those that the Remez exchange gives."""

import mpmath  # type: ignore[import-untyped]
import pytest

from kane_dynamics_ros.codegen.sincos import sincos_kernel
from tools import sincos_minimax


@pytest.mark.parametrize("name", ["sine_polynomial", "cosine_polynomial", "half_pi_parts"])
def test_kernel_holds_the_computed_constants(name: str) -> None:
    text = sincos_kernel()
    for constant in getattr(sincos_minimax, name)():
        assert constant.hex() in text


def test_parts_of_half_pi_are_short_and_complete() -> None:
    """k P1 and k P2 are exact for 15 bits of k; what is left of pi/2 is below 2^-130."""
    first, second, third = sincos_minimax.half_pi_parts()
    for part in (first, second):
        mantissa = int(abs(part) * 2.0**80)
        assert (mantissa // (mantissa & -mantissa)).bit_length() <= 53 - 15
    with mpmath.mp.workprec(300):
        assert abs(mpmath.pi / 2 - first - second - third) < mpmath.mpf(2) ** -129


@pytest.mark.parametrize("radius", [0.1, 0.4, 0.7853981])
def test_polynomials_approximate_well_below_the_rounding(radius: float) -> None:
    """Error of the polynomials alone, evaluated to 200 bits: below an eighth of the rounding error."""
    with mpmath.mp.workprec(200):
        r = mpmath.mpf(radius)
        z = r * r
        S = mpmath.polyval(list(reversed(sincos_minimax.sine_polynomial())), z)
        C = mpmath.polyval(list(reversed(sincos_minimax.cosine_polynomial())), z)
        assert abs((r - r * z * S) / mpmath.sin(r) - 1) < 0.125 * 2.0**-53
        assert abs((1 - z / 2 + z * z * C) / mpmath.cos(r) - 1) < 0.125 * 2.0**-53
