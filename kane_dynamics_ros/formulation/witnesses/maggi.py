"""Maggi's equations with redundant coordinates of every body. A witness for Kane's equations.

    sum_r C_rs [d/dt (dL/dqd_r) - dL/dq_r - Q_r] = sum_r C_rs Phi_r = 0       [Malvezzi2017] eq. (18)

Redundant coordinates of each body: the position x of its centre of mass in the root frame and the nine
direction cosines R of its axes. With them the Lagrangian is as simple as it can be,

    L = sum  m xd.xd / 2 + tr(Rd P Rd') / 2 + m g.x,   P = tr(J) 1 / 2 - J,

so that Phi_x = m (xdd - g) and Phi_R = Rdd P need no differentiation. The joint positions theta
are coordinates too, with Phi_theta = -tau. The rows of C are d(x, R)/d theta, eq. (17), by dual
numbers; the accelerations xdd, Rdd that satisfy the constraints, eq. (14), come from nested ones.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from kane_dynamics_ros.description.model import Chain, ChainJoint, Inertia
from kane_dynamics_ros.formulation.dual import Dual, column, cos, lanes, sin, skew
from kane_dynamics_ros.formulation.witnesses.loads import body_inertias


class BodyCoordinates(NamedTuple):
    """Redundant coordinates of one rigid body: ``x`` (3, 1) and ``R`` (3, 3), and its inertia."""

    x: Any
    R: Any
    inertia: Inertia


def inverse_dynamics(chain: Chain, q: Any, qd: Any, qdd: Any, gravity: Any, *payloads: Inertia) -> Any:
    """Joint efforts (n,) that cause ``qdd`` (n,) at ``q`` (n,), ``qd`` (n,): rigid bodies only.

    ``gravity`` is the free-fall acceleration in the root frame (3,) [m/s^2]; ``payloads``: one for
    each tip, in its frame. Every argument, and the chain's numbers, may be floats or SymPy expressions.
    """
    q_of_t = [Dual(Dual(s, sd), Dual(sd, sdd)) for s, sd, sdd in zip(q, qd, qdd, strict=True)]
    motion = redundant_coordinates(chain, q_of_t, *payloads)
    columns = redundant_coordinates(chain, lanes(q), *payloads)
    tau: Any = np.zeros(len(chain.coordinates), dtype=int)
    for body, moved in zip(motion, columns, strict=True):
        phi_x = body.inertia.mass * (_second_rate(body.x) - column(gravity))
        phi_R = _second_rate(body.R) @ _second_moments(body.inertia)
        tau = tau + _project(moved.x, phi_x) + _project(moved.R, phi_R)  # [Malvezzi2017] eq. (18)
    return tau


def redundant_coordinates(chain: Chain, q: Any, *payloads: Inertia) -> Iterator[BodyCoordinates]:
    """The redundant coordinates of every body at joint positions ``q``, eq. (12) solved for them."""
    root: tuple[Any, Any] = np.eye(3, dtype=int), column((0, 0, 0))
    frames: list[tuple[Any, Any]] = []
    for joint, inertias in zip(chain.joints, body_inertias(chain, *payloads), strict=True):
        before = frames[joint.parent] if joint.parent >= 0 else root
        R, p = _next_frame(joint, *before, joint.multiplier * q[joint.coordinate] + joint.offset)
        frames.append((R, p))
        for inertia in inertias:
            yield BodyCoordinates(p + R @ column(inertia.com), R, inertia)


def _next_frame(joint: ChainJoint, R: Any, p: Any, s: Any) -> tuple[Any, Any]:
    p = p + R @ column(joint.p_PoJo_P)
    R = R @ np.array(joint.R_PJ)
    axis = column(joint.axis)
    if joint.kind == "prismatic":
        return R, p + R @ (axis * s)
    along = axis @ axis.T
    turn = along + (np.eye(3, dtype=int) - along) * cos(s) + skew(axis) * sin(s)
    return R @ turn, p


def _second_moments(inertia: Inertia) -> Any:
    """P = tr(J) 1 / 2 - J, the second moments of the mass about its centre."""
    J = np.array(inertia.tensor)
    return np.eye(3, dtype=int) * (J[0, 0] + J[1, 1] + J[2, 2]) / 2 - J


def _second_rate(a: Any) -> Any:
    """The second time derivative of a nested dual; zero for a coordinate that never moves."""
    return a.slope.slope if isinstance(a, Dual) else np.zeros_like(a)


def _project(moved: Any, phi: Any) -> Any:
    """One body's share of C' Phi: for each theta_s, the sum over r of C_rs Phi_r."""
    if not isinstance(moved, Dual):
        return 0
    return (moved.slope * phi).sum(axis=(-2, -1))
