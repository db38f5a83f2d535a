"""Beam elements, and an elastic body assembled from equal ones along its x axis.

The element is Euler and Bernoulli's with two nodes, from x = 0 to x = L; y and z are principal axes of the
section. A point's displacement is u = N(x, y, z) delta, [WindPump] eq. (1): the axis displaces by (u, v, w)
and the section turns with it by (phi, -w', v'). Nodal coordinates of the plane element: (u, v, theta) per
node, theta = v'; of the space element: (u, v, w, phi, theta_y, theta_z) per node, theta_y = -w' and
theta_z = v'.

Every matrix of [WindPump] eq. (18) is an integral of N^T W N or N^T W r with a 3 x 3 matrix W that depends on
the motion only: W = E for m, 2 [omega] for c, [epsilon] for k(epsilon) and Q(epsilon), [omega][omega] for
k(omega) and Q(omega); r is the position from the body's origin O, expressed in the body's frame L. So three
arrays are integrated once, free of the motion:

    D[a, b] = int N_a^T N_b dm  (n, n),    E[a, b] = int N_a^T r_b dm  (n,),    m_O[a] = int N_a dm  (n,)

and int N^T W N dm = sum_ab W_ab D[a, b], int N^T W r dm = sum_ab W_ab E[a, b].
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.elastic.link import BeamRates

Kind = Literal["plane", "space"]
DOFS: dict[Kind, int] = {"plane": 3, "space": 6}  # coordinates of a node


# One element. A polynomial of x is a row of the coefficients of 1, x, x^2 and x^3.


def displacements(kind: Kind, L: float) -> Array:
    """u, v, w and phi of the axis as polynomials of x, for a unit of each nodal coordinate, (4, n, 4)."""
    linear = [[1, -1 / L, 0, 0], [0, 1 / L, 0, 0]]  # a value given at both nodes
    hermite = np.array(  # value and slope at node 1, value and slope at node 2
        [
            [1, 0, -3 / L**2, 2 / L**3],
            [0, 1, -2 / L, 1 / L**2],
            [0, 0, 3 / L**2, -2 / L**3],
            [0, 0, -1 / L, 1 / L**2],
        ]
    )
    dofs = DOFS[kind]
    rows = np.zeros((4, 2 * dofs, 4))
    rows[0, [0, dofs]] = linear
    rows[1, [1, dofs - 1, dofs + 1, 2 * dofs - 1]] = hermite
    if kind == "space":
        rows[2, [2, 4, 8, 10]] = hermite * [[1], [-1], [1], [-1]]  # theta_y = -w'
        rows[3, [3, 9]] = linear
    return rows


def derivative(polynomials: Array) -> Array:
    """By x, of polynomials along the last axis."""
    result = np.zeros_like(polynomials)
    result[..., :-1] = polynomials[..., 1:] * [1, 2, 3]
    return result


def shape_functions(kind: Kind, L: float) -> Array:
    """N (3, n) as polynomials of x, apart by what stands before 1, y and z: (3, 3, n, 4).

    N_x = u - y v' - z w',    N_y = v - z phi,    N_z = w + y phi
    """
    u, v, w, phi = displacements(kind, L)
    zero = np.zeros_like(u)
    return np.array([[u, -derivative(v), -derivative(w)], [v, zero, -phi], [w, phi, zero]])


@dataclass(frozen=True)
class ElementArrays:
    """The integrals of one element of length ``L``, with r from its first node."""

    L: float
    D: Array  # (3, 3, n, n)
    E: Array  # (3, 3, n)
    m_O: Array  # (3, n)
    k: Array  # (n, n)
    k_G: Array  # (3, n, n): for a unit axial load at the first node, the middle, the second node


def element_arrays(kind: Kind, L: float, rates: BeamRates) -> ElementArrays:
    """The integrals of one element of length ``L`` [m], [WindPump] eq. (18); exact, of polynomials.

    k = int EA u'^T u' + GJ phi'^T phi' + EIz v''^T v'' + EIy w''^T w'' dx
    k_G = int P (v'^T v' + w'^T w') dx,  the axial load P(x) a parabola through three values
    """
    powers = np.arange(4)
    over = 1.0 + np.add.outer(powers, powers)
    H = L**over / over  # int x^i x^j dx
    N = shape_functions(kind, L)
    r = np.zeros((3, 3, 4))
    r[0, 0, 1] = r[1, 1, 0] = r[2, 2, 0] = 1.0
    moments = np.tile([rates.m, rates.my, rates.mz], (3, 3, 1))  # of 1, y^2 and z^2; those of y, z, yz are 0
    moments[0] = moments[:, 0] = rates.m, rates.ry, rates.rz  # where the section turns in bending
    slopes = derivative(displacements(kind, L))
    u, _, _, phi = slopes
    _, v, w, _ = derivative(slopes)
    rigidities = ((rates.EA, u), (rates.GJ, phi), (rates.EIz, v), (rates.EIy, w))
    parabolas = np.array([[1, -3 / L, 2 / L**2], [0, 4 / L, -4 / L**2], [0, -1 / L, 2 / L**2]])
    over_3 = 1.0 + np.add.outer(powers[:3], np.add.outer(powers, powers))
    return ElementArrays(
        L,
        np.einsum("abf,afip,pq,bfjq->abij", moments, N, H, N),
        np.einsum("af,afip,pq,bfq->abi", moments[:, 1], N, H, r),
        rates.m * np.einsum("aip,p->ai", N[:, 0], H[0]),
        sum((factor * (row @ H @ row.T) for factor, row in rigidities), np.zeros((len(u), len(u)))),
        np.einsum("cr,rpq,aip,ajq->cij", parabolas, L**over_3 / over_3, slopes[1:3], slopes[1:3]),
    )


# The body


@dataclass(frozen=True)
class ElasticBody:
    """Assembled integrals over the free coordinates, and the rigid body's integrals.

    ``free``: numbers of the coordinates that remain; coordinate ``i`` of node ``j`` has the number
    ``j * DOFS[kind] + i``. ``R2``: int r r^T dm [kg m^2]; ``S``: int r dm [kg m]; ``mass`` [kg].
    """

    kind: Kind
    element: ElementArrays
    elements: int
    x0: float  # position of the first node on the x axis [m]
    free: tuple[int, ...]
    D: Array
    E: Array
    m_O: Array
    k: Array
    mass: float
    S: Array
    R2: Array

    @property
    def length(self) -> float:
        return self.elements * self.element.L


def assembled(parts: Array, dofs: int) -> Array:
    """Sum matrices of elements, (elements, ..., 2 dofs, 2 dofs), to (..., n, n): neighbours share a node."""
    elements, *between, _, _ = parts.shape
    total = np.zeros((*between, elements + 1, dofs, elements + 1, dofs))
    blocks, first = parts.reshape(elements, *between, 2, dofs, 2, dofs), np.arange(elements)
    for i, j in np.ndindex(2, 2):
        total[..., first + i, :, first + j, :] += blocks[..., i, :, j, :]
    return total.reshape(*between, (elements + 1) * dofs, (elements + 1) * dofs)


def assembled_rows(parts: Array, dofs: int) -> Array:
    """Sum rows of elements, (elements, ..., 2 dofs), to (..., n)."""
    total = np.zeros((*parts.shape[1:-1], (len(parts) + 1) * dofs))
    for j, row in enumerate(parts):
        total[..., j * dofs : (j + 2) * dofs] += row
    return total


def straight_beam(kind: Kind, rates: BeamRates, length: float, elements: int, x0: float = 0.0) -> ElasticBody:
    """A free straight beam from (x0, 0, 0) to (x0 + length, 0, 0) [m] in L, of equal elements."""
    part, dofs = element_arrays(kind, length / elements, rates), DOFS[kind]
    D, E, m_O, k = (np.repeat(array[None], elements, axis=0) for array in (part.D, part.E, part.m_O, part.k))
    starts = x0 + part.L * np.arange(elements)
    E[:, :, 0] += starts[:, None, None] * m_O  # int N^T r dm grows by m_O with the start
    a, b = x0, x0 + length
    return ElasticBody(
        kind,
        part,
        elements,
        x0,
        tuple(range((elements + 1) * dofs)),
        assembled(D, dofs),
        assembled_rows(E, dofs),
        assembled_rows(m_O, dofs),
        assembled(k, dofs),
        mass=rates.m * length,
        S=np.array([rates.m * (b**2 - a**2) / 2, 0.0, 0.0]),
        R2=np.diag([rates.m * (b**3 - a**3) / 3, rates.my * length, rates.mz * length]),
    )


def restrict(body: ElasticBody, fixed: Iterable[int]) -> ElasticBody:
    """The body with coordinates held at 0 (boundary conditions), by their numbers, see ``ElasticBody``."""
    held = set(fixed)
    keep = [place for place, number in enumerate(body.free) if number not in held]
    return replace(
        body,
        free=tuple(body.free[place] for place in keep),
        D=np.ascontiguousarray(body.D[:, :, keep][..., keep]),
        E=np.ascontiguousarray(body.E[:, :, keep]),
        m_O=body.m_O[:, keep],
        k=body.k[np.ix_(keep, keep)],
    )


def clamped(body: ElasticBody) -> ElasticBody:
    """The body with its first node held."""
    return restrict(body, range(DOFS[body.kind]))
