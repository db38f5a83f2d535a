"""What URDF elements may hold, so that nothing is ignored in silence."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kane_dynamics_ros.description.attributes import Reader
from kane_dynamics_ros.description.notes import Notes
from kane_dynamics_ros.description.xml_tree import Element


class Allowed(NamedTuple):
    """Attributes and child elements that URDF or its common extensions know for one element."""

    attributes: frozenset[str] = frozenset()
    children: Mapping[str, "Allowed"] = {}


# Known elements that are not looked into here; each is counted in one finding that says what is read of it.
_NO_PART = (
    "visual collision contact self_collision_checking collision_checking gazebo material sensor mujoco "
    "safety_controller calibration"
)
UNREAD = {
    **dict.fromkeys(_NO_PART.split(), "{} has no part in the motion and is not read"),
    "ros2_control": "of {} only initial positions and rotor inertias are read",
    "elastic": "{} bends the simulated arm, where asked for; the model takes the link as rigid",
    "transmission": "of {} only rotor inertias are read",
}
MOST_KINDS = 100
FOREIGN = "{} is foreign to URDF and not read"


def allowed(attributes: str = "", **children: Allowed) -> Allowed:
    """What an element may hold: attribute names in one string, child elements by name."""
    return Allowed(frozenset(attributes.split()), children)


_ORIGIN = allowed("xyz rpy quat_xyzw")
_INERTIAL = allowed(origin=_ORIGIN, mass=allowed("value"), inertia=allowed("ixx ixy ixz iyy iyz izz"))
_JOINT = allowed(
    "name type",
    origin=_ORIGIN,
    parent=allowed("link"),
    child=allowed("link"),
    axis=allowed("xyz"),
    limit=allowed("lower upper effort velocity acceleration deceleration jerk"),
    dynamics=allowed("damping friction armature"),
    mimic=allowed("joint multiplier offset"),
)
ROBOT = allowed("name version", link=allowed("name type", inertial=_INERTIAL), joint=_JOINT)


def note_unknown(root: Element, notes: Notes) -> None:
    """Note what the reader does not read: unknown tags and attributes, foreign blocks, known but unread ones.

    Equal ones are noted once, at the first, with their number.
    """
    strangers = Strangers({}, {}, {})
    waiting = [(Reader(root, "robot", notes), ROBOT)]
    for reader, known in waiting:  # grows while it is walked
        strangers.look_at(reader, known)
        for child in reader.element.children:
            if child.tag in known.children:
                name = child.attributes.get("name")
                label = f"{child.tag} {name!r}" if known is ROBOT else f"{reader.label} <{child.tag}>"
                waiting.append((Reader(child, label, notes), known.children[child.tag]))
    strangers.write(notes)


class Strangers(NamedTuple):
    """What was met and not read: for each kind its first reader and its number."""

    tags: dict[str, list[Reader]]
    attributes: dict[str, list[Reader]]
    foreign: dict[str, list[Reader]]

    def look_at(self, reader: Reader, known: Allowed) -> None:
        """Sort what one element holds and URDF does not know."""
        for child in reader.element.children:
            kind = f"<{child.tag[:60]}> in <{reader.element.tag}>"
            where = Reader(child, reader.label, reader.notes)
            if child.tag in known.children:
                continue
            if child.tag in UNREAD or ":" in child.tag:
                self.foreign.setdefault(f"<{child.tag[:60]}>", []).append(where)
            else:
                self.tags.setdefault(kind, []).append(where)
        for name in reader.element.attributes:
            if name in known.attributes or name == "xmlns" or name.startswith("xmlns:"):
                continue
            kind = f"{name[:60]!r} of <{reader.element.tag}>"
            (self.foreign if ":" in name else self.attributes).setdefault(kind, []).append(reader)

    def write(self, notes: Notes) -> None:
        """Write down each kind once."""
        note_kinds("KD209", self.tags, lambda kind: f"unknown element {kind} was not read", notes)
        note_kinds("KD210", self.attributes, lambda kind: f"unknown attribute {kind} was not read", notes)
        note_kinds(
            "KD212", self.foreign, lambda kind: UNREAD.get(kind.strip("<>"), FOREIGN).format(kind), notes
        )


def note_kinds(
    code: str, kinds: Mapping[str, list[Reader]], message: Callable[[str], str], notes: Notes
) -> None:
    """Note each kind, but of very many only the first."""
    for kind, readers in list(kinds.items())[:MOST_KINDS]:
        note_kind(code, message(kind), readers, notes)
    if len(kinds) > MOST_KINDS:
        line = list(kinds.values())[MOST_KINDS][0].element.line
        notes.add(code, f"{len(kinds) - MOST_KINDS} other kinds of them were not read either", line)


def note_kind(code: str, message: str, readers: Iterable[Reader], notes: Notes) -> None:
    """One finding for all elements of a kind, at the first."""
    first, *others = readers
    times = f" ({len(others) + 1} times)" if others else ""
    notes.add(code, message + times, *first.place[1:])
