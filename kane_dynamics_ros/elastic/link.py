"""What a user says of an elastic link."""

import math
from dataclasses import dataclass

from kane_dynamics_ros.elastic.errors import ElasticValueError
from kane_dynamics_ros.elastic.section import Material, Section

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class ElasticLink:
    """A link of a chain that bends as a straight beam.

    ``link`` is the name of a moving body of the chain. The beam is clamped to the link's frame at ``start``
    and carries at ``end`` what follows: the next joint, or the chain's tip; both in the link's frame [m].
    ``end`` None is the next joint's origin (the tip frame's for the last link). ``z_axis`` is the direction,
    in the link's frame, nearest to the section's z axis; None takes the link's z axis, or x where the beam
    lies along z. ``damping`` is the ratio of the first and the second bending mode of the clamped beam.
    ``stiffened`` adds the stiffness of the axial load, which fast turning links need.
    """

    link: str
    material: Material
    section: Section
    elements: int = 4
    damping: float = 0.01
    start: Vector = (0.0, 0.0, 0.0)
    end: Vector | None = None
    z_axis: Vector | None = None
    rotary_inertia: bool = False
    stiffened: bool = False

    def __post_init__(self) -> None:
        where = f"elastic link {self.link!r}"
        if not 1 <= self.elements <= 100:
            raise ElasticValueError(where, "elements", self.elements, "must be a whole number from 1 to 100")
        if not 0.0 <= self.damping < 1.0:
            raise ElasticValueError(where, "damping", self.damping, "must be a ratio, at least 0 and under 1")
        for name in ("start", "end", "z_axis"):
            vector = getattr(self, name)
            if vector is not None and not all(map(math.isfinite, vector)):
                raise ElasticValueError(where, name, vector, "must be three finite numbers")
        if self.z_axis is not None and not any(self.z_axis):
            raise ElasticValueError(where, "z_axis", self.z_axis, "must not be the zero vector")
