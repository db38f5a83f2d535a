"""Choose how masses are regrouped so that inverse dynamics costs fewest operations."""

from collections.abc import Sequence

from kane_dynamics_ros.codegen.expression import Graph
from kane_dynamics_ros.codegen.operations import operations
from kane_dynamics_ros.formulation.algebra import Vector
from kane_dynamics_ros.formulation.base_parameters import Keep, regroup
from kane_dynamics_ros.formulation.frames import Reframed
from kane_dynamics_ros.formulation.kane import inverse_dynamics
from kane_dynamics_ros.formulation.segments import Segment

SEARCHED = 12  # joints up to which single changes are tried; beyond, the rule alone keeps the cost linear
LEAST_LEVER = 1e-3  # a kept mass is a first moment over this lever at least [m]: no large cancelling masses


def best_regrouping(reframed: Reframed, n: int, gravity: Vector) -> tuple[Keep, ...]:
    """The choice for each segment: the rule, improved by single changes while they pay.

    The rule keeps mass wherever the step to the joint is along x or y: it saves four operations unless
    the inner body's force is needed by nobody.
    """
    keep = [_options(segment, j)[-1] for j, segment in enumerate(reframed.segments)]
    if len(keep) > SEARCHED:
        return tuple(keep)
    best = cost(regroup(reframed.segments, keep), n, gravity)
    improved = True
    while improved:
        improved = False
        for j, segment in enumerate(reframed.segments):
            for option in _options(segment, j):
                trial = [*keep[:j], option, *keep[j + 1 :]]
                total = cost(regroup(reframed.segments, trial), n, gravity)
                if total < best:
                    best, keep, improved = total, trial, True
    return tuple(keep)


def _options(segment: Segment, j: int) -> list[Keep]:
    """What can be kept at a joint, the rule's choice last."""
    options: list[Keep] = ["none"]
    if j and not segment.prismatic:
        x, y, _ = segment.p_PoJo_P
        options += ["y"] if abs(y) > LEAST_LEVER else []
        options += ["x"] if abs(x) > LEAST_LEVER else []
    return options


def cost(segments: Sequence[Segment], n: int, gravity: Vector) -> int:
    """Operations of inverse dynamics."""
    graph = Graph()
    q, u, udot = ([graph.symbol(f"{name}[{i}]") for i in range(n)] for name in ("q", "qd", "qdd"))
    tau = inverse_dynamics(segments, q, u, udot, gravity, graph.sine_cosine)
    return operations([graph.lift(t) for t in tau]).total
