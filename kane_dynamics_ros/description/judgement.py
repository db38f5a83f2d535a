"""What the numbers of a chain are worth: which faults matter to it, and what looks like a slip.

Names that tools trip over, missing limits, other units than URDF's, bodies that cannot exist, joints that
nothing resists, efforts that cannot hold the arm up.
"""

import keyword
import math
import random
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from kane_dynamics_ros.algebra import Array, apply, cross, dot, transpose
from kane_dynamics_ros.description import geometry
from kane_dynamics_ros.description.findings import Notes, refusal
from kane_dynamics_ros.description.model import (
    MOVING,
    Chain,
    ChainJoint,
    Inertia,
    Joint,
    Link,
    Robot,
    Vector,
)
from kane_dynamics_ros.description.tree import path_to
from kane_dynamics_ros.text import listed

PARALLEL = 1e-9  # sine of the angle between axes that are taken as parallel

# The search for a pose at which the mass matrix is indefinite
POSES = 60
STEPS = 12  # positions tried of each joint, to make the worst pose worse
SEARCHED = 12  # coordinates up to which that is done

# Masses and inertias
SMALLEST_SIZE = 0.1  # [m] a link that shows no larger size is taken as this large
LARGEST_GYRATION = 2.0  # radius of gyration over size: a rod that turns about its end has 0.58
FARTHEST_CENTRE = 3.0  # centre of mass over size
HEAVIEST = 1000.0  # [kg] no arm's link is heavier
DENSEST = 25_000.0  # [kg/m^3] osmium has 22,600
SHAPED = 0.2  # [kg] lighter links often have placeholders for shapes
OFF_CENTRE = 0.5  # of the largest moment: what the mass at the centre of mass would have about the origin
AWAY = 2  # different links that are so far off centre, or more, before their origins are suspected
POSSIBLE = 0.75  # of them have, as if taken about their origins, tensors that bodies can have

# Joints
MOST_TURNS = 5 * 2 * math.pi  # [rad] a joint limit beyond it is rather written in degrees
FASTEST = 100.0  # [rad/s] a velocity limit beyond it is rather written in degrees/s
FARTHEST = 10.0  # [m] an arm's joints are nearer to each other: beyond it rather millimetres

# Effort limits against gravity
LIFTED = 30  # poses
SLOW = 0.1  # [rad/s] or [m/s]: no arm's damping takes all of its effort at this speed
STRONGEST = 2000.0  # [N m] where it is more than
STRONGER = 200.0  # times what gravity asks of any joint of the arm, a limit is rather written in N mm
WEAK = 3  # joints or more whose median limit is ``FAR_STRONGER`` times that: N mm, of however weak an arm
FAR_STRONGER = 500.0
PLACEHOLDERS = (1.0, 10.0, 100.0, 1000.0)  # [N m] of all joints: no real limit in any unit

_C_KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int "
    "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
    "volatile while"
)


def judge(chain: Chain, robot: Robot, *, default_tip: bool, strict: bool) -> Notes:
    """The faults and doubts of a chain, by the lines of the file; what cannot be used is in ``errors``.

    ``robot``: the part of the robot that the root carries. ``default_tip``: the tip was not asked for.
    """
    notes = Notes(robot.source, strict=strict)
    moving = [robot.above[joint.body] for joint in chain.joints]
    inside = [robot.above[link] for joint in chain.joints for link in joint.lumped]
    moved_links = [robot.link_named[name] for joint in chain.joints for name in (joint.body, *joint.lumped)]
    judge_defects(chain, robot, moving, {*inside}, notes)
    if not notes.errors:  # else there are no numbers to judge
        judge_resistance(chain.joints, default_tip, robot, notes)
        note_weak_limits(chain, robot, notes)
    judge_inertias(chain, default_tip, robot, notes)
    note_joints(moving, inside, notes)
    note_inertias(moved_links, robot, notes)
    note_inertias_about_origins(moved_links, notes)
    notes.findings.sort(key=lambda finding: finding.line or 0)
    return notes


# Names that tools trip over; here they are data, and all of them work


