"""What a user says of an elastic link: its beam, the beam's material and section."""

import math
from dataclasses import dataclass, fields

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.runtime import Vector


def wrong_property(where: str, name: str, found: object, allowed: str) -> KaneDynamicsError:
    """A property of an elastic link is missing or out of range: code ``elastic_value``."""
    message = f"{where}: {name}: found {found!r}; {allowed}"
    return KaneDynamicsError(message, "elastic_value", where=where, name=name, found=found, allowed=allowed)


@dataclass(frozen=True)
class Material:
    """Young's modulus E [Pa], shear modulus G [Pa], density [kg/m^3]."""

    E: float
    G: float
    density: float

    def __post_init__(self) -> None:
        _require_positive("material", self, ("E", "G", "density"))


@dataclass(frozen=True)
class Section:
    """A section in its principal axes y, z.

    ``area`` [m^2], ``Iz`` = int y^2 dA, ``Iy`` = int z^2 dA, torsion constant ``J`` [m^4].
    """

    area: float
    Iy: float
    Iz: float
    J: float

    def __post_init__(self) -> None:
        _require_positive("section", self, tuple(f.name for f in fields(self)))


def _require_positive(where: str, instance: object, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(instance, name)
        if not (math.isfinite(value) and value > 0):
            raise wrong_property(where, name, value, "must be a positive number")


def rectangle(width: float, height: float) -> Section:
    """A solid rectangle, ``width`` along y and ``height`` along z [m]; J after Timoshenko, 0.5 %.

    Raises:
        KaneDynamicsError: ``elastic_value``, a side that is not positive.
    """
    a, b = max(width, height), min(width, height)
    if not b > 0:
        raise wrong_property("rectangle", "width, height", (width, height), "must be positive numbers")
    J = a * b**3 * (1 / 3 - 0.21 * b / a * (1 - (b / a) ** 4 / 12))
    return Section(width * height, width * height**3 / 12, height * width**3 / 12, J)


def tube(outer: float, inner: float = 0.0) -> Section:
    """A round tube of the given diameters [m]; ``inner`` = 0 is a solid bar.

    Raises:
        KaneDynamicsError: ``elastic_value``, no such tube.
    """
    if not 0 <= inner < outer:
        raise wrong_property("tube", "outer, inner", (outer, inner), "must satisfy 0 <= inner < outer")
    second = math.pi * (outer**4 - inner**4) / 64
    return Section(math.pi * (outer**2 - inner**2) / 4, second, second, 2 * second)


@dataclass(frozen=True)
class BeamRates:
    """Mass and stiffness per length, what the integrals of an element need.

    ``m`` [kg/m]; ``my``, ``mz`` its second moments [kg m]; ``ry``, ``rz`` the same where the section turns
    in bending, 0 without rotary inertia; EA [N]; GJ, EIy, EIz [N m^2].
    """

    m: float
    my: float
    mz: float
    ry: float
    rz: float
    EA: float
    GJ: float
    EIy: float
    EIz: float


def beam_rates(material: Material, section: Section, rotary_inertia: bool = False) -> BeamRates:
    """Mass and stiffness per length; Euler and Bernoulli's theory has no rotary inertia in bending."""
    my, mz = material.density * section.Iz, material.density * section.Iy
    rotary = 1.0 if rotary_inertia else 0.0
    return BeamRates(
        m=material.density * section.area,
        my=my,
        mz=mz,
        ry=rotary * my,
        rz=rotary * mz,
        EA=material.E * section.area,
        GJ=material.G * section.J,
        EIy=material.E * section.Iy,
        EIz=material.E * section.Iz,
    )


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
        if self.elements not in range(1, 101):
            raise wrong_property(where, "elements", self.elements, "must be a whole number from 1 to 100")
        if not 0.0 <= self.damping < 1.0:
            raise wrong_property(where, "damping", self.damping, "must be a ratio, at least 0 and under 1")
        for name in ("start", "end", "z_axis"):
            vector = getattr(self, name)
            if vector is not None and not all(map(math.isfinite, vector)):
                raise wrong_property(where, name, vector, "must be three finite numbers")
        if self.z_axis is not None and not any(self.z_axis):
            raise wrong_property(where, "z_axis", self.z_axis, "must not be the zero vector")
