"""Shape functions of the two-node Euler-Bernoulli beam elements, and the integrals of [WindPump] eq. (18).

The element's axis is x, from node 1 at x = 0 to node 2 at x = L; y and z are principal axes of the
section. A point's displacement is u = N(x, y, z) delta, [WindPump] eq. (1): the axis displaces by
(u, v, w) and the section turns with it by (phi, -w', v'). Nodal coordinates of the plane element:
(u, v, theta) per node, theta = v'; of the space element: (u, v, w, phi, theta_y, theta_z) per node,
theta_y = -w', theta_z = v'.

Every matrix of eq. (18) is an integral of N^T W N or N^T W r with a 3 x 3 matrix W that depends on the
motion only: W = E for m, 2 [omega] for c, [epsilon] for k(epsilon) and Q(epsilon), [omega][omega] for
k(omega) and Q(omega). So three arrays are integrated once, free of the motion, for any shape functions:

    D[a, b] = int N_a^T N_b dm  (n, n),    E[a, b] = int N_a^T r_b dm  (n,),    m_O[a] = int N_a dm  (n,)

and int N^T W N dm = sum_ab W_ab D[a, b], int N^T W r dm = sum_ab W_ab E[a, b].
"""

from itertools import product
from typing import NamedTuple

import sympy as sp

x, y, z = sp.symbols("x y z", real=True)
L = sp.Symbol("L", positive=True)

# Moments of the section's mass per length: int dm, int y^2 dm, int z^2 dm; the r pair is the same two
# moments where they come from the turning of the section in bending (0 without rotary inertia).
m, my, mz, ry, rz = sp.symbols("m my mz ry rz")
EA, GJ, EIy, EIz = sp.symbols("EA GJ EIy EIz")
P1, P2, P3 = sp.symbols("P1 P2 P3")  # axial load at x = 0, L/2 and L, tension positive


class Shape(NamedTuple):
    """Displacements u, v, w and turn phi of the axis: rows (1, n) over nodal coordinates, functions of x.

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


# Integrals


class Integrals(NamedTuple):
    """Arrays of expressions: D (3, 3, n, n), E (3, 3, n), m_O (3, n), k (n, n), k_G (n, n)."""

    D: sp.Array
    E: sp.Array
    m_O: sp.Array
    k: sp.Array
    k_G: sp.Array


def over_section(integrand: sp.Expr, second_y: sp.Expr, second_z: sp.Expr) -> sp.Expr:
    """Integrate over the section: y and z are principal axes through its centroid."""
    if integrand == 0:
        return sp.Integer(0)
    polynomial = sp.Poly(integrand, y, z)
    moments = {(0, 0): m, (2, 0): second_y, (0, 2): second_z}
    zero = {(1, 0), (0, 1), (1, 1)}
    return sum((c * moments[k] for k, c in polynomial.terms() if k not in zero), sp.Integer(0))


def over_element(integrand: sp.Expr) -> sp.Expr:
    """Integrate over the length."""
    terms = sp.Poly(integrand, x).terms() if integrand != 0 else ()
    return sp.expand(sum((c * L ** (power + 1) / (power + 1) for (power,), c in terms), sp.Integer(0)))


def mass_integral(rest: sp.Expr, bending: sp.Expr) -> sp.Expr:
    """Integrate a sum of two integrands over the mass; ``bending`` uses the rotary moments."""
    return over_element(over_section(rest, my, mz) + over_section(bending, ry, rz))


def products(shape: Shape) -> sp.Array:
    """D[a, b] = int N_a^T N_b dm."""
    N, B, n = shape.N_rest, shape.N_bending, shape.u.cols
    entries = [
        mass_integral(
            N[a, i] * N[b, j],
            N[a, i] * B[b, j] + B[a, i] * N[b, j] + B[a, i] * B[b, j],
        )
        for a, b, i, j in product(range(3), range(3), range(n), range(n))
    ]
    return sp.Array(entries, (3, 3, n, n))


def first_moments(shape: Shape) -> sp.Array:
    """E[a, b] = int N_a^T r_b dm, r = (x, y, z) from node 1."""
    N, B, n = shape.N_rest, shape.N_bending, shape.u.cols
    entries = [mass_integral(N[a, i] * r, B[a, i] * r) for a, r, i in product(range(3), (x, y, z), range(n))]
    return sp.Array(entries, (3, 3, n))


def mass_rows(shape: Shape) -> sp.Array:
    """m_O[a] = int N_a dm."""
    N, B, n = shape.N_rest, shape.N_bending, shape.u.cols
    return sp.Array([mass_integral(N[a, i], B[a, i]) for a, i in product(range(3), range(n))], (3, n))


def stiffness(shape: Shape) -> sp.Array:
    """k: strain energy of extension, torsion and two bendings."""
    terms = (
        (EA, shape.u.diff(x)),
        (GJ, shape.phi.diff(x)),
        (EIz, shape.v.diff(x, 2)),
        (EIy, shape.w.diff(x, 2)),
    )
    n = shape.u.cols
    total = sum((factor * (r.T * r) for factor, r in terms), sp.zeros(n, n))
    return sp.Array(total.applyfunc(over_element))


def geometric_stiffness(shape: Shape) -> sp.Array:
    """k_G = int P (v'^T v' + w'^T w') dx with the axial load P(x) a parabola through three values."""
    s = x / L
    P = P1 * (1 - s) * (1 - 2 * s) + 4 * P2 * s * (1 - s) + P3 * s * (2 * s - 1)
    v, w = shape.v.diff(x), shape.w.diff(x)
    return sp.Array((P * (v.T * v + w.T * w)).applyfunc(over_element))


def integrate(shape: Shape) -> Integrals:
    """All integrals of one element."""
    return Integrals(
        products(shape),
        first_moments(shape),
        mass_rows(shape),
        stiffness(shape),
        geometric_stiffness(shape),
    )
