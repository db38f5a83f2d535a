"""What the numbers of a chain are worth: which faults matter, whether its bodies can exist, what it can lift.

Where bodies are, and what holds them, on plain tuples; the equations of motion are formulated elsewhere.
"""

import math
import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from kane_dynamics_ros.algebra import Array, add, apply, cross, dot, scale, subtract, transpose
from kane_dynamics_ros.description.bodies import Body
from kane_dynamics_ros.description.findings import Notes, refusal
from kane_dynamics_ros.description.geometry import (
    ROUNDING,
    Pose,
    failed_condition,
    moment_about,
    principal_moments,
    rotation_about,
)
from kane_dynamics_ros.description.model import GRAVITY, ChainJoint, Link, Robot, Vector
from kane_dynamics_ros.text import listed

PARALLEL = 1e-9  # sine of the angle between axes that are taken as parallel

# The search for a pose at which the mass matrix is indefinite
POSES = 60
STEPS = 12  # positions tried of each joint, to make the worst pose worse
SEARCHED = 12  # coordinates up to which that is done

# Effort limits against gravity
LIFTED = 30  # poses
SLOW = 0.1  # [rad/s] or [m/s]: no arm's damping takes all of its effort at this speed
STRONGEST = 2000.0  # [N m] where it is more than
STRONGER = 200.0  # times what gravity asks of any joint of the arm, a limit is rather written in N mm

# Which faults matter to the chain: those of what moves, and of what places what moves


def judge_defects(bodies: Sequence[Body], placing: Collection[str], robot: Robot, notes: Notes) -> None:
    """Refuse faults of links and joints that the chain's motion depends on, and warn of the others.

    ``placing``: the held joints that place what moves.
    """
    moving = {body.joint.name for body in bodies}
    moved_links = {part.link.name for body in bodies for part in body.links}
    for link in robot.links:
        for _, error in link.defects:
            if link.name in moved_links:
                notes.refuse(error)
            else:
                notes.warn(error, "no harm here: the link does not move with the chain")
    for joint in robot.joints:
        for aspect, error in joint.defects:
            if joint.name in moving or (joint.name in placing and aspect == "placement"):
                notes.refuse(error)
            else:
                notes.warn(error, "no harm here: the joint does not move with the chain")


# Whether the bodies can exist, as far as their motion shows it


def judge_inertias(
    bodies: Sequence[Body], joints: Sequence[ChainJoint], default_tip: bool, robot: Robot, notes: Notes
) -> None:
    """Refuse inertias that make the mass matrix indefinite, and warn of other impossible ones.

    The warning is serious where they act at all.

    Judged are the principal moments of the body that moves: the link with all that is fixed to it.
    """
    harmless = {link.name: "the link does not move with the chain" for link in robot.links}
    least: float | None = None  # eigenvalue of the mass matrix; costly, so only where it is asked for
    for body, axes in zip(bodies, turning_axes(joints), strict=True):
        why = harmless_because(body, axes)
        harmless |= dict.fromkeys((part.link.name for part in body.links), why or "")
    for link in robot.links:
        failed = None if link.inertia is None else failed_condition(link.inertia.tensor)
        if failed is None:
            continue
        place = notes.place(link.line, f"link {link.name!r}")
        why = harmless[link.name]
        if why:
            message = f"its inertia is physically impossible: {failed}; no harm here: {why}"
            notes.add("KD406", message, *place[1:])
            continue
        least = least_eigenvalue(joints) if least is None else least
        indefinite = least < 0.0 and has_negative_moment(link)
        harm = "the mass matrix is indefinite" if indefinite else "torques are those of no real body"
        error = refusal(
            "KD403",
            place,
            f"its inertia is physically impossible, so that {harm}: {failed}",
            "take the values from CAD afresh (about the centre of mass, along the axes of "
            "<inertial><origin>), or let --repair write the nearest possible ones"
            f"{another_tip(joints, link.name) if default_tip else ''}",
        )
        if indefinite:
            notes.refuse(error)
        else:
            notes.warn_unless_strict(error)


