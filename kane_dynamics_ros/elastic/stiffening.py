"""Geometric stiffening: an axial load resists bending. Off in the paper; a fast turning beam needs it."""

import numpy as np

from kane_dynamics_ros.elastic.body import DOFS, ElasticBody
from kane_dynamics_ros.elastic.equations import RigidMotion, skew
from kane_dynamics_ros.runtime.interface import Array


def axial_load(body: ElasticBody, motion: RigidMotion, end_load: float = 0.0) -> Array:
    """Axial load [N] of the undeformed beam, tension positive, (elements, 3): ends and middle of each.

    P(x) = end_load - int_x^end m (a_O,x + W_xx s) ds, W = [epsilon] + [omega][omega]: what the material
    beyond x needs to follow the frame. A parabola, hence exact by three values per element.
    """
    W_xx = (skew(motion.omega) @ skew(motion.omega))[0, 0]
    rate = body.mass / body.length
    end = body.x0 + body.length
    halves = body.x0 + 0.5 * body.element.L * np.arange(2 * body.elements + 1)
    load = end_load - rate * (motion.a_O[0] * (end - halves) + W_xx * (end**2 - halves**2) / 2)
    return np.stack([load[:-2:2], load[1:-1:2], load[2::2]], axis=1)


def geometric_stiffness(body: ElasticBody, load: Array) -> Array:
    """k_G over the free coordinates for the axial load (elements, 3) of each element."""
    dofs = DOFS[body.kind]
    parts = np.tensordot(load, body.element.k_G, 1)
    n = (body.elements + 1) * dofs
    total = np.zeros((n, n))
    for j, part in enumerate(parts):
        total[j * dofs : (j + 2) * dofs, j * dofs : (j + 2) * dofs] += part
    return total[np.ix_(body.free, body.free)]
