"""What touches the tip: a wrench, a wall, a hand. Laws from the tip's motion to the wrench on the arm.

All vectors are in the root link's axes unless stated; a wrench is the force [N], then the torque about the
tip's origin [N m], that the environment exerts on the arm. In a fault's text a contact reads

    wrench force=0,0,-20 [torque=0,0,0] [frame=root|tip]
    wall point=0.6,0,0.3 normal=-1,0,0 stiffness=20000 [damping=0]
    hand force=0,15,0 [rise=0.1]
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.simulation.engine import TipMotion, option_error

CONTACT_FORM = (
    "wrench force=X,Y,Z [torque=X,Y,Z] [frame=root|tip], "
    "wall point=X,Y,Z normal=X,Y,Z stiffness=N/m [damping=N s/m], or hand force=X,Y,Z [rise=s]; "
    "as a fault from 9 to 10 s: contact:hand force=0,30,0@9..10"
)
Triple = tuple[float, float, float]


class ContactLaw(Protocol):
    """A law that may depend on the time since the contact began and until it ends [s]."""

    def wrench(self, tip: TipMotion, since: float, until: float) -> Array:
        """On the arm, (6,), root axes."""


@dataclass(frozen=True)
class ConstantWrench:
    """A constant force and torque in the axes of ``frame``, applied at once."""

    force: Triple
    torque: Triple = (0.0, 0.0, 0.0)
    frame: str = "root"
    kind: ClassVar[str] = "wrench"

    def __post_init__(self) -> None:
        if self.frame not in ("root", "tip"):
            raise option_error("contact frame", self.frame, "root or tip")

    def wrench(self, tip: TipMotion, since: float, until: float) -> Array:
        own = np.array((self.force, self.torque))
        turned: Array = own @ tip.R_RT.T if self.frame == "tip" else own
        return turned.reshape(6)


@dataclass(frozen=True)
class Wall:
    """An elastic wall without friction: f = max(0, k d - c v_n) along the normal, while the tip is in it.

    d is how deep the tip's origin is behind the plane through ``point``, v_n its velocity along ``normal``,
    which points out of the wall and need not be a unit vector. The wall pushes and never pulls.
    """

    point: Triple
    normal: Triple
    stiffness: float  # k [N/m]
    damping: float = 0.0  # c [N s/m]
    kind: ClassVar[str] = "wall"

    def __post_init__(self) -> None:
        if not (self.stiffness > 0.0 and self.damping >= 0.0 and any(self.normal)):
            found = f"{self.normal}, {self.stiffness:g}, {self.damping:g}"
            raise option_error(
                "contact wall", found, "normal not zero, stiffness > 0 N/m, damping >= 0 N s/m"
            )

    def wrench(self, tip: TipMotion, since: float, until: float) -> Array:
        normal = np.array(self.normal) / math.hypot(*self.normal)
        depth = float(normal @ (np.array(self.point) - tip.p_RoTo_R))
        push = 0.0
        if depth > 0.0:
            push = max(0.0, self.stiffness * depth - self.damping * float(normal @ tip.v_To_R))
        return np.concatenate((push * normal, np.zeros(3)))


@dataclass(frozen=True)
class Hand:
    """A push that comes and goes smoothly: a force that rises along a raised cosine in ``rise`` [s]."""

    force: Triple
    rise: float = 0.1
    kind: ClassVar[str] = "hand"

    def __post_init__(self) -> None:
        if not self.rise > 0.0:
            raise option_error("contact hand rise", self.rise, "> 0 s")

    def wrench(self, tip: TipMotion, since: float, until: float) -> Array:
        ramp = min(max(min(since, until) / self.rise, 0.0), 1.0)
        share = 0.5 - 0.5 * math.cos(math.pi * ramp)
        return np.concatenate((share * np.array(self.force), np.zeros(3)))


KINDS: Mapping[str, type[ConstantWrench] | type[Wall] | type[Hand]] = {
    kind.kind: kind for kind in (ConstantWrench, Wall, Hand)
}


def parse_contact(text: str) -> ConstantWrench | Wall | Hand:
    """Read ``KIND KEY=VALUE ...``. Raises ``SimulationError``."""
    kind, *pairs = text.split() or [""]
    law = KINDS.get(kind)
    try:
        if law is None:
            raise ValueError(kind)
        known = {field.name for field in fields(law)}
        given = dict(pair.split("=", 1) for pair in pairs)
        if not set(given) <= known:
            raise ValueError(text)
        values: dict[str, Any] = {name: _value(name, value) for name, value in given.items()}
        return law(**values)
    except (TypeError, ValueError):  # a missing or unknown key, or no number
        raise option_error("contact", text, CONTACT_FORM) from None


def contact_text(contact: ContactLaw) -> str:
    """The text that ``parse_contact`` reads."""
    if not isinstance(contact, ConstantWrench | Wall | Hand):
        return repr(contact)
    words = [contact.kind]
    for field in fields(contact):
        value = getattr(contact, field.name)
        parts = value if isinstance(value, tuple) else (value,)
        words.append(f"{field.name}=" + ",".join(p if isinstance(p, str) else f"{p:g}" for p in parts))
    return " ".join(words)


def _value(name: str, text: str) -> Triple | float | str:
    if name == "frame":
        return text
    numbers = [float(part) for part in text.split(",")]
    triple = name in ("force", "torque", "point", "normal")
    if len(numbers) != (3 if triple else 1) or not all(map(math.isfinite, numbers)):
        raise ValueError(text)
    return (numbers[0], numbers[1], numbers[2]) if triple else numbers[0]
