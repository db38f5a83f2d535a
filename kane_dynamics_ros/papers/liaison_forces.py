"""Liaison forces at the nodes: gone from the assembled equations, recovered from the motion afterwards.

Assembly is a projection: with the nodal coordinates of all elements one after the other, delta_e = A delta,
and A^T (m_e A delta'' + ... - Q_e - Q_liaison) = 0 has no liaison forces left, because those of two elements
at one node are opposite ([WindPump] eqs. (A44) to (A46)). Each element's own equation (20) gives them back.
"""

import numpy as np

from kane_dynamics_ros.elastic.body import DOFS, ElasticBody
from kane_dynamics_ros.elastic.equations import RigidMotion, skew
from kane_dynamics_ros.runtime.interface import Array


def connectivity(body: ElasticBody) -> Array:
    """A with delta_e = A delta, (elements * 2 dofs, free coordinates)."""
    dofs = DOFS[body.kind]
    rows = np.concatenate([np.arange(e * dofs, (e + 2) * dofs) for e in range(body.elements)])
    return np.asarray(np.eye((body.elements + 1) * dofs)[rows][:, body.free])


def liaison_forces(body: ElasticBody, motion: RigidMotion, delta: Array, rate: Array, second: Array) -> Array:
    """Forces and moments on each element's two nodes by its neighbours, supports and loads.

    ``delta``, ``rate``, ``second``: the free coordinates and their derivatives. Returns (elements, 2 dofs)
    [N, N m] in the frame L, node 1 before node 2; without stiffening and damping.
    """
    part, A = body.element, connectivity(body)
    W = skew(motion.epsilon) + skew(motion.omega) @ skew(motion.omega)
    m = np.einsum("aaij->ij", part.D)
    c = 2.0 * np.tensordot(skew(motion.omega), part.D, 2)
    k = part.k + np.tensordot(W, part.D, 2)
    starts = body.x0 + part.L * np.arange(body.elements)
    acceleration = motion.a_O + np.outer(starts, W[:, 0])  # of each element's first node, undeformed
    rigid = acceleration @ part.m_O + np.tensordot(W, part.E, 2)
    d, v, a = ((A @ values).reshape(body.elements, -1) for values in (delta, rate, second))
    return np.asarray(a @ m.T + v @ c.T + d @ k.T + rigid)


def support_reactions(body: ElasticBody, forces: Array) -> Array:
    """Sum of the liaison forces at each node, (nodes, dofs): 0 where no support and no load acts."""
    dofs = DOFS[body.kind]
    total = np.zeros((body.elements + 1, dofs))
    total[:-1] += forces[:, :dofs]
    total[1:] += forces[:, dofs:]
    return total
