"""Numbers under the grades of [Malvezzi2017] table 3: what each formulation costs on 3, 5 and 7 joints.

The same chains with symbols for all their numbers; each formulation's code runs on SymPy expressions as it
is, so that one more body takes no line of code: only a link and a joint in the URDF. "As derived" counts
every operation of the formulas written out; "shared" counts a sub-expression that occurs again once; "kept"
is the part of the shared operations that stay as they are when one more body is added at the tip.
Derivatives are counted by taking each of them through a ``Differentiator``.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import sympy

from kane_dynamics_ros.description import Chain, ChainJoint, Inertia, load_robot, serial_chain
from kane_dynamics_ros.description.model import IDENTITY
from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane import dynamics
from kane_dynamics_ros.formulation.kane.kinematics import motion, placements_at
from kane_dynamics_ros.formulation.kane.partial_velocities import generalized_forces_by_body
from kane_dynamics_ros.formulation.symbolic.equations import coordinate_symbols, renamed, symbolic_chain
from kane_dynamics_ros.formulation.witnesses import gibbs_appell, lagrange, maggi
from kane_dynamics_ros.papers import manipulator_maggi
from kane_dynamics_ros.papers.differentiation_counts import Differentiator, t
from kane_dynamics_ros.share import share_directory

SIZES = (3, 5, 7)
_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
GRAVITY = (0, 0, -sympy.Symbol("g"))
_AXES = (_Z, _X, _X, _Y, _Z, _X, _Y, _Z)  # the manipulator's five, then three more


class Formulation(NamedTuple):
    """A derivation on a chain; and the same with every derivative taken through a ``Differentiator``."""

    inverse_dynamics: Callable[..., Any]
    differentiated: Callable[[Chain, Differentiator], Any]


def _of_time(chain: Chain) -> tuple[list[Any], list[Any]]:
    """The coordinates as functions of the time, and their rates."""
    q = [sympy.Function(f"q_{i + 1}")(t) for i in range(len(chain.coordinates))]
    return q, [coordinate.diff(t) for coordinate in q]


def kane_by_body(chain: Chain, q: Any, u: Any, du: Any, gravity: Any, *payloads: Any) -> list[Any]:
    """Kane's equations as the papers state them: [Malvezzi2017] eqs. (2), (3), a plain sum over bodies.

    The engine's ``dynamics.inverse_dynamics`` sums the same forces from the tip to the root.
    """
    placements = placements_at(dynamics.loaded_segments(chain, *payloads), q, sine_cosine)
    return list(generalized_forces_by_body(placements, motion(placements, u, du, gravity), len(q)))


def _undifferentiated(derive: Callable[..., Any]) -> Callable[[Chain, Differentiator], Any]:
    """Kane's way: partial velocities are read off the velocities, accelerations composed."""

    def derived(chain: Chain, count: Differentiator) -> Any:
        q, u = _of_time(chain)
        return derive(chain, q, u, coordinate_symbols(len(q))[2], GRAVITY)

    return derived


def lagrange_differentiated(chain: Chain, count: Differentiator) -> Any:
    """d/dt (dL/dq_i') - dL/dq_i for each coordinate."""
    q, u = _of_time(chain)
    kinetic, potential = lagrange.energies(chain, q, u, GRAVITY)
    L = kinetic.item() - potential.item()
    return [
        count.by_scalar(count.by_scalar(L, speed), t) - count.by_scalar(L, coordinate)
        for coordinate, speed in zip(q, u, strict=True)
    ]


def maggi_differentiated(chain: Chain, count: Differentiator) -> Any:
    """C' Phi: each body's twelve coordinates by the joint positions, and twice by the time."""
    q, _ = _of_time(chain)
    efforts = sympy.zeros(len(q), 1)
    for body in maggi.redundant_coordinates(chain, q):
        coordinates = (sympy.Matrix([*body.x.ravel(), *body.R.ravel()]),)
        (C,) = count.by_vector(coordinates, sympy.Matrix(q))
        (rates,) = count.by_time(coordinates)
        (second,) = count.by_time((rates,))
        J = sympy.Matrix(body.inertia.tensor)
        P = sympy.eye(3) * J.trace() / 2 - J
        phi_x = body.inertia.mass * (second[:3, :] - sympy.Matrix(GRAVITY))
        phi_R = sympy.Matrix(3, 3, list(second[3:, :])) * P
        efforts += C.T * sympy.Matrix([*phi_x, *phi_R])
    return list(efforts)


def gibbs_appell_differentiated(chain: Chain, count: Differentiator) -> Any:
    """dS/dq_i'' for each coordinate."""
    q, u = _of_time(chain)
    du = coordinate_symbols(len(q))[2]
    S = gibbs_appell.acceleration_energy(chain, q, u, du, GRAVITY).item()
    return [count.by_scalar(S, acceleration) for acceleration in du]


FORMULATIONS = {
    "Kane": Formulation(dynamics.inverse_dynamics, _undifferentiated(dynamics.inverse_dynamics)),
    "Kane, body by body": Formulation(kane_by_body, _undifferentiated(kane_by_body)),
    "Lagrange": Formulation(lagrange.inverse_dynamics, lagrange_differentiated),
    "Maggi": Formulation(maggi.inverse_dynamics, maggi_differentiated),
    "Gibbs-Appell": Formulation(gibbs_appell.inverse_dynamics, gibbs_appell_differentiated),
}


