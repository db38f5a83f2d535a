"""The same chain in Pinocchio: the whole URDF with every joint off the chain locked."""

import functools
from xml.etree import ElementTree

import numpy as np
import pinocchio

from kane_dynamics_ros.description import Chain, Robot
from kane_dynamics_ros.description.tree import hold

PREFIX = "joint:"


@functools.lru_cache(maxsize=1)
def pinocchio_model(text: str) -> pinocchio.Model:
    """The whole robot. Joints get a prefix: Pinocchio confuses one with a link of the same name."""
    root = ElementTree.fromstring(text.encode())
    for joint in root.iter("joint"):
        joint.set("name", PREFIX + joint.get("name", ""))
    for mimic in root.iter("mimic"):
        mimic.set("joint", PREFIX + mimic.get("joint", ""))
    return pinocchio.buildModelFromXML(ElementTree.tostring(root, encoding="unicode"))


class PinocchioChain:
    """Pinocchio's inverse dynamics in the coordinates of ``chain``; mimics are applied here."""

    def __init__(self, text: str, robot: Robot, chain: Chain) -> None:
        full = pinocchio_model(text)
        rest = hold(robot, dict(chain.locked)).positions
        q = pinocchio.neutral(full)
        names = {PREFIX + joint.name for joint in chain.joints}
        for joint in robot.joints:
            if joint.kind in ("revolute", "continuous", "prismatic"):
                put(full, q, joint.name, rest[joint.name])
        off = [full.getJointId(name) for name in full.names[1:] if name not in names]
        self.chain, self.joints = chain, chain.joints
        self.model = pinocchio.buildReducedModel(full, off, q)
        self.data = self.model.createData()

    def inverse_dynamics(self, q, qd, qdd):
        """tau of shape (n,), the efforts of followers given to their leaders."""
        Q, V, A = pinocchio.neutral(self.model), np.zeros(self.model.nv), np.zeros(self.model.nv)
        for joint in self.joints:
            index = self.model.joints[self.model.getJointId(PREFIX + joint.name)].idx_v
            put(self.model, Q, joint.name, joint.multiplier * q[joint.coordinate] + joint.offset)
            V[index] = joint.multiplier * qd[joint.coordinate]
            A[index] = joint.multiplier * qdd[joint.coordinate]
        efforts = pinocchio.rnea(self.model, self.data, Q, V, A)
        tau = np.zeros(len(self.chain.coordinates))
        for joint in self.joints:
            index = self.model.joints[self.model.getJointId(PREFIX + joint.name)].idx_v
            tau[joint.coordinate] += joint.multiplier * efforts[index]
        return tau


def put(model, Q, name, position):
    """Set one joint's position; Pinocchio keeps cosine and sine of a continuous joint."""
    joint = model.joints[model.getJointId(PREFIX + name)]
    Q[joint.idx_q : joint.idx_q + joint.nq] = (
        position if joint.nq == 1 else (np.cos(position), np.sin(position))
    )