def note_names(links: Sequence[Link], joints: Sequence[Joint], notes: Notes) -> None:
    """Note names that other tools refuse or change, and names that become one after such a change.

    One finding for each reason, at the first such link or joint, so that a file with many says so once.
    """
    for things in (links, joints):
        odd: dict[str, list[Link | Joint]] = {}
        cleaned: dict[str, list[Link | Joint]] = {}
        for thing in things:
            if why := unusual(thing.name):
                odd.setdefault(why, []).append(thing)
            cleaned.setdefault(clean(thing.name), []).append(thing)
        for why, found in odd.items():
            message = f"its name {why}: used as written here, but other tools may refuse it"
            others = f"; the same holds for {listed(thing.name for thing in found[1:])}" if found[1:] else ""
            notes.add("KD214", message + others, *found[0].at)
        for found in cleaned.values():
            if found[1:]:
                others = listed(thing.name for thing in found[1:])
                message = f"its name and {others} become one word in tools that replace special characters"
                notes.add("KD215", message, *found[0].at)


def clean(name: str) -> str:
    """A name as tools clean it: letters, digits and underscores only."""
    return re.sub(r"[^0-9A-Za-z_]", "_", name).lower()


def unusual(name: str) -> str | None:
    """What is unusual about a name; None when it is a plain word."""
    if not name.isascii():
        return "has characters beyond ASCII"
    if keyword.iskeyword(name) or name in _C_KEYWORDS.split():
        return "is a keyword of Python or C"
    if name[0].isdigit():
        return "begins with a digit"
    if clean(name) != name.lower():
        return "has spaces, hyphens or other special characters"
    return None


# Which faults matter to the chain: those of what moves, and of what places what moves


def judge_defects(
    chain: Chain, robot: Robot, moving: Sequence[Joint], inside: set[Joint], notes: Notes
) -> None:
    """Refuse faults of links and joints that the chain's motion depends on, and warn of the others.

    ``inside``: the held joints between the links of one body. They place what moves, and so do those between
    the root and the first moving joints.
    """
    first = [joint.parent for joint, own in zip(moving, chain.joints, strict=True) if own.parent < 0]
    placing = inside.union(*(path_to(robot, link) for link in first))
    moved_links = {name for joint in chain.joints for name in (joint.body, *joint.lumped)}
    for link in robot.links:
        for error, _ in link.defects:
            why = "" if link.name in moved_links else "no harm here: the link does not move with the chain"
            notes.refuse_unless(error, why)
    for joint in robot.joints:
        for error, placement in joint.defects:
            matters = joint in moving or (joint in placing and placement)
            why = "" if matters else "no harm here: the joint does not move with the chain"
            notes.refuse_unless(error, why)


# Whether the bodies can exist, as far as their motion shows it


def judge_inertias(chain: Chain, default_tip: bool, robot: Robot, notes: Notes) -> None:
    """Refuse inertias that make the mass matrix indefinite, and warn of other impossible ones.

    The warning is serious where they act at all. Judged are the principal moments of the body that moves:
    the link with all that is fixed to it.
    """
    joints = chain.joints
    harmless = {link.name: "the link does not move with the chain" for link in robot.links}
    least: float | None = None  # eigenvalue of the mass matrix; costly, so only where it is asked for
    for joint, axes in zip(joints, turning_axes(joints), strict=True):
        harmless |= dict.fromkeys((joint.body, *joint.lumped), harmless_because(joint.inertia, axes))
    for link in robot.links:
        failed = link.inertia and geometry.failed_condition(link.inertia.tensor)
        if link.inertia is None or not failed:
            continue
        place = notes.place(*link.at)
        if why := harmless[link.name]:
            message = f"its inertia is physically impossible: {failed}; no harm here: {why}"
            notes.add("KD406", message, *place[1:])
            continue
        least = least_eigenvalue(chain) if least is None else least
        indefinite = least < 0.0 and geometry.principal_moments(link.inertia.tensor)[0] < -geometry.ROUNDING
        harm = "the mass matrix is indefinite" if indefinite else "torques are those of no real body"
        error = refusal(
            "KD403",
            place,
            f"its inertia is physically impossible, so that {harm}: {failed}",
            "take the values from CAD afresh (about the centre of mass, along the axes of "
            "<inertial><origin>), or let --repair write the nearest possible ones"
            f"{another_tip(joints, link.name) if default_tip else ''}",
        )
        notes.doubt(error, refused=indefinite)


