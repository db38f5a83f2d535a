"""A numeric recursive Newton-Euler on a Chain, for comparison with Pinocchio in the tests of this room."""

import numpy as np

from kane_dynamics_ros.description import Chain


def rotation(axis, angle):
    """Rodrigues' formula."""
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def inverse_dynamics(chain: Chain, q, qd, qdd, gravity=(0.0, 0.0, -9.81)):
    """tau of shape (n,), everything expressed in the root link's frame."""
    moving = []
    R, p = np.eye(3), np.zeros(3)
    omega, alpha, acceleration = np.zeros(3), np.zeros(3), -np.array(gravity)
    for joint in chain.joints:
        position = joint.multiplier * q[joint.coordinate] + joint.offset
        speed, rate = joint.multiplier * qd[joint.coordinate], joint.multiplier * qdd[joint.coordinate]
        arm = R @ np.array(joint.p_PoJo_P)
        R = R @ np.array(joint.R_PJ)
        z = R @ np.array(joint.axis)
        if joint.kind == "prismatic":
            arm = arm + position * z
        p = p + arm
        acceleration = acceleration + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
        if joint.kind == "prismatic":
            acceleration = acceleration + rate * z + 2 * np.cross(omega, speed * z)
        else:
            alpha = alpha + rate * z + np.cross(omega, speed * z)
            omega = omega + speed * z
            R = R @ rotation(joint.axis, position)
        c = R @ np.array(joint.inertia.com)
        I_cm = R @ np.array(joint.inertia.tensor) @ R.T
        force = joint.inertia.mass * (acceleration + np.cross(alpha, c) + np.cross(omega, np.cross(omega, c)))
        moment = I_cm @ alpha + np.cross(omega, I_cm @ omega)
        moving.append((joint, z, p, p + c, force, moment))
    tau = np.zeros(len(chain.coordinates))
    for k, (joint, z, origin, *_) in enumerate(moving):
        force = sum(f for *_, f, _ in moving[k:])
        moment = sum(n + np.cross(centre - origin, f) for _, _, _, centre, f, n in moving[k:])
        own = z @ (force if joint.kind == "prismatic" else moment)
        tau[joint.coordinate] += joint.multiplier * own
    return tau