class FormulationCost(NamedTuple):
    """What one formulation cost on one chain."""

    joints: int
    formulation: str
    seconds: float  # of the processor
    as_derived: int  # operations
    shared: int
    kept: float  # 0 to 1
    differentiations: int


def assess(sizes: Iterable[int] = SIZES) -> Iterator[FormulationCost]:
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
            count = Differentiator()
            formulation.differentiated(symbolic_chain(assessed_chain(n)), count)
            yield FormulationCost(n, name, seconds, as_derived, shared, kept, count.scalars)


def efforts(formulation: Formulation, n: int) -> Any:
    """The efforts (n,) of the assessed chain as SymPy expressions."""
    q, u, du = coordinate_symbols(n)
    return formulation.inverse_dynamics(symbolic_chain(assessed_chain(n)), q, u, du, GRAVITY)


class OwnCost(NamedTuple):
    """What the paper's manipulator costs, end-effector included, and what the end-effector added to it.

    ``added``: operations written out more than without the end-effector; ``kept``: the part of the shared
    operations of the arm without it that stay as they were.
    """

    formulation: str
    written_out: int
    shared: int
    differentiations: int
    added: int
    kept: float


def assess_manipulator(chain: Chain, end_effector: Inertia) -> list[OwnCost]:
    """[Malvezzi2017]'s own comparison: three joints and m_4, by Kane, Lagrange and the paper's Maggi.

    The paper's Maggi is C' Phi in its thirteen coordinates, eqs. (18) to (22); ``chain`` and
    ``end_effector`` have symbols for their numbers.
    """
    q, u, du = coordinate_symbols(len(chain.coordinates))
    costs = []
    for name in ("Kane", "Kane, body by body", "Lagrange"):
        derive = FORMULATIONS[name].inverse_dynamics
        whole, bare = (derive(chain, q, u, du, GRAVITY, *payload) for payload in ((end_effector,), ()))
        count = Differentiator()
        FORMULATIONS[name].differentiated(chain, count)
        costs.append(_own_cost(name, whole, bare, count))
    count = Differentiator()
    whole, bare = manipulator_maggi.maggi_system(count=count), manipulator_maggi.maggi_system((2, 3))
    parts: dict[str, Callable[[manipulator_maggi.MaggiSystem], list[Any]]] = {
        "Maggi, 13 coordinates": lambda system: [*system.equations],
        "the same, C and Phi apart": lambda system: [*system.residuals, *system.complement],
        "the same, with A and b": lambda system: [*system.equations, *system.jacobian, *system.bias],
    }
    costs += [_own_cost(name, part(whole), part(bare), count) for name, part in parts.items()]
    return costs


def _own_cost(name: str, whole: Iterable[Any], bare: Iterable[Any], count: Differentiator) -> OwnCost:
    (total, parts), (less, former) = count_operations(whole), count_operations(bare)
    kept = sum(former[part] for part in former.keys() & parts.keys()) / sum(former.values())
    return OwnCost(name, total, sum(parts.values()), count.scalars, total - less, kept)


def own_table(costs: Iterable[OwnCost]) -> str:
    """The manipulator's costs as a Markdown table."""
    heads = ("formulation", "written out", "shared", "differentiations", "added by m_4", "kept")
    return _markdown(heads, ([*cost[:-1], f"{cost.kept:.0%}"] for cost in costs))


def _markdown(heads: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (heads, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(heads), *lines[1:]])


def manipulator_in_symbols() -> tuple[Chain, Inertia]:
    """The arm in the paper's symbols, its wrist locked, limbs' mass centres half-way; m_4 is a point mass."""
    robot = load_robot(share_directory() / "urdf" / "manipulator_5dof.urdf")
    chain = symbolic_chain(serial_chain(robot, lock={"beta_4": 0.0, "gamma_4": 0.0}))
    l_2, l_3 = manipulator_maggi.l_2, manipulator_maggi.l_3
    names = {"l_y2": l_2, "r_y2": l_2 / 2, "l_y3": l_3, "r_y3": l_3 / 2}
    end_effector = Inertia(manipulator_maggi.m_4, (0, 0, 0), ((0, 0, 0),) * 3)
    return renamed(chain, names), end_effector


def assessed_chain(n: int) -> Chain:
    """The manipulator's joints and more like them, up to eight: equal limbs along y."""
    body = Inertia(3.0, (0.0, 0.5, 0.0), ((0.36, 0.0, 0.0), (0.0, 0.07, 0.0), (0.0, 0.0, 0.36)))
    names = tuple(f"joint_{i + 1}" for i in range(n))
    joints = tuple(
        ChainJoint(
            name,
            "revolute",
            IDENTITY,
            (0.0, 1.0 if i > 1 else 0.0, 0.0),
            _AXES[i],
            f"limb_{i + 1}",
            body,
            i,
            i - 1,
        )
        for i, name in enumerate(names)
    )
    return Chain("assessed", "base", joints[-1].body, joints, names, len(joints) - 1)


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


def as_table(costs: Iterable[FormulationCost]) -> str:
    """The costs as a Markdown table."""
    derived = ("derivation [s]", "as derived", "shared", "kept", "differentiations")
    rows = (
        [*c[:2], f"{c.seconds:.2f}", c.as_derived, c.shared, f"{c.kept:.0%}", c.differentiations]
        for c in costs
    )
    return _markdown(("joints", "formulation", *derived), rows)