def harmless_because(inertia: Inertia, axes: Sequence[Vector]) -> str:
    """Why an impossible tensor in a body of this ``inertia`` changes no torque; empty where it acts.

    ``axes``: of the revolute joints that turn the body, in its axes, at position 0. Where all are parallel
    the body turns about one direction e, and of its tensor J only e . J e enters the equations of motion.
    """
    if geometry.failed_condition(inertia.tensor) is None:
        return "the body that it is part of has a possible one"
    if not axes:
        return "the body only translates"
    e = axes[0]
    parallel = all(math.hypot(*cross(e, axis)) < PARALLEL for axis in axes)
    if parallel and dot(e, apply(inertia.tensor, e)) >= -geometry.ROUNDING:
        return "only its moment about one direction acts, since all axes before it are parallel"
    return ""


# Joints that nothing resists: the mass matrix would be singular at every pose


def judge_resistance(joints: Sequence[ChainJoint], default_tip: bool, robot: Robot, notes: Notes) -> None:
    """Warn of the joints that move no inertia, the nearest to the tip first; refuse a chain without inertia.

    Only joints that no heavy body is beyond can be such. A follower and its leader are one coordinate, which
    moves when either meets inertia.
    """
    idle = idle_joints(joints)
    busy = {joint.coordinate for joint in joints if joint not in idle}
    if not busy and len(idle) > 1:
        place = notes.place(*robot.link_named[joints[0].body].at)
        names = listed(joint.name for joint in joints)
        found = f"no joint of the chain ({names}) moves any inertia: all torques would be 0"
        remedy = "give the links their <inertial>: mass, centre of mass and inertia"
        notes.refuse(refusal("KD404", place, found, f"{remedy}, as from a data sheet or CAD"))
        return
    for joint in idle:
        if joint.coordinate in busy:
            continue
        error = refusal(
            "KD404",
            notes.place(*robot.link_named[joint.body].at),
            f"joint {joint.name!r} moves no inertia: nothing that it carries "
            f"({listed((joint.body, *joint.lumped))}) resists its motion, so the mass matrix is singular: "
            "there are torques, but no forward dynamics",
            "give the link an <inertial>, give the joint a rotor inertia, or lock it "
            f"(--lock {joint.name}=0){another_tip(joints, joint.body) if default_tip else ''}",
        )
        notes.doubt(error, refused=not busy)


def idle_joints(joints: Sequence[ChainJoint]) -> list[ChainJoint]:
    """Joints without rotor inertia that move no inertia about or along their axis, from the tips on."""
    idle = []
    carriers: set[int] = {-1}  # the joints beyond whose body there is a heavy one
    for k in range(len(joints) - 1, -1, -1):
        joint = joints[k]
        inertia, slides = joint.inertia, joint.kind == "prismatic"
        resists = inertia.mass if slides else geometry.moment_about(inertia, joint.axis)
        if k not in carriers and joint.rotor_inertia == 0.0 and resists <= 0.0:
            idle.append(joint)
        if k in carriers or joint.inertia.mass > 0.0:
            carriers.add(joint.parent)
    return idle


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


def least_eigenvalue(chain: Chain) -> float:
    """The least eigenvalue of the mass matrix that a search finds, over its largest at that pose.

    At the zero pose and ``POSES`` others within the limits, the same in every run, the worst of which is made
    worse joint by joint. Rounding counts as 0.
    """
    joints, leaders = chain.joints, chain.leaders
    worst, at = min((relative_least_eigenvalue(joints, q), q) for q in poses(leaders, POSES))
    if len(leaders) <= SEARCHED:
        for index, joint in enumerate(leaders):
            for step in range(STEPS + 1):
                q = [*at[:index], position(joint, step / STEPS), *at[index + 1 :]]
                worst, at = min((worst, at), (relative_least_eigenvalue(joints, q), q))
    return worst


