"""The table of partial velocities that Kane's method is read from, in symbols."""

from typing import Any, NamedTuple

import sympy

from kane_dynamics_ros.description.model import Chain
from kane_dynamics_ros.formulation.algebra import add, cross
from kane_dynamics_ros.formulation.kane_of_chain import sine_cosine
from kane_dynamics_ros.formulation.kinematics import place
from kane_dynamics_ros.formulation.parallel_axes import parallel_groups
from kane_dynamics_ros.formulation.partial_velocities import partial_velocities
from kane_dynamics_ros.formulation.segments import segments_of
from kane_dynamics_ros.formulation.symbols import coordinate_symbols, symbolic_chain
from kane_dynamics_ros.formulation.trigonometry import compact


class PartialVelocities(NamedTuple):
    """Of body k for generalized speed u_r, each (3, 1), in body axes and compact form; from 1."""

    k: int
    r: int
    omega: sympy.Matrix  # of the body
    v: sympy.Matrix  # of its centre of mass


def partial_velocity_table(chain: Chain) -> list[PartialVelocities]:
    """All partial velocities of ``chain`` that are not zero, with symbols for its numbers."""
    groups, chain = parallel_groups(chain), symbolic_chain(chain)
    n = len(chain.coordinates)
    q, _, _ = coordinate_symbols(n)
    table = []
    bodies = partial_velocities(place(segments_of(chain), q, sine_cosine), n)
    for k, (joint, partials) in enumerate(zip(chain.joints, bodies, strict=True), 1):
        for r, partial in enumerate(partials, 1):
            v = add(partial.v_Bo, cross(partial.omega, joint.inertia.com))
            omega_r, v_r = (_compact(vector, q, groups) for vector in (partial.omega, v))
            row = PartialVelocities(k, r, omega_r, v_r)
            if any((*row.omega, *row.v)):
                table.append(row)
    return table


def _compact(vector: Any, q: Any, groups: Any) -> sympy.Matrix:
    return sympy.Matrix([compact(component, q, (), groups) for component in vector])
