"""How large a link is, as far as the URDF says without its meshes."""

import math
from collections.abc import Iterable

from kane_dynamics_ros.description.model import Joint
from kane_dynamics_ros.description.xml_tree import Element


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
