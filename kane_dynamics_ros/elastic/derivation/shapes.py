"""Shape functions of the two-node Euler-Bernoulli beam elements, in the plane and in space.

The element's axis is x, from node 1 at x = 0 to node 2 at x = L; y and z are principal axes of the
section. A point's displacement is u = N(x, y, z) delta, [WindPump] eq. (1): the axis displaces by
(u, v, w) and the section turns with it by (phi, -w', v').

Nodal coordinates of the plane element: (u, v, theta) per node, theta = v'. Of the space element:
(u, v, w, phi, theta_y, theta_z) per node, theta_y = -w', theta_z = v'.
"""

from typing import NamedTuple

import sympy as sp

x, y, z = sp.symbols("x y z", real=True)
L = sp.Symbol("L", positive=True)


class Shape(NamedTuple):
    """``axis``: rows u, v, w, phi over the nodal coordinates, functions of x, each (1, n).

    ``N``: the displacement of the point (x, y, z), (3, n), in two parts: ``N_bending`` holds the axial
    displacement caused by the section's turning in bending (rotary inertia), ``N_rest`` the other terms.
    """

    u: sp.Matrix
    v: sp.Matrix
    w: sp.Matrix
    phi: sp.Matrix

    @property
    def N_rest(self) -> sp.Matrix:
        return sp.Matrix.vstack(self.u, self.v - z * self.phi, self.w + y * self.phi)

    @property
    def N_bending(self) -> sp.Matrix:
        zero = sp.zeros(1, self.u.cols)
        return sp.Matrix.vstack(-y * self.v.diff(x) - z * self.w.diff(x), zero, zero)


def linear() -> tuple[sp.Expr, sp.Expr]:
    """Interpolation of a value given at both nodes."""
    s = x / L
    return 1 - s, s


def hermite() -> tuple[sp.Expr, sp.Expr, sp.Expr, sp.Expr]:
    """Cubic interpolation of value and slope at node 1, value and slope at node 2."""
    s = x / L
    return (
        1 - 3 * s**2 + 2 * s**3,
        L * (s - 2 * s**2 + s**3),
        3 * s**2 - 2 * s**3,
        L * (s**3 - s**2),
    )


def row(n: int, entries: dict[int, sp.Expr]) -> sp.Matrix:
    """A row of length n with the given entries, the others 0."""
    return sp.Matrix(1, n, lambda _, j: entries.get(j, sp.Integer(0)))


def plane() -> Shape:
    """The plane element: 6 coordinates, motion in the plane xy."""
    (a, b), (h1, h2, h3, h4) = linear(), hermite()
    zero = row(6, {})
    return Shape(row(6, {0: a, 3: b}), row(6, {1: h1, 2: h2, 4: h3, 5: h4}), zero, zero)


def space() -> Shape:
    """The space element: 12 coordinates; theta_y = -w' turns the sign of w's slope functions."""
    (a, b), (h1, h2, h3, h4) = linear(), hermite()
    return Shape(
        u=row(12, {0: a, 6: b}),
        v=row(12, {1: h1, 5: h2, 7: h3, 11: h4}),
        w=row(12, {2: h1, 4: -h2, 8: h3, 10: -h4}),
        phi=row(12, {3: a, 9: b}),
    )


SHAPES = {"plane": plane, "space": space}
