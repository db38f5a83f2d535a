"""Numbers under the grades of [Malvezzi2017] table 3: what each formulation costs on 3, 5 and 7 joints.

The same chains with symbols for all their numbers; each formulation's code runs on SymPy expressions as it
is, so that one more body takes no line of code: only a link and a joint in the URDF. "As derived" counts
every operation of the formulas written out; "shared" counts a sub-expression that occurs again once; "kept"
is the part of the shared operations that stay as they are when one more body is added at the tip.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import sympy

from kane_dynamics_ros.description import Chain, ChainJoint, Inertia
from kane_dynamics_ros.description.model import IDENTITY, Vector
from kane_dynamics_ros.formulation.kane import chain_dynamics
from kane_dynamics_ros.formulation.symbolic.equations import coordinate_symbols, symbolic_chain
from kane_dynamics_ros.formulation.witnesses import gibbs_appell, lagrange, maggi

SIZES = (3, 5, 7)
_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
_AXES = (_Z, _X, _X, _Y, _Z, _X, _Y, _Z)  # the manipulator's five, then three more


class Formulation(NamedTuple):
    """A derivation, and the scalar derivatives that it takes for n joints (and as many bodies)."""

    inverse_dynamics: Callable[..., Any]
    differentiations: Callable[[int], int]


# Lagrange: dL/dqd_i, its derivatives by each q_j and qd_j, and dL/dq_i. Maggi: each of the 12 coordinates of
# a body by each joint, and twice by time. Gibbs-Appell: dS/dqdd_i. Kane: partial velocities are read off.
FORMULATIONS = {
    "Kane": Formulation(chain_dynamics.inverse_dynamics, lambda n: 0),
    "Lagrange": Formulation(lagrange.inverse_dynamics, lambda n: n * (2 * n + 2)),
    "Maggi": Formulation(maggi.inverse_dynamics, lambda n: 12 * n * (n + 2)),
    "Gibbs-Appell": Formulation(gibbs_appell.inverse_dynamics, lambda n: n),
}


class Cost(NamedTuple):
    """What one formulation cost on one chain."""

    joints: int
    formulation: str
    seconds: float  # of the processor
    as_derived: int  # operations
    shared: int
    kept: float  # 0 to 1
    differentiations: int


def assess(sizes: Iterable[int] = SIZES) -> Iterator[Cost]:
    """Derive the efforts of each chain by each formulation, and count."""
    for formulation in FORMULATIONS.values():
        efforts(formulation, 1)  # SymPy loads parts of itself on first use
    for n in sizes:
        for name, formulation in FORMULATIONS.items():
            sympy.core.cache.clear_cache()  # what another formulation left would be an advantage
            start = time.process_time()
            tau = efforts(formulation, n)
            seconds = time.process_time() - start
            as_derived, parts = count_operations(tau)
            _, larger_parts = count_operations(efforts(formulation, n + 1))
            shared = sum(parts.values())
            kept = sum(parts[part] for part in parts.keys() & larger_parts.keys()) / shared
            yield Cost(n, name, seconds, as_derived, shared, kept, formulation.differentiations(n))


def efforts(formulation: Formulation, n: int) -> Any:
    """The efforts (n,) of the assessed chain as SymPy expressions."""
    q, u, du = coordinate_symbols(n)
    gravity = (0, 0, -sympy.Symbol("g"))
    return formulation.inverse_dynamics(symbolic_chain(assessed_chain(n)), q, u, du, gravity)


def assessed_chain(n: int) -> Chain:
    """The manipulator's joints and more like them, up to eight: equal limbs along y."""
    body = Inertia(3.0, (0.0, 0.5, 0.0), ((0.36, 0.0, 0.0), (0.0, 0.07, 0.0), (0.0, 0.0, 0.36)))
    names = tuple(f"joint_{i + 1}" for i in range(n))
    joints = tuple(
        ChainJoint(name, "revolute", IDENTITY, _place(i), _AXES[i], f"limb_{i + 1}", body, i)
        for i, name in enumerate(names)
    )
    return Chain("assessed", "base", joints[-1].body, joints, names)


def _place(index: int) -> Vector:
    return (0.0, 1.0, 0.0) if index > 1 else (0.0, 0.0, 0.0)


def count_operations(expressions: Iterable[Any]) -> tuple[int, dict[Any, int]]:
    """Operations (+ - * / and functions) of SymPy expressions.

    Written out in full; and for each distinct sub-expression, its own.
    """
    written_out: dict[Any, int] = {}
    total = sum(_written_out(sympy.sympify(expression), written_out) for expression in expressions)
    return total, {node: _own(node) for node in written_out}


def _written_out(node: Any, known: dict[Any, int]) -> int:
    if node not in known:
        known[node] = _own(node) + sum(_written_out(argument, known) for argument in node.args)
    return known[node]


def _own(node: Any) -> int:
    """Operations of one node; a power is repeated multiplication, a sign costs nothing."""
    if node.is_Add or node.is_Mul:
        return len(node.args) - 1 - (1 if node.is_Mul and node.args[0] == -1 else 0)
    if node.is_Pow:
        return abs(int(node.exp)) - 1 if node.exp.is_Integer else 1
    return 1 if node.is_Function else 0


def as_table(costs: Iterable[Cost]) -> str:
    """The costs as a Markdown table."""
    lines = [
        "| joints | formulation | derivation [s] | as derived | shared | kept | differentiations |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {c.joints} | {c.formulation} | {c.seconds:.2f} | {c.as_derived} | {c.shared} | {c.kept:.0%} "
        f"| {c.differentiations} |"
        for c in costs
    ]
    return "\n".join(lines)
