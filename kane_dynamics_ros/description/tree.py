"""Whether links and joints form one tree."""

from collections.abc import Iterable, Sequence

from kane_dynamics_ros.description.errors import (
    LoopError,
    MissingError,
    NoMovingJointError,
    SeveralParentsError,
    SeveralRootsError,
    UndefinedLinkError,
)
from kane_dynamics_ros.description.model import Joint, Link
from kane_dynamics_ros.description.notes import Notes


def check_tree(links: Sequence[Link], joints: Sequence[Joint], line: int, notes: Notes) -> str:
    """The root link's name. Raises for what is no tree with a moving joint, at ``line`` of ``<robot>``."""
    if not links:
        raise MissingError(notes.place(line, "robot"), "element <link>")
    by_child = parents(links, joints, notes)
    roots = [link.name for link in links if link.name not in by_child]
    if not roots:
        raise loop_error(links[0].name, by_child, notes)
    if len(roots) > 1:
        raise SeveralRootsError(notes.place(line, "robot"), roots)
    check_reached(roots[0], links, joints, by_child, notes)
    if all(joint.kind == "fixed" for joint in joints):
        raise NoMovingJointError(notes.place(line, "robot"), roots[0], None)
    return roots[0]


def parents(links: Iterable[Link], joints: Iterable[Joint], notes: Notes) -> dict[str, Joint]:
    """The joint above each link. Raises ``UndefinedLinkError``, ``SeveralParentsError``."""
    names = {link.name: link for link in links}
    by_child: dict[str, Joint] = {}
    for joint in joints:
        place = notes.place(joint.line, f"joint {joint.name!r}")
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in names:
                raise UndefinedLinkError(place, role, link)
        other = by_child.setdefault(joint.child, joint)
        if other is not joint:
            where = notes.place(names[joint.child].line, f"link {joint.child!r}")
            raise SeveralParentsError(where, (other.name, joint.name))
    return by_child


def children(joints: Iterable[Joint]) -> dict[str, list[Joint]]:
    """The joints below each link, in file order."""
    below: dict[str, list[Joint]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint)
    return below


def check_reached(
    root: str, links: Iterable[Link], joints: Iterable[Joint], by_child: dict[str, Joint], notes: Notes
) -> None:
    """What the root does not reach, though it has a parent, hangs on a loop."""
    below = children(joints)
    reached, waiting = {root}, [root]
    while waiting:
        for joint in below.get(waiting.pop(), ()):
            reached.add(joint.child)
            waiting.append(joint.child)
    for link in links:
        if link.name not in reached:
            raise loop_error(link.name, by_child, notes)


def loop_error(link: str, by_child: dict[str, Joint], notes: Notes) -> LoopError:
    """The loop above ``link``: climb until a link comes twice; what lies between is the loop."""
    climbed: dict[str, Joint] = {}
    while link not in climbed:
        climbed[link] = by_child[link]
        link = by_child[link].parent
    joints = list(climbed.values())[list(climbed).index(link) :]
    return LoopError(
        notes.place(joints[0].line, f"joint {joints[0].name!r}"), [j.name for j in reversed(joints)]
    )
