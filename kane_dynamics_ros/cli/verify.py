"""``kane_dynamics verify``: every witness against a generated module, at random states."""

import argparse
import datetime
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array, symmetric
from kane_dynamics_ros.checksum import RECORD
from kane_dynamics_ros.cli import arguments as cli
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.cli.urdf_witness import UrdfWitness, WitnessError
from kane_dynamics_ros.description import Chain, DescriptionError, Inertia
from kane_dynamics_ros.description.geometry import about_origin
from kane_dynamics_ros.description.load import urdf_content
from kane_dynamics_ros.description.model import Vector
from kane_dynamics_ros.description.physics_hash import compare_origin, physics_hash
from kane_dynamics_ros.errors import KaneDynamicsError, SingularMassMatrixError
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.formulation.dual import lanes
from kane_dynamics_ros.formulation.kane import dynamics
from kane_dynamics_ros.formulation.witnesses import gibbs_appell, lagrange, maggi
from kane_dynamics_ros.formulation.witnesses.loads import Actuation
from kane_dynamics_ros.runtime import DynamicsModel, Payload
from kane_dynamics_ros.runtime.load import find_module, load_model
from kane_dynamics_ros.systems.closed_chain import ClosedChain, closed_chain, sample
from kane_dynamics_ros.systems.closed_chain import trials as closed_trials

