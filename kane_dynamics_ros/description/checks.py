"""What deserves a warning in the links and joints of a chain: names, limits, units, masses and inertias."""

import keyword
import math
import re
from collections.abc import Callable, Iterable, Sequence

from kane_dynamics_ros.description.findings import Notes
from kane_dynamics_ros.description.geometry import principal_moments
from kane_dynamics_ros.description.model import MOVING, Inertia, Joint, Link, Robot
from kane_dynamics_ros.text import listed

# Masses and inertias
SMALLEST_SIZE = 0.1  # [m] a link that shows no larger size is taken as this large
LARGEST_GYRATION = 2.0  # radius of gyration over size: a rod that turns about its end has 0.58
FARTHEST_CENTRE = 3.0  # centre of mass over size
HEAVIEST = 1000.0  # [kg] no arm's link is heavier
DENSEST = 25_000.0  # [kg/m^3] osmium has 22,600
SHAPED = 0.2  # [kg] lighter links often have placeholders for shapes

# Joints
MOST_TURNS = 5 * 2 * math.pi  # [rad] a joint limit beyond it is rather written in degrees
FASTEST = 100.0  # [rad/s] a velocity limit beyond it is rather written in degrees/s
FARTHEST = 10.0  # [m] an arm's joints are nearer to each other: beyond it rather millimetres

_C_KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int "
    "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
    "volatile while"
)


# Names that tools trip over; here they are data, and all of them work


def note_names(links: Iterable[Link], joints: Iterable[Joint], notes: Notes) -> None:
    """Note names that other tools refuse or change, and names that become one after such a change.

    One finding for each reason, at the first such link or joint, so that a file with many says so once.
    """
    for kind, things in (("link", list(links)), ("joint", list(joints))):
        odd: dict[str, list[Link | Joint]] = {}
        cleaned: dict[str, list[Link | Joint]] = {}
        for thing in things:
            why = unusual(thing.name)
            if why:
                odd.setdefault(why, []).append(thing)
            cleaned.setdefault(clean(thing.name), []).append(thing)
        for why, found in odd.items():
            message = f"its name {why}: used as written here, but other tools may refuse it"
            others = f"; the same holds for {listed(thing.name for thing in found[1:])}" if found[1:] else ""
            notes.add("KD214", message + others, found[0].line, f"{kind} {found[0].name!r}")
        for found in cleaned.values():
            if found[1:]:
                others = listed(thing.name for thing in found[1:])
                message = f"its name and {others} become one word in tools that replace special characters"
                notes.add("KD215", message, found[0].line, f"{kind} {found[0].name!r}")


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


# Masses and inertias: what a slip of the decimal point, the unit or the frame looks like


def note_inertias(links: Iterable[Link], robot: Robot, notes: Notes) -> None:
    """Note links that move without inertia, and inertias that do not fit their link. ``links`` all move."""
    carried = {joint.child for joint in robot.joints if joint.kind in MOVING}
    sizes = link_sizes(robot)
    for link in links:
        if link.inertia is None or link.inertia.mass == 0.0:
            if link.name in carried and not link.defects:  # else its inertia is refused
                message = "it moves, but has no inertia: taken as massless"
                notes.add("KD405", message, link.line, f"link {link.name!r}")
            continue
        for code, message in unusual_inertia(link.inertia, sizes.get(link.name), link.volume):
            notes.add(code, message, link.line, f"link {link.name!r}")


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


# Joints: limits that are not there, and numbers in other units than URDF's


def note_joints(moving: Sequence[Joint], placing: Iterable[Joint], notes: Notes) -> None:
    """Warn of suspect limits of the ``moving`` joints, and of suspect places of all joints.

    ``placing``: the joints that are fixed or held, whose places count too.
    """
    note_unknown_limits(moving, notes)
    for joint in moving:
        for message in degrees_for_radians(joint):
            notes.add("KD506", message, joint.line, f"joint {joint.name!r}")
    for joint in (*moving, *placing):
        length = math.hypot(*joint.p_PoJo_P)
        limits = [abs(limit) for limit in (joint.limits.lower, joint.limits.upper) if limit is not None]
        if joint.kind == "prismatic" and max(limits, default=0.0) > FARTHEST:
            message = f"it slides as far as {max(limits):.6g} m: millimetres written for metres?"
            notes.add("KD508", message, joint.line, f"joint {joint.name!r}")
        if length > FARTHEST:
            message = f"its origin is {length:.6g} m from the parent's: millimetres written for metres?"
            notes.add("KD508", message, joint.line, f"joint {joint.name!r}")


def note_unknown_limits(moving: Iterable[Joint], notes: Notes) -> None:
    """One finding for each kind of limit that joints lack, so that a file without limits says so once."""
    kinds: tuple[tuple[str, str, Callable[[Joint], bool]], ...] = (
        ("KD501", "position limits absent or 0", lambda j: j.kind != "continuous" and has_no_range(j)),
        ("KD502", "effort limit absent, 0 or negative", lambda joint: joint.limits.effort is None),
        ("KD503", "velocity limit absent, 0 or negative", lambda joint: joint.limits.velocity is None),
    )
    for code, what, lacks in kinds:
        lacking = [joint for joint in moving if lacks(joint) and joint.mimic is None]
        if lacking:
            names = listed(joint.name for joint in lacking)
            message = f"{what}, taken as unknown (nothing is clamped), for {names}"
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
