"""From a chain to its equations, listed function by function and ready to print."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from kane_dynamics_ros.codegen.functions import Equations, build
from kane_dynamics_ros.codegen.lean import best_regrouping
from kane_dynamics_ros.codegen.listing import Listing, hoisted, list_statements
from kane_dynamics_ros.codegen.operations import OperationCount
from kane_dynamics_ros.codegen.parameters import GRAVITY
from kane_dynamics_ros.description import physics_hash
from kane_dynamics_ros.description.model import Chain
from kane_dynamics_ros.formulation.algebra import apply
from kane_dynamics_ros.formulation.frames import reframe


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
