"""One generated function, and the symbols of the state that functions take."""

from collections.abc import Sequence
from dataclasses import dataclass

from kane_dynamics_ros.codegen.expression import Expression, Graph, Scalar
from kane_dynamics_ros.formulation.kinematics import Placement, place
from kane_dynamics_ros.formulation.segments import Segment


@dataclass(frozen=True)
class Function:
    """One generated function: inputs among q, qd, qdd, tau; one flat output array of a stated shape.

    ``nominal`` functions have the default parameters built in; the others take prepared ones.
    ``pivots`` counts the trailing outputs that are divisors: zero or negative means M is singular.
    """

    name: str
    summary: str
    inputs: tuple[str, ...]
    shape: tuple[int, ...]
    outputs: tuple[Expression, ...]
    nominal: bool = False
    pivots: int = 0

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the input arrays in order."""
        return self.inputs if self.nominal else ("prepared", *self.inputs)


@dataclass(frozen=True)
class State:
    """The symbols of a state on one graph, each list (n,)."""

    graph: Graph
    q: list[Expression]
    qd: list[Expression]
    qdd: list[Expression]
    tau: list[Expression]

    def place(self, segments: Sequence[Segment]) -> tuple[Placement, ...]:
        """The segments at this state's q."""
        return place(segments, self.q, self.graph.sine_cosine)


def state_symbols(graph: Graph, n: int) -> State:
    """The symbols q[i], qd[i], qdd[i], tau[i]."""
    q, qd, qdd, tau = ([graph.symbol(f"{name}[{i}]") for i in range(n)] for name in ("q", "qd", "qdd", "tau"))
    return State(graph, q, qd, qdd, tau)


def flat(graph: Graph, rows: Sequence[Sequence[Scalar]]) -> tuple[Expression, ...]:
    """Rows of scalars as a flat tuple of expressions."""
    return tuple(graph.lift(x) for row in rows for x in row)
