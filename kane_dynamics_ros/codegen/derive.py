"""From a chain to its equations, listed function by function and ready to print."""

import gc
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kane_dynamics_ros.codegen.arrangement import SEARCHED
from kane_dynamics_ros.codegen.functions import Function, RobotFunctions, build
from kane_dynamics_ros.codegen.graph import OperationCount
from kane_dynamics_ros.codegen.parts import LARGE
from kane_dynamics_ros.codegen.passes import Listing, hoisted, list_statements
from kane_dynamics_ros.description import physics_hash
from kane_dynamics_ros.description.model import Chain
from kane_dynamics_ros.formulation.kane.frames import reframe


@dataclass(frozen=True)
class Derived:
    """A robot's equations, listed function by function, ready to print."""

    chain: Chain
    equations: RobotFunctions
    listings: Mapping[str, Listing]
    prepare: Listing
    urdf_hash: str
    seconds: float
    loops: Mapping[str, Any] | None = None  # what closes the chain's loops, where it has any
    followers: tuple[tuple[Any, ...], ...] = ()  # facts of the joints that follow by loops

    @cached_property
    def _operations(self) -> dict[str, OperationCount]:
        found = {name: listing.count() for name, listing in self.listings.items()}
        for function in self.equations.functions:
            if function.composed == "functions":
                found[function.name] = self._of_parts(function.name, found)
            elif not function.composed:
                checks = OperationCount(0, function.pivots, 0, 0)  # of each pivot against the diagonal
                found[function.name] += checks + self._products if function.slopes else checks
        for function in self.equations.functions:
            if function.composed == "defaults":
                found[function.name] = found[f"{function.name}_with"]
        return {function.name: found[function.name] for function in self.equations.functions}

    def operations(self) -> dict[str, OperationCount]:
        """Operations of each function, loops over other functions' results included."""
        return dict(self._operations)

    def side_by_side(self, function: Function) -> bool:
        """Whether its form for many states computes some at once: it takes the compiler as long again."""
        short = self.equations.n <= SEARCHED or function.name in ("inverse_dynamics", "inverse_dynamics_with")
        return short and not function.composed and len(self.listings[function.name].statements) < LARGE

    @property
    def _products(self) -> OperationCount:
        """What ``kd_solve_slopes`` makes of two tables."""
        n = self.equations.n
        return OperationCount(2 * n * n * (n - 1), 2 * n**3, 0, 0)

    def _of_parts(self, name: str, found: Mapping[str, OperationCount]) -> OperationCount:
        """What ``print_c`` makes of other functions with parameters: M^-1, then its products."""
        n = self.equations.n
        if name == "coriolis":
            return found["inverse_dynamics_derivatives_with"] + OperationCount(0, n * n, 0, 0)
        products = [
            (n - j) * (n - j - 1) // 2 + (j + 1) * j for j in range(n)
        ]  # by row: eliminated, inverted
        inverse = OperationCount(sum(products), sum(products) + n, n * (n + 1) // 2, 0)
        M_inverse = found["mass_matrix_with"] + inverse
        if name == "inverse_mass_matrix_with":
            return M_inverse
        accelerations = OperationCount(n * n + n, n * n, 0, 0)
        parts = M_inverse + found["bias_with"] + found["inverse_dynamics_derivatives_with"]
        return parts + accelerations + self._products


def derive(chain: Chain, *, inertial: str = "fixed") -> Derived:
    """Kane's equations of a chain, and all functions that follow from them.

    Args:
        chain: from ``description.serial_chain``.
        inertial: "fixed", or "runtime" to keep every inertial parameter an argument.
    """
    start = time.perf_counter()
    collecting = gc.isenabled()
    gc.disable()  # a graph's nodes refer to each other, which makes collection expensive
    try:
        equations = build(chain, reframe(chain), inertial=inertial)
        listings, prepare = listed(equations)
    finally:
        if collecting:
            gc.enable()
    return Derived(chain, equations, listings, prepare, physics_hash(chain), time.perf_counter() - start)


def listed(equations: RobotFunctions) -> tuple[dict[str, Listing], Listing]:
    """The statements of each function that has its own, and those of ``prepare``."""
    graph = equations.graph
    outputs = [o for f in equations.functions if not f.nominal for o in f.outputs]
    once = hoisted(graph, outputs)
    prepared = {index: f"prepared[{k}]" for k, index in enumerate(once)}
    listings = {
        f.name: list_statements(f.outputs[0].graph, f.outputs, {} if f.nominal else prepared)
        for f in equations.functions
        if not f.composed
    }
    prepare = list_statements(graph, [graph.reference(index) for index in once], {})
    return listings, prepare
