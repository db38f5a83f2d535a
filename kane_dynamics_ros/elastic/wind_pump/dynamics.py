"""Free bodies, the elimination of the liaison forces by projection, and their recovery: eqs. (A32) to
(A46).
"""

from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.elastic.wind_pump.kinematics import Angles, accelerations, close_loop, direction
from kane_dynamics_ros.elastic.wind_pump.parameters import GRAVITY, Mechanism
from kane_dynamics_ros.runtime.interface import Array

LIAISON_FORCES = ("X_A", "Y_A", "X_B", "Y_B", "X_C", "Y_C", "X_D", "Y_D")
CRANK_ROW = 2  # the crank's moment equation, where the motor's torque stands


class Motion(NamedTuple):
    """State of the mechanism: crank angle and speed [rad, rad/s], slide position and speed [m, m/s]."""

    phi_1: float
    omega_1: float
    x_D: float
    v_D: float


class Loads(NamedTuple):
    """Accelerations of (phi_1, x_D), the motor's torque [N m], and the liaison forces (8,) [N]."""

    accelerations: Array
    torque: float
    liaison: Array


def mass_matrix(pump: Mechanism) -> Array:
    """[m] of eq. (A43), (10, 10)."""
    m1, m2, m3 = pump.m1, pump.m2, pump.m3
    return np.diag([m1, m1, pump.J1, m2, m2, pump.J2, m3, m3, pump.J3, pump.mD])


def external_forces(pump: Mechanism, motion: Motion, torque: float) -> Array:
    """{Q_ext} of eq. (A42), (10,). The mass centre of body 3 is that of pendulum and weight together, so
    that gravity has no moment about it.
    """
    Q = np.zeros(10)
    Q[[1, 4, 7]] = -GRAVITY * np.array([pump.m1, pump.m2, pump.m3])
    Q[CRANK_ROW] = torque
    Q[9] = -pump.Fr * np.tanh(motion.v_D / pump.v_Fr) - pump.k * (motion.x_D - pump.x0)
    return Q


def liaison_matrix(pump: Mechanism, angles: Angles) -> Array:
    """{Q_liaison} = L (X_A .. Y_D), eqs. (A32) to (A41) with the signs of the moments mended; (10, 8).

    Body 2 bears (-X_B, -Y_B) and (X_C, -Y_C), body 3 (-X_C, Y_C) and (X_D, -Y_D), the slide -X_D.
    """
    crank, lever = pump.l1 * direction(angles.phi_1), pump.l2 * direction(angles.phi_2)
    C = -pump.hg * direction(angles.phi_3 - pump.psi - pump.xi)  # from mass centre 3, eqs. (A39), (A40)
    D = C + pump.h * direction(angles.phi_3 - pump.psi)  # eqs. (A37), (A38)
    L = np.zeros((10, 8))
    _apply(L, 0, 0, -pump.a1 * crank, (1, 1))
    _apply(L, 0, 2, (1 - pump.a1) * crank, (1, 1))
    _apply(L, 1, 2, -pump.a2 * lever, (-1, -1))
    _apply(L, 1, 4, (1 - pump.a2) * lever, (1, -1))
    _apply(L, 2, 4, C, (-1, 1))
    _apply(L, 2, 6, D, (1, -1))
    L[9, 6] = -1.0
    return L


def _apply(L: Array, body: int, column: int, at: Array, signs: tuple[int, int]) -> None:
    """The force (signs[0] X, signs[1] Y) on a body, ``at`` from its mass centre."""
    row = 3 * body
    L[row, column] += signs[0]
    L[row + 1, column + 1] += signs[1]
    L[row + 2, column] -= at[1] * signs[0]
    L[row + 2, column + 1] += at[0] * signs[1]


def equations_of_motion(pump: Mechanism, motion: Motion, torque: float) -> tuple[Array, Array]:
    """Eq. (A46): (2, 2) matrix and (2,) right side for (epsilon_1, x_D''), without liaison forces."""
    angles = close_loop(pump, motion.phi_1, motion.x_D)
    A, B = accelerations(pump, angles)
    m = mass_matrix(pump)
    products = np.array([motion.omega_1**2, motion.omega_1 * motion.v_D, motion.v_D**2])
    return A.T @ m @ A, A.T @ (external_forces(pump, motion, torque) - m @ B @ products)


def slide_acceleration(pump: Mechanism, motion: Motion) -> float:
    """x_D'' [m/s^2] while the crank turns steadily: the second row of eq. (A46)."""
    inertia, load = equations_of_motion(pump, motion, 0.0)
    return float(load[1] / inertia[1, 1])


def driven(pump: Mechanism, motion: Motion) -> Loads:
    """What a crank that turns steadily needs and bears: eq. (A46) for x_D'' and the torque, then eq. (A43)
    for the liaison forces.
    """
    angles = close_loop(pump, motion.phi_1, motion.x_D)
    A, B = accelerations(pump, angles)
    m = mass_matrix(pump)
    products = np.array([motion.omega_1**2, motion.omega_1 * motion.v_D, motion.v_D**2])
    inertia, load = equations_of_motion(pump, motion, 0.0)
    slide = slide_acceleration(pump, motion)
    torque = float(inertia[0, 1] * slide - load[0])
    second = np.array([0.0, slide])
    left = m @ (A @ second + B @ products) - external_forces(pump, motion, torque)
    L = liaison_matrix(pump, angles)
    liaison, *_ = np.linalg.lstsq(L, left, rcond=None)  # 10 equations, 8 unknowns, consistent by eq. (A45)
    return Loads(second, torque, liaison)