def relative_least_eigenvalue(joints: Sequence[ChainJoint], q: Sequence[float]) -> float:
    """Least eigenvalue of M(q) = sum m Jv^T Jv + Jw^T J Jw over the largest; 0 where it is rounding.

    Jw, Jv: the Jacobians of a body's angular velocity and of its centre of mass. With v_0, the velocity of
    the body's point at the root's origin, v_cm = v_0 + omega x c.
    """
    n = len(q)
    M, bodies = np.zeros((n, n)), list[Array]()  # of each body omega and v_0, (2, 3, n)
    for joint, frame in zip(joints, geometry.frames_at(joints, [q]), strict=True):
        R, p, axis = frame.R[0], frame.p[0], joint.multiplier * frame.axis[0]
        motion = bodies[joint.parent].copy() if joint.parent >= 0 else np.zeros((2, 3, n))
        slides = joint.kind == "prismatic"
        motion[:, :, joint.coordinate] += (np.zeros(3), axis) if slides else (axis, np.cross(p, axis))
        bodies.append(motion)
        omega, v_0 = motion
        v_cm = v_0 + np.cross(omega.T, p + R @ joint.inertia.com).T
        M += joint.inertia.mass * v_cm.T @ v_cm + omega.T @ R @ np.array(joint.inertia.tensor) @ R.T @ omega
        M[joint.coordinate, joint.coordinate] += joint.multiplier**2 * joint.rotor_inertia
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


# Masses and inertias: what a slip of the decimal point, the unit or the frame looks like


def note_inertias(links: Iterable[Link], robot: Robot, notes: Notes) -> None:
    """Note links that move without inertia, and inertias that do not fit their link. ``links`` all move."""
    carried = {joint.child for joint in robot.joints if joint.kind in MOVING}
    sizes = link_sizes(robot)
    for link in links:
        if link.inertia is None or link.inertia.mass == 0.0:
            if link.name in carried and not link.defects:  # else its inertia is refused
                message = "it moves, but has no inertia: taken as massless"
                notes.add("KD405", message, *link.at)
            continue
        for code, message in unusual_inertia(link.inertia, sizes.get(link.name), link.volume):
            notes.add(code, message, *link.at)


def link_sizes(robot: Robot) -> dict[str, float]:
    """How far from its origin the joints and shapes of each link that shows its size reach [m]."""
    sizes = {link.name: link.reach for link in robot.links if link.reach is not None}
    for joint in robot.joints:
        reach = math.hypot(*joint.p_PoJo_P)
        if reach > sizes.get(joint.parent, 0.0):
            sizes[joint.parent] = reach
    return sizes


def unusual_inertia(inertia: Inertia, size: float | None, volume: float | None) -> Iterable[tuple[str, str]]:
    """Codes and messages about the inertia of a link of ``size`` [m] and ``volume`` [m^3].

    These are None where the URDF does not show them.
    """
    if inertia.mass > HEAVIEST:
        yield "KD410", f"its mass is {inertia.mass:.6g} kg: grams written for kilograms?"
    largest = geometry.principal_moments(inertia.tensor)[2]
    if largest == 0.0:
        yield "KD408", f"its mass is {inertia.mass:.6g} kg, its inertia 0: taken as a point mass"
    extent = max(size or 0.0, SMALLEST_SIZE)
    centre = math.hypot(*inertia.com)
    if size is not None and centre > FARTHEST_CENTRE * extent:
        yield (
            "KD409",
            f"its centre of mass is {centre:.4g} m from its origin, but the link reaches {extent:.4g} m",
        )
    if volume is not None and inertia.mass > max(SHAPED, DENSEST * volume):
        density = inertia.mass / volume / 1000.0
        yield (
            "KD414",
            f"its mass is {inertia.mass:.6g} kg, that of its shapes with {density:.4g} g/cm^3: grams written "
            "for kilograms, or a shape in another unit than metres?",
        )
    # No body of volume V has less of the sum of m r^2 about its centre than a sphere of radius R has,
    # 3/5 m R^2; trace(J)/2 is that sum.
    R = math.sqrt(5 / 3 * max(sum(inertia.tensor[i][i] for i in range(3)), 0.0) / 2 / inertia.mass)
    if R > 0.0 and inertia.mass > DENSEST * 4 / 3 * math.pi * R**3:
        yield (
            "KD414",
            f"its moments of inertia are too small: even a sphere of its {inertia.mass:.6g} kg has a "
            f"radius of {1000 * R:.3g} mm, denser than any material; are they in kg m^2?",
        )
    gyration = math.sqrt(max(largest, 0.0) / inertia.mass)
    reach = max(extent, centre)
    if gyration > LARGEST_GYRATION * reach:
        yield (
            "KD407",
            f"its radius of gyration is {gyration:.4g} m, but the link reaches {reach:.4g} m: a slip of the "
            f"decimal point? (mass {inertia.mass:.6g} kg, largest moment {largest:.6g} kg m^2)",
        )


