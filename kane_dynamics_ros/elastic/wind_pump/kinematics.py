"""Loop closure, speeds and accelerations of the mechanism: [WindPump] eqs. (A6) to (A31)."""

import math
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.elastic.errors import UnreachableMechanismError
from kane_dynamics_ros.elastic.wind_pump.parameters import Mechanism
from kane_dynamics_ros.runtime.interface import Array


class Angles(NamedTuple):
    """Angles [rad] of crank, lever and pendulum."""

    phi_1: float
    phi_2: float
    phi_3: float


class Accelerations(NamedTuple):
    """{a} = A (epsilon_1, x_D'') + B (omega_1^2, omega_1 x_D', x_D'^2), eq. (A31); A (10, 2), B (10, 3).

    Rows: x and y of mass centre 1 and epsilon_1, the same of bodies 2 and 3, and x_D.
    """

    A: Array
    B: Array


def close_loop(pump: Mechanism, phi_1: float, x_D: float) -> Angles:
    """Angles of the lever and the pendulum by the triangles ABD and BC'D, eqs. (A7) to (A16).

    The angle at B is taken by atan2 where eq. (A12) prints atan: it exceeds a right angle on a part of the
    turn. Raises ``UnreachableMechanismError``.
    """
    AD, beta_AD = math.hypot(x_D, pump.e), math.atan2(pump.e, x_D)
    turn = phi_1 - beta_AD
    at_B = math.atan2(-AD * math.sin(turn), pump.l1 - AD * math.cos(turn))  # alpha, eq. (A12)
    at_D = math.asin(pump.l1 * math.sin(at_B) / AD)  # beta, after eq. (A12)
    BD = math.sqrt(pump.l1**2 + AD**2 - 2 * pump.l1 * AD * math.cos(turn))  # eq. (A13)
    l2, h = pump.l2, pump.h
    if not abs(l2 - h) < BD < l2 + h:
        raise UnreachableMechanismError(phi_1, x_D, BD, abs(l2 - h), l2 + h)
    gamma = math.acos((l2**2 + BD**2 - h**2) / (2 * l2 * BD))  # eq. (A14)
    delta = math.acos((h**2 + BD**2 - l2**2) / (2 * h * BD))  # eq. (A15)
    return Angles(phi_1, at_D + beta_AD - gamma, at_D + beta_AD + delta + pump.psi)  # eq. (A16)


def speed_ratios(pump: Mechanism, angles: Angles) -> Array:
    """[a_11 a_12; a_21 a_22] with (l2 omega_2, h omega_3) = a (l1 omega_1, x_D'), eqs. (A19), (A20)."""
    c1, s1, c2, s2, c3, s3 = _cosines(pump, angles)
    return np.array([[-c3 * s1 + s3 * c1, -c3], [c2 * s1 - c1 * s2, c2]]) / (s2 * c3 - s3 * c2)


def acceleration_terms(pump: Mechanism, angles: Angles, a: Array) -> Array:
    """[b_11 .. b_23] of eq. (A24), eq. (A23) with h for l_2 under a_21^2 in b_11."""
    c1, s1, c2, s2, c3, s3 = _cosines(pump, angles)
    squares = np.array([a[:, 0] ** 2, 2 * a[:, 0] * a[:, 1], a[:, 1] ** 2]).T  # of l2 omega_2, h omega_3
    from_2, from_3 = squares[0] / pump.l2, squares[1] / pump.h
    from_1 = np.array([1 / pump.l1, 0.0, 0.0])
    first = -(c3 * c1 + s3 * s1) * from_1 - (c3 * c2 + s3 * s2) * from_2 - from_3
    second = (c2 * c1 + s2 * s1) * from_1 + from_2 + (c3 * c2 + s3 * s2) * from_3
    return np.stack([first, second]) / (s2 * c3 - s3 * c2)


def accelerations(pump: Mechanism, angles: Angles) -> Accelerations:
    """The matrices [A] and [B] of eq. (A31)."""
    a = speed_ratios(pump, angles)
    b = acceleration_terms(pump, angles, a)
    lengths = np.array([pump.l2, pump.h])
    omega = np.vstack([[1.0, 0.0], a * [pump.l1, 1.0] / lengths[:, None]])  # eq. (A29), rows 1, 2, 3
    scale = np.array([pump.l1**2, pump.l1, 1.0])
    rest = np.vstack([np.zeros(3), b * scale / lengths[:, None]])  # eq. (A30)
    squares = np.array([omega[:, 0] ** 2, 2 * omega[:, 0] * omega[:, 1], omega[:, 1] ** 2]).T
    A, B = np.zeros((10, 2)), np.zeros((10, 3))
    for body, arms in enumerate(_arms(pump, angles)):
        for turned, (dx, dy) in arms:  # an arm (dx, dy) that turns with a body
            A[3 * body : 3 * body + 2] += np.outer([-dy, dx], omega[turned])
            B[3 * body : 3 * body + 2] += np.outer([-dy, dx], rest[turned]) - np.outer(
                [dx, dy], squares[turned]
            )
        A[3 * body + 2], B[3 * body + 2] = omega[body], rest[body]
    A[9, 1] = 1.0
    return Accelerations(A, B)


def mass_centres(pump: Mechanism, angles: Angles) -> Array:
    """Positions (3, 2) of the bodies' mass centres, eqs. (A25) to (A27)."""
    return np.array([np.sum([arm for _, arm in arms], axis=0) for arms in _arms(pump, angles)])


def _arms(pump: Mechanism, angles: Angles) -> list[list[tuple[int, Array]]]:
    """Each mass centre as a chain of arms from A: (body that turns the arm, arm)."""
    crank, lever = direction(angles.phi_1), direction(angles.phi_2)
    centre = direction(angles.phi_3 - pump.psi - pump.xi)
    return [
        [(0, pump.a1 * pump.l1 * crank)],
        [(0, pump.l1 * crank), (1, pump.a2 * pump.l2 * lever)],
        [(0, pump.l1 * crank), (1, pump.l2 * lever), (2, pump.hg * centre)],
    ]


def direction(angle: float) -> Array:
    """(cos, sin) of an angle."""
    return np.array([math.cos(angle), math.sin(angle)])


def _cosines(pump: Mechanism, angles: Angles) -> tuple[float, float, float, float, float, float]:
    """c1, s1, c2, s2, c_(3-psi), s_(3-psi)."""
    values = [direction(angle) for angle in (angles.phi_1, angles.phi_2, angles.phi_3 - pump.psi)]
    (c1, s1), (c2, s2), (c3, s3) = (map(float, value) for value in values)
    return c1, s1, c2, s2, c3, s3
