"""Write the integrals of the elements as a Python module that needs NumPy only."""

from collections.abc import Iterator, Sequence

import numpy as np
import sympy as sp
from sympy.printing.pycode import pycode

from kane_dynamics_ros.elastic.derivation.integrals import (
    EA,
    GJ,
    P1,
    P2,
    P3,
    EIy,
    EIz,
    Integrals,
    integrate,
    m,
    my,
    mz,
    ry,
    rz,
)
from kane_dynamics_ros.elastic.derivation.shapes import L, Shape, plane, space

SHAPES = {"plane": plane, "space": space}

HEADER = '''"""Integrals of the two-node Euler-Bernoulli beam elements. Generated: do not edit.

Written by python -m kane_dynamics_ros.elastic.derivation. L: length [m]. m, my, mz: mass [kg/m] and its
second moments int y^2, int z^2 [kg m] per length; ry, rz: the same moments for the section's turning in
bending (0: no rotary inertia). EA [N], GJ, EIy, EIz [N m^2]: stiffnesses. P1, P2, P3: axial load [N] at
the first node, the middle and the second node, tension positive.
"""

import numpy as np
from numpy.typing import NDArray
'''


def lines_of(name: str, array: sp.Array) -> Iterator[str]:
    """Allocate ``name`` and assign its entries that are not zero, equal ones together."""
    yield f"    {name} = np.zeros({tuple(array.shape)})"
    places: dict[sp.Expr, list[str]] = {}
    for index in np.ndindex(*array.shape):
        if array[index] != 0:
            places.setdefault(array[index], []).append(f"{name}[{', '.join(map(str, index))}]")
    for expression, targets in places.items():
        value = pycode(expression, fully_qualified_modules=False)
        yield f"    value = {value}"
        yield from (f"    {target} = value" for target in targets)


def function(
    name: str, arguments: Sequence[sp.Symbol], arrays: dict[str, sp.Array], summary: str
) -> Iterator[str]:
    """A function of floats that returns the arrays."""
    shapes = ", ".join(f"{key} {tuple(array.shape)}" for key, array in arrays.items())
    result = ", ".join("NDArray[np.float64]" for _ in arrays)
    returns = f"tuple[{result}]" if len(arrays) > 1 else result
    yield f"\n\ndef {name}(\n    {', '.join(f'{a}: float' for a in arguments)}\n) -> {returns}:"
    yield f'    """{summary}: {shapes}."""'
    for key, array in arrays.items():
        yield from lines_of(key, array)
    yield f"    return {', '.join(arrays)}"


def element(kind: str, integrals: Integrals) -> Iterator[str]:
    """The three functions of one kind of element."""
    inertia = {"D": integrals.D, "E": integrals.E, "m_O": integrals.m_O}
    yield from function(f"{kind}_inertia", (L, m, my, mz, ry, rz), inertia, "Inertia integrals")
    yield from function(f"{kind}_stiffness", (L, EA, GJ, EIy, EIz), {"k": integrals.k}, "Elastic stiffness")
    yield from function(
        f"{kind}_geometric_stiffness", (L, P1, P2, P3), {"k_G": integrals.k_G}, "Stiffness of an axial load"
    )


def module_text(shapes: dict[str, Shape] | None = None) -> str:
    """The whole module; the same input gives the same bytes."""
    chosen = shapes if shapes is not None else {kind: shape() for kind, shape in SHAPES.items()}
    lines = [HEADER.rstrip("\n")]
    for kind, shape in chosen.items():
        lines.extend(element(kind, integrate(shape)))
    return "\n".join(lines) + "\n"
