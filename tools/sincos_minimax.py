"""Compute the constants of the sine-cosine kernel: polynomials by Remez exchange, pi/2 in three parts.

On |r| <= pi/4, with z = r^2, the kernel evaluates

    sin r = r - r z S(z),        S(z) = 1/3! - z/5! + ...
    cos r = 1 - z/2 + z^2 C(z),  C(z) = 1/4! - z/6! + ...

S and C are the polynomials of ``TERMS`` coefficients whose weighted error is the smallest possible
(minimax); the weight turns an error of S or C into a relative error of sin r or cos r. The kernel holds
the printed constants; a test computes them again with this module.

    python tools/sincos_minimax.py
"""

from collections.abc import Callable, Sequence
from typing import Any

import mpmath  # type: ignore[import-untyped]
from mpmath import mp, mpf

TERMS = 6  # with 6, rounded coefficients included, the error is below 0.06 ulp; with 5 it would be near 0.5
K_BITS = 15  # the multiple k of pi/2 that is subtracted fits in so many bits
DOUBLE_BITS = 53
WORKING_BITS = 300
_GRID = 600  # points on which the extrema of the error are sought
_EXCHANGES = 12  # Remez converges quadratically: the coefficients stand still after 5

Function = Callable[[Any], Any]
Sample = tuple[Any, Any, Any]  # z, target, weight


def sine_polynomial() -> tuple[float, ...]:
    """Coefficients of S, lowest power first, rounded to double."""

    def target(z: Any) -> Any:
        return (1 - mpmath.sinc(mpmath.sqrt(z))) / z

    return _rounded_minimax(target, lambda z: z / mpmath.sinc(mpmath.sqrt(z)))


def cosine_polynomial() -> tuple[float, ...]:
    """Coefficients of C, lowest power first, rounded to double."""

    def target(z: Any) -> Any:
        return (mpmath.cos(mpmath.sqrt(z)) - 1 + z / 2) / z**2

    return _rounded_minimax(target, lambda z: z**2 / mpmath.cos(mpmath.sqrt(z)))


def half_pi_parts() -> tuple[float, float, float]:
    """pi/2 = P1 + P2 + P3: P1 and P2 so short that k P1 and k P2 are exact doubles, P3 the rest."""
    with mp.workprec(WORKING_BITS):
        first = _truncate(mp.pi / 2, DOUBLE_BITS - K_BITS)
        second = _truncate(mp.pi / 2 - first, DOUBLE_BITS - K_BITS)
        return float(first), float(second), float(mp.pi / 2 - first - second)


def _truncate(value: Any, bits: int) -> Any:
    mantissa, exponent = mpmath.frexp(value)
    return mpmath.ldexp(mpmath.floor(mpmath.ldexp(mantissa, bits)), exponent - bits)


def _rounded_minimax(target: Function, weight: Function) -> tuple[float, ...]:
    with mp.workprec(WORKING_BITS):
        return tuple(float(value) for value in _minimax(target, weight, (mp.pi / 4) ** 2))


def _minimax(target: Function, weight: Function, end: Any) -> list[Any]:
    """The polynomial p that minimises max |weight (target - p)| on (0, end], by Remez exchange."""
    grid = [end * (1 - mpmath.cos(mp.pi * mpf(i) / _GRID)) / 2 for i in range(1, _GRID + 1)]
    values = [(z, target(z), weight(z)) for z in grid]
    points = values[:: _GRID // (TERMS + 1)][: TERMS + 1]
    coefficients: list[Any] = []
    for _ in range(_EXCHANGES):
        coefficients = _levelled(points)
        points = _extrema(values, coefficients)
    return coefficients


def _levelled(points: Sequence[Sample]) -> list[Any]:
    """The polynomial whose weighted error at the points is +E, -E, +E, ... for one unknown E."""
    rows = [[z**j for j in range(TERMS)] + [(-1) ** i / w] for i, (z, _, w) in enumerate(points)]
    solution = mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix([f for _, f, _ in points]))
    return [solution[j] for j in range(TERMS)]


def _extrema(values: Sequence[Sample], coefficients: Sequence[Any]) -> list[Sample]:
    """Where the weighted error is largest in each run of one sign; the largest ``TERMS + 1`` in a row."""
    polynomial = list(reversed(coefficients))
    errors = [w * (f - mpmath.polyval(polynomial, z)) for z, f, w in values]
    runs: list[list[int]] = []
    for index, error in enumerate(errors):
        if runs and (errors[runs[-1][-1]] > 0) == (error > 0):
            runs[-1].append(index)
        else:
            runs.append([index])
    peaks = [max(run, key=lambda i: abs(errors[i])) for run in runs]
    while len(peaks) > TERMS + 1:
        peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
    return [values[i] for i in peaks]


if __name__ == "__main__":
    for name, constants in (("S", sine_polynomial()), ("C", cosine_polynomial()), ("P", half_pi_parts())):
        print(name, *(constant.hex() for constant in constants))