def has_negative_moment(link: Link) -> bool:
    """Whether the tensor itself is not positive semidefinite."""
    return link.inertia is not None and principal_moments(link.inertia.tensor)[0] < -ROUNDING


def harmless_because(body: Body, axes: Sequence[Vector]) -> str | None:
    """Why an impossible tensor in this body changes no torque; None where it acts.

    ``axes``: of the revolute joints that turn the body, in its axes, at position 0. Where all are parallel
    the body turns about one direction e, and of its tensor J only e . J e enters the equations of motion.
    """
    if failed_condition(body.inertia.tensor) is None:
        return "the body that it is part of has a possible one"
    if not axes:
        return "the body only translates"
    e = axes[0]
    parallel = all(math.hypot(*cross(e, axis)) < PARALLEL for axis in axes)
    if parallel and dot(e, apply(body.inertia.tensor, e)) >= -ROUNDING:
        return "only its moment about one direction acts, since all axes before it are parallel"
    return None


# Joints that nothing resists: the mass matrix would be singular at every pose


def judge_resistance(joints: Sequence[ChainJoint], default_tip: bool, robot: Robot, notes: Notes) -> None:
    """Warn of the joints that move no inertia, the nearest to the tip first; refuse a chain without inertia.

    Only joints that no heavy body is beyond can be such. A follower and its leader are one coordinate, which
    moves when either meets inertia.
    """
    lines = {link.name: link.line for link in robot.links}
    idle = idle_joints(joints)
    busy = {joint.coordinate for joint in joints if joint not in idle}
    if not busy and len(idle) > 1:
        place = notes.place(lines.get(joints[0].body), f"link {joints[0].body!r}")
        names = listed(joint.name for joint in joints)
        found = f"no joint of the chain ({names}) moves any inertia: all torques would be 0"
        remedy = "give the links their <inertial>: mass, centre of mass and inertia"
        notes.refuse(refusal("KD404", place, found, f"{remedy}, as from a data sheet or CAD"))
        return
    for joint in idle:
        if joint.coordinate not in busy:
            place = notes.place(lines.get(joint.body), f"link {joint.body!r}")
            bodies = listed((joint.body, *joint.lumped))
            error = refusal(
                "KD404",
                place,
                f"joint {joint.name!r} moves no inertia: nothing that it carries ({bodies}) resists its "
                "motion, so the mass matrix is singular: there are torques, but no forward dynamics",
                "give the link an <inertial>, give the joint a rotor inertia, or lock it "
                f"(--lock {joint.name}=0){another_tip(joints, joint.body) if default_tip else ''}",
            )
            if busy:
                notes.warn_unless_strict(error)
            else:
                notes.refuse(error)


def idle_joints(joints: Sequence[ChainJoint]) -> list[ChainJoint]:
    """Joints without rotor inertia that move no inertia about or along their axis, from the tips on."""
    idle = []
    carriers: set[int] = {-1}  # the joints beyond whose body there is a heavy one
    for k in range(len(joints) - 1, -1, -1):
        joint = joints[k]
        if k not in carriers and joint.rotor_inertia == 0.0 and not resists(joint):
            idle.append(joint)
        if k in carriers or joint.inertia.mass > 0.0:
            carriers.add(joint.parent)
    return idle


def resists(joint: ChainJoint) -> bool:
    """Whether the joint's own body resists its motion."""
    if joint.kind == "prismatic":
        return joint.inertia.mass > 0.0
    return moment_about(joint.inertia, joint.axis) > 0.0


# Where else a chain could end, and whether its mass matrix can be indefinite


def another_tip(joints: Sequence[ChainJoint], link: str) -> str:
    """Words on where to end the chain instead, where ``link`` is that of a finger; empty otherwise."""
    shared = Counter(joint.coordinate for joint in joints)
    like_a_finger = [joint.kind == "prismatic" or shared[joint.coordinate] > 1 for joint in joints]
    index = next(k for k, joint in enumerate(joints) if link in (joint.body, *joint.lumped))
    if not all(like_a_finger[index + 1 :]):
        return ""
    while index > 0 and like_a_finger[index - 1]:
        index -= 1
    if index == 0:
        return ""
    return f"; this tip is the default: --tip {flange_of(joints[index - 1])} ends the chain before it"


