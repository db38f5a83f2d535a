"""What needs the bodies' own inertias and frames: regressor, reactions, energy, poses."""

from collections.abc import Sequence

from kane_dynamics_ros.codegen.dynamic_functions import STATE
from kane_dynamics_ros.codegen.expression import Expression
from kane_dynamics_ros.codegen.function import Function, State, flat
from kane_dynamics_ros.description.model import Chain
from kane_dynamics_ros.formulation import energy
from kane_dynamics_ros.formulation.algebra import Vector
from kane_dynamics_ros.formulation.kane import resultants
from kane_dynamics_ros.formulation.kinematics import motion
from kane_dynamics_ros.formulation.partial_velocities import regressor
from kane_dynamics_ros.formulation.segments import Segment


def link_functions(state: State, segments: Sequence[Segment], gravity: Vector) -> list[Function]:
    """What needs the bodies' own inertias in the frames of the URDF's links."""
    graph, n, bodies = state.graph, len(state.q), len(segments)
    placements = state.place(segments)
    motions = motion(placements, state.qd, state.qdd, gravity)
    Y = regressor(placements, motions, n)
    wrenches = [(*force, *torque) for force, torque in resultants(placements, motions)]
    kinetic = energy.kinetic_energy(placements, state.qd)
    potential = energy.potential_energy(placements, gravity)
    return [
        Function("regressor", "Y: tau = Y pi, rotors excluded", STATE, (n, 10 * bodies), flat(graph, Y)),
        Function(
            "reaction_wrenches",
            "force, then torque about the joint, by which each joint moves its link, in link axes",
            STATE,
            (bodies, 6),
            flat(graph, wrenches),
        ),
        Function(
            "energy", "kinetic and potential energy", ("q", "qd"), (2,), flat(graph, [[kinetic, potential]])
        ),
    ]


def pose_functions(state: State, segments: Sequence[Segment], chain: Chain) -> list[Function]:
    """Where the tip and the centre of mass are, in the root frame."""
    graph, n = state.graph, len(state.q)
    placements = state.place(segments)
    poses = energy.body_poses(placements)
    tip = energy.placed_in_root(poses[-1], chain.R_BT, chain.p_BoTo_B)
    J = [[graph.lift(x) for x in row] for row in energy.jacobian_of_point(placements, poses, tip.p_RoBo_R, n)]
    center, JC = energy.center_of_mass_jacobian(placements, poses, n)
    JC = [[graph.lift(x) for x in row] for row in JC]
    pose = [[*row, p] for row, p in zip(tip.R_RB, tip.p_RoBo_R, strict=True)] + [[0.0, 0.0, 0.0, 1.0]]
    return [
        Function(
            "tip_pose",
            "homogeneous transform of the tip in the root frame",
            ("q",),
            (4, 4),
            flat(graph, pose),
        ),
        Function("tip_jacobian", "angular, then linear velocity of the tip", ("q",), (6, n), flat(graph, J)),
        Function("tip_velocity", "J qd", ("q", "qd"), (6,), _times(J, state.qd)),
        Function(
            "center_of_mass",
            "of all that moves, in the root frame",
            ("q",),
            (3,),
            flat(graph, [center]),
        ),
        Function("center_of_mass_jacobian", "its linear velocity", ("q",), (3, n), flat(graph, JC)),
        Function("center_of_mass_velocity", "JC qd", ("q", "qd"), (3,), _times(JC, state.qd)),
    ]


def _times(matrix: Sequence[Sequence[Expression]], vector: Sequence[Expression]) -> tuple[Expression, ...]:
    products = ([a * b for a, b in zip(row, vector, strict=True)] for row in matrix)
    return tuple(sum(row[1:], row[0]) for row in products)