def note_inertias_about_origins(links: Iterable[Link], notes: Notes) -> None:
    """Note a file whose tensors are about the links' origins, where URDF has them about the centres of mass.

    About its origin a body has J + S, with S = m (c . c 1 - c c^T) of its mass at the centre of mass c. Where
    S is large beside a tensor T that is written, T - S is a possible tensor for hardly any body if T is
    central (of a rod that begins at its origin J = m l^2 / 12 and S = m l^2 / 4), and for every body if T is
    about the origin. One body may be odd: several different ones are asked for.
    """
    away: dict[tuple[float, ...], tuple[Link, bool]] = {}  # by what they are: four equal legs are one
    for link in links:
        inertia = link.inertia
        if inertia is None or inertia.mass == 0.0 or geometry.failed_condition(inertia.tensor):
            continue
        shift = geometry.point_mass_tensor(-inertia.mass, inertia.com)
        moments = geometry.principal_moments(inertia.tensor)
        if -geometry.principal_moments(shift)[0] > OFF_CENTRE * moments[2] > 0.0:
            key = tuple(float(f"{value:.6g}") for value in (inertia.mass, *moments))
            away.setdefault(
                key, (link, geometry.failed_condition(geometry.add_matrices(inertia.tensor, shift)) is None)
            )
    suspect = [link for link, possible in away.values() if possible]
    if len(away) >= AWAY and len(suspect) >= POSSIBLE * len(away):
        others = listed(link.name for link in suspect[1:])
        message = (
            f"its inertia, and that of {others}, look as if taken about the links' origins: less what the "
            "mass has there they are possible still, which moments about so distant centres of mass hardly "
            "are; <inertia> is about the centre of mass"
        )
        notes.add("KD415", message, *suspect[0].at)


# Joints: limits that are not there, and numbers in other units than URDF's


def note_joints(moving: Sequence[Joint], placing: Iterable[Joint], notes: Notes) -> None:
    """Warn of suspect limits of the ``moving`` joints, and of suspect places of all joints.

    ``placing``: the joints that are fixed or held, whose places count too.
    """
    note_unknown_limits(moving, notes)
    for joint in moving:
        for message in degrees_for_radians(joint):
            notes.add("KD506", message, *joint.at)
    for joint in (*moving, *placing):
        length = math.hypot(*joint.p_PoJo_P)
        limits = [abs(limit) for limit in (joint.limits.lower, joint.limits.upper) if limit is not None]
        if joint.kind == "prismatic" and max(limits, default=0.0) > FARTHEST:
            message = f"it slides as far as {max(limits):.6g} m: millimetres written for metres?"
            notes.add("KD508", message, *joint.at)
        if length > FARTHEST:
            message = f"its origin is {length:.6g} m from the parent's: millimetres written for metres?"
            notes.add("KD508", message, *joint.at)


def note_unknown_limits(moving: Iterable[Joint], notes: Notes) -> None:
    """One finding for each kind of limit that joints lack, so that a file without limits says so once."""
    kinds: tuple[tuple[str, str, Callable[[Joint], bool]], ...] = (
        (
            "KD501",
            "position limits absent or 0",
            lambda j: j.kind != "continuous" and j.limits.lower is None and j.limits.upper is None,
        ),
        ("KD502", "effort limit absent, 0 or negative", lambda j: j.limits.effort is None),
        ("KD503", "velocity limit absent, 0 or negative", lambda j: j.limits.velocity is None),
    )
    for code, what, lacks in kinds:
        lacking = [joint for joint in moving if lacks(joint) and joint.mimic is None]
        if lacking:
            names = listed(joint.name for joint in lacking)
            message = f"{what}, taken as unknown (nothing is clamped), for {names}"
            notes.add(code, message, *lacking[0].at)


