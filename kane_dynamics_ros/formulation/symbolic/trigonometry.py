"""Readable equations: short trigonometric forms with the usual abbreviations, c_23 for cos(q_2 + q_3)."""

from collections import defaultdict
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import sympy
from sympy import cos, im, re, sin
from sympy.polys.domains import QQ_I
from sympy.polys.rings import ring

from kane_dynamics_ros.description.model import Chain

_PARALLEL = 1e-9  # sine of the angle between two axes

Groups: TypeAlias = tuple[tuple[int, ...], ...]  # coordinates whose angles may be added up
Harmonic: TypeAlias = tuple[int, ...]  # k of exp(i k.q)
Fourier: TypeAlias = dict[Harmonic, Any]  # coefficient of exp(i k.q), a SymPy number


# Which joints of a chain turn about parallel axes: their angles add up, as in c_23


def parallel_groups(chain: Chain) -> Groups:
    """All coordinates, those of neighbouring joints about parallel axes together."""
    groups: list[set[int]] = []
    turning: list[
        tuple[Any, set[int]]
    ] = []  # the last turning joint up to each body: its axis, and its group
    for joint in chain.joints:
        axis, group = turning[joint.parent] if joint.parent >= 0 else (np.zeros(3), set())
        axis = np.array(joint.R_PJ, dtype=float).T @ axis
        own = np.array(joint.axis, dtype=float)
        if joint.kind == "prismatic":
            groups.append({joint.coordinate})  # it parts no neighbours
            turning.append((axis, group))
            continue
        if not axis.any() or np.linalg.norm(np.cross(axis, own)) > _PARALLEL:
            group = set()
            groups.append(group)
        group.add(joint.coordinate)
        turning.append((own, group))
    return tuple(sorted(tuple(sorted(group)) for group in _disjoint(groups)))


def _disjoint(groups: list[set[int]]) -> list[set[int]]:
    """Groups that share a coordinate (a joint that follows another) joined."""
    joined: list[set[int]] = []
    for group in groups:
        meeting = [other for other in joined if other & group]
        joined = [other for other in joined if not other & group]
        joined.append(group.union(*meeting))
    return joined


# Trigonometric polynomials as Fourier sums: a unique form, reached without expanding anything in SymPy
#
# A polynomial in sines and cosines of the angles q is a sum over harmonics k (integer vectors) of
# coefficients times exp(i k.q). Equal expressions have equal sums, whatever identities lie between them.


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


# The shortest forms of the sums


class Wave(NamedTuple):
    """``amplitude * cos(k.q)`` or ``amplitude * sin(k.q)``; a constant is the cosine of harmonic 0."""

    function: Any  # sympy.cos or sympy.sin
    harmonic: Harmonic
    amplitude: Any


def compact(
    expression: Any,
    angles: tuple[Any, ...],
    rates: tuple[Any, ...] = (),
    groups: Groups | None = None,
) -> Any:
    """``expression`` in its shortest form: products of rates, each with grouped trigonometric terms.

    ``groups`` says which angles may be added up (those about parallel axes), by their places in
    ``angles``; by default all. The abbreviations are symbols; ``definitions`` says what they stand for.
    """
    groups = (tuple(range(len(angles))),) if groups is None else groups
    by_rate: dict[Any, dict[Any, Any]] = defaultdict(lambda: defaultdict(lambda: sympy.Integer(0)))
    for monomial, fourier in fourier_sums(expression, angles).items():
        physical, rate = (
            monomial.as_independent(*rates, as_Add=False) if rates else (monomial, sympy.Integer(1))
        )
        for amplitude, form in shortest_forms(fourier, angles, groups):
            by_rate[rate][form] += amplitude * physical
    return sympy.Add(*(rate * _sum_of_products(forms) for rate, forms in by_rate.items()))


def definitions(expression: Any, angles: tuple[Any, ...]) -> dict[Any, Any]:
    """What each abbreviation in ``expression`` stands for: ``{c_23: cos(q_2 + q_3)}``.

    Example:
        >>> definitions(sympy.Symbol("c_12"), sympy.symbols("q_1:3"))
        {c_12: cos(q_1 + q_2)}
    """
    found = {}
    for symbol in sorted(expression.free_symbols, key=str):
        kind, _, indices = str(symbol).partition("_")
        if kind in {"c", "s"} and indices.isdigit():
            angle = sympy.Add(*(angles[int(index) - 1] for index in indices))
            found[symbol] = (cos if kind == "c" else sin)(angle)
    return found


def shortest_forms(fourier: Fourier, angles: tuple[Any, ...], groups: Groups) -> list[tuple[Any, Any]]:
    """(amplitude, form) pairs that add up to the sum; a form is a product of one factor for each group."""
    first, *rest = groups
    if not rest:
        return _paired(_waves(fourier), angles)
    waves: dict[Any, list[Wave]] = defaultdict(list)
    for (function, harmonic), remainder in _split(fourier, first).items():
        for amplitude, form in shortest_forms(remainder, angles, tuple(rest)):
            waves[form].append(Wave(function, harmonic, amplitude))
    return [
        _signed(amplitude * own * form)
        for form, factors in waves.items()
        for amplitude, own in _paired(factors, angles)
    ]


