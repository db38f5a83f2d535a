"""``kane_dynamics verify``: every witness against a generated module, at random states."""

import argparse
import datetime
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kane_dynamics_ros.algebra import Array, symmetric
from kane_dynamics_ros.checksum import RECORD
from kane_dynamics_ros.cli.arguments import add_chain_arguments, add_model_argument, chain_of, named_model
from kane_dynamics_ros.description import Chain, DescriptionError, Inertia
from kane_dynamics_ros.description.geometry import about_origin
from kane_dynamics_ros.description.physics_hash import compare_origin
from kane_dynamics_ros.errors import KaneDynamicsError, SingularMassMatrixError
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.formulation.dual import lanes
from kane_dynamics_ros.formulation.kane import dynamics
from kane_dynamics_ros.formulation.witnesses import gibbs_appell, lagrange, maggi
from kane_dynamics_ros.formulation.witnesses.loads import Actuation
from kane_dynamics_ros.runtime import DynamicsModel, Payload
from kane_dynamics_ros.runtime.load import find_module, load_model

LARGEST_DIFFERENCE = 1e-9  # relative; rounding stays well below it
SMALL = 1e-3  # of the largest entry, the least by which a difference is measured
SINGULAR = 1e-12  # of the largest eigenvalue of M, the least that is not rounding
Pair = tuple[Any, Any]


class RecordError(KaneDynamicsError):
    """The record of a verification cannot be written into the module."""

    def __init__(self, module: Path, reason: str) -> None:
        self.module, self.reason = module, reason
        super().__init__(f"{module}: the verification cannot be recorded: {reason}; omit --record")


class AnotherRobotError(KaneDynamicsError):
    """The module was generated from other physics than the URDF holds."""

    def __init__(self, module: str, urdf: str, found: str, expected: str) -> None:
        self.module, self.urdf, self.found, self.expected = module, urdf, found, expected
        super().__init__(
            f"{module}: it was generated from a chain with hash {found[:16]}, but {urdf} with the same tip "
            f"and locks has {expected[:16]}; generate it again, or give the URDF that it was made from"
            f"{', with --xacro what it was made with' if urdf.endswith('.xacro') else ''}"
        )