def flange_of(joint: ChainJoint) -> str:
    """The link of a body that is called like a flange, or else the body's own link."""
    names = (joint.body, *joint.lumped)
    called = (name for word in ("tool0", "flange", "tcp") for name in names if word in name.lower())
    return next(called, joint.body)


def least_eigenvalue(joints: Sequence[ChainJoint]) -> float:
    """The least eigenvalue of the mass matrix that a search finds, over its largest at that pose.

    At the zero pose and ``POSES`` others within the limits, the same in every run, the worst of which is made
    worse joint by joint. Rounding counts as 0.
    """
    leaders = [
        next(j for j in joints if j.coordinate == k) for k in range(1 + max(j.coordinate for j in joints))
    ]
    generator = random.Random(0)
    poses = [[0.0] * len(leaders)]
    poses += [[position(joint, generator.random()) for joint in leaders] for _ in range(POSES)]
    worst, at = min((relative_least_eigenvalue(joints, q), q) for q in poses)
    if len(leaders) <= SEARCHED:
        for index, joint in enumerate(leaders):
            for step in range(STEPS + 1):
                q = [*at[:index], position(joint, step / STEPS), *at[index + 1 :]]
                worst, at = min((worst, at), (relative_least_eigenvalue(joints, q), q))
    return worst


def relative_least_eigenvalue(joints: Sequence[ChainJoint], q: Sequence[float]) -> float:
    """Least eigenvalue of M(q) = sum m Jv^T Jv + Jw^T J Jw over the largest; 0 where it is rounding."""
    n = len(q)
    M = np.zeros((n, n))
    still = np.zeros((3, n)), np.zeros((3, n)), np.zeros(3)
    bodies: list[tuple[Array, Array, Array]] = []  # of each omega_r, v_r of its origin, and the origin
    for joint, (frame, axis) in zip(joints, frames_at(joints, q), strict=True):
        omega, v, before = bodies[joint.parent] if joint.parent >= 0 else still
        R, p, e = np.array(frame.R), np.array(frame.p), joint.multiplier * np.array(axis)
        v = v + np.cross(omega.T, p - before).T
        own, at = (v, joint.coordinate) if joint.kind == "prismatic" else (omega, joint.coordinate)
        own = own.copy()
        own[:, at] += e
        omega, v = (omega, own) if joint.kind == "prismatic" else (own, v)
        bodies.append((omega, v, p))
        v_cm = v + np.cross(omega.T, R @ np.array(joint.inertia.com)).T
        M += joint.inertia.mass * v_cm.T @ v_cm + omega.T @ R @ np.array(joint.inertia.tensor) @ R.T @ omega
        M[at, at] += joint.multiplier**2 * joint.rotor_inertia
    eigenvalues = np.linalg.eigvalsh(M)
    largest = float(np.max(np.abs(eigenvalues)))
    least = float(eigenvalues[0])
    return least / largest if least < -1e-12 * largest else 0.0


def turning_axes(joints: Sequence[ChainJoint]) -> list[list[Vector]]:
    """The axes, for each body, of the revolute joints that turn it, in its axes, all joints at position 0."""
    table: list[list[Vector]] = []
    for joint in joints:
        turn = transpose(joint.R_PJ)
        before = table[joint.parent] if joint.parent >= 0 else []
        own = [] if joint.kind == "prismatic" else [joint.axis]
        table.append([*(apply(turn, axis) for axis in before), *own])
    return table


# Whether the effort limits of a chain can hold it against gravity


