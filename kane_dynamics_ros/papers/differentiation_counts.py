"""Derivatives counted as they are taken; [WindPump] table 1: how many Lagrange, Gibbs-Appell and Kane need.

Each method really derives the equations of motion of one element whose frame moves with omega(t) and
v_O(t), with every derivative taken through a ``Differentiator``, which counts. The mass is on the axis,
and L, the mass per length and the stiffnesses are 1: this changes no count.
"""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import sympy as sp

from kane_dynamics_ros.elastic.body import Kind, element_arrays, shape_functions
from kane_dynamics_ros.elastic.link import BeamRates

t = sp.Symbol("t")


Field = tuple[sp.Matrix, ...]  # what stands before 1, x, x^2 and x^3 in a vector field over the element


@dataclass
class Differentiator:
    """Takes derivatives and counts them.

    ``calls``: a vector by a vector counted once; ``scalars``: each scalar by each scalar.
    """

    calls: int = 0
    scalars: int = 0

    def by_scalar(self, value: sp.Expr, variable: sp.Expr) -> sp.Expr:
        """Derivative of a scalar by one variable."""
        self.calls += 1
        self.scalars += 1
        return value.diff(variable)

    def along(self, value: sp.Expr, motion: Iterable[tuple[Sequence[sp.Expr], Sequence[sp.Expr]]]) -> sp.Expr:
        """Derivative of a scalar by the time, where symbols stand for the coordinates and their rates.

        ``motion``: pairs of variables and their rates. Counted as one derivative, as ``by_time`` would.
        """
        self.calls += 1
        self.scalars += 1
        parts = (value.diff(x) * rate for xs, rates in motion for x, rate in zip(xs, rates, strict=True))
        return sum(parts, sp.Integer(0))

    def by_time(self, field: Field) -> Field:
        """Derivative of a vector field by the time."""
        self.calls += 1
        self.scalars += len(field[0])
        return tuple(part.diff(t) for part in field)

    def by_vector(self, field: Field, variables: sp.Matrix) -> Field:
        """Derivatives of a vector field by a column of variables."""
        self.calls += 1
        self.scalars += len(field[0]) * len(variables)
        return tuple(part.jacobian(variables) for part in field)


class FiniteElement:
    """One element: coordinates, their velocity field, and the strain energy."""

    def __init__(self, kind: Kind) -> None:
        unit = BeamRates(m=1, my=0, mz=0, ry=0, rz=0, EA=1, GJ=1, EIy=1, EIz=1)
        k = sp.Matrix(element_arrays(kind, 1.0, unit).k.round().astype(int).tolist())
        on_axis = shape_functions(kind, 1.0)[:, 0].astype(int)  # coefficients of 1, x, x^2, x^3
        self.N = tuple(sp.Matrix(on_axis[:, :, power].tolist()) for power in range(4))
        self.delta = sp.Matrix([sp.Function(f"delta_{i}")(t) for i in range(k.cols)])
        omega = [sp.Function(f"omega_{i}")(t) for i in "xyz"]
        if kind == "plane":  # it turns about z only
            omega[:2] = [sp.Integer(0)] * 2
        self.omega = sp.Matrix(omega)
        self.v_O = sp.Matrix([sp.Function(f"v_{i}")(t) for i in "xyz"])
        self.strain_energy = (self.delta.T * k * self.delta)[0] / 2
        self.elastic_forces = k * self.delta

    def velocity(self) -> Field:
        """Eq. (1) in the element's frame."""
        fields = [self.omega.cross(N * self.delta) + N * self.delta.diff(t) for N in self.N]
        fields[0] += self.v_O
        fields[1] += self.omega.cross(sp.Matrix([1, 0, 0]))
        return tuple(fields)

    def acceleration(self, count: Differentiator) -> Field:
        """Eq. (15) in the element's frame: one derivative of the velocity."""
        v = self.velocity()
        changes = zip(count.by_time(v), v, strict=True)
        return tuple(change + self.omega.cross(part) for change, part in changes)


def integral(a: Field, b: Field) -> sp.Matrix:
    """int a^T b dx from 0 to 1, left as a sum of products."""
    pairs = ((i, p, j, q) for i, p in enumerate(a) for j, q in enumerate(b))
    return sum((p.T * q / (i + j + 1) for i, p, j, q in pairs), sp.zeros(a[0].cols, b[0].cols))


def lagrange(element: FiniteElement, count: Differentiator) -> sp.Matrix:
    """d/dt dT/dq' - dT/dq + dE_p/dq = 0."""
    v = element.velocity()
    T = integral(v, v)[0] / 2
    rows = []
    for q in element.delta:
        momentum = count.by_scalar(T, q.diff(t))
        rows.append(
            count.by_scalar(momentum, t) - count.by_scalar(T, q) + count.by_scalar(element.strain_energy, q)
        )
    return sp.Matrix(rows)


def gibbs_appell(element: FiniteElement, count: Differentiator) -> sp.Matrix:
    """dS/dq'' + dE_p/dq = 0 with the energy of accelerations S."""
    a = element.acceleration(count)
    S = integral(a, a)[0] / 2
    return sp.Matrix(
        [count.by_scalar(S, q.diff(t, 2)) + count.by_scalar(element.strain_energy, q) for q in element.delta]
    )


def kane(element: FiniteElement, count: Differentiator) -> sp.Matrix:
    """int (dv/d delta')^T a dm + k delta = 0, eqs. (14), (16), (19)."""
    a = element.acceleration(count)
    partial = count.by_vector(element.velocity(), element.delta.diff(t))
    return integral(partial, a) + element.elastic_forces


METHODS: dict[str, Callable[[FiniteElement, Differentiator], sp.Matrix]] = {
    "Lagrange": lagrange,
    "Gibbs-Appell": gibbs_appell,
    "Kane": kane,
}


@cache
def count_differentiations(kind: Kind) -> dict[str, Differentiator]:
    """Derive one element's equations, "plane" or "space", by every method; what each one needed."""
    counts = {}
    for name, derive in METHODS.items():
        counts[name] = Differentiator()
        derive(FiniteElement(kind), counts[name])
    return counts


# Processor time


def assembly_times(
    kind: Kind, repeats: int = 2, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Each method's time for one element, over Kane's in the same run; the least of ``repeats`` counts."""
    best = dict.fromkeys(METHODS, math.inf)
    for _ in range(repeats):
        for name, derive in METHODS.items():
            element = FiniteElement(kind)
            begin = clock()
            derive(element, Differentiator())
            best[name] = min(best[name], clock() - begin)
    return {name: seconds / best["Kane"] for name, seconds in best.items()}


def timing_lines(timings: Mapping[Kind, Mapping[str, float]]) -> list[str]:
    """The ratios as a small table."""
    lines = ["processor time of one element's assembly, in symbols, over Kane's in this run"]
    for kind, ratios in timings.items():
        lines.append(f"  {kind:6}" + "".join(f"  {name} {ratio:.2f}" for name, ratio in ratios.items()))
    return lines