def _split(fourier: Fourier, group: tuple[int, ...]) -> dict[tuple[Any, Harmonic], Fourier]:
    """The sum as waves of the group's angles, each times a Fourier sum of the others."""
    parts: dict[tuple[Any, Harmonic], Fourier] = defaultdict(dict)
    for k, c in fourier.items():
        own = tuple(i if index in group else 0 for index, i in enumerate(k))
        other = tuple(i - j for i, j in zip(k, own, strict=True))
        sign = -1 if next((i for i in own if i), 0) < 0 else 1
        own = tuple(sign * i for i in own)
        shares = {cos: c, sin: sign * sympy.I * c} if any(own) else {cos: c}  # exp(ia) = cos a + i sin a
        for function, share in shares.items():
            part = parts[function, own]
            part[other] = part.get(other, 0) + share
    parts = {wave: {k: c for k, c in part.items() if c != 0} for wave, part in parts.items()}
    return dict(sorted(((w, part) for w, part in parts.items() if part), key=lambda item: _size(item[0][1])))


def _size(k: Harmonic) -> tuple[int, Harmonic]:
    """Short harmonics come first."""
    return sum(map(abs, k)), k


def _paired(waves: list[Wave], angles: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """(amplitude, form) pairs: two waves that make a product become one."""
    waves, forms = list(waves), []
    while waves:
        first = waves.pop(0)
        partner = next((w for w in waves if _make_product(first, w)), None)
        if partner is not None:
            waves.remove(partner)
            forms.append(_product(first, partner, angles))
        else:
            forms.append(_single(first, angles))
    return forms


def _waves(fourier: Fourier) -> list[Wave]:
    """The real waves of a Fourier sum, shortest harmonics first."""
    waves = []
    for k, c in sorted(fourier.items(), key=lambda item: _size(item[0])):
        leading = next((component for component in k if component), 0)
        if leading < 0:  # the conjugate of the harmonic -k
            continue
        twice = 2 if leading else 1
        waves += [Wave(cos, k, twice * re(c))] if re(c) else []
        waves += [Wave(sin, k, -twice * im(c))] if im(c) else []
    return waves


def _make_product(a: Wave, b: Wave) -> bool:
    """Whether a + b is a product of two functions of whole combinations of the angles."""
    whole = all((i + j) % 2 == 0 for i, j in zip(a.harmonic, b.harmonic, strict=True))
    return whole and a.function is b.function and abs(a.amplitude) == abs(b.amplitude)


def _product(a: Wave, b: Wave, angles: tuple[Any, ...]) -> tuple[Any, Any]:
    """cos A + cos B = 2 cos cos, cos A - cos B = 2 sin sin, sin A +- sin B = 2 sin cos, of half sums."""
    half_sum = tuple((i + j) // 2 for i, j in zip(a.harmonic, b.harmonic, strict=True))
    half_difference = tuple((j - i) // 2 for i, j in zip(a.harmonic, b.harmonic, strict=True))
    same = a.amplitude == b.amplitude
    if a.function is cos:
        f, g = (cos, cos) if same else (sin, sin)
    else:
        f, g = (sin, cos) if same else (cos, sin)
    amplitude = 2 * a.amplitude
    if a.function is sin and not same:  # sin A - sin B = -2 cos((A+B)/2) sin((B-A)/2)
        amplitude = -amplitude
    left, right = _function(f, half_sum, angles), _function(g, half_difference, angles)
    return _signed(amplitude * left * right)


def _single(wave: Wave, angles: tuple[Any, ...]) -> tuple[Any, Any]:
    """One wave; sin 2A becomes 2 sin A cos A."""
    if wave.function is sin and all(i % 2 == 0 for i in wave.harmonic):
        half = tuple(i // 2 for i in wave.harmonic)
        return _signed(2 * wave.amplitude * _function(sin, half, angles) * _function(cos, half, angles))
    return _signed(wave.amplitude * _function(wave.function, wave.harmonic, angles))


def _signed(form: Any) -> tuple[Any, Any]:
    return form.as_coeff_Mul() if form.is_Mul or form.is_Number else (sympy.Integer(1), form)


def _function(function: Any, k: Harmonic, angles: tuple[Any, ...]) -> Any:
    """An abbreviation (c_23) where the combination is a plain sum of numbered angles, else the function."""
    if not any(k):
        return function(0)
    if max(len(k), *map(abs, k)) > 9 or min(k) < 0 < max(k):
        return function(sympy.Add(*(i * angle for i, angle in zip(k, angles, strict=True))))
    indices = "".join(str(index + 1) * abs(i) for index, i in enumerate(k))
    name = "c" if function is cos else "s"
    sign = -1 if function is sin and min(k) < 0 else 1
    return sign * sympy.Symbol(f"{name}_{indices}")


def _sum_of_products(forms: dict[Any, Any]) -> Any:
    return sympy.Add(*(form * factor for form, factor in forms.items()))
