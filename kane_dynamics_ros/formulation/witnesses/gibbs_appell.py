"""The Gibbs-Appell equations: the energy of accelerations. A witness for Kane's equations.

    S = sum  m a.a / 2 + alpha.J alpha / 2 + alpha.(w x J w),   tau_i = dS/dqdd_i - sum  m g.(da/dqdd_i)

with a the acceleration of a centre of mass, w and alpha the angular velocity and acceleration, J the
central inertia; see [Papastavridis1988]. Terms of S without qdd are left out. All vectors are in the
root frame. The derivative is taken by dual numbers, one lane for each acceleration.
"""

from typing import Any

import numpy as np

from kane_dynamics_ros.description.model import Chain, ChainJoint, Inertia
from kane_dynamics_ros.formulation.dual import column, cos, lanes, sin, skew, transpose
from kane_dynamics_ros.formulation.witnesses.loads import body_inertias


def inverse_dynamics(chain: Chain, q: Any, qd: Any, qdd: Any, gravity: Any, *payloads: Inertia) -> Any:
    """Joint efforts (n,) that cause ``qdd`` (n,) at ``q`` (n,), ``qd`` (n,): rigid bodies only.

    ``gravity`` is the free-fall acceleration in the root frame (3,) [m/s^2]; ``payloads``: one for
    each tip, in its frame. Every argument, and the chain's numbers, may be floats or SymPy expressions.
    """
    energy = acceleration_energy(chain, q, qd, lanes(qdd), gravity, *payloads)
    return energy.slope.reshape(len(chain.coordinates))


def acceleration_energy(chain: Chain, q: Any, qd: Any, qdd: Any, gravity: Any, *payloads: Inertia) -> Any:
    """S - sum m g.a, (1, 1): the part of the acceleration energy, and of gravity's, that holds qdd."""
    energy: Any = np.zeros((1, 1), dtype=int)
    still = column((0, 0, 0))
    root: tuple[Any, Any, Any, Any] = np.eye(3, dtype=int), still, still, still
    bodies: list[tuple[Any, Any, Any, Any]] = []
    for joint, inertias in zip(chain.joints, body_inertias(chain, *payloads), strict=True):
        s, sd, sdd = _joint_position(joint, q, qd, qdd)
        before = bodies[joint.parent] if joint.parent >= 0 else root
        R, w, alpha, a = _next_body(joint, before, s, sd, sdd)
        bodies.append((R, w, alpha, a))
        for inertia in inertias:
            r = R @ column(inertia.com)
            J = R @ np.array(inertia.tensor) @ R.T
            a_cm = a + skew(alpha) @ r + skew(w) @ (skew(w) @ r)
            linear = transpose(a_cm) @ (a_cm - 2 * column(gravity))
            angular = transpose(alpha) @ (J @ alpha + 2 * (skew(w) @ (J @ w)))
            energy = energy + inertia.mass * linear + angular
    return energy / 2


def _joint_position(joint: ChainJoint, q: Any, qd: Any, qdd: Any) -> tuple[Any, Any, Any]:
    c, k = joint.coordinate, joint.multiplier
    return k * q[c] + joint.offset, k * qd[c], k * qdd[c]


def _next_body(
    joint: ChainJoint, parent: tuple[Any, Any, Any, Any], s: Any, sd: Any, sdd: Any
) -> tuple[Any, Any, Any, Any]:
    """Orientation, w, alpha and the origin's acceleration of the body that ``joint`` carries."""
    R, w, alpha, a = parent
    r = R @ column(joint.p_PoJo_P)
    R = R @ np.array(joint.R_PJ)
    axis = R @ column(joint.axis)
    if joint.kind == "prismatic":
        r = r + axis * s
        coriolis = 2 * (skew(w) @ axis) * sd
        return R, w, alpha, a + skew(alpha) @ r + skew(w) @ (skew(w) @ r) + coriolis + axis * sdd
    a = a + skew(alpha) @ r + skew(w) @ (skew(w) @ r)
    alpha = alpha + (skew(w) @ axis) * sd + axis * sdd
    return R @ _rotation(joint.axis, s), w + axis * sd, alpha, a


def _rotation(axis: Any, angle: Any) -> Any:
    """Turn by ``angle`` about a unit axis: cos 1 + (1 - cos) a a' + sin [a]x."""
    a, c = column(axis), cos(angle)
    return np.eye(3, dtype=int) * c + (a @ a.T) * (1 - c) + skew(a) * sin(angle)
