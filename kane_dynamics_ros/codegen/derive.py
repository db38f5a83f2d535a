"""From a chain to its equations, listed function by function and ready to print."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kane_dynamics_ros.codegen.functions import Equations, build
from kane_dynamics_ros.codegen.graph import Graph, OperationCount, operations
from kane_dynamics_ros.codegen.parameters import GRAVITY
from kane_dynamics_ros.codegen.passes import Listing, hoisted, list_statements
from kane_dynamics_ros.description import physics_hash
from kane_dynamics_ros.description.model import Chain
from kane_dynamics_ros.formulation.algebra import Vector, apply
from kane_dynamics_ros.formulation.kane.base_parameters import Keep, regroup
from kane_dynamics_ros.formulation.kane.dynamics import inverse_dynamics
from kane_dynamics_ros.formulation.kane.frames import Reframed, reframe
from kane_dynamics_ros.formulation.kane.segments import Segment

# Choose how masses are regrouped so that inverse dynamics costs fewest operations.


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


# From a chain to its equations, listed function by function and ready to print.


@dataclass(frozen=True)
class Derived:
    """A robot's equations, listed function by function, ready to print."""

    chain: Chain
    equations: Equations
    listings: Mapping[str, Listing]
    prepare: Listing
    urdf_hash: str
    seconds: float

    def operations(self) -> dict[str, OperationCount]:
        """Operations of each function."""
        return {name: listing.count() for name, listing in self.listings.items()}


def derive(chain: Chain, *, inertial: str = "fixed") -> Derived:
    """Kane's equations of a chain, and all functions that follow from them.

    Args:
        chain: from ``description.serial_chain``.
        inertial: "fixed", or "runtime" to keep every inertial parameter an argument.
    """
    start = time.perf_counter()
    reframed = reframe(chain)
    keep = best_regrouping(reframed, len(chain.coordinates), apply(reframed.R_0R, GRAVITY))
    equations = build(chain, reframed, keep, inertial=inertial)
    graph = equations.graph
    outputs = [o for f in equations.functions if not f.nominal for o in f.outputs]
    once = hoisted(graph, outputs)
    prepared = {index: f"prepared[{k}]" for k, index in enumerate(once)}
    listings = {f.name: list_statements(graph, f.outputs, prepared) for f in equations.functions}
    prepare = list_statements(graph, [graph.reference(index) for index in once], {})
    return Derived(chain, equations, listings, prepare, physics_hash(chain), time.perf_counter() - start)