def positive(text: str) -> int:
    """A whole number above 0, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def not_negative(text: str) -> int:
    """A whole number from 0 on, for argparse."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_model_argument(parser)
    parser.add_argument("--urdf", required=True, help="the URDF that it was generated from")
    add_chain_arguments(parser, root="the module's", tip="the module's", lock="the module's")
    parser.add_argument("--states", type=positive, default=20, metavar="N", help="random states; default: 20")
    parser.add_argument(
        "--seed", type=not_negative, default=0, metavar="S", help="of the random states; default: 0"
    )
    parser.add_argument("--backend", choices=("auto", "c", "python"), default="auto", help="default: auto")
    parser.add_argument(
        "--record",
        action="store_true",
        help="write date and largest difference into the module, if it passed",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the largest relative difference of each check; 0 when all are below the limit, else 1."""
    arguments.module = named_model(arguments)
    model = load_model(arguments.module, backend=arguments.backend)
    asked = arguments.tip or arguments.root or arguments.lock
    arguments.lock = arguments.lock or [f"{joint}={position!r}" for joint, position in model.locked.items()]
    arguments.tip, arguments.root = arguments.tip or model.tip, arguments.root or model.root
    try:
        chain = chain_of(arguments)
    except DescriptionError as error:
        if error.code != "KD601" or asked:
            raise
        message = f"{arguments.module} was generated from another robot: {error}"
        raise KaneDynamicsError(message, "another_robot", module=arguments.module) from error
    origin = compare_origin(model, chain)
    if not origin.matches:
        raise AnotherRobotError(arguments.module, arguments.urdf, model.urdf_hash, origin.hash)
    largest = largest_differences(model, chain, arguments.states, arguments.seed)
    print(f"{model.name}, backend {model.backend}: largest relative difference at {arguments.states} states")
    print("\n".join(lines_of(largest)))
    if max(largest.values()) >= LARGEST_DIFFERENCE:
        print(f"NOT verified: the limit is {LARGEST_DIFFERENCE:.0e}")
        return 1
    if arguments.record:
        write_record(find_module(arguments.module), largest, arguments.states, arguments.seed)
    print("verified")
    return 0


def lines_of(largest: dict[str, float]) -> list[str]:
    """A line for each check, the ones that fail marked."""
    return [
        f"  {name:<26}{difference:.1e}{'' if difference < LARGEST_DIFFERENCE else '  TOO LARGE'}"
        for name, difference in largest.items()
    ]


# The work: a module against the witnesses and against itself, at random states


@dataclass(frozen=True)
class Trial:
    """One random state under random conditions; ``model`` already has the conditions."""

    model: DynamicsModel
    chain: Chain
    q: Array
    qd: Array
    qdd: Array
    payload: Inertia

    @property
    def effort(self) -> Array:
        """The module's own inverse dynamics."""
        return self.model.inverse_dynamics(self.q, self.qd, self.qdd)

    def rigid_effort_by(self, derivation: Callable[..., Any]) -> Array:
        """What a derivation says of the rigid bodies alone, payload included."""
        gravity = self.model.parameters.gravity
        return np.asarray(derivation(self.chain, self.q, self.qd, self.qdd, gravity, self.payload), float)

    def effort_by(self, derivation: Callable[..., Any]) -> Array:
        """The effort with rotors and friction: what ``inverse_dynamics`` should be."""
        p = self.model.parameters
        actuation = Actuation(p.rotor_inertia, p.viscous, p.coulomb, p.coulomb_velocity)
        return np.asarray(self.rigid_effort_by(derivation) + actuation.effort(self.qd, self.qdd), float)


def largest_differences(model: DynamicsModel, chain: Chain, states: int, seed: int) -> dict[str, float]:
    """The largest relative difference in each witness and check, over ``states`` random trials."""
    largest: dict[str, float] = defaultdict(float)
    for trial in random_trials(model, chain, states, seed):
        for name, difference in differences(trial).items():
            largest[name] = max(largest[name], difference)
    return dict(largest)


def differences(trial: Trial) -> dict[str, float]:
    """Largest relative difference of each witness and of each consistency check in one trial."""
    found = {name: relative(trial.effort, trial.effort_by(w)) for name, w in WITNESSES.items()}
    return found | {name: relative(*check(trial)) for name, check in CHECKS.items()}


def random_trials(model: DynamicsModel, chain: Chain, count: int, seed: int) -> Iterator[Trial]:
    """Two trials at each of ``count`` states: the module as it was generated, and with other parameters.

    Positions go over a whole turn (or 3 m), since the equations know no limits.
    """
    rng = np.random.default_rng(seed)
    n = len(chain.coordinates)
    for _ in range(count):
        state = rng.uniform(-np.pi, np.pi, n), rng.uniform(-3, 3, n), rng.uniform(-10, 10, n)
        yield Trial(model, chain, *state, _as_inertia(model.parameters.payload))
        loaded, other = _with_other_conditions(model, chain, rng)
        yield Trial(loaded, other, *state, _as_inertia(loaded.parameters.payload))


def _with_other_conditions(
    model: DynamicsModel, chain: Chain, rng: np.random.Generator
) -> tuple[DynamicsModel, Chain]:
    """Random gravity, payload, rotors and friction, and other bodies where the module takes them."""
    n = len(chain.coordinates)
    changes: dict[str, Any] = {
        "gravity": tuple(rng.normal(0.0, 6.0, 3)),  # [m/s^2], any direction
        "payload": _random_payload(rng),
        "rotor_inertia": tuple(rng.uniform(0.0, 0.5, n)),
        "viscous": tuple(rng.uniform(0.0, 3.0, n)),
        "coulomb": tuple(rng.uniform(0.0, 3.0, n)),
        "coulomb_velocity": float(rng.uniform(0.005, 0.5)),
    }
    if model.parameters.inertial is not None:  # generated with --inertial runtime
        chain = _with_other_inertias(chain, rng)
        changes["inertial"] = tuple(value for joint in chain.joints for value in about_origin(joint.inertia))
    return model.with_parameters(**changes), chain


def _with_other_inertias(chain: Chain, rng: np.random.Generator) -> Chain:
    """The chain with other bodies, as after an identification."""
    bodies = (_as_inertia(_random_payload(rng)) for _ in chain.joints)
    joints = tuple(replace(joint, inertia=body) for joint, body in zip(chain.joints, bodies, strict=True))
    return replace(chain, joints=joints)


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


def _mass_matrix(t: Trial) -> Pair:
    """M e_j = tau(q, 0, e_j) - tau(q, 0, 0), column by column."""
    still, units = np.zeros_like(t.qd), np.eye(t.q.size)
    rest = t.model.inverse_dynamics(t.q, still, still)
    columns = [t.model.inverse_dynamics(t.q, still, unit) - rest for unit in units]
    return t.model.mass_matrix(t.q), np.array(columns).T


def _bias(t: Trial) -> Pair:
    return t.model.bias(t.q, t.qd), t.model.inverse_dynamics(t.q, t.qd, np.zeros_like(t.qd))


def _gravity(t: Trial) -> Pair:
    still = np.zeros_like(t.qd)
    return t.model.gravity(t.q), t.model.inverse_dynamics(t.q, still, still)


def _coriolis(t: Trial) -> Pair:
    """C qd + g + friction = V."""
    C_qd = t.model.coriolis(t.q, t.qd) @ t.qd
    return C_qd + t.model.gravity(t.q) + t.model.friction(t.qd), t.model.bias(t.q, t.qd)


def _forward_dynamics(t: Trial) -> Pair:
    """It inverts inverse dynamics; where it refuses, M must be singular indeed."""
    try:
        return t.model.forward_dynamics(t.q, t.qd, t.effort), t.qdd
    except SingularMassMatrixError:
        eigenvalues = np.linalg.eigvalsh(t.model.mass_matrix(t.q))
        if eigenvalues[0] > SINGULAR * eigenvalues[-1]:
            raise
        return 0.0, 0.0


def _terms(t: Trial) -> Pair:
    return np.sum(t.model.terms(t.q, t.qd, t.qdd), axis=0), t.effort


def _energy(t: Trial) -> Pair:
    """Lagrange's energies; a rotor adds half its inertia times the squared rate."""
    kinetic, potential = lagrange.energies(t.chain, t.q, t.qd, t.model.parameters.gravity, t.payload)
    rotors = np.array(t.model.parameters.rotor_inertia) @ t.qd**2 / 2
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
    n, gravity = t.q.size, t.model.parameters.gravity
    state = lanes(t.q, 0, 2 * n), lanes(t.qd, n, 2 * n), t.qdd
    tau = dynamics.inverse_dynamics(t.chain, *state, gravity, t.payload)
    expected = np.array([effort.slope.reshape(2 * n) for effort in tau])
    p = t.model.parameters
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
    *_, tip = maggi.redundant_coordinates(t.chain, lanes(t.q), point)
    expected = np.column_stack([tip.x.value, tip.x.slope.reshape(-1, 3).T])
    return np.column_stack([t.model.tip_pose(t.q)[:3, 3], t.model.tip_jacobian(t.q)[3:]]), expected


def _center_of_mass(t: Trial) -> Pair:
    """The centre of mass of all that moves, and its Jacobian; nothing to compare where that has no mass."""
    bodies = list(maggi.redundant_coordinates(t.chain, lanes(t.q), t.payload))
    mass = sum(body.inertia.mass for body in bodies)
    if mass == 0.0:
        return 0.0, 0.0
    weighted: Any = sum(body.inertia.mass / mass * body.x for body in bodies)
    expected = np.column_stack([weighted.value, weighted.slope.reshape(-1, 3).T])
    return np.column_stack([t.model.center_of_mass(t.q), t.model.center_of_mass_jacobian(t.q)]), expected


WITNESSES = {
    "Lagrange": lagrange.inverse_dynamics,
    "Maggi": maggi.inverse_dynamics,
    "Gibbs-Appell": gibbs_appell.inverse_dynamics,
}
CHECKS: dict[str, Callable[[Trial], Pair]] = {
    "mass matrix, by columns": _mass_matrix,
    "bias": _bias,
    "gravity": _gravity,
    "Coriolis matrix": _coriolis,
    "forward dynamics inverts": _forward_dynamics,
    "terms add up": _terms,
    "energy": _energy,
    "regressor": _regressor,
    "reaction wrenches": _reaction_wrenches,
    "derivatives": _derivatives,
    "batch": _batch,
    "tip": _tip,
    "centre of mass": _center_of_mass,
}


# The line of a generated module that says when it was verified, and how well


def write_record(module: Path, largest: Mapping[str, float], states: int, seed: int) -> None:
    """Put today's verification where the last one stood; the module's checksum does not cover that line.

    Raises:
        RecordError: the file cannot be read, or has no such line.
        OutputFileError: it cannot be written; it is left as it was.
    """
    worst = max(largest, key=lambda name: largest[name])
    today = datetime.date.today().isoformat()
    record = {"date": today, "states": states, "seed": seed, "largest": largest[worst], "of": worst}
    try:
        lines = module.read_text(encoding="utf-8").split("\n")
        place = next((index for index, line in enumerate(lines) if line.startswith(RECORD)), None)
        if place is None:
            raise RecordError(module, f"it has no line that begins with {RECORD.strip()!r}")
        lines[place] = f"{RECORD}{record!r}"
    except OSError as error:
        raise RecordError(module, error.strerror or str(error)) from error
    write_file(module, "\n".join(lines))
