"""What deserves a warning in a robot that can be used: names, limits, units, masses and inertias."""

import keyword
import math
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from kane_dynamics_ros.description.findings import Notes, listed
from kane_dynamics_ros.description.geometry import (
    Placement,
    add,
    apply,
    cross,
    dot,
    principal_moments,
    rotation_about,
    scale,
    subtract,
)
from kane_dynamics_ros.description.model import MOVING, ZERO, ChainJoint, Inertia, Joint, Link, Vector
from kane_dynamics_ros.description.tree import children
from kane_dynamics_ros.description.xml_tree import Element

# Names that tools trip over; here they are data, and all of them work.


_C_KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int "
    "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
    "volatile while"
)


def note_names(links: Iterable[Link], joints: Iterable[Joint], notes: Notes) -> None:
    """Note names that other tools refuse or change, and names that become one after such a change."""
    for kind, things in (("link", list(links)), ("joint", list(joints))):
        cleaned: dict[str, str] = {}
        for thing in things:
            element = f"{kind} {thing.name!r}"
            why = unusual(thing.name)
            if why:
                message = f"its name {why}: used as written here, but other tools may trip"
                notes.add("KD214", message, thing.line, element)
            other = cleaned.setdefault(clean(thing.name), thing.name)
            if other != thing.name:
                message = (
                    f"its name and {other!r} become the same word in tools that replace special characters"
                )
                notes.add("KD215", message, thing.line, element)


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


# How large a link is, as far as the URDF says without its meshes.


def link_sizes(links: Iterable[Element], joints: Iterable[Joint]) -> dict[str, float]:
    """For each link that shows its size, how far from its origin its joints and shapes reach [m]."""
    sizes: dict[str, float] = {}
    for joint in joints:
        enlarge(sizes, joint.parent, math.hypot(*joint.p_PoJo_P))
    for link in links:
        for shape in (*link.all("visual"), *link.all("collision")):
            enlarge(sizes, link.attributes.get("name", ""), shape_reach(shape))
    return sizes


def enlarge(sizes: dict[str, float], link: str, reach: float) -> None:
    """Keep the larger reach."""
    if reach > sizes.get(link, 0.0):
        sizes[link] = reach


def shape_reach(shape: Element) -> float:
    """How far a box, cylinder or sphere reaches from the link's origin, at most [m]; 0 for a mesh."""
    reach = 0.0
    for geometry in shape.all("geometry"):
        for solid in geometry.children:
            if solid.tag in ("box", "cylinder", "sphere"):
                reach = max(reach, solid_reach(solid))
    offset = [math.hypot(*numbers(origin, "xyz")) for origin in shape.all("origin")]
    return reach + sum(offset[:1]) if reach > 0.0 else 0.0


def solid_reach(solid: Element) -> float:
    """Half of the solid's diagonal [m]."""
    if solid.tag == "box":
        return math.hypot(*numbers(solid, "size")) / 2
    radius, length = (sum(numbers(solid, name)) for name in ("radius", "length"))
    return math.hypot(radius, length / 2)


def numbers(element: Element, attribute: str) -> list[float]:
    """The numbers of an attribute; none where they cannot be read: shapes are no part of the motion."""
    try:
        values = [float(word) for word in element.attributes.get(attribute, "").split()]
    except ValueError:
        return []
    return [value for value in values if math.isfinite(value)]


# Doubts about masses and inertias: what a slip of the decimal point, the unit or the frame looks like.


SMALLEST_SIZE = 0.1  # [m] a link that shows no larger size is taken as this large
LARGEST_GYRATION = 2.0  # radius of gyration over size: a rod that turns about its end has 0.58
FARTHEST_CENTRE = 3.0  # centre of mass over size
HEAVIEST = 1000.0  # [kg] no arm's link is heavier


def note_inertias(
    links: Iterable[Link], joints: Sequence[Joint], sizes: Mapping[str, float], notes: Notes
) -> None:
    """Note moving links without inertia, and inertias that do not fit the link. ``sizes`` [m] by link."""
    carried = {joint.child for joint in joints if joint.kind in MOVING}
    moving = moving_links(joints)
    for link in links:
        if link.inertia is None or link.inertia.mass == 0.0:
            if link.name in carried:
                message = "it moves, but has no inertia: taken as massless"
                notes.add("KD405", message, link.line, f"link {link.name!r}")
            continue
        if link.name not in moving:
            continue
        for code, message in doubts(link.inertia, sizes.get(link.name)):
            notes.add(code, message, link.line, f"link {link.name!r}")


def moving_links(joints: Sequence[Joint]) -> set[str]:
    """The links below any joint that is not fixed."""
    below = children(joints)
    moving = {joint.child for joint in joints if joint.kind != "fixed"}
    waiting = list(moving)
    while waiting:
        for joint in below.get(waiting.pop(), ()):
            if joint.child not in moving:
                moving.add(joint.child)
                waiting.append(joint.child)
    return moving


def doubts(inertia: Inertia, size: float | None) -> Iterable[tuple[str, str]]:
    """Codes and messages about the inertia of a link of ``size`` [m], None where the URDF shows no size."""
    if inertia.mass > HEAVIEST:
        yield "KD410", f"its mass is {inertia.mass:.6g} kg: grams written for kilograms?"
    largest = principal_moments(inertia.tensor)[2]
    if largest == 0.0:
        yield "KD408", f"its mass is {inertia.mass:.6g} kg, its inertia 0: taken as a point mass"
    extent = max(size or 0.0, SMALLEST_SIZE)
    centre = math.hypot(*inertia.com)
    if size is not None and centre > FARTHEST_CENTRE * extent:
        yield (
            "KD409",
            f"its centre of mass is {centre:.4g} m from its origin, but the link reaches {extent:.4g} m",
        )
    gyration = math.sqrt(max(largest, 0.0) / inertia.mass)
    reach = max(extent, centre)
    if gyration > LARGEST_GYRATION * reach:
        yield (
            "KD407",
            f"its radius of gyration is {gyration:.4g} m, but the link reaches {reach:.4g} m: a slip of the "
            f"decimal point? (mass {inertia.mass:.6g} kg, largest moment {largest:.6g} kg m^2)",
        )


