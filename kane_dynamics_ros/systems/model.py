"""What a system is made of: bodies joined in a tree, constraints between them, generalized speeds.

Everything is frozen and plain. A number may be a float or a SymPy expression: the same system gives numbers
or equations to read. Each body has one joint to its parent and hence at most one coordinate, which has the
body's name; a joint of several degrees of freedom is a row of bodies, all but the last without mass. The
body's frame B coincides with its joint's frame J at position 0, and the ground is the frame N.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kane_dynamics_ros.algebra import Matrix, Scalar, Vector
from kane_dynamics_ros.errors import KaneDynamicsError

GROUND = "ground"
ZERO: Vector = (0, 0, 0)
X: Vector = (1, 0, 0)
Y: Vector = (0, 1, 0)
Z: Vector = (0, 0, 1)
IDENTITY: Matrix = (X, Y, Z)
JOINTS = ("revolute", "prismatic", "fixed")

Named = Mapping[str, Scalar]  # a value for each coordinate, by the name of its body


class MultibodyError(KaneDynamicsError):
    """A system cannot be what it is said to be, or not at this posture.

    Codes: ``bad_state``, ``bad_body``, ``bad_constraint``, ``contradictory``, ``not_closed``, ``singular``,
    ``speeds``, ``no_inertia``, ``drift``, ``disagreement``.
    """


@dataclass(frozen=True)
class Body:
    """A rigid body, or a frame without mass, and the joint that carries it.

    Args:
        name: of the body, and of its coordinate.
        parent: the body that carries it.
        joint: "revolute" (about ``axis``), "prismatic" (along it) or "fixed".
        axis: unit vector of the joint, in J, hence in B too.
        at: the joint's origin from the parent's, ``p_PoJo_P`` [m].
        rotation: ``R_PJ``, (3, 3), rows.
        mass: [kg].
        com: the centre of mass from the body's origin, ``p_BoBcm_B`` [m].
        inertia: (ixx, ixy, ixz, iyy, iyz, izz) about the centre of mass, in B: the tensor's entries [kg m^2].
    """

    name: str
    parent: str = GROUND
    joint: Literal["revolute", "prismatic", "fixed"] = "revolute"
    axis: Vector = Z
    at: Vector = ZERO
    rotation: Matrix = IDENTITY
    mass: Scalar = 0
    com: Vector = ZERO
    inertia: tuple[Scalar, ...] = (0, 0, 0, 0, 0, 0)


@dataclass(frozen=True)
class Point:
    """A point fixed in a body: its position from the body's origin, in the body's axes [m]."""

    body: str
    position: Vector = ZERO


# Constraints. Holonomic ones are h(q) = 0; the others bind velocities: A(q) q' = b(q).


@dataclass(frozen=True)
class Coincident:
    """Two points stay together: a pin that closes a loop, a wheel's lowest point on the ground.

    ``along``: the directions, in the ground's axes, in which they do; all three by default. A planar loop in
    space has a redundant one.
    """

    a: Point
    b: Point
    along: tuple[Vector, ...] = (X, Y, Z)


@dataclass(frozen=True)
class Perpendicular:
    """A direction fixed in one body stays perpendicular to one fixed in another."""

    a: str
    axis_a: Vector
    b: str
    axis_b: Vector


@dataclass(frozen=True)
class Coupling:
    """q_follower = ratio q_leader + offset: a gear, a belt, a parallelogram."""

    follower: str
    leader: str
    ratio: Scalar = 1
    offset: Scalar = 0


@dataclass(frozen=True)
class Holonomic:
    """h(q) = 0 for a function of the coordinates by name; ``systems.sin`` and ``cos`` serve all scalars."""

    h: Callable[[Named], Scalar]
    name: str = "holonomic"


@dataclass(frozen=True)
class NoSlip:
    """The particle of a body that is at a frame's origin has no velocity along some directions.

    A wheel that rolls, a blade that does not slip sideways.

    Args:
        body: whose particle.
        at: the body whose frame's origin is the place of contact; its axes are those of ``along``.
        along: directions without velocity.
        on: the body relative to which.
    """

    body: str
    at: str
    along: tuple[Vector, ...]
    on: str = GROUND


@dataclass(frozen=True)
class Nonholonomic:
    """f(q, q') = 0, affine in q': A(q) q' - b(q). Both by the names of coordinates."""

    f: Callable[[Named, Named], Scalar]
    name: str = "nonholonomic"


HolonomicConstraint = Coincident | Perpendicular | Coupling | Holonomic
Constraint = HolonomicConstraint | NoSlip | Nonholonomic
Speeds = Callable[[Named, Named], Sequence[Scalar]]


@dataclass(frozen=True)
class System:
    """Bodies, parents before children, with what binds them.

    Args:
        name: of the system.
        bodies: each after its parent.
        constraints: between coordinates or speeds.
        speeds: the generalized speeds u_r = sum_s Y_rs(q) q'_s, a function of q and q' that is linear in q',
            with as many values as there are coordinates; by default u = q'. [Hussain2016] eq. (2)
        gravity: free-fall acceleration in the ground's axes [m/s^2].
        independent: names of the coordinates whose speeds remain after the constraints, or, with ``speeds``,
            "u_1", "u_2" ...; by default those that determine the others best at each posture.

    Raises:
        MultibodyError: a name that is used twice or is unknown, a parent after its child, an axis that is not
            a unit vector.

    Example:
        >>> pendulum = System("pendulum", (Body("swing", axis=Y, mass=2.0, com=(0, 0, -0.5)),))
        >>> pendulum.coordinates
        ('swing',)
    """

    name: str
    bodies: tuple[Body, ...]
    constraints: tuple[Constraint, ...] = ()
    speeds: Speeds | None = None
    gravity: Vector = (0, 0, -9.81)
    independent: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        known = [GROUND]
        for body in self.bodies:
            _check_body(body, known)
            known.append(body.name)
        coordinates = self.coordinates
        for constraint in self.constraints:
            bodies, joints = _names(constraint)
            unknown = [name for name in bodies if name not in known]
            unknown += [name for name in joints if name not in coordinates]
            if unknown:
                raise MultibodyError(
                    f"{constraint}: there is no {unknown[0]!r}; the bodies are {', '.join(sorted(known))}",
                    "bad_constraint",
                    name=unknown[0],
                )
        for name, count in Counter(self.independent or ()).items():
            if name not in self.speed_names or count > 1:
                raise MultibodyError(
                    f"independent speed {name!r} is named twice or unknown; "
                    f"the speeds are {', '.join(self.speed_names)}",
                    "speeds",
                    name=name,
                )

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names of q, (n,): of the bodies whose joints move, in order."""
        return tuple(body.name for body in self.bodies if body.joint != "fixed")

    @property
    def speed_names(self) -> tuple[str, ...]:
        """The names of u, (n,): those of the coordinates, or "u_1" to "u_n" where ``speeds`` defines them."""
        if self.speeds is None:
            return self.coordinates
        return tuple(f"u_{r + 1}" for r in range(len(self.coordinates)))


def _check_body(body: Body, known: Sequence[str]) -> None:
    """Refuse what no body can be, where its numbers are known."""
    length = sum(component * component for component in body.axis)
    moments = (body.mass, *(body.inertia[k] for k in (0, 3, 5)))
    negative = [x for x in moments if isinstance(x, (int, float)) and not 0 <= x < float("inf")]
    if body.name in known:
        wrong = "the name is used twice; each body needs its own"
    elif body.parent not in known:
        wrong = f"its parent {body.parent!r} is not among the bodies before it"
    elif body.joint not in JOINTS:
        wrong = f"joint {body.joint!r}; allowed are {', '.join(JOINTS)}"
    elif isinstance(length, (int, float)) and not abs(length - 1) <= 1e-9:
        wrong = f"axis {body.axis} has length {length**0.5:g}; a unit vector is needed"
    elif negative:
        wrong = f"found a mass or moment of inertia of {negative[0]}; 0 or more is allowed"
    else:
        return
    raise MultibodyError(f"body {body.name!r}: {wrong}", "bad_body", body=body.name)


def _names(constraint: Constraint) -> tuple[list[str], list[str]]:
    """The bodies and the coordinates that a constraint speaks of."""
    match constraint:
        case Coincident(a, b):
            return [a.body, b.body], []
        case Perpendicular():
            return [constraint.a, constraint.b], []
        case NoSlip():
            return [constraint.body, constraint.at, constraint.on], []
        case Coupling():
            return [], [constraint.follower, constraint.leader]
    return [], []
