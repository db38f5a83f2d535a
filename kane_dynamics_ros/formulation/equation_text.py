"""Equations of motion as plain text and as LaTeX."""

from collections.abc import Iterator, Sequence
from typing import Any

import sympy

from kane_dynamics_ros.formulation.equations import Equations
from kane_dynamics_ros.formulation.partial_velocity_table import PartialVelocities

_WIDTH = 110  # characters
_LEGEND = (
    "m mass, r centre of mass, J central moment of inertia, l place of the next joint; the letter says along "
    "which axis of the body, the number which body, from the root"
)


def as_text(equations: Equations, partials: Sequence[PartialVelocities] = ()) -> str:
    """One entry a line; zeros are left out, and M is symmetric."""
    lines = [f"{q}: joint {name!r}" for q, name in equations.coordinates]
    lines += [f"body {k}: {name!r}" for k, name in enumerate(equations.bodies, 1)]
    lines += ["", f"Symbols: {_LEGEND}."]
    if partials:
        lines += ["", "Partial velocities for u_r of body k and of its centre of mass, in its axes:", ""]
        lines += [
            f"{name} = ({', '.join(map(str, vector))})"
            for name, vector in _partial_entries(partials, "omega_{r}^{k}", "v_{r}^{k}")
        ]
    lines += ["", "Equations of motion, tau = M du/dt + V + G with u_i = dq_i/dt:", ""]
    lines += [line for name, value in _entries(equations) for line in equation_lines(name, value)]
    lines += ["", *(f"{symbol} = {meaning}" for symbol, meaning in equations.definitions.items())]
    return "\n".join(lines)


def equation_lines(name: str, value: Any) -> list[str]:
    """``name = value``, a term a line where that would be too long for one."""
    whole = f"{name} = {value}"
    if len(whole) <= _WIDTH:
        return [whole]
    first, *others = map(str, value.as_ordered_terms())
    signed = (f"- {term[1:]}" if term.startswith("-") else f"+ {term}" for term in others)
    return [f"{name} = {first}", *(f"{' ' * (len(name) + 1)}{term}" for term in signed)]


def as_latex(equations: Equations, partials: Sequence[PartialVelocities] = ()) -> str:
    """One ``align*`` environment."""
    names = r"\omega_{{{r}}}^{{{k}}}", "v_{{{r}}}^{{{k}}}"
    rows = [f"{name} &= {sympy.latex(vector.T)}" for name, vector in _partial_entries(partials, *names)]
    rows += [
        f"{sympy.latex(sympy.Symbol(name))} &= {sympy.latex(value)}" for name, value in _entries(equations)
    ]
    rows += [f"{sympy.latex(s)} &= {sympy.latex(meaning)}" for s, meaning in equations.definitions.items()]
    return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}"


def _partial_entries(
    partials: Sequence[PartialVelocities], omega: str, v: str
) -> Iterator[tuple[str, sympy.Matrix]]:
    for partial in partials:
        if any(partial.omega):
            yield omega.format(r=partial.r, k=partial.k), partial.omega
        if any(partial.v):
            yield v.format(r=partial.r, k=partial.k), partial.v


def _entries(equations: Equations) -> list[tuple[str, Any]]:
    """Names and values of the distinct entries that are not zero."""
    n = len(equations.coordinates)
    separator = "" if n < 10 else "_"
    pairs = [(i, j) for i in range(n) for j in range(i, n)]
    entries = [(f"M_{i + 1}{separator}{j + 1}", equations.M[i, j]) for i, j in pairs]
    entries += [(f"V_{i + 1}", equations.V[i]) for i in range(n)]
    entries += [(f"G_{i + 1}", equations.G[i]) for i in range(n)]
    return [(name, value) for name, value in entries if value != 0]