# Doubts about joints: limits that are not there, and numbers in other units than URDF's.


MOST_TURNS = 5 * 2 * math.pi  # [rad] a joint limit beyond it is rather written in degrees
FASTEST = 100.0  # [rad/s] a velocity limit beyond it is rather written in degrees/s
FARTHEST = 10.0  # [m] an arm's joints are nearer to each other: beyond it rather millimetres


def note_joints(joints: Sequence[Joint], notes: Notes) -> None:
    """Note what is doubtful about limits and placements of moving joints."""
    moving = [joint for joint in joints if joint.kind in MOVING]
    note_unknown_limits(moving, notes)
    for joint in moving:
        element = f"joint {joint.name!r}"
        for message in degrees_for_radians(joint):
            notes.add("KD506", message, joint.line, element)
    for joint in joints:
        length = math.hypot(*joint.p_PoJo_P)
        if length > FARTHEST:
            message = f"its origin is {length:.6g} m from the parent's: millimetres written for metres?"
            notes.add("KD508", message, joint.line, f"joint {joint.name!r}")


def note_unknown_limits(moving: Iterable[Joint], notes: Notes) -> None:
    """One finding for each kind of limit that joints lack, so that a file without limits says so once."""
    kinds: tuple[tuple[str, str, Callable[[Joint], bool]], ...] = (
        ("KD501", "position limits", lambda joint: joint.kind != "continuous" and has_no_range(joint)),
        ("KD502", "effort limit", lambda joint: joint.limits.effort is None),
        ("KD503", "velocity limit", lambda joint: joint.limits.velocity is None),
    )
    for code, what, lacks in kinds:
        lacking = [joint for joint in moving if lacks(joint) and joint.mimic is None]
        if lacking:
            names = listed(joint.name for joint in lacking)
            message = f"{what} absent or 0, taken as unknown (nothing is clamped), for {names}"
            notes.add(code, message, lacking[0].line, f"joint {lacking[0].name!r}")


def has_no_range(joint: Joint) -> bool:
    """Whether neither position limit is known."""
    return joint.limits.lower is None and joint.limits.upper is None


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


# Whether the effort limits of a chain can hold it against gravity.


G = 9.81  # [m/s^2], downwards along z of the root frame
POSES = 30


def note_weak_limits(
    joints: Sequence[ChainJoint], coordinates: Sequence[str], lines: Mapping[str, int | None], notes: Notes
) -> None:
    """Note joints whose effort limit is below what gravity alone asks at some pose within their range.

    Tries the zero pose and ``POSES`` others, the same in every run.
    """
    by_name = {joint.name: joint for joint in joints}
    leaders = [by_name[name] for name in coordinates]
    generator = random.Random(0)
    worst = [0.0] * len(leaders)
    for pose in range(POSES + 1):
        q = [0.0 if pose == 0 else position(joint, generator.random()) for joint in leaders]
        for index, effort in enumerate(gravity_efforts(joints, q)):
            worst[index] = max(worst[index], abs(effort))
    for joint in leaders:
        limit, needed = joint.limits.effort, worst[joint.coordinate]
        if limit is not None and needed > limit:
            unit = "N" if joint.kind == "prismatic" else "N m"
            message = (
                f"its effort limit is {limit:.6g} {unit}, but gravity alone asks for {needed:.4g} {unit}"
            )
            notes.add("KD505", message, lines[joint.name], f"joint {joint.name!r}")


def position(joint: ChainJoint, fraction: float) -> float:
    """A position within the limits, or within half a turn or half a metre where they are unknown."""
    half = 0.5 if joint.kind == "prismatic" else 3.14
    upper = half if joint.limits.upper is None else joint.limits.upper
    lower = -half if joint.limits.lower is None else joint.limits.lower
    return lower + fraction * (upper - lower)


def gravity_efforts(joints: Sequence[ChainJoint], q: Sequence[float]) -> list[float]:
    """Effort of each coordinate that holds the chain at ``q`` [N m] or [N].

    A joint carries the weight of all bodies after it: tau = a . (c - o) x (m g up), or a . (m g up) along
    its axis, for total mass m with centre c, axis a through o.
    """
    frames: list[tuple[Placement, Vector]] = []
    here = Placement()
    for joint in joints:
        here = here.then(Placement(joint.R_PJ, joint.p_PoJo_P))
        axis = apply(here.R, joint.axis)
        value = joint.multiplier * q[joint.coordinate] + joint.offset
        if joint.kind == "prismatic":
            here = here.then(Placement(p=scale(value, joint.axis)))
        else:
            here = here.then(Placement(rotation_about(joint.axis, value)))
        frames.append((here, axis))
    efforts = [0.0] * (1 + max(joint.coordinate for joint in joints))
    mass, moment = 0.0, ZERO  # of all bodies so far, about the root's origin
    for joint, (frame, axis) in zip(reversed(joints), reversed(frames), strict=True):
        mass += joint.inertia.mass
        moment = add(moment, scale(joint.inertia.mass, add(frame.p, apply(frame.R, joint.inertia.com))))
        weight = (0.0, 0.0, G)
        if joint.kind == "prismatic":
            own = mass * dot(axis, weight)
        else:
            own = dot(axis, cross(subtract(moment, scale(mass, frame.p)), weight))
        efforts[joint.coordinate] += joint.multiplier * own
    return efforts
