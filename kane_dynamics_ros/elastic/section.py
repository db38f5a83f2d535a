"""What a beam is made of: material and section, and their rates per length."""

import math
from dataclasses import dataclass, fields

from kane_dynamics_ros.elastic.errors import ElasticValueError


def _require_positive(where: str, instance: object, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(instance, name)
        if not (math.isfinite(value) and value > 0):
            raise ElasticValueError(where, name, value, "must be a positive number")


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
    """A section in its principal axes y, z: ``area`` [m^2], ``Iz`` = int y^2 dA, ``Iy`` = int z^2 dA,
    torsion constant ``J`` [m^4].
    """

    area: float
    Iy: float
    Iz: float
    J: float

    def __post_init__(self) -> None:
        _require_positive("section", self, tuple(f.name for f in fields(self)))


def rectangle(width: float, height: float) -> Section:
    """A solid rectangle, ``width`` along y and ``height`` along z [m]; J after Timoshenko, 0.5 %."""
    a, b = max(width, height), min(width, height)
    if not b > 0:
        raise ElasticValueError("rectangle", "width, height", (width, height), "must be positive numbers")
    J = a * b**3 * (1 / 3 - 0.21 * b / a * (1 - (b / a) ** 4 / 12))
    return Section(width * height, width * height**3 / 12, height * width**3 / 12, J)


def tube(outer: float, inner: float = 0.0) -> Section:
    """A round tube of the given diameters [m]; ``inner`` = 0 is a solid bar."""
    if not 0 <= inner < outer:
        raise ElasticValueError("tube", "outer, inner", (outer, inner), "must satisfy 0 <= inner < outer")
    second = math.pi * (outer**4 - inner**4) / 64
    return Section(math.pi * (outer**2 - inner**2) / 4, second, second, 2 * second)


@dataclass(frozen=True)
class BeamRates:
    """Mass and stiffness per length, the arguments of the generated element functions.

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

    @property
    def inertia(self) -> tuple[float, float, float, float, float]:
        return self.m, self.my, self.mz, self.ry, self.rz

    @property
    def stiffness(self) -> tuple[float, float, float, float]:
        return self.EA, self.GJ, self.EIy, self.EIz


def beam_rates(material: Material, section: Section, rotary_inertia: bool = False) -> BeamRates:
    """Rates of a beam; Euler and Bernoulli's theory has no rotary inertia in bending."""
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
