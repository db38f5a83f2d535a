"""The equations of motion of an elastic body whose frame moves as given: [WindPump] eqs. (17) to (20).

    m delta'' + c(omega) delta' + (k + k(epsilon) + k(omega)) delta
        = - m_O^T a_O - Q(epsilon) - Q(omega) + Q_ext + Q_liaison

with the definitions of eq. (18). The paper prints the first three terms on the right with a plus; by its
own definitions they carry a minus, see docs/papers.md. Geometric stiffening, an axial load that resists
bending, is off in the paper; a beam that turns fast needs it.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.elastic.body import DOFS, ElasticBody, assembled

# [e_x], [e_y], [e_z] along the last axis
_SKEW = np.array(
    [
        [[0.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]],
        [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 0.0]],
        [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
    ]
)


class RigidMotion(NamedTuple):
    """Motion of the frame L; each (3,), expressed in L.

    Acceleration of its origin less the free-fall acceleration [m/s^2], angular velocity [rad/s] and angular
    acceleration [rad/s^2].
    """

    a_O: Array
    omega: Array
    epsilon: Array


class Coefficients(NamedTuple):
    """m delta'' + c delta' + k delta = Q, over the free coordinates: (n, n), Q (n,)."""

    m: Array
    c: Array
    k: Array
    Q: Array


def skew(v: ArrayLike) -> Array:
    """[v] with [v] r = v x r, [WindPump] eqs. (6) and (7)."""
    return np.asarray(_SKEW @ v)


def integral_NWN(body: ElasticBody, W: Array) -> Array:
    """int N^T W N dm for a 3 x 3 matrix W: m, c, k(epsilon) and k(omega) of eq. (18), (n, n)."""
    blocks = (W[a, b] * body.D[a, b] for a, b in zip(*np.nonzero(W), strict=True))  # few of nine
    return np.asarray(sum(blocks, np.zeros_like(body.k)))


def integral_NWr(body: ElasticBody, W: Array) -> Array:
    """int N^T W r dm for a 3 x 3 matrix W: Q(epsilon) and Q(omega) of eq. (18), (n,)."""
    return np.asarray(np.tensordot(W, body.E, 2))


def mass(body: ElasticBody) -> Array:
    """[m] of eq. (18), (n, n)."""
    return integral_NWN(body, np.eye(3))


def coefficients(body: ElasticBody, motion: RigidMotion) -> Coefficients:
    """The equations of motion, eq. (20), without external and liaison forces, stiffening and damping."""
    W = skew(motion.epsilon) + skew(motion.omega) @ skew(motion.omega)  # R^T R'', eq. (12)
    return Coefficients(
        mass(body),
        integral_NWN(body, 2 * skew(motion.omega)),  # c
        body.k + integral_NWN(body, W),  # k + k(epsilon) + k(omega)
        -(body.m_O.T @ motion.a_O) - integral_NWr(body, W),  # -(m_O^T a_O + Q(epsilon) + Q(omega))
    )


def axial_load(body: ElasticBody, motion: RigidMotion, end_load: float = 0.0) -> Array:
    """Axial load [N] of the undeformed beam, tension positive, (elements, 3): ends and middle of each.

    P(x) = end_load - int_x^end m (a_O,x + W_xx s) ds, W = [epsilon] + [omega][omega]: what the material
    beyond x needs to follow the frame. A parabola, hence exact by three values per element.
    """
    W_xx = (skew(motion.omega) @ skew(motion.omega))[0, 0]
    rate = body.mass / body.length
    end = body.x0 + body.length
    halves = body.x0 + 0.5 * body.element.L * np.arange(2 * body.elements + 1)
    load = end_load - rate * (motion.a_O[0] * (end - halves) + W_xx * (end**2 - halves**2) / 2)
    return np.stack([load[:-2:2], load[1:-1:2], load[2::2]], axis=1)


def geometric_stiffness(body: ElasticBody, load: Array) -> Array:
    """k_G (n, n) over the free coordinates for the ``axial_load`` (elements, 3) [N]."""
    total = assembled(np.tensordot(load, body.element.k_G, 1), DOFS[body.kind])
    return total[np.ix_(body.free, body.free)]


# Free vibration


def natural_frequencies(m: Array, k: Array) -> Array:
    """Circular frequencies [rad/s], (n,), ascending, of m delta'' + k delta = 0; rigid motions give 0."""
    squared: Array = scipy.linalg.eigh(k, m, eigvals_only=True)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def gyroscopic_frequencies(system: Coefficients) -> Array:
    """Imaginary parts [rad/s], ascending, of the eigenvalues of m d'' + c d' + k d = 0, (n,).

    c and k need not be symmetric. A non-oscillating pair of eigenvalues counts as two zeros, of which
    one is kept.
    """
    n = len(system.m)
    inverse = np.linalg.inv(system.m)
    companion = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ system.k, -inverse @ system.c]])
    imaginary = np.sort(np.linalg.eigvals(companion).imag)
    return imaginary[n:]


def proportional_damping(
    ratios: tuple[float, float], frequencies: tuple[float, float]
) -> tuple[float, float]:
    """Factors (a, b) of c = a m + b k that give two damping ratios at two circular frequencies [rad/s]."""
    (z1, z2), (w1, w2) = ratios, frequencies
    a, b = np.linalg.solve([[0.5 / w1, 0.5 * w1], [0.5 / w2, 0.5 * w2]], [z1, z2])
    return float(a), float(b)
