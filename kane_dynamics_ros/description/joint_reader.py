"""``<joint>`` to a Joint."""

import math
from typing import get_args

from kane_dynamics_ros.description.attributes import Reader
from kane_dynamics_ros.description.errors import MissingError, UnknownJointTypeError
from kane_dynamics_ros.description.model import MOVING, Joint, JointKind, Limits, Mimic, Vector
from kane_dynamics_ros.description.origin import read_origin
from kane_dynamics_ros.description.value_errors import LimitOrderError, NegativeValueError, ZeroAxisError

KINDS: tuple[JointKind, ...] = get_args(JointKind)
SHORTEST_AXIS = 1e-6  # shorter has no direction that its author meant


def read_joint(joint: Reader) -> Joint:
    """Read one joint; ``mimic`` is as written. Raises this room's errors about numbers, axis and limits."""
    kind = read_kind(joint)
    placement = read_origin(joint)
    dynamics = joint.child("dynamics")
    moving = kind in MOVING
    return Joint(
        name=joint.name(),
        kind=kind,
        parent=read_end(joint, "parent"),
        child=read_end(joint, "child"),
        R_PJ=placement.R,
        p_PoJo_P=placement.p,
        axis=read_axis(joint) if moving else (1.0, 0.0, 0.0),
        limits=read_limits(joint) if moving else Limits(),
        damping=coefficient(dynamics, "damping"),
        friction=coefficient(dynamics, "friction"),
        rotor_inertia=coefficient(dynamics, "armature"),
        mimic=read_mimic(joint) if moving else None,
        line=joint.element.line,
    )


def coefficient(dynamics: Reader | None, attribute: str) -> float:
    """A number of ``<dynamics>`` that is 0 or more; 0 where it is absent. Raises ``NegativeValueError``."""
    value = 0.0 if dynamics is None else dynamics.number(attribute, 0.0)
    if dynamics is not None and value < 0.0:
        raise NegativeValueError(dynamics.place, attribute, value)
    return value


def read_kind(joint: Reader) -> JointKind:
    """The joint's type. Raises ``UnknownJointTypeError``."""
    text = joint.name("type").strip()
    for kind in KINDS:
        if text == kind:
            return kind
    raise UnknownJointTypeError(joint.place, text, KINDS)


def read_end(joint: Reader, role: str) -> str:
    """The name of the parent or child link."""
    end = joint.child(role)
    if end is None:
        raise MissingError(joint.place, f"element <{role}>")
    return end.name("link")


def read_axis(joint: Reader) -> Vector:
    """The unit vector along the axis; 1 0 0 where none is given. Raises ``ZeroAxisError``."""
    axis = joint.child("axis")
    if axis is None or "xyz" not in axis.element.attributes:
        joint.notes.add("KD306", "no <axis>: it is 1 0 0, as URDF says", *joint.place[1:])
        return (1.0, 0.0, 0.0)
    x, y, z = axis.vector("xyz")
    length = math.hypot(x, y, z)
    if length < SHORTEST_AXIS:
        raise ZeroAxisError(axis.place, (x, y, z))
    if abs(length - 1.0) > 1e-3:
        axis.notes.add("KD305", f"the axis has length {length:.6g}: made 1", *axis.place[1:])
    return (x / length, y / length, z / length)


def read_limits(joint: Reader) -> Limits:
    """Limits; 0 means unknown for effort, velocity, and for both positions; a continuous joint has none."""
    limit = joint.child("limit")
    if limit is None:
        return Limits()
    velocity, effort, lower, upper = (limit.bound(name) for name in ("velocity", "effort", "lower", "upper"))
    if joint.element.attributes["type"].strip() == "continuous" or lower == upper == 0.0:
        lower = upper = None
    if lower is not None and upper is not None and lower > upper:
        raise LimitOrderError(limit.place, lower, upper)
    return Limits(lower, upper, positive(velocity), positive(effort))


def positive(value: float | None) -> float | None:
    """``value``, or None where it is 0, negative or unknown."""
    return value if value is not None and value > 0.0 else None


def read_mimic(joint: Reader) -> Mimic | None:
    """``<mimic>`` as written; None where there is none."""
    mimic = joint.child("mimic")
    if mimic is None:
        return None
    return Mimic(mimic.name("joint"), mimic.number("multiplier", 1.0), mimic.number("offset", 0.0))
