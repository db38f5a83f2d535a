"""Which link a chain ends at, and the joints that lead to it."""

from collections.abc import Collection

from kane_dynamics_ros.description.errors import Place
from kane_dynamics_ros.description.model import MOVING, Joint, Robot
from kane_dynamics_ros.description.tree import children
from kane_dynamics_ros.description.value_errors import UnknownNameError


def default_tip(robot: Robot, locked: Collection[str]) -> tuple[str, int]:
    """The leaf that the most moving joints lead to (of several the first in the file), and their number."""
    below = children(robot.joints)
    counts, waiting = {robot.root: 0}, [robot.root]
    while waiting:
        link = waiting.pop()
        for joint in below.get(link, ()):
            counts[joint.child] = counts[link] + (joint.kind in MOVING and joint.name not in locked)
            waiting.append(joint.child)
    leaves = [link.name for link in robot.links if link.name not in below]
    tip = max(leaves, key=counts.__getitem__)
    return tip, counts[tip]


def path_to(robot: Robot, tip: str) -> list[Joint]:
    """The joints from the root to ``tip``. Raises ``UnknownNameError``."""
    names = [link.name for link in robot.links]
    if tip not in names:
        raise UnknownNameError(Place(robot.source), "link", tip, names)
    above = {joint.child: joint for joint in robot.joints}
    path: list[Joint] = []
    while tip in above:
        path.append(above[tip])
        tip = above[tip].parent
    return path[::-1]
