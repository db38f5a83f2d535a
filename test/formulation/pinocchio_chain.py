"""A chain as a Pinocchio model, built joint by joint: a helper of the tests."""

import numpy as np
import pinocchio

from kane_dynamics_ros.description.model import Chain, Inertia


def pinocchio_model(chain: Chain, gravity, payload: Inertia | None = None) -> pinocchio.Model:
    """The same chain, without mimic joints, for ``pinocchio.rnea`` and its kin."""
    model = pinocchio.Model()
    ids = []
    for joint in chain.joints:
        kinds = {"prismatic": pinocchio.JointModelPrismaticUnaligned}
        kind = kinds.get(joint.kind, pinocchio.JointModelRevoluteUnaligned)
        placement = pinocchio.SE3(np.array(joint.R_PJ), np.array(joint.p_PoJo_P))
        parent = ids[joint.parent] if joint.parent >= 0 else 0
        ids.append(model.addJoint(parent, kind(np.array(joint.axis)), placement, joint.name))
        model.appendBodyToJoint(ids[-1], _inertia(joint.inertia), pinocchio.SE3.Identity())
    if payload is not None:
        tip = pinocchio.SE3(np.array(chain.R_BT), np.array(chain.p_BoTo_B))
        model.appendBodyToJoint(ids[chain.tip_body], _inertia(payload), tip)
    model.gravity.linear = np.array(gravity)
    return model


def _inertia(inertia: Inertia) -> pinocchio.Inertia:
    return pinocchio.Inertia(inertia.mass, np.array(inertia.com), np.array(inertia.tensor))
