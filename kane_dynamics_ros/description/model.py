"""The frozen, XML-free description of a robot and of one serial chain in it.

Frames: a link's frame L is its URDF frame, which at zero joint position coincides with the frame J
of the joint that carries it. ``R_PJ`` is the orientation of J in the parent link's frame P, and
``p_PoJo_P`` the position of J's origin from P's origin, expressed in P. Units: m, kg, kg m^2, rad, N m.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, get_args

from kane_dynamics_ros.description.findings import DescriptionError, Finding

Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]  # rows

JointKind = Literal["revolute", "continuous", "prismatic", "fixed", "floating", "planar"]
MovingKind = Literal["revolute", "continuous", "prismatic"]  # what a serial chain is made of
MOVING: tuple[JointKind, ...] = get_args(MovingKind)

IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
ZERO: Vector = (0.0, 0.0, 0.0)
GRAVITY: Vector = (0.0, 0.0, -9.81)  # free fall where a robot stands upright, in root axes [m/s^2]


@dataclass(frozen=True)
class Inertia:
    """Mass [kg], centre of mass ``p_LoLcm_L`` [m], central inertia tensor in link axes [kg m^2].

    ``tensor`` is the matrix itself: its off-diagonal entries are URDF's ixy, ixz, iyz as written.
    """

    mass: float
    com: Vector
    tensor: Matrix


@dataclass(frozen=True)
class Limits:
    """Joint limits; ``None`` means unknown (absent, or the URDF's 0 for effort and velocity)."""

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


@dataclass(frozen=True)
class Mimic:
    """This joint follows another: q = multiplier * q_leader + offset."""

    leader: str
    multiplier: float = 1.0
    offset: float = 0.0


class Defect(NamedTuple):
    """What is wrong with a part of a link or joint; whether it matters is known when a chain is chosen.

    ``placement``: it is about where a joint is, which matters to all that it carries.
    """

    error: DescriptionError
    placement: bool = False


@dataclass(frozen=True)
class Link:
    """``reach``: how far its primitive shapes reach from its origin [m]; None where it has none.

    ``volume``: of its shapes, the larger of the visual and the collision ones [m^3]; None where it has none,
    or a mesh among them, whose size is not known here.
    """

    name: str
    inertia: Inertia | None
    line: int | None = None
    reach: float | None = None
    volume: float | None = None
    defects: tuple[Defect, ...] = ()

    @property
    def at(self) -> tuple[int | None, str]:
        """Its line in the file, and what messages call it."""
        return self.line, f"link {self.name!r}"


@dataclass(frozen=True)
class Joint:
    """``axis`` is a unit vector in the joint frame; rotor inertia is reflected to the joint side."""

    name: str
    kind: JointKind
    parent: str
    child: str
    R_PJ: Matrix = IDENTITY
    p_PoJo_P: Vector = ZERO
    axis: Vector = (1.0, 0.0, 0.0)
    limits: Limits = Limits()
    damping: float = 0.0  # [N m s/rad] or [N s/m]
    friction: float = 0.0  # [N m] or [N]
    rotor_inertia: float = 0.0  # [kg m^2] or [kg], gear ratio squared included
    mimic: Mimic | None = None
    initial_position: float | None = None  # from <ros2_control>
    line: int | None = None
    defects: tuple[Defect, ...] = ()

    @property
    def at(self) -> tuple[int | None, str]:
        """Its line in the file, and what messages call it."""
        return self.line, f"joint {self.name!r}"


def joints_below(joints: Iterable[Joint]) -> dict[str, list[Joint]]:
    """The joints that each link carries, in file order."""
    below: dict[str, list[Joint]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint)
    return below


@dataclass(frozen=True)
class Robot:
    """A whole URDF as a tree."""

    name: str
    root: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    findings: tuple[Finding, ...] = ()
    source: str | None = None  # file name, for messages

    @cached_property
    def link_named(self) -> dict[str, Link]:
        """The links by name, in file order."""
        return {link.name: link for link in self.links}

    @cached_property
    def joint_named(self) -> dict[str, Joint]:
        """The joints by name, in file order."""
        return {joint.name: joint for joint in self.joints}

    @cached_property
    def above(self) -> dict[str, Joint]:
        """The joint that carries each link but the root."""
        return {joint.child: joint for joint in self.joints}

    @cached_property
    def below(self) -> dict[str, list[Joint]]:
        """The joints that each link carries, in file order; links without any are not in it."""
        return joints_below(self.joints)


@dataclass(frozen=True)
class ChainJoint:
    """A moving joint of a chain, and the lumped rigid body that it carries.

    ``R_PJ``, ``p_PoJo_P``: placement of the joint frame in the frame of the body that carries it (or of the
    root link) at zero position. The body's frame is the child link's URDF frame;
    ``inertia`` holds everything fixed to that link. The joint's position is
    ``multiplier * q[coordinate] + offset``; a follower (URDF mimic) shares its leader's coordinate.

    ``parent`` is the index, in ``Chain.joints``, of the joint whose body carries this one; -1 is the root
    link. Parents come before their children. A follower off the path to the tip, which moves with a joint of
    the path, is a branch.
    """

    name: str
    kind: MovingKind
    R_PJ: Matrix
    p_PoJo_P: Vector
    axis: Vector
    body: str
    inertia: Inertia
    coordinate: int
    parent: int
    multiplier: float = 1.0
    offset: float = 0.0
    limits: Limits = Limits()
    damping: float = 0.0
    friction: float = 0.0
    rotor_inertia: float = 0.0
    initial_position: float | None = None
    lumped: tuple[str, ...] = ()  # names of the links fixed into this body


class TipFrame(NamedTuple):
    """The frame of a tip T in the frame of the body that it is fixed in: that of joint ``body``, an index.

    -1: the root link, where no joint moves the tip.
    """

    body: int
    R_BT: Matrix = IDENTITY
    p_BoTo_B: Vector = ZERO


@dataclass(frozen=True)
class Chain:
    """The moving joints from a root to its tips, and those that follow them: what the formulations take.

    ``coordinates`` names the independent joints in order, root to tip: the model's joint order.
    ``tip`` is the first of the tips, ``branches`` are the others: with them the chain is a tree.
    ``branch_frames``: the frames of the latter.
    ``R_BT``, ``p_BoTo_B``: the tip frame in the frame of the body of joint ``tip_body``, an index.
    ``gravity``: free-fall acceleration in the axes of ``root`` [m/s^2]; the generated module's default.
    """

    robot: str
    root: str
    tip: str
    joints: tuple[ChainJoint, ...]
    coordinates: tuple[str, ...]
    tip_body: int
    R_BT: Matrix = IDENTITY
    p_BoTo_B: Vector = ZERO
    findings: tuple[Finding, ...] = ()
    locked: tuple[tuple[str, float], ...] = ()
    gravity: Vector = GRAVITY
    branches: tuple[str, ...] = ()
    branch_frames: tuple[TipFrame, ...] = ()

    @property
    def tip_frames(self) -> tuple[TipFrame, ...]:
        """The frames of all tips, in the order of ``tips``."""
        return TipFrame(self.tip_body, self.R_BT, self.p_BoTo_B), *self.branch_frames

    @property
    def tips(self) -> tuple[str, ...]:
        """All links to which the chain leads, the tip first."""
        return self.tip, *self.branches

    @property
    def leaders(self) -> tuple[ChainJoint, ...]:
        """The joint of each coordinate, without those that follow it."""
        by_name = {joint.name: joint for joint in self.joints}
        return tuple(by_name[name] for name in self.coordinates)

    @property
    def rotor_inertia(self) -> tuple[float, ...]:
        """Rotor inertia of each coordinate (n,) [kg m^2 or kg]: its followers' too, m^2 times their own."""
        return self._at_coordinates(lambda joint: joint.multiplier**2 * joint.rotor_inertia)

    @property
    def damping(self) -> tuple[float, ...]:
        """Damping of each coordinate (n,) [N m s/rad or N s/m]: its followers' too, m^2 times their own."""
        return self._at_coordinates(lambda joint: joint.multiplier**2 * joint.damping)

    @property
    def friction(self) -> tuple[float, ...]:
        """Coulomb friction of each coordinate (n,) [N m or N]: its followers' too, |m| times their own."""
        return self._at_coordinates(lambda joint: abs(joint.multiplier) * joint.friction)

    def _at_coordinates(self, of_joint: Callable[[ChainJoint], float]) -> tuple[float, ...]:
        total = [0.0] * len(self.coordinates)
        for joint in self.joints:
            total[joint.coordinate] += of_joint(joint)
        return tuple(total)
