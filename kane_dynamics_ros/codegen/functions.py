"""The functions of a generated module, as expressions on one graph that shares sub-expressions.

Inputs are the symbols ``q[i]``, ``qd[i]``, ``qdd[i]``, ``tau[i]`` and ``parameters[k]``. What depends on the
parameters alone is computed once, by ``prepare``, into ``prepared[k]``; the printers see to that.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kane_dynamics_ros.codegen.dynamic_functions import (
    forward_functions,
    friction_function,
    inverse_functions,
    nominal_inverse_dynamics,
)
from kane_dynamics_ros.codegen.expression import Graph
from kane_dynamics_ros.codegen.function import Function, state_symbols
from kane_dynamics_ros.codegen.link_functions import link_functions, pose_functions
from kane_dynamics_ros.codegen.parameters import GRAVITY, ParameterLayout
from kane_dynamics_ros.description.model import Chain
from kane_dynamics_ros.formulation.algebra import apply
from kane_dynamics_ros.formulation.base_parameters import Keep, regroup
from kane_dynamics_ros.formulation.frames import Reframed


@dataclass(frozen=True)
class Equations:
    """All functions of a robot, on one graph."""

    graph: Graph
    n: int
    layout: ParameterLayout
    functions: tuple[Function, ...]


def build(chain: Chain, reframed: Reframed, keep: Sequence[Keep], *, inertial: str = "fixed") -> Equations:
    """All functions of a chain.

    Args:
        chain: the robot.
        reframed: the same in common-normal frames (``formulation.frames``).
        keep: how masses are regrouped (``formulation.base_parameters``).
        inertial: "fixed", or "runtime" when the bodies' inertial parameters are parameters too.
    """
    graph, n = Graph(), len(chain.coordinates)
    state = state_symbols(graph, n)
    layout = ParameterLayout(n, len(chain.joints), inertial == "runtime")
    given = layout.bind(graph, chain, reframed)
    lean = regroup(given.lean_segments, keep)
    gravity = apply(reframed.R_0R, given.gravity)
    inverse = inverse_functions(state, lean, gravity, given.rotor_inertia)
    bias = next(function.outputs for function in inverse if function.name == "bias")
    nominal = regroup(reframed.segments, keep), apply(reframed.R_0R, GRAVITY), chain.rotor_inertia
    functions = (
        nominal_inverse_dynamics(state, *nominal),
        *inverse,
        *forward_functions(state, lean, gravity, given.rotor_inertia, bias),
        *link_functions(state, given.link_segments, given.gravity),
        *pose_functions(state, given.link_segments, chain),
        friction_function(state, given.viscous, given.coulomb, given.coulomb_velocity),
    )
    return Equations(graph, n, layout, functions)
