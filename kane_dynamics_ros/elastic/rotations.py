"""Frames that follow one another: 6 x 6 transforms of partial velocities, and small rotations.

A motion is (angular velocity, velocity of the frame's origin), both expressed in the frame itself.
"""

from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.elastic.equations import skew
from kane_dynamics_ros.runtime.interface import Array

E3 = np.eye(3)


def transform(R: Array, r: Array) -> Array:
    """X with (motion of C) = X (motion of P) for C fixed in P at ``r`` with orientation R = R_PC; (6, 6)."""
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = R.T
    X[3:, :3] = -(R.T @ skew(r))
    return X


class Turn(NamedTuple):
    """A section's rotation R, its angular velocity J theta', and what remains of its angular acceleration
    J theta'' + ``rest``; all expressed in the undeformed frame.
    """

    R: Array
    J: Array
    omega: Array
    rest: Array


def turn(theta: Array, rate: Array) -> Turn:
    """The rotation that belongs to a node's angles theta = (phi, theta_y, theta_z) and their rates.

    Cayley's map, R = E + c ([t] + [t]^2 / 2) with c = 4 / (4 + t.t): to first order the beam's rotation
    E + [theta], and a true rotation for any theta, so that no energy is lost or made.
    omega = c (t' + t x t' / 2); c' = - c^2 t.t' / 2.
    """
    K = skew(theta)
    c = 4.0 / (4.0 + float(theta @ theta))
    c_rate = -0.5 * c * c * float(theta @ rate)
    B = E3 + 0.5 * K
    omega = c * (B @ rate)
    return Turn(E3 + c * (K + 0.5 * (K @ K)), c * B, omega, (c_rate / c) * omega)


def frame_along(direction: Array, z_axis: Array) -> Array:
    """The orientation of a frame whose x is ``direction`` and whose z is nearest to ``z_axis``, (3, 3)."""
    x = direction / np.linalg.norm(direction)
    y = np.cross(z_axis, x)
    y /= np.linalg.norm(y)
    return np.stack([x, y, np.cross(x, y)], axis=1)
