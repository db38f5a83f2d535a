"""A robot whose loops a file closes: its tree, its independent joints, closed postures over their range."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kane_dynamics_ros.algebra import Array, Vector, add, apply
from kane_dynamics_ros.description import Robot, serial_chain
from kane_dynamics_ros.description.model import Chain
from kane_dynamics_ros.systems import equations
from kane_dynamics_ros.systems.model import GROUND, Coincident, Coupling, MultibodyError, Point, System
from kane_dynamics_ros.systems.motion import complete_speeds
from kane_dynamics_ros.systems.read import read_loops, system_of_robot, with_loops

GRID = {0: 1, 1: 161, 2: 21, 3: 9}  # postures along each coordinate, by the number of coordinates of a loop
JUMP = 0.8  # [rad or m] between neighbouring postures: more is another branch, or a dead point
SEED = 0
ROUNDING = 1e-6  # [rad, m or relative] by which a joint may be beyond its limits


@dataclass(frozen=True)
class Loop:
    """Two points that coincide along some directions of the root link's axes; body -1 is the root link."""

    bodies: tuple[int, int]
    points: tuple[Vector, Vector]
    along: tuple[Vector, ...]


@dataclass(frozen=True)
class ClosedChain:
    """The tree, its loops, and which of the tree's coordinates are independent.

    ``tree`` has the couplings of the file as joints that follow others. ``origin`` is the chain to the tip
    alone, by which a module is known. ``start``: a closed posture of ``system``. ``given``: what the file
    says.
    """

    tree: Chain
    origin: Chain
    system: System
    loops: tuple[Loop, ...]
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    start: Array
    given: Mapping[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """The independent joints."""
        return tuple(self.tree.coordinates[r] for r in self.independent)

    @property
    def followers(self) -> tuple[str, ...]:
        """The dependent joints."""
        return tuple(self.tree.coordinates[r] for r in self.dependent)

    @cached_property
    def slides(self) -> frozenset[int]:
        """The tree's coordinates that are positions [m]; the others are angles."""
        return frozenset(r for r, joint in enumerate(self.tree.leaders) if joint.kind == "prismatic")

    def limits(self, r: int) -> tuple[float, float] | None:
        """Of a tree's coordinate [rad or m]; None: it has none, or turns freely."""
        joint = self.tree.leaders[r]
        lower, upper = joint.limits.lower, joint.limits.upper
        return None if lower is None or upper is None or joint.kind == "continuous" else (lower, upper)

    @property
    def reduced(self) -> Chain:
        """The chain whose coordinates are the independent ones: what a module states about its joints.

        Damping, friction and rotors of dependent joints have no part in it; see ``closed_functions``.
        """
        place = {r: k for k, r in enumerate(self.independent)}
        joints = tuple(
            replace(joint, coordinate=place[joint.coordinate])
            if joint.coordinate in place
            else replace(joint, coordinate=0, multiplier=0.0)
            for joint in self.tree.joints
        )
        open_tree = "KD505"  # says what gravity asks for where no loop bears it
        findings = tuple(finding for finding in self.tree.findings if finding.code != open_tree)
        return replace(self.tree, joints=joints, coordinates=self.names, findings=findings)


def closed_chain(robot: Robot, loops: str | Path | Mapping[str, Any], tip: str | None = None) -> ClosedChain:
    """A robot whose loops a YAML file closes, see ``systems.load_system``.

    Args:
        robot: the URDF's tree.
        loops: the file, or its content, as a generated module states it; ``posture`` in it maps joints to
            where the loops are closed from [rad or m].
        tip: the link that bears payload and wrench; by default that to which the most joints lead.

    Raises:
        MultibodyError: ``bad_file``, and what ``close`` and ``forward_dynamics`` raise of the posture.
        DescriptionError: of the URDF.

    Example:
        >>> from kane_dynamics_ros.description import load_robot
        >>> from kane_dynamics_ros.share import share_directory
        >>> robot = load_robot(share_directory() / "urdf" / "three_link_chain.urdf")
        >>> belt = {"couplings": [{"follower": "q_3", "leader": "q_2", "ratio": -1.0}]}
        >>> closed_chain(robot, belt).names
        ('q_1', 'q_2')
    """
    path = Path("loops") if isinstance(loops, Mapping) else Path(loops)
    given = loops if isinstance(loops, Mapping) else read_loops(path)
    system = with_loops(system_of_robot(robot), robot, path, given)
    origin = serial_chain(robot, tip)
    leaves = serial_chain(robot, "all").tips
    whole = serial_chain(robot, [origin.tip, *(leaf for leaf in leaves if leaf != origin.tip)])
    tree = _coupled(replace(whole, branches=(), branch_frames=()), system)
    posture = {joint.name: joint.initial_position for joint in tree.joints} | given.get("posture", {})
    guess = [posture.get(name) or 0.0 for name in system.coordinates]
    names = system.independent
    if names is None:
        tied = any(isinstance(constraint, Coincident) for constraint in system.constraints)
        start = equations.close(system, guess)
        names = equations.independent_speeds(system, start) if tied else tree.coordinates
        system = replace(system, independent=names)
    foreign = [name for name in names if name not in tree.coordinates]
    if foreign:
        raise MultibodyError(
            f"{path}: joint {foreign[0]!r} follows another, so that it cannot be independent; the joints "
            f"that can are {', '.join(tree.coordinates)}",
            "bad_file",
            path=path,
        )
    start = equations.close(system, guess, fixed=names)
    equations.reduction(
        system, equations.state_terms(system, start, np.zeros(len(start)))
    )  # or it is refused
    independent = tuple(r for r, name in enumerate(tree.coordinates) if name in names)
    dependent = tuple(r for r in range(len(tree.coordinates)) if r not in independent)
    found = tuple(
        _loop(tree, system, constraint)
        for constraint in system.constraints
        if isinstance(constraint, Coincident)
    )
    return ClosedChain(tree, origin, system, found, independent, dependent, start, given)


def _coupled(chain: Chain, system: System) -> Chain:
    """The chain with the couplings of a system that are not its joints' own as joints that follow others."""
    own = {joint.name for joint in chain.joints if joint.name not in chain.coordinates}
    for coupling in system.constraints:
        if not isinstance(coupling, Coupling) or coupling.follower in own:
            continue
        by_name = {joint.name: joint for joint in chain.joints}
        follower, leader = by_name[coupling.follower], by_name[coupling.leader]
        ratio, offset = float(coupling.ratio), float(coupling.offset)  # type: ignore[arg-type]
        gone = follower.coordinate
        joints = []
        for joint in chain.joints:
            if joint.coordinate == gone:  # the follower, and what follows it
                joint = replace(
                    joint,
                    coordinate=leader.coordinate,
                    multiplier=joint.multiplier * ratio * leader.multiplier,
                    offset=joint.offset + joint.multiplier * (offset + ratio * leader.offset),
                )
            joints.append(replace(joint, coordinate=joint.coordinate - (joint.coordinate > gone)))
        coordinates = tuple(name for r, name in enumerate(chain.coordinates) if r != gone)
        chain = replace(chain, joints=tuple(joints), coordinates=coordinates)
    return chain


def _loop(chain: Chain, system: System, constraint: Coincident) -> Loop:
    index = {joint.name: k for k, joint in enumerate(chain.joints)}
    bodies = {body.name: body for body in system.bodies}

    def placed(point: Point) -> tuple[int, Vector]:
        """The moving body that carries a point, and where in its frame."""
        name, place = point.body, point.position
        while name != GROUND and bodies[name].joint == "fixed":
            body = bodies[name]
            name, place = body.parent, add(body.at, apply(body.rotation, place))
        return (-1 if name == GROUND else index[name]), place

    (a, at_a), (b, at_b) = placed(constraint.a), placed(constraint.b)
    return Loop((a, b), (at_a, at_b), constraint.along)


# Closed postures over the range of the independent coordinates, and the series that is fitted to them


@dataclass(frozen=True)
class Samples:
    """Postures of one group of loops: ``q`` (N, of ``independent``), ``y`` (N, of ``dependent``)."""

    independent: tuple[int, ...]  # indices of the tree's coordinates
    dependent: tuple[int, ...]
    q: Array
    y: Array


def sample(closed: ClosedChain) -> list[Samples]:
    """Closed postures over the whole range of each group of coordinates that loops tie together.

    Raises:
        MultibodyError: ``not_closed`` where a loop cannot be closed within the limits, or only on another
            branch; ``no_limits`` for a prismatic joint without limits; ``beyond_limits`` where a joint
            follows beyond its own.
    """
    samples = [_sampled(closed, *group) for group in _groups(closed)]
    for part in samples:
        _refuse_beyond_limits(closed, part)
    return samples


def _refuse_beyond_limits(closed: ClosedChain, samples: Samples) -> None:
    names = closed.tree.coordinates
    for r, y in zip(samples.dependent, samples.y.T, strict=True):
        limits = closed.limits(r)
        beyond = np.zeros(len(y)) if limits is None else np.maximum(limits[0] - y, y - limits[1])
        row = int(np.argmax(beyond))
        if beyond[row] > ROUNDING:
            independent = zip(samples.independent, samples.q[row], strict=True)
            where = ", ".join(f"{names[k]} = {x:.4g}" for k, x in independent)
            raise MultibodyError(
                f"joint {names[r]!r} follows to {y[row]:.4g} at {where}, beyond its limits of {limits}; "
                "narrow the limits of the independent joints in the URDF, or widen its own",
                "beyond_limits",
                joint=names[r],
            )


def speed_warnings(closed: ClosedChain, samples: Sequence[Samples]) -> list[str]:
    """A line for each joint that the independent ones, at their own velocity limits, drive beyond its own."""
    names = closed.tree.coordinates
    most = {joint.name: joint.limits.velocity or np.inf for joint in closed.tree.joints}
    fastest = np.array([most[name] if most[name] < np.inf else 0.0 for name in closed.names])
    highest: dict[str, float] = dict.fromkeys(closed.followers, 0.0)
    for part in samples:
        for q, y in zip(part.q, part.y, strict=True):
            posture = closed.start.copy()
            at = [closed.system.coordinates.index(names[r]) for r in (*part.independent, *part.dependent)]
            posture[at] = [*q, *y]
            terms = equations.state_terms(closed.system, posture, np.zeros(len(posture)))
            T = np.abs(equations.reduction(closed.system, terms).T)
            for r in part.dependent:
                speed = float(T[closed.system.coordinates.index(names[r])] @ _in_system(closed, fastest))
                highest[names[r]] = max(highest[names[r]], speed)
    return [
        f"joint {name!r} follows at up to {speed:.4g} per second where the independent joints move at their "
        f"velocity limits; its own limit of {most[name]:.4g} is watched by nothing"
        for name, speed in highest.items()
        if speed > most[name] * (1 + ROUNDING)
    ]


def follower_lines(closed: ClosedChain) -> list[str]:
    """The joints that follow, and a warning for each that may turn too fast."""
    warnings = [f"warning: {line}" for line in speed_warnings(closed, sample(closed))]
    return [f"joints that follow by loops: {', '.join(closed.followers)}", *warnings]


def _in_system(closed: ClosedChain, values: Array) -> Array:
    """Values of the independent joints in the order of the system's independent speeds."""
    order = [name for name in closed.system.coordinates if name in closed.names]
    return values[[closed.names.index(name) for name in order]]


def _groups(closed: ClosedChain) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Independent and dependent coordinates of the tree that constraints tie together."""
    names = closed.tree.coordinates
    order = [closed.system.coordinates.index(name) for name in names]
    random = np.random.default_rng(SEED)
    pattern = np.zeros((len(equations.holonomic_rows(closed.system)), len(closed.system.coordinates)))
    for _ in range(4):
        near = closed.start + random.normal(scale=0.1, size=len(closed.start))
        pattern = np.maximum(pattern, np.abs(equations.closures(closed.system, near)[1]))
    tied = (pattern > 1e-9).astype(int)
    reach = (tied.T @ tied + np.eye(tied.shape[1], dtype=int)) > 0
    for _ in range(len(reach)):
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    groups = []
    left = set(closed.dependent)
    while left:
        first = min(left)
        group = [r for r in range(len(names)) if reach[order[first], order[r]]]
        independent = tuple(r for r in group if r in closed.independent)
        dependent = tuple(r for r in group if r in left)
        left -= set(dependent)
        groups.append((independent, dependent))
    return groups


def _sampled(closed: ClosedChain, independent: tuple[int, ...], dependent: tuple[int, ...]) -> Samples:
    for r in independent:
        if r in closed.slides and closed.limits(r) is None:
            joint = closed.tree.coordinates[r]
            raise MultibodyError(
                f"joint {joint!r} slides without limits: a loop cannot be followed over all of them; give it "
                "limits in the URDF",
                "no_limits",
                joint=joint,
            )
    if len(independent) > max(GRID):
        joints = ", ".join(closed.tree.coordinates[r] for r in independent)
        raise MultibodyError(
            f"loops tie {len(independent)} independent joints together, {joints}; up to {max(GRID)} are "
            "supported",
            "too_large",
        )
    system, names = closed.system, closed.tree.coordinates
    place = {r: system.coordinates.index(names[r]) for r in (*independent, *dependent)}
    count = GRID[len(independent)]
    axes = [np.linspace(*(closed.limits(r) or (-np.pi, np.pi)), count) for r in independent]
    begin = [
        int(np.argmin(np.abs(axis - closed.start[place[r]])))
        for axis, r in zip(axes, independent, strict=True)
    ]
    found: dict[tuple[int, ...], Array] = {}

    def solved(index: tuple[int, ...], near: Array) -> Array:
        target = near.copy()
        for axis, k, r in zip(axes, index, independent, strict=True):
            target[place[r]] = axis[k]
        try:
            posture = equations.close(system, target, fixed=closed.names)
        except MultibodyError:
            posture = target + 2 * JUMP
        if np.abs(posture - target).max() > JUMP:
            where = ", ".join(f"{names[r]} = {target[place[r]]:.4g}" for r in independent)
            raise MultibodyError(
                f"{system.name!r}: the loops cannot be followed to {where}: they do not close there, or are "
                "at a dead point; narrow the limits of these joints in the URDF",
                "not_closed",
            )
        return posture

    posture = closed.start
    for share in np.linspace(0.0, 1.0, 21)[1:]:  # to the first of the grid
        target = posture.copy()
        for axis, k, r in zip(axes, begin, independent, strict=True):
            target[place[r]] = closed.start[place[r]] + share * (axis[k] - closed.start[place[r]])
        posture = equations.close(system, target, fixed=closed.names)
    found[tuple(begin)] = posture
    waiting = [tuple(begin)]
    while waiting:
        index = waiting.pop(0)
        for k, step in itertools.product(range(len(axes)), (-1, 1)):
            beside = (*index[:k], index[k] + step, *index[k + 1 :])
            if beside not in found and 0 <= beside[k] < count:
                found[beside] = solved(beside, found[index])
                waiting.append(beside)
    postures = np.array(list(found.values()))
    return Samples(
        independent,
        dependent,
        postures[:, [place[r] for r in independent]],
        postures[:, [place[r] for r in dependent]],
    )


def trials(
    closed: ClosedChain, samples: Sequence[Samples], count: int, seed: int = SEED
) -> Iterator[tuple[Array, ...]]:
    """q, q', q'' (n,) of random states over the whole range, and the efforts (n,) that they take.

    By ``inverse_dynamics`` of the system: a plain sum over bodies, of loops closed by Newton's method.
    """
    system, random = closed.system, np.random.default_rng(seed)
    place = {r: system.coordinates.index(name) for r, name in enumerate(closed.tree.coordinates)}
    own = [place[r] for r in closed.independent]
    for _ in range(count):
        posture = closed.start.copy()
        for r in closed.independent:
            posture[place[r]] = random.uniform(*(closed.limits(r) or (-1.0, 1.0)))
        for part in samples:
            row = random.integers(len(part.q))
            posture[[place[r] for r in part.independent]] = part.q[row]
            posture[[place[r] for r in part.dependent]] = part.y[row]
        posture = equations.close(system, posture, fixed=closed.names)
        speeds = np.zeros(len(posture))
        speeds[own] = random.uniform(-2.0, 2.0, len(own))
        u = complete_speeds(system, posture, speeds)
        qdd = random.uniform(-2.0, 2.0, len(own))
        in_system = [name for name in system.coordinates if name in closed.names]
        tau = equations.inverse_dynamics(system, posture, u, _in_system(closed, qdd), in_system)
        rotors = np.array(closed.reduced.rotor_inertia) * qdd
        yield posture[own], speeds[own], qdd, tau[own] + rotors