def degrees_for_radians(joint: Joint) -> Iterable[str]:
    """Messages for limits of a turning joint that look like degrees."""
    if joint.kind == "prismatic":
        return
    for name, limit in (("lower", joint.limits.lower), ("upper", joint.limits.upper)):
        if limit is not None and abs(limit) > MOST_TURNS and abs(limit) <= 720.0:
            yield f"its {name} limit is {limit!r} rad: degrees written for radians?"
    velocity = joint.limits.velocity
    if velocity is not None and FASTEST < velocity < 1000.0:
        yield f"its velocity limit is {velocity!r} rad/s: degrees per second written for rad/s?"


# Whether the effort limits of a chain can hold it against gravity


def note_weak_limits(chain: Chain, robot: Robot, notes: Notes) -> None:
    """Note joints whose effort limit does not fit what gravity asks at some pose, and their own friction.

    Tries the zero pose and ``LIFTED`` others within the limits, the same in every run.
    """
    leaders = chain.leaders
    efforts = gravity_efforts(chain.joints, poses(leaders, LIFTED), chain.gravity)
    worst = np.max(np.abs(efforts), axis=0).tolist()
    turning = [
        (joint.limits.effort, w) for joint, w in zip(leaders, worst, strict=True) if joint.kind != "prismatic"
    ]
    most = max((needed for _, needed in turning), default=0.0)
    limits = [limit for limit, _ in turning if limit is not None]
    placeholder = len(set(limits)) == 1 and limits[0] in PLACEHOLDERS
    weak = len(limits) >= WEAK and not placeholder and statistics.median(limits) > FAR_STRONGER * most
    strongest = STRONGER * most if weak else max(STRONGEST, STRONGER * most)
    for joint, needed in zip(leaders, worst, strict=True):
        limit = joint.limits.effort
        unit = "N" if joint.kind == "prismatic" else "N m"
        place = robot.above[joint.body].at
        if limit is None:
            continue
        if joint.kind != "prismatic" and limit > strongest and most > 0.0:
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


# Poses of a chain, and what holds it there against gravity


def position(joint: ChainJoint, fraction: float) -> float:
    """A position within the limits, or within half a turn or half a metre where they are unknown."""
    half = 0.5 if joint.kind == "prismatic" else 3.14
    upper = half if joint.limits.upper is None else joint.limits.upper
    lower = -half if joint.limits.lower is None else joint.limits.lower
    return lower + fraction * (upper - lower)


def poses(leaders: Sequence[ChainJoint], count: int) -> list[list[float]]:
    """The zero pose and ``count`` others within the limits, the same in every run."""
    generator = random.Random(0)
    others = [[position(joint, generator.random()) for joint in leaders] for _ in range(count)]
    return [[0.0] * len(leaders), *others]


def gravity_efforts(joints: Sequence[ChainJoint], poses: Sequence[Sequence[float]], gravity: Vector) -> Array:
    """Effort of each coordinate that holds the chain at each of P poses, (P, n) [N m] or [N].

    A joint carries the weight of all bodies beyond it: tau = -a . (c - o) x (m g), or -a . (m g) along its
    axis, for total mass m with centre c, axis a through o, and the free-fall acceleration g, (3,) [m/s^2].
    """
    frames, g = geometry.frames_at(joints, poses), np.array(gravity)
    efforts = np.zeros((len(poses), 1 + max(joint.coordinate for joint in joints)))
    masses = [joint.inertia.mass for joint in joints]  # and those of all bodies beyond, once these are met
    moments = [  # m c about the root's origin
        joint.inertia.mass * (frame.p + frame.R @ joint.inertia.com)
        for joint, frame in zip(joints, frames, strict=True)
    ]
    for k in range(len(joints) - 1, -1, -1):
        joint, frame, mass, moment = joints[k], frames[k], masses[k], moments[k]
        weight = mass * -g if joint.kind == "prismatic" else np.cross(moment - mass * frame.p, -g)
        efforts[:, joint.coordinate] += joint.multiplier * np.sum(frame.axis * weight, axis=1)
        if joint.parent >= 0:
            masses[joint.parent] += mass
            moments[joint.parent] = moments[joint.parent] + moment
    return efforts
