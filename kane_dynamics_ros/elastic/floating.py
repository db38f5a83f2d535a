"""Generalized inertia of one elastic body whose frame moves freely: [WindPump] eq. (17) with three rows more.

With rho = r + N delta, W = [alpha] + [omega][omega] and the acceleration of a point, eq. (15),
a = a_O + W rho + 2 omega x N delta' + N delta'', Kane's generalized inertia forces are int (partial
velocity) . a dm for the partial velocities N (delta', eq. (16)), E (velocity of O) and -[rho] (angular
velocity). All integrals are contractions of the body's D, E and m_O.
"""

from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.description.model import Inertia
from kane_dynamics_ros.elastic.body import ElasticBody
from kane_dynamics_ros.elastic.equations import skew
from kane_dynamics_ros.elastic.rotations import E3
from kane_dynamics_ros.runtime.interface import Array


class FloatingInertia(NamedTuple):
    """Inertia of a body in its frame: ``spatial`` (6, 6) for (alpha, a_O); ``coupling`` (6, n) to delta''.

    ``bias`` (6,) and ``bias_delta`` (n,): inertia forces at delta'' = 0 for the frame's (alpha, a_O) given.
    """

    spatial: Array
    coupling: Array
    bias: Array
    bias_delta: Array


def rigid_inertia(mass: float, S: Array, J: Array) -> Array:
    """(6, 6) of a rigid body: ``S`` = mass times centre of mass, ``J`` its tensor about the origin."""
    total = np.zeros((6, 6))
    total[:3, :3] = J
    total[:3, 3:] = skew(S)
    total[3:, :3] = -total[:3, 3:]
    total[3:, 3:] = mass * E3
    return total


def body_inertia(mass: float, com: Array, central: Array) -> Array:
    """(6, 6) of a rigid body from its centre of mass and central tensor."""
    return rigid_inertia(mass, mass * com, central + mass * (com @ com * E3 - np.outer(com, com)))


def spatial_inertia(inertia: Inertia) -> Array:
    """(6, 6) of a lumped rigid body of a chain, in its frame."""
    return body_inertia(inertia.mass, np.array(inertia.com), np.array(inertia.tensor))


def rigid_bias(spatial: Array, omega: Array, acceleration: Array) -> Array:
    """Inertia force and moment (6,) of a rigid body at (alpha, a_O)."""
    K = skew(omega)
    velocity_terms = spatial[:, :3] @ omega  # J omega, and - S x omega = omega x S
    bias = spatial @ acceleration
    bias[:3] += K @ velocity_terms[:3]
    bias[3:] += K @ velocity_terms[3:]
    return np.asarray(bias)


def floating_inertia(
    body: ElasticBody, delta: Array, rate: Array, omega: Array, acceleration: Array
) -> FloatingInertia:
    """The inertia of an elastic body in the state (delta, delta') at the frame's omega, alpha, a_O."""
    n = len(delta)
    D_delta, D_rate = (body.D.reshape(9 * n, n) @ np.stack([delta, rate], axis=1)).T.reshape(2, 3, 3, n)
    rho = body.E + D_delta  # [b, a]: int N_b rho_a dm
    coupling = np.empty((6, n))
    coupling[0], coupling[1], coupling[2] = (
        rho[2, 1] - rho[1, 2],
        rho[0, 2] - rho[2, 0],
        rho[1, 0] - rho[0, 1],
    )
    coupling[3:] = body.m_O
    R2 = body.R2 + body.E @ delta + (rho @ delta).T  # int rho rho^T dm
    S = body.S + body.m_O @ delta
    J = (R2[0, 0] + R2[1, 1] + R2[2, 2]) * E3 - R2
    T = (rho @ rate).T  # [a, b]: int rho_a u'_b dm
    K = skew(omega)
    W = skew(acceleration[:3]) + K @ K
    inertia = rigid_inertia(body.mass, S, J)
    bias = np.empty(6)
    bias[:3] = (
        inertia[:3] @ acceleration
        + K @ (J @ omega)
        + 2.0 * ((T[0, 0] + T[1, 1] + T[2, 2]) * omega - omega @ T)
    )
    bias[3:] = body.mass * acceleration[3:] + W @ S + 2.0 * (K @ (body.m_O @ rate))
    bias_delta = acceleration[3:] @ body.m_O + W.reshape(9) @ rho.reshape(9, n)
    bias_delta = bias_delta + 2.0 * (K.reshape(9) @ D_rate.reshape(9, n))
    return FloatingInertia(inertia, coupling, bias, bias_delta)
