"""Lagrange's equations: energies, then exact differentiation. A witness for Kane's equations.

    tau_i = d/dt (dL/dqd_i) - dL/dq_i,   L = T - U                             [Malvezzi2017] eq. (8)

Velocities are those of the bodies in their own axes. The derivatives are taken by dual numbers: one
for time along the motion (q, qd, qdd), one lane for each coordinate and one for each rate.
"""

from typing import Any

import numpy as np

from kane_dynamics_ros.description.model import Chain, ChainJoint, Inertia
from kane_dynamics_ros.formulation.dual import Dual, column, cos, lanes, sin, skew, transpose
from kane_dynamics_ros.formulation.witnesses.loads import body_inertias


def inverse_dynamics(chain: Chain, q: Any, qd: Any, qdd: Any, gravity: Any, *payloads: Inertia) -> Any:
    """Joint efforts (n,) that cause ``qdd`` (n,) at ``q`` (n,), ``qd`` (n,): rigid bodies only.

    ``gravity`` is the free-fall acceleration in the root frame (3,) [m/s^2]; ``payloads``: one for
    each tip, in its frame. Every argument, and the chain's numbers, may be floats or SymPy expressions.
    """
    n = len(chain.coordinates)
    q_of_t = [Dual(position, rate) for position, rate in zip(lanes(q, n, 2 * n), qd, strict=True)]
    qd_of_t = [Dual(rate, acceleration) for rate, acceleration in zip(lanes(qd, 0, 2 * n), qdd, strict=True)]
    kinetic, potential = energies(chain, q_of_t, qd_of_t, gravity, *payloads)
    lagrangian = kinetic - potential
    momentum_rate = lagrangian.slope.slope[:n]  # d/dt (dL/dqd_i)
    # [Malvezzi2017] eq. (8), [Hussain2016] eq. (43)
    return (momentum_rate - lagrangian.value.slope[n:]).reshape(n)


def energies(chain: Chain, q: Any, qd: Any, gravity: Any, *payloads: Inertia) -> tuple[Any, Any]:
    """Kinetic and potential energy [J], each (1, 1); potential is zero at the root frame's origin.

    Of the state ``q``, ``qd`` (n,), floats, SymPy expressions or duals; ``gravity`` is the free-fall
    acceleration in the root frame (3,) [m/s^2]. [Hussain2016] eqs. (44), (45) are those of three links.
    """
    kinetic, potential = np.zeros((1, 1), dtype=int), np.zeros((1, 1), dtype=int)
    still = column((0, 0, 0))
    root: tuple[Any, Any, Any, Any] = np.eye(3, dtype=int), still, still, still
    bodies: list[tuple[Any, Any, Any, Any]] = []
    for joint, inertias in zip(chain.joints, body_inertias(chain, *payloads), strict=True):
        R_0B, p_0Bo_0, w_B, v_Bo_B = bodies[joint.parent] if joint.parent >= 0 else root
        s = joint.multiplier * q[joint.coordinate] + joint.offset
        sd = joint.multiplier * qd[joint.coordinate]
        R_PB, p_PoBo_P, spin, slide = _joint_motion(joint, s)
        v_Bo_B = transpose(R_PB) @ (v_Bo_B + skew(w_B) @ p_PoBo_P) + slide * sd
        w_B = transpose(R_PB) @ w_B + spin * sd
        p_0Bo_0 = p_0Bo_0 + R_0B @ p_PoBo_P
        R_0B = R_0B @ R_PB
        bodies.append((R_0B, p_0Bo_0, w_B, v_Bo_B))
        for inertia in inertias:
            com = column(inertia.com)
            v_Bcm_B = v_Bo_B + skew(w_B) @ com
            angular = transpose(w_B) @ (np.array(inertia.tensor) @ w_B)
            kinetic = kinetic + (inertia.mass * (transpose(v_Bcm_B) @ v_Bcm_B) + angular) / 2
            potential = potential - inertia.mass * (column(gravity).T @ (p_0Bo_0 + R_0B @ com))
    return kinetic, potential


def _joint_motion(joint: ChainJoint, s: Any) -> tuple[Any, Any, Any, Any]:
    """R_PB and p_PoBo_P at joint position ``s``, and what the rate adds to w_B and to v_Bo_B."""
    axis, none = column(joint.axis), column((0, 0, 0))
    R_PJ, p_PoJo_P = np.array(joint.R_PJ), column(joint.p_PoJo_P)
    if joint.kind == "prismatic":
        return R_PJ, p_PoJo_P + (R_PJ @ axis) * s, none, axis
    K = skew(axis)
    rotation = np.eye(3, dtype=int) + K * sin(s) + (K @ K) * (1 - cos(s))
    return R_PJ @ rotation, p_PoJo_P, axis, none
