"""A plain numeric recursive Newton-Euler, the textbook's two passes: a helper of the tests.

Written for floats alone, with NumPy's cross product, spatial quantities at the body's origin, forces
passed from the tips to the root. Gravity enters as an upward acceleration of the root.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from kane_dynamics_ros.description.model import Chain, Inertia


def inverse_dynamics(chain: Chain, q, qd, qdd, gravity, payload: Inertia | None = None) -> np.ndarray:
    """Joint efforts (n,) by one pass outwards (motion) and one inwards (forces)."""
    bodies = [_step(joint, q, qd, qdd) for joint in chain.joints]
    root = np.zeros(3), np.zeros(3), -np.asarray(gravity, float)
    motions, loads = [], []
    for index, (joint, (R, p, spin, slide)) in enumerate(zip(chain.joints, bodies, strict=True)):
        w, alpha, a = root if joint.parent < 0 else motions[joint.parent]
        a = R.T @ (a + np.cross(alpha, p) + np.cross(w, np.cross(w, p)))
        w_parent = R.T @ w
        a = a + 2 * np.cross(w_parent, slide[1]) + slide[2]
        alpha = R.T @ alpha + np.cross(w_parent, spin[1]) + spin[2]
        w = w_parent + spin[1]
        motions.append((w, alpha, a))
        force, moment = _body_load(joint.inertia, w, alpha, a)
        if payload is not None and index == chain.tip_body:
            extra = _body_load(_moved(chain, payload), w, alpha, a)
            force, moment = force + extra[0], moment + extra[1]
        loads.append((force, moment))
    return _inward(chain, bodies, loads)


def _step(joint, q, qd, qdd):
    axis, c, k = np.array(joint.axis), joint.coordinate, joint.multiplier
    s, sd, sdd = k * q[c] + joint.offset, k * qd[c], k * qdd[c]
    R, p = np.array(joint.R_PJ), np.array(joint.p_PoJo_P)
    moving, still = (axis, axis * sd, axis * sdd), (0 * axis, 0 * axis, 0 * axis)
    if joint.kind == "prismatic":
        return R, p + R @ axis * s, still, moving
    return R @ Rotation.from_rotvec(axis * s).as_matrix(), p, moving, still


def _body_load(inertia: Inertia, w, alpha, a):
    r, J = np.array(inertia.com), np.array(inertia.tensor)
    force = inertia.mass * (a + np.cross(alpha, r) + np.cross(w, np.cross(w, r)))
    return force, J @ alpha + np.cross(w, J @ w) + np.cross(r, force)


def _moved(chain: Chain, payload: Inertia) -> Inertia:
    R = np.array(chain.R_BT)
    com = np.array(chain.p_BoTo_B) + R @ payload.com
    return Inertia(payload.mass, tuple(com), R @ np.array(payload.tensor) @ R.T)


def _inward(chain, bodies, loads):
    tau = np.zeros(len(chain.coordinates))
    loads = list(loads)
    for k in range(len(loads) - 1, -1, -1):
        joint, (R, p, spin, slide), (force, moment) = chain.joints[k], bodies[k], loads[k]
        tau[joint.coordinate] += joint.multiplier * (spin[0] @ moment + slide[0] @ force)
        if joint.parent >= 0:
            before = loads[joint.parent]
            loads[joint.parent] = before[0] + R @ force, before[1] + R @ moment + np.cross(p, R @ force)
    return tau
