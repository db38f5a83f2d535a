"""A plane beam in banded storage whose frame moves as given, and one implicit step of it.

[WindPump] eq. (20) in the plane: with omega and epsilon about z, c = 2 omega G, k(epsilon) = epsilon G and
k(omega) = -omega^2 m, where G = int N^T [e_z] N dm. All matrices have 5 diagonals on either side, stored
as LAPACK wants them: ``band[U + i - j, j] = a[i, j]``.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dgbmv
from scipy.linalg.lapack import dgbsv

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.elastic.body import ElasticBody, straight_beam
from kane_dynamics_ros.elastic.equations import RigidMotion, axial_load, skew
from kane_dynamics_ros.elastic.link import BeamRates
from kane_dynamics_ros.elastic.stepping import generalized_alpha

U = 5  # off-diagonals of a chain of plane elements, on either side
_I, _J = np.meshgrid(np.arange(6), np.arange(6), indexing="ij")
_LEFT = _J < 3
_ROWS = U + _I - _J
E_Z = np.array([0.0, 0.0, 1.0])


def banded(parts: Array) -> Array:
    """Assemble plane elements' matrices (elements, 6, 6) to a band (11, n), n = 3 (elements + 1)."""
    elements = len(parts)
    columns = np.zeros((elements + 1, 3, 2 * U + 1))
    columns[:-1, _J[_LEFT], _ROWS[_LEFT]] += parts[:, _LEFT]
    columns[1:, _J[~_LEFT] - 3, _ROWS[~_LEFT]] += parts[:, ~_LEFT]
    band: Array = np.asfortranarray(columns.reshape(-1, 2 * U + 1).T)
    return band


def hold(band: Array, held: tuple[int, ...], diagonal: float = 0.0) -> Array:
    """The band with the rows and columns ``held`` replaced by ``diagonal`` times the unit matrix's."""
    result: Array = np.array(band, order="F")
    n = band.shape[1]
    for h in held:
        for j in range(max(0, h - U), min(n, h + U + 1)):
            result[U + h - j, j] = 0.0
        result[:, h] = 0.0
        result[U, h] = diagonal
    return result


def product(band: Array, vector: Array) -> Array:
    """Band times vector."""
    n = len(vector)
    return np.asarray(dgbmv(n, n, U, U, 1.0, band, vector))


@dataclass(frozen=True)
class PlanarBeam:
    """Bands of m, G and k; the rows of held coordinates are 0 in them, and 1 on m's diagonal.

    Proportional damping c = ``damping[0]`` m + ``damping[1]`` k. ``stiffened`` switches the stiffness of
    the axial load on.
    """

    body: ElasticBody
    held: tuple[int, ...]
    m: Array
    G: Array
    k: Array
    unit_loads: Array  # int N^T dm for a_O along x and along y, and int N^T [e_z] r dm, (3, n)
    centrifugal: Array  # int N^T [e_z][e_z] r dm, (n,)
    damping: tuple[float, float]
    stiffened: bool


class PlanarMotion(NamedTuple):
    """Acceleration of the origin less free fall along x and y [m/s^2]; omega, epsilon about z."""

    ax: float
    ay: float
    omega: float
    epsilon: float


class PlanarState(NamedTuple):
    """Nodal coordinates (u, v, theta) of all nodes, their rates and accelerations; each (n,)."""

    d: Array
    v: Array
    a: Array


def planar_beam(
    rates: BeamRates,
    length: float,
    elements: int,
    held: tuple[int, ...],
    damping: tuple[float, float] = (0.0, 0.0),
    stiffened: bool = False,
    x0: float = 0.0,
) -> PlanarBeam:
    """A beam along x from ``x0``; ``held`` are the numbers of the coordinates that stay 0."""
    body = straight_beam("plane", rates, length, elements, x0)
    ez = skew(E_Z)
    repeated = {
        name: banded(np.repeat(matrix[None], elements, axis=0))
        for name, matrix in (
            ("m", np.einsum("aaij->ij", body.element.D)),
            ("G", np.tensordot(ez, body.element.D, 2)),
            ("k", body.element.k),
        )
    }
    loads = np.stack([body.m_O[0], body.m_O[1], np.tensordot(ez, body.E, 2)])
    centrifugal = np.tensordot(ez @ ez, body.E, 2)
    loads[:, held] = 0.0
    centrifugal[list(held)] = 0.0
    return PlanarBeam(
        body,
        held,
        hold(repeated["m"], held, 1.0),
        hold(repeated["G"], held),
        hold(repeated["k"], held),
        loads,
        centrifugal,
        damping,
        stiffened,
    )


def assemble(beam: PlanarBeam, motion: PlanarMotion) -> tuple[Array, Array, Array]:
    """Bands c and k, and the load Q (n,), of eq. (20) for this motion of the frame."""
    _, _, omega, epsilon = motion
    a, b = beam.damping
    c = (2 * omega) * beam.G + a * beam.m + b * beam.k
    k = beam.k + epsilon * beam.G - omega**2 * beam.m
    if beam.stiffened:
        load = axial_load(
            beam.body, RigidMotion(np.array([motion.ax, motion.ay, 0.0]), omega * E_Z, epsilon * E_Z)
        )
        k += hold(banded(np.tensordot(load, beam.body.element.k_G, 1)), beam.held)
    Q = -(np.array([motion.ax, motion.ay, epsilon]) @ beam.unit_loads) - omega**2 * beam.centrifugal
    return c, k, Q


def step(
    beam: PlanarBeam,
    state: PlanarState,
    motion: PlanarMotion,
    h: float,
    radius: float = 1.0,
    force: Array | None = None,
) -> PlanarState:
    """One step of the generalized-alpha method [ChungHulbert1993], of second order.

    ``motion`` and ``force`` (n,) hold at the time t + (1 - alpha_f) h of the step, see ``sample_time``.
    ``radius`` in 0..1 is the spectral radius at infinite frequency: 1 keeps the energy, less damps the
    frequencies that the step does not resolve.
    """
    alpha_m, alpha_f, gamma, beta = generalized_alpha(radius)
    c, k, Q = assemble(beam, motion)
    if force is not None:
        Q = Q + force
    v_star = state.v + h * (1 - gamma) * state.a
    d_star = state.d + h * state.v + h**2 * (0.5 - beta) * state.a
    Q = Q - alpha_m * product(beam.m, state.a)
    Q -= product(c, (1 - alpha_f) * v_star + alpha_f * state.v)
    Q -= product(k, (1 - alpha_f) * d_star + alpha_f * state.d)
    system = (1 - alpha_m) * beam.m + ((1 - alpha_f) * gamma * h) * c + ((1 - alpha_f) * beta * h**2) * k
    work = np.zeros((3 * U + 1, len(Q)), order="F")  # LAPACK needs room for the pivots
    work[U:] = system
    _, _, a, _ = dgbsv(U, U, work, Q, overwrite_ab=True, overwrite_b=True)
    return PlanarState(d_star + h**2 * beta * a, v_star + h * gamma * a, a)


def sample_time(t: float, h: float, radius: float = 1.0) -> float:
    """The time within a step at which ``step`` wants motion and force."""
    return t + h * (1 - generalized_alpha(radius).alpha_f)


def at_rest(beam: PlanarBeam) -> PlanarState:
    """Undeformed, at rest, and without acceleration: right for a motion that begins smoothly."""
    n = beam.m.shape[1]
    return PlanarState(np.zeros(n), np.zeros(n), np.zeros(n))
