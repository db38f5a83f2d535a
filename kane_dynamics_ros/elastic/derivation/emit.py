"""Write the integrals of the elements as a Python module, through the same graph and printer as a robot's.

Each function returns the distinct values; a table beside it says which entries of which array they are.
"""

import pprint
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add, mul

import numpy as np
import sympy as sp

from kane_dynamics_ros.codegen.graph import Expression, Graph
from kane_dynamics_ros.codegen.passes import list_statements
from kane_dynamics_ros.codegen.print_python import python_function
from kane_dynamics_ros.elastic.derivation.integrals import (
    EA,
    GJ,
    P1,
    P2,
    P3,
    SHAPES,
    EIy,
    EIz,
    L,
    Shape,
    integrate,
    m,
    my,
    mz,
    ry,
    rz,
)

HEADER = '''"""Integrals of the two-node Euler-Bernoulli beam elements. Generated: do not edit.

Written by python -m kane_dynamics_ros.elastic.derivation. L: length [m]. m, my, mz: mass [kg/m] and its
second moments int y^2, int z^2 [kg m] per length; ry, rz: the same moments for the section's turning in
bending (0: no rotary inertia). EA [N], GJ, EIy, EIz [N m^2]: stiffnesses. P1, P2, P3: axial load [N] at
the first node, the middle and the second node, tension positive.

A function returns values; the table of its name in capitals holds, for each array, its shape, the flat
places of its entries that are not 0, and the numbers of their values.
"""
'''


def lowered(expression: sp.Expr, graph: Graph) -> Expression:
    """A SymPy expression of sums, products and whole powers, on the graph."""
    if expression.is_Symbol:
        return graph.symbol(expression.name)
    if expression.is_Rational:
        return graph.constant(expression.p / expression.q)
    if expression.is_Add:
        return reduce(add, (lowered(term, graph) for term in expression.as_ordered_terms()))
    if expression.is_Pow and expression.exp.is_Integer:
        base = lowered(expression.base, graph)
        power = reduce(mul, [base] * abs(int(expression.exp)))
        return power if expression.exp > 0 else 1.0 / power
    factor, rest = expression.as_coeff_Mul()
    if factor != 1:
        return lowered(factor, graph) * lowered(rest, graph)
    numerator, denominator = expression.as_numer_denom()
    if denominator != 1:
        return lowered(numerator, graph) / lowered(denominator, graph)
    return reduce(mul, (lowered(factor, graph) for factor in expression.as_ordered_factors()))


def function(name: str, arguments: Sequence[sp.Symbol], arrays: Mapping[str, sp.Array]) -> str:
    """One function, and the table of where its values go."""
    graph = Graph()
    values: list[Expression] = []
    numbers: dict[tuple[int, bool], int] = {}
    table = {}
    for key, array in arrays.items():
        places, which = [], []
        for place, index in enumerate(np.ndindex(*array.shape)):
            if array[index] == 0:
                continue
            value = lowered(array[index], graph)
            number = numbers.setdefault((value.index, value.negative), len(values))
            if number == len(values):
                values.append(value)
            places.append(place)
            which.append(number)
        table[key] = (tuple(array.shape), places, which)
    listing = list_statements(graph, values, {})
    summary = f"The {len(values)} values of {', '.join(arrays)}; {listing.count().total} operations"
    text = python_function(name, [symbol.name for symbol in arguments], 0, listing, summary)
    shown = pprint.pformat(table, width=110, compact=True, sort_dicts=False)
    return f"{text}\n\n{name.upper()} = {shown}\n"


def element(kind: str, shape: Shape) -> list[str]:
    """The three functions of one kind of element."""
    integrals = integrate(shape)
    inertia = {"D": integrals.D, "E": integrals.E, "m_O": integrals.m_O}
    return [
        function(f"{kind}_inertia", (L, m, my, mz, ry, rz), inertia),
        function(f"{kind}_stiffness", (L, EA, GJ, EIy, EIz), {"k": integrals.k}),
        function(f"{kind}_geometric_stiffness", (L, P1, P2, P3), {"k_G": integrals.k_G}),
    ]


def module_text() -> str:
    """The whole module; the same input gives the same bytes."""
    parts = [part for kind, shape in SHAPES.items() for part in element(kind, shape())]
    return "\n\n".join([HEADER, *parts])
