"""Forward dynamics as expressions, whichever way costs fewer operations."""

from collections.abc import Sequence
from dataclasses import dataclass

from kane_dynamics_ros.codegen.expression import Expression
from kane_dynamics_ros.codegen.operations import operations
from kane_dynamics_ros.codegen.solve import solve_symmetric
from kane_dynamics_ros.formulation.algebra import Vector
from kane_dynamics_ros.formulation.articulated import forward_dynamics
from kane_dynamics_ros.formulation.kinematics import Placement


@dataclass(frozen=True)
class ForwardDynamics:
    """u', the pivots met on the way, and the diagonal of M that they are to be compared with."""

    qdd: tuple[Expression, ...]
    pivots: tuple[Expression, ...]
    diagonal: tuple[Expression, ...]

    def outputs(self) -> tuple[Expression, ...]:
        return (*self.qdd, *self.pivots, *self.diagonal)


def cheapest_forward_dynamics(
    M: Sequence[Sequence[Expression]],
    bias: Sequence[Expression],
    placements: Sequence[Placement],
    qd: Sequence[Expression],
    tau: Sequence[Expression],
    rotor_inertia: Sequence[Expression],
    gravity: Vector,
) -> ForwardDynamics:
    """By the mass matrix, or joint by joint: the former wins on short arms, the latter on long ones."""
    graph = tau[0].graph
    diagonal = tuple(M[i][i] for i in range(len(M)))
    qdd, pivots = solve_symmetric(M, [t - b for t, b in zip(tau, bias, strict=True)])
    by_matrix = ForwardDynamics(tuple(qdd), tuple(pivots), diagonal)
    if any(p.segment.coordinate != k or p.segment.multiplier != 1 for k, p in enumerate(placements)):
        return by_matrix  # joints that follow others share a coordinate: only M knows of it
    rates, divisors = forward_dynamics(placements, qd, tau, rotor_inertia, gravity)
    by_joint = ForwardDynamics(
        tuple(graph.lift(x) for x in rates), tuple(graph.lift(x) for x in divisors), diagonal
    )
    return min(by_matrix, by_joint, key=lambda way: operations(way.outputs()).total)
