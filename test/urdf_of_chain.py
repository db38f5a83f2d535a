"""A chain written as a URDF, and the same robot with other link frames: helpers of the tests."""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from kane_dynamics_ros.description.model import Chain, Inertia


def urdf_of(chain: Chain) -> str:
    """The chain's links and joints with every digit; the tip is a link fixed to the last body."""
    links = [f'<link name="{chain.root}"/>']
    joints, parent = [], chain.root
    for joint in chain.joints:
        links.append(f'<link name="{joint.body}">{_inertial(joint.inertia)}</link>')
        joints.append(
            f'<joint name="{joint.name}" type="{joint.kind}"><parent link="{parent}"/>'
            f'<child link="{joint.body}"/>{_origin(joint.R_PJ, joint.p_PoJo_P)}'
            f'<axis xyz="{_numbers(joint.axis)}"/>'
            '<limit lower="-9" upper="9" velocity="9" effort="900"/></joint>'
        )
        parent = joint.body
    links.append(f'<link name="{chain.tip}"/>')
    joints.append(
        f'<joint name="tip_joint" type="fixed"><parent link="{parent}"/><child link="{chain.tip}"/>'
        f"{_origin(chain.R_BT, chain.p_BoTo_B)}</joint>"
    )
    return f'<robot name="{chain.robot}">\n' + "\n".join(links + joints) + "\n</robot>\n"


def reframed(chain: Chain, rng: np.random.Generator) -> Chain:
    """The same robot with every link frame turned, and slid along its joint's axis where that is free.

    A revolute joint's frame may stand anywhere on its axis; the new frame L' is placed by (R, p) in L.
    """
    joints, R_old, p_old = [], np.eye(3), np.zeros(3)
    for joint in chain.joints:
        axis = np.array(joint.axis)
        R = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
        p = axis * rng.uniform(-0.5, 0.5)
        R_PJ = R_old.T @ np.array(joint.R_PJ) @ R
        place = R_old.T @ (np.array(joint.p_PoJo_P) + np.array(joint.R_PJ) @ p - p_old)
        inertia = joint.inertia
        moved = Inertia(
            inertia.mass,
            tuple(R.T @ (np.array(inertia.com) - p)),
            tuple(map(tuple, R.T @ np.array(inertia.tensor) @ R)),
        )
        joints.append(
            replace(
                joint,
                R_PJ=tuple(map(tuple, R_PJ)),
                p_PoJo_P=tuple(place),
                axis=tuple(R.T @ axis),
                inertia=moved,
            )
        )
        R_old, p_old = R, p
    R_BT = R_old.T @ np.array(chain.R_BT)
    return replace(
        chain,
        joints=tuple(joints),
        R_BT=tuple(map(tuple, R_BT)),
        p_BoTo_B=tuple(R_old.T @ (np.array(chain.p_BoTo_B) - p_old)),
    )


def _numbers(values) -> str:
    return " ".join(repr(float(value)) for value in values)


def _origin(R, p) -> str:
    roll, pitch, yaw = Rotation.from_matrix(np.array(R)).as_euler("xyz")
    return f'<origin xyz="{_numbers(p)}" rpy="{_numbers((roll, pitch, yaw))}"/>'


def _inertial(inertia: Inertia) -> str:
    J = inertia.tensor
    entries = {"ixx": J[0][0], "ixy": J[0][1], "ixz": J[0][2], "iyy": J[1][1], "iyz": J[1][2], "izz": J[2][2]}
    written = " ".join(f'{name}="{float(value)!r}"' for name, value in entries.items())
    return (
        f'<inertial><origin xyz="{_numbers(inertia.com)}"/><mass value="{float(inertia.mass)!r}"/>'
        f"<inertia {written}/></inertial>"
    )
