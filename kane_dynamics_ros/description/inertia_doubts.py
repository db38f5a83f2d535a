"""Doubts about masses and inertias: what a slip of the decimal point, the unit or the frame looks like."""

import math
from collections.abc import Iterable, Mapping, Sequence

from kane_dynamics_ros.description.model import MOVING, Inertia, Joint, Link
from kane_dynamics_ros.description.notes import Notes
from kane_dynamics_ros.description.physical import principal_moments
from kane_dynamics_ros.description.tree import children

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