def note_weak_limits(
    joints: Sequence[ChainJoint],
    coordinates: Sequence[str],
    gravity: Vector,
    lines: Mapping[str, int | None],
    notes: Notes,
) -> None:
    """Note joints whose effort limit is below what gravity alone asks at some pose within their range.

    Tries the zero pose and ``LIFTED`` others, the same in every run.
    """
    by_name = {joint.name: joint for joint in joints}
    leaders = [by_name[name] for name in coordinates]
    generator = random.Random(0)
    worst = [0.0] * len(leaders)
    for pose in range(LIFTED + 1):
        q = [0.0 if pose == 0 else position(joint, generator.random()) for joint in leaders]
        for index, effort in enumerate(gravity_efforts(joints, q, gravity)):
            worst[index] = max(worst[index], abs(effort))
    turning = [worst[joint.coordinate] for joint in leaders if joint.kind != "prismatic"]
    most = max(turning, default=0.0)
    for joint in leaders:
        limit, needed = joint.limits.effort, worst[joint.coordinate]
        unit = "N" if joint.kind == "prismatic" else "N m"
        place = lines[joint.name], f"joint {joint.name!r}"
        if limit is None:
            continue
        if joint.kind != "prismatic" and limit > max(STRONGEST, STRONGER * most) and most > 0.0:
            message = (
                f"its effort limit is {limit:.6g} N m, but gravity asks at most {most:.4g} N m of any joint"
            )
            notes.add("KD510", f"{message}: N mm written for N m?", *place)
        if max(joint.friction, SLOW * joint.damping) > limit:
            notes.add(
                "KD509",
                f"its friction of {joint.friction:.6g} and damping of {joint.damping:.6g} take all of its "
                f"effort limit of {limit:.6g} {unit} at a slow motion: is one of them in another unit?",
                *place,
            )
        if needed > limit:
            message = (
                f"its effort limit is {limit:.6g} {unit}, but gravity alone asks for {needed:.4g} {unit}"
            )
            notes.add("KD505", message, *place)


# Where the bodies of a chain are at given joint positions, and what holds them there against gravity


def position(joint: ChainJoint, fraction: float) -> float:
    """A position within the limits, or within half a turn or half a metre where they are unknown."""
    half = 0.5 if joint.kind == "prismatic" else 3.14
    upper = half if joint.limits.upper is None else joint.limits.upper
    lower = -half if joint.limits.lower is None else joint.limits.lower
    return lower + fraction * (upper - lower)


def gravity_efforts(
    joints: Sequence[ChainJoint], q: Sequence[float], gravity: Vector = GRAVITY
) -> list[float]:
    """Effort of each coordinate that holds the chain at ``q`` [N m] or [N].

    A joint carries the weight of all bodies beyond it: tau = -a . (c - o) x (m g), or -a . (m g) along its
    axis, for total mass m with centre c, axis a through o, and the free-fall acceleration g, (3,) [m/s^2].
    """
    frames = frames_at(joints, q)
    efforts = [0.0] * (1 + max(joint.coordinate for joint in joints))
    masses = [joint.inertia.mass for joint in joints]  # and those of all bodies beyond, once these are met
    moments = [
        scale(joint.inertia.mass, add(frame.p, apply(frame.R, joint.inertia.com)))  # about the root's origin
        for joint, (frame, _) in zip(joints, frames, strict=True)
    ]
    for k in range(len(joints) - 1, -1, -1):
        joint, (frame, axis), mass, moment = joints[k], frames[k], masses[k], moments[k]
        weight = scale(-1.0, gravity)
        if joint.kind == "prismatic":
            own = mass * dot(axis, weight)
        else:
            own = dot(axis, cross(subtract(moment, scale(mass, frame.p)), weight))
        efforts[joint.coordinate] += joint.multiplier * own
        if joint.parent >= 0:
            masses[joint.parent] += mass
            moments[joint.parent] = add(moments[joint.parent], moment)
    return efforts


def frames_at(joints: Sequence[ChainJoint], q: Sequence[float]) -> list[tuple[Pose, Vector]]:
    """The pose of each body in the root frame at ``q``, and its joint's axis in root axes."""
    frames: list[tuple[Pose, Vector]] = []
    for joint in joints:
        here = frames[joint.parent][0] if joint.parent >= 0 else Pose()
        here = here.then(Pose(joint.R_PJ, joint.p_PoJo_P))
        axis = apply(here.R, joint.axis)
        value = joint.multiplier * q[joint.coordinate] + joint.offset
        if joint.kind == "prismatic":
            here = here.then(Pose(p=scale(value, joint.axis)))
        else:
            here = here.then(Pose(rotation_about(joint.axis, value)))
        frames.append((here, axis))
    return frames
