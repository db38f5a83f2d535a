"""Random chains and trees, states and payloads: shared by the tests of every room."""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from kane_dynamics_ros.description.model import Chain, ChainJoint, Inertia


def random_chain(rng: np.random.Generator, n: int, *, prismatic: float = 0.3) -> Chain:
    """A chain of ``n`` joints with random frames, axes and inertias; each prismatic with that chance."""
    joints = []
    for index in range(n):
        kind = "prismatic" if rng.random() < prismatic else "revolute"
        joints.append(
            ChainJoint(
                name=f"joint_{index + 1}",
                kind=kind,
                R_PJ=_rows(Rotation.random(random_state=_seed(rng)).as_matrix()),
                p_PoJo_P=_vector(rng.uniform(-0.5, 0.5, 3)),
                axis=_vector(_unit(rng.normal(size=3))),
                body=f"link_{index + 1}",
                inertia=random_inertia(rng),
                coordinate=index,
                parent=index - 1,
            )
        )
    names = tuple(joint.name for joint in joints)
    R_BT = _rows(Rotation.random(random_state=_seed(rng)).as_matrix())
    p_BoTo_B = _vector(rng.uniform(-0.3, 0.3, 3))
    return Chain("random", "base", "tip", tuple(joints), names, n - 1, R_BT, p_BoTo_B)


def random_tree(rng: np.random.Generator, n: int, *, prismatic: float = 0.3) -> Chain:
    """A tree of ``n`` joints, each on a body before it or on the root; the tip is on any body.

    Their order is depth first, as a URDF's is, so that Pinocchio's is the same.
    """
    chain = random_chain(rng, n, prismatic=prismatic)
    path, joints = [-1], []
    for k, joint in enumerate(chain.joints):
        del path[int(rng.integers(1, len(path) + 1)) :]
        joints.append(replace(joint, parent=path[-1]))
        path.append(k)
    return replace(chain, joints=tuple(joints), tip_body=int(rng.integers(n)))


def random_inertia(rng: np.random.Generator) -> Inertia:
    """A rigid body that can exist: its second moments of mass are positive."""
    mass = rng.uniform(0.2, 3.0)  # [kg]
    radii = rng.uniform(0.05, 0.3, 3)  # [m]
    R = Rotation.random(random_state=_seed(rng)).as_matrix()
    P = R @ np.diag(mass * radii**2) @ R.T
    return Inertia(float(mass), _vector(rng.uniform(-0.3, 0.3, 3)), _rows(np.trace(P) * np.eye(3) - P))


def random_state(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions over a whole turn, and rates and accelerations of a brisk arm; each (n,)."""
    return rng.uniform(-np.pi, np.pi, n), rng.uniform(-3, 3, n), rng.uniform(-10, 10, n)


def random_gravity(rng: np.random.Generator) -> tuple[float, float, float]:
    """Gravity of the usual size in any direction [m/s^2]."""
    return _vector(9.81 * _unit(rng.normal(size=3)))


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v)


def _vector(v) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in v)
    return (x, y, z)


def _rows(matrix):
    a, b, c = (_vector(row) for row in matrix)
    return (a, b, c)
