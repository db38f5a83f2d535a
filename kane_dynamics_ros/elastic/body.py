"""An elastic body assembled from equal beam elements along its x axis.

All arrays are free of the motion, see derivation/integrals.py: D[a, b] = int N_a^T N_b dm,
E[a, b] = int N_a^T r_b dm, m_O[a] = int N_a dm; r is the position from the body's origin O, expressed in
the body's frame L.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.elastic.generated import beam_elements
from kane_dynamics_ros.elastic.link import BeamRates

Kind = Literal["plane", "space"]
DOFS: dict[Kind, int] = {"plane": 3, "space": 6}  # coordinates of a node


@dataclass(frozen=True)
class ElementArrays:
    """The integrals of one element of length ``L``, with r from its first node."""

    L: float
    D: Array  # (3, 3, n, n)
    E: Array  # (3, 3, n)
    m_O: Array  # (3, n)
    k: Array  # (n, n)
    k_G: Array  # (3, n, n): for a unit axial load at the first node, the middle, the second node


@dataclass(frozen=True)
class ElasticBody:
    """Assembled integrals over the free coordinates, and the rigid body's integrals.

    ``free``: numbers of the coordinates that remain; coordinate ``i`` of node ``j`` has the number
    ``j * DOFS[kind] + i``. ``R2``: int r r^T dm [kg m^2]; ``S``: int r dm [kg m]; ``mass`` [kg].
    """

    kind: Kind
    element: ElementArrays
    elements: int
    x0: float  # position of the first node on the x axis [m]
    free: tuple[int, ...]
    D: Array
    E: Array
    m_O: Array
    k: Array
    mass: float
    S: Array
    R2: Array

    @property
    def length(self) -> float:
        return self.elements * self.element.L


def element_arrays(kind: Kind, L: float, rates: BeamRates) -> ElementArrays:
    """The generated integrals of one element of length ``L`` [m], [WindPump] eq. (18)."""
    inertia = _evaluated(f"{kind}_inertia", L, *rates.inertia)
    stiffness = _evaluated(f"{kind}_stiffness", L, *rates.stiffness)
    geometric = [_evaluated(f"{kind}_geometric_stiffness", L, *loads)["k_G"] for loads in np.eye(3).tolist()]
    return ElementArrays(L, inertia["D"], inertia["E"], inertia["m_O"], stiffness["k"], np.stack(geometric))


def _evaluated(name: str, *arguments: float) -> dict[str, Array]:
    """The arrays of a generated function: its values put where its table says."""
    values = np.array(getattr(beam_elements, name)(*arguments))
    arrays = {}
    for key, (shape, places, numbers) in getattr(beam_elements, name.upper()).items():
        arrays[key] = np.zeros(shape)
        arrays[key].flat[places] = values[numbers]
    return arrays


def scatter(element: Array, elements: int, dofs: int) -> Array:
    """Assemble equal elements: the last two axes are coordinates of two nodes."""
    n = (elements + 1) * dofs
    total = np.zeros((*element.shape[:-2], n, n))
    for j in range(elements):
        part = slice(j * dofs, (j + 2) * dofs)
        total[..., part, part] += element
    return total


def scatter_rows(element: Array, dofs: int) -> Array:
    """Assemble rows given per element, (elements, ..., 2 dofs), to (..., n)."""
    elements = len(element)
    total = np.zeros((*element.shape[1:-1], (elements + 1) * dofs))
    for j, row in enumerate(element):
        total[..., j * dofs : (j + 2) * dofs] += row
    return total


def straight_beam(kind: Kind, rates: BeamRates, length: float, elements: int, x0: float = 0.0) -> ElasticBody:
    """A free straight beam from (x0, 0, 0) to (x0 + length, 0, 0) [m] in L, of equal elements."""
    part = element_arrays(kind, length / elements, rates)
    dofs = DOFS[kind]
    starts = x0 + part.L * np.arange(elements)
    offset = np.einsum("an,e->ean", part.m_O, starts)  # int N^T r dm grows by m_O with the start
    E = np.repeat(part.E[None], elements, axis=0)
    E[:, :, 0] += offset
    a, b = x0, x0 + length
    mass = rates.m * length
    R2 = np.diag([rates.m * (b**3 - a**3) / 3, rates.my * length, rates.mz * length])
    return ElasticBody(
        kind,
        part,
        elements,
        x0,
        tuple(range((elements + 1) * dofs)),
        scatter(part.D, elements, dofs),
        scatter_rows(E, dofs),
        scatter_rows(np.repeat(part.m_O[None], elements, axis=0), dofs),
        scatter(part.k, elements, dofs),
        mass,
        np.array([rates.m * (b**2 - a**2) / 2, 0.0, 0.0]),
        R2,
    )


def restrict(body: ElasticBody, fixed: Iterable[int]) -> ElasticBody:
    """The body with coordinates held at 0 (boundary conditions), by their numbers, see ``ElasticBody``."""
    held = set(fixed)
    keep = [place for place, number in enumerate(body.free) if number not in held]
    return replace(
        body,
        free=tuple(body.free[place] for place in keep),
        D=body.D[:, :, keep][..., keep],
        E=body.E[:, :, keep],
        m_O=body.m_O[:, keep],
        k=body.k[np.ix_(keep, keep)],
    )


def clamped(body: ElasticBody) -> ElasticBody:
    """The body with its first node held."""
    return restrict(body, range(DOFS[body.kind]))