LARGEST_DIFFERENCE = 1e-9  # relative; rounding stays well below it
SMALL = 1e-3  # of the largest entry, the least by which a difference is measured
SINGULAR = 1e-12  # of the largest eigenvalue of M, the least that is not rounding
TRIALS = 3  # at each state
Pair = tuple[Any, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    cli.add_model_argument(parser)
    add = parser.add_argument
    add("--urdf", required=True, help="the URDF that it was generated from")
    cli.add_chain_arguments(parser, root="the module's", tip="the module's", lock="the module's")
    states, seed = cli.whole("--states", 1), cli.whole("--seed", 0)
    add("--states", type=states, default=20, metavar="N", help="random states; default: %(default)s")
    add("--seed", type=seed, default=0, metavar="S", help="of the random states; default: %(default)s")
    add("--backend", choices=("auto", "c", "python"), default="auto", help="default: %(default)s")
    record = "write date and largest difference into the module, if it passed"
    add("--record", action="store_true", help=record)


class Findings(NamedTuple):
    """The largest relative difference in each check; lines on the witnesses; what is said if all hold."""

    largest: dict[str, float]
    witnesses: tuple[str, ...]
    verified: str


def run(arguments: argparse.Namespace) -> int:
    """Print the largest relative difference of each check; 0 when all are below the limit, else 1."""
    module = cli.named_model(arguments)
    with Progress("loading the module") as progress:
        model = load_model(module, backend=arguments.backend)
        compare = against_loops if "loops" in model.source.module.facts else against_chain
        found = compare(arguments, module, model, progress)
    print(f"{model.name}, backend {model.backend}: largest relative difference at {arguments.states} states")
    for name, difference in found.largest.items():
        print(f"  {name:<26}{difference:.1e}{'' if difference < LARGEST_DIFFERENCE else '  TOO LARGE'}")
    print(*found.witnesses, sep="\n")
    if max(found.largest.values()) >= LARGEST_DIFFERENCE:
        print(f"NOT verified: the limit is {LARGEST_DIFFERENCE:.0e}")
        return 1
    if arguments.record:
        write_record(find_module(module), found.largest, arguments.states, arguments.seed)
    print(found.verified)
    return 0


def against_chain(
    arguments: argparse.Namespace, module: str, model: DynamicsModel, progress: Progress
) -> Findings:
    """A module of a chain or tree against all witnesses."""
    progress.doing("reading the URDF")
    chain = own_chain(arguments, module, model)
    urdf, said = None, f"{PINOCCHIO}, on the whole robot with its rotors and friction"
    try:
        text = urdf_content(arguments.urdf, **cli.loading(arguments))
        urdf = UrdfWitness(text, chain.coordinates, chain.root, chain.tips, dict(chain.locked))
    except WitnessError as error:
        said = f"none: {error}"
    progress.doing("comparing at random states", total=TRIALS * arguments.states, unit="states")
    trials = random_trials(model, chain, urdf, arguments.states, arguments.seed)
    return Findings(
        largest_differences(map(compared, trials), progress.advance),
        (
            f"witnesses that start from the chain that the URDF was read to: {', '.join(WITNESSES)}",
            f"witness that reads the URDF itself: {said}",
        ),
        "verified" if urdf is not None else "verified, except for how the URDF was read",
    )


def against_loops(
    arguments: argparse.Namespace, module: str, model: DynamicsModel, progress: Progress
) -> Findings:
    """A module with closed loops against ``systems``: a sum over bodies, loops closed by Newton's method."""
    progress.doing("reading the URDF")
    closed = closed_chain(cli.robot_of(arguments), model.source.module.facts["loops"], model.tip)
    found, expected = model.urdf_hash, physics_hash(closed.origin)
    if found != expected:
        message = f"{module}: it was generated from another robot than {arguments.urdf}; generate it again"
        raise KaneDynamicsError(message, "another_robot", module=module, found=found, expected=expected)
    progress.doing("comparing at random states", total=2 * arguments.states, unit="states")
    trials = random_loop_trials(model, closed, arguments.states, arguments.seed)
    return Findings(
        largest_differences(trials, progress.advance),
        (
            "witness: a sum over the bodies of the URDF, whose loops are closed by Newton's method",
            f"not compared: payloads, friction, {', '.join(CHECKS)}",
        ),
        "verified",
    )


def own_chain(arguments: argparse.Namespace, module: str, model: DynamicsModel) -> Chain:
    """The chain of the URDF from which the module was generated.

    Raises ``DescriptionError``, and ``KaneDynamicsError`` with code "another_robot" where it was generated
    from another one.
    """
    asked = arguments.tip or arguments.root or arguments.lock
    arguments.lock = arguments.lock or list(model.locked.items())
    arguments.tip, arguments.root = arguments.tip or model.tips, arguments.root or model.root
    try:
        chain = cli.chain_of(arguments)
    except DescriptionError as error:
        if error.code != "KD601" or asked:
            raise
        message = f"{module} was generated from another robot: {error}"
        raise KaneDynamicsError(message, "another_robot", module=module) from error
    origin = compare_origin(model, chain)
    if not origin.matches:
        urdf, found, expected = arguments.urdf, model.urdf_hash, origin.hash
        expanded = ", with --xacro what it was made with" if urdf.endswith(".xacro") else ""
        raise KaneDynamicsError(
            f"{module}: it was generated from a chain with hash {found[:16]}, but {urdf} with the same tip "
            f"and locks has {expected[:16]}; generate it again, or give the URDF that it was made from"
            f"{expanded}",
            "another_robot",
            module=module,
            found=found,
            expected=expected,
        )
    return chain


# The line of a generated module that says when it was verified, and how well


def write_record(module: Path, largest: Mapping[str, float], states: int, seed: int) -> None:
    """Put today's verification where the last one stood; the module's checksum does not cover that line.

    Raises:
        KaneDynamicsError: code "record": the file has no such line.
        OSError: it cannot be read.
        OutputFileError: it cannot be written; it is left as it was.
    """
    worst = max(largest, key=lambda name: largest[name])
    today = datetime.date.today().isoformat()
    record = {"date": today, "states": states, "seed": seed, "largest": largest[worst], "of": worst}
    lines = module.read_text(encoding="utf-8").split("\n")
    place = next((index for index, line in enumerate(lines) if line.startswith(RECORD)), None)
    if place is None:
        message = (
            f"{module}: the verification cannot be recorded: it has no line that begins with "
            f"{RECORD.strip()!r}; omit --record"
        )
        raise KaneDynamicsError(message, "record", module=module)
    lines[place] = f"{RECORD}{record!r}"
    write_file(module, "\n".join(lines))


# The work: a module against the witnesses and against itself, at random states


@dataclass(frozen=True)
class State:
    """One random state: ``q``, ``qd``, ``qdd`` (n,)."""

    model: DynamicsModel
    q: Array
    qd: Array
    qdd: Array

    @property
    def effort(self) -> Array:
        """The module's own inverse dynamics."""
        return self.model.inverse_dynamics(self.q, self.qd, self.qdd)


@dataclass(frozen=True)
class Trial(State):
    """A state under conditions that ``model`` already has.

    ``gravity``, ``payloads`` (one for each tip) and ``actuation`` are what these conditions should be: as the
    chain says, or as they were drawn. ``by_urdf``: the effort (n,) by the witness that reads the URDF itself,
    where it knows the bodies.
    """

    chain: Chain
    gravity: Vector
    payloads: tuple[Inertia, ...]
    actuation: Actuation
    by_urdf: Array | None

    def rigid_effort_by(self, derivation: Callable[..., Any]) -> Array:
        """What a derivation says of the rigid bodies alone, payloads included."""
        found = derivation(self.chain, self.q, self.qd, self.qdd, self.gravity, *self.payloads)
        return np.asarray(found, float)


Pairs = Iterable[tuple[str, Pair]]


def largest_differences(trials: Iterable[Pairs], advance: Callable[[], object]) -> dict[str, float]:
    """The largest relative difference in each witness and check; ``advance`` is called after each trial."""
    largest: dict[str, float] = defaultdict(float)
    for pairs in trials:
        for name, (found, expected) in pairs:
            largest[name] = max(largest[name], relative(found, expected))
        advance()
    return dict(largest)


def compared(trial: Trial) -> Pairs:
    """What each witness and each consistency check compares in one trial: found and expected."""
    for name, derivation in WITNESSES.items():
        rigid = trial.rigid_effort_by(derivation)
        yield name, (trial.effort, rigid + trial.actuation.effort(trial.qd, trial.qdd))
    if trial.by_urdf is not None:
        yield PINOCCHIO, (trial.effort, trial.by_urdf)
    for name, check in (*CONSISTENCY.items(), *CHECKS.items()):
        yield name, check(trial)


def random_loop_trials(model: DynamicsModel, closed: ClosedChain, count: int, seed: int) -> Iterator[Pairs]:
    """What is compared at ``count`` states of loops, under gravity as generated and in another direction."""
    postures = sample(closed)
    x, y, z = np.random.default_rng(seed).normal(0.0, 6.0, 3).tolist()  # [m/s^2]
    for gravity in (closed.system.gravity, (x, y, z)):
        falling = replace(closed, system=replace(closed.system, gravity=gravity))
        model = model.with_parameters(gravity=gravity)
        for q, qd, qdd, tau in closed_trials(falling, postures, count, seed):
            state = State(model, q, qd, qdd)
            checks = ((name, check(state)) for name, check in CONSISTENCY.items())
            yield ("sum over bodies", (state.effort, tau)), *checks


def random_trials(
    model: DynamicsModel, chain: Chain, urdf: UrdfWitness | None, count: int, seed: int
) -> Iterator[Trial]:
    """``TRIALS`` at each of ``count`` states: as generated, with the URDF's friction, with other parameters.

    Positions go over a whole turn (or 3 m), since the equations know no limits.
    """
    rng = np.random.default_rng(seed)
    n = len(chain.coordinates)
    rubbing = model.with_urdf_friction()
    width = rubbing.parameters.coulomb_velocity
    by_chain = Actuation(chain.rotor_inertia, chain.damping, chain.friction, width)
    by_urdf = by_chain if urdf is None else urdf.actuation(width)
    smooth = model, _without_friction(by_chain), _without_friction(by_urdf)
    unloaded = (_as_inertia(Payload()),) * len(chain.tips)
    for _ in range(count):
        state = rng.uniform(-np.pi, np.pi, n), rng.uniform(-3, 3, n), rng.uniform(-10, 10, n)
        for loaded, ours, theirs in (smooth, (rubbing, by_chain, by_urdf)):
            found = None if urdf is None else urdf.effort(*state, urdf.gravity, unloaded, theirs)
            yield Trial(loaded, *state, chain, chain.gravity, unloaded, ours, found)
        yield _with_other_conditions(model, chain, urdf, state, rng)


def _without_friction(actuation: Actuation) -> Actuation:
    none = (0.0,) * len(actuation.viscous)
    return replace(actuation, viscous=none, coulomb=none)


def _with_other_conditions(
    model: DynamicsModel,
    chain: Chain,
    urdf: UrdfWitness | None,
    state: tuple[Array, Array, Array],
    rng: np.random.Generator,
) -> Trial:
    """Random gravity, payloads, rotors and friction, and other bodies where the module takes them."""
    n = len(chain.coordinates)
    x, y, z = (float(value) for value in rng.normal(0.0, 6.0, 3))  # [m/s^2], any direction
    payloads = {tip: _random_payload(rng) for tip in chain.tips}
    ranges = ((0.0, 0.5, n), (0.0, 3.0, n), (0.0, 3.0, n))
    rotors, viscous, coulomb = (tuple(rng.uniform(*range_).tolist()) for range_ in ranges)
    actuation = Actuation(rotors, viscous, coulomb, float(rng.uniform(0.005, 0.5)))
    changes: dict[str, Any] = {"gravity": (x, y, z), "payload": payloads, **vars(actuation)}
    conditions = (x, y, z), tuple(map(_as_inertia, payloads.values())), actuation
    found = None if urdf is None else urdf.effort(*state, *conditions)
    if model.parameters.inertial is not None:  # generated with --inertial runtime: as after an identification
        bodies = (_as_inertia(_random_payload(rng)) for _ in chain.joints)
        joints = tuple(replace(each, inertia=body) for each, body in zip(chain.joints, bodies, strict=True))
        chain, found = replace(chain, joints=joints), None
        changes["inertial"] = tuple(value for joint in joints for value in about_origin(joint.inertia))
    return Trial(model.with_parameters(**changes), *state, chain, *conditions, found)


def _random_payload(rng: np.random.Generator) -> Payload:
    """A body that can exist: its second moments of mass are positive."""
    mass = float(rng.uniform(0.1, 3.0))  # [kg]
    arms = rng.normal(0.0, 0.1, (3, 3))  # [m]
    P = mass * arms @ arms.T
    J = np.trace(P) * np.eye(3) - P
    x, y, z = (float(value) for value in rng.uniform(-0.2, 0.2, 3))
    ixx, ixy, ixz, iyy, iyz, izz = (float(J[i, j]) for i in range(3) for j in range(i, 3))
    return Payload(mass, (x, y, z), (ixx, ixy, ixz, iyy, iyz, izz))


def _as_inertia(payload: Payload) -> Inertia:
    return Inertia(payload.mass, payload.com, symmetric(payload.inertia))


def relative(found: Any, expected: Any) -> float:
    """Largest difference of an entry over its expected magnitude; infinite when anything is not finite.

    An entry below a thousandth of the largest one is measured by that thousandth: so a wrist's torque is
    not hidden by a shoulder's, and a torque that happens to vanish does not turn rounding into an error.
    """
    found, expected = np.atleast_1d(found), np.atleast_1d(expected)
    if not (np.all(np.isfinite(found)) and np.all(np.isfinite(expected))):
        return float("inf")
    size = np.abs(expected)
    scale = np.maximum(size, max(SMALL * float(np.max(size)), np.finfo(float).tiny))
    return float(np.max(np.abs(found - expected) / scale))


# What of a module must agree with what, at one state: each check gives (found, expected)


def _mass_matrix(t: State) -> Pair:
    """M e_j = tau(q, 0, e_j) - tau(q, 0, 0), column by column."""
    still, units = np.zeros_like(t.qd), np.eye(t.q.size)
    rest = t.model.inverse_dynamics(t.q, still, still)
    columns = [t.model.inverse_dynamics(t.q, still, unit) - rest for unit in units]
    return t.model.mass_matrix(t.q), np.array(columns).T


def _bias(t: State) -> Pair:
    return t.model.bias(t.q, t.qd), t.model.inverse_dynamics(t.q, t.qd, np.zeros_like(t.qd))


def _gravity(t: State) -> Pair:
    still = np.zeros_like(t.qd)
    return t.model.gravity(t.q), t.model.inverse_dynamics(t.q, still, still)


def _coriolis(t: State) -> Pair:
    """C qd + g + friction = V."""
    C_qd = t.model.coriolis(t.q, t.qd) @ t.qd
    return C_qd + t.model.gravity(t.q) + t.model.friction(t.qd), t.model.bias(t.q, t.qd)


def _forward_dynamics(t: State) -> Pair:
    """It inverts inverse dynamics; where it refuses, M must be singular indeed."""
    try:
        return t.model.forward_dynamics(t.q, t.qd, t.effort), t.qdd
    except SingularMassMatrixError:
        eigenvalues = np.linalg.eigvalsh(t.model.mass_matrix(t.q))
        if eigenvalues[0] > SINGULAR * eigenvalues[-1]:
            raise
        return 0.0, 0.0


def _terms(t: State) -> Pair:
    return np.sum(t.model.terms(t.q, t.qd, t.qdd), axis=0), t.effort


def _energy(t: Trial) -> Pair:
    """Lagrange's energies; a rotor adds half its inertia times the squared rate."""
    kinetic, potential = lagrange.energies(t.chain, t.q, t.qd, t.gravity, *t.payloads)
    rotors = np.array(t.actuation.rotor_inertia) @ t.qd**2 / 2
    return np.array(t.model.energy(t.q, t.qd)), np.array([kinetic.item() + rotors, potential.item()])


def _regressor(t: Trial) -> Pair:
    """Y pi is the rigid bodies' effort."""
    Y = t.model.regressor(t.q, t.qd, t.qdd)
    return Y @ t.model.inertial_parameters, t.rigid_effort_by(lagrange.inverse_dynamics)


def _reaction_wrenches(t: Trial) -> Pair:
    """The part of each wrench along its joint's axis is the rigid bodies' effort."""
    found = np.zeros_like(t.q)
    for joint, wrench in zip(t.chain.joints, t.model.reaction_wrenches(t.q, t.qd, t.qdd), strict=True):
        along = wrench[:3] if joint.kind == "prismatic" else wrench[3:]
        found[joint.coordinate] += joint.multiplier * (np.array(joint.axis) @ along)
    return found, t.rigid_effort_by(lagrange.inverse_dynamics)


def _derivatives(t: Trial) -> Pair:
    """d tau/d q and d tau/d qd by dual numbers; rotors add nothing, friction its slope."""
    n = t.q.size
    state = lanes(t.q, 0, 2 * n), lanes(t.qd, n, 2 * n), t.qdd
    tau = dynamics.inverse_dynamics(t.chain, *state, t.gravity, *t.payloads)
    expected = np.array([effort.slope.reshape(2 * n) for effort in tau])
    p = t.actuation
    smooth = 1 - np.tanh(t.qd / p.coulomb_velocity) ** 2
    expected[:, n:] += np.diag(p.viscous + np.array(p.coulomb) * smooth / p.coulomb_velocity)
    return np.hstack(t.model.inverse_dynamics_derivatives(t.q, t.qd, t.qdd)), expected


def _batch(t: Trial) -> Pair:
    """Many states in one call, against one by one."""
    states = [(t.q + k, t.qd - k, t.qdd * k) for k in range(5)]
    batch = t.model.inverse_dynamics(*(np.array(column) for column in zip(*states, strict=True)))
    return batch, np.array([t.model.inverse_dynamics(*state) for state in states])


def _tip(t: Trial) -> Pair:
    """Where a point at the tip's origin is, and how it moves with each joint."""
    nothing = (0.0, 0.0, 0.0)
    point = Inertia(1.0, nothing, (nothing, nothing, nothing))
    tip = list(maggi.redundant_coordinates(t.chain, lanes(t.q), point))[t.chain.tip_body + 1]
    expected = np.column_stack([tip.x.value, tip.x.slope.reshape(-1, 3).T])
    return np.column_stack([t.model.tip_pose(t.q)[:3, 3], t.model.tip_jacobian(t.q)[3:]]), expected


def _center_of_mass(t: Trial) -> Pair:
    """The centre of mass of all that moves, and its Jacobian; nothing to compare where that has no mass."""
    bodies = list(maggi.redundant_coordinates(t.chain, lanes(t.q), *t.payloads))
    mass = sum(body.inertia.mass for body in bodies)
    if mass == 0.0:
        return 0.0, 0.0
    weighted: Any = sum(body.inertia.mass / mass * body.x for body in bodies)
    expected = np.column_stack([weighted.value, weighted.slope.reshape(-1, 3).T])
    return np.column_stack([t.model.center_of_mass(t.q), t.model.center_of_mass_jacobian(t.q)]), expected


PINOCCHIO = "Pinocchio, from the URDF"
WITNESSES = {
    "Lagrange": lagrange.inverse_dynamics,
    "Maggi": maggi.inverse_dynamics,
    "Gibbs-Appell": gibbs_appell.inverse_dynamics,
}
CONSISTENCY: dict[str, Callable[[State], Pair]] = {
    "mass matrix, by columns": _mass_matrix,
    "bias": _bias,
    "gravity": _gravity,
    "Coriolis matrix": _coriolis,
    "forward dynamics inverts": _forward_dynamics,
    "terms add up": _terms,
}
CHECKS: dict[str, Callable[[Trial], Pair]] = {
    "energy": _energy,
    "regressor": _regressor,
    "reaction wrenches": _reaction_wrenches,
    "derivatives": _derivatives,
    "batch": _batch,
    "tip": _tip,
    "centre of mass": _center_of_mass,
}
