"""Trigonometric polynomials as Fourier sums: a unique form, reached without expanding anything in SymPy.

A polynomial in sines and cosines of the angles q is a sum over harmonics k (integer vectors) of
coefficients times exp(i k.q). Equal expressions have equal sums, whatever identities lie between them.
"""

from collections import defaultdict
from typing import Any, TypeAlias

import sympy
from sympy import cos, sin
from sympy.polys.domains import QQ_I
from sympy.polys.rings import ring

Harmonic: TypeAlias = tuple[int, ...]
Fourier: TypeAlias = dict[Harmonic, Any]  # coefficient of exp(i k.q), a SymPy number


def fourier_sums(expression: Any, angles: tuple[Any, ...]) -> dict[Any, Fourier]:
    """``expression`` as a sum over its monomials in everything but the angles: monomial to Fourier sum.

    It must be a polynomial in symbols, roots, and sines and cosines of integer combinations of the
    ``angles`` (plus constants); a slide's coordinate may be among the angles. Raises ``TypeError`` else.
    """
    expression = sympy.sympify(expression)
    functions = expression.atoms(sin, cos)
    expression = expression.xreplace({f: sympy.expand_trig(f) for f in functions})
    others = sorted(_other_atoms(expression), key=str)
    names = [f"o{i}" for i in range(len(others))] + [f"{e}{i}" for i in range(len(angles)) for e in "zw"]
    polynomials, *generators = ring(names, QQ_I)
    leaves = dict(zip(others, generators[: len(others)], strict=True))
    half, minus_half_i = QQ_I(1, 0) / QQ_I(2, 0), QQ_I(0, -1) / QQ_I(2, 0)
    for i, angle in enumerate(angles):
        z, w = generators[len(others) + 2 * i : len(others) + 2 * i + 2]  # exp(i q) and exp(-i q)
        leaves[cos(angle)] = (z + w) * half
        leaves[sin(angle)] = (z - w) * minus_half_i
    return _collect(_in_ring(expression, leaves, polynomials), others)


def _other_atoms(expression: Any) -> set[Any]:
    """The symbols outside sines and cosines, and the roots of numbers: they stay as they are."""
    roots = {power for power in expression.atoms(sympy.Pow) if not power.free_symbols and power.exp.q != 1}
    hidden = {function: sympy.Dummy() for function in expression.atoms(sin, cos)}
    return set(expression.xreplace(hidden).free_symbols - set(hidden.values())) | roots


def _in_ring(expression: Any, leaves: dict[Any, Any], polynomials: Any) -> Any:
    """The expression's value in a polynomial ring; ``leaves`` grows by every part that was met."""
    if expression not in leaves:
        if expression.is_Number:
            leaves[expression] = polynomials(QQ_I.from_sympy(sympy.Rational(expression)))
        elif expression.is_Pow:
            leaves[expression] = _in_ring(expression.base, leaves, polynomials) ** int(expression.exp)
        elif expression.is_Add or expression.is_Mul:
            total = polynomials(0 if expression.is_Add else 1)
            for part in (_in_ring(argument, leaves, polynomials) for argument in expression.args):
                total = total + part if expression.is_Add else total * part
            leaves[expression] = total
        else:
            raise TypeError(f"{expression} is no polynomial in symbols, sines and cosines of the angles")
    return leaves[expression]


def _collect(polynomial: Any, others: list[Any]) -> dict[Any, Fourier]:
    """Terms by their monomial in ``others``; exp(i q) and exp(-i q) cancel into one harmonic."""
    sums: dict[Any, Fourier] = defaultdict(dict)
    for exponents, coefficient in polynomial.terms():
        monomial = sympy.Mul(*(a**e for a, e in zip(others, exponents[: len(others)], strict=True)))
        pairs = exponents[len(others) :]
        harmonic = tuple(z - w for z, w in zip(pairs[::2], pairs[1::2], strict=True))
        number, monomial = monomial.as_coeff_Mul()  # sqrt(2)**2 became 2
        share = QQ_I.to_sympy(coefficient) * number
        sums[monomial][harmonic] = sums[monomial].get(harmonic, 0) + share
    return {m: f for m, s in sums.items() if (f := {k: c for k, c in s.items() if c != 0})}
