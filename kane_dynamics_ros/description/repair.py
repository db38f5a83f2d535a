"""The nearest inertia tensor that a body can have, written into a URDF's text; nothing else of it changes."""

import itertools
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import symmetric
from kane_dynamics_ros.description.findings import Notes, Place
from kane_dynamics_ros.description.geometry import failed_condition, principal_moments
from kane_dynamics_ros.description.model import Matrix
from kane_dynamics_ros.description.reader import parse_robot
from kane_dynamics_ros.description.text_edits import (
    TENSOR_ENTRIES,
    Edit,
    parse_text,
    uneditable,
)
from kane_dynamics_ros.text import listed

ZERO: Matrix = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
ROUNDING = 1e-15  # of the largest entry: a change as small is none, and the text stays


class Repair(NamedTuple):
    """A link whose tensor was replaced; about the centre of mass, along the inertial frame's axes."""

    link: str
    line: int
    before: Matrix
    after: Matrix

    def __str__(self) -> str:
        changed = [
            f"{name} {self.before[i][j]:.6g} -> {self.after[i][j]:.6g}"
            for name, (i, j) in TENSOR_ENTRIES.items()
            if self.before[i][j] != self.after[i][j]
        ]
        moments = (
            " ".join(f"{moment:.6g}" for moment in principal_moments(tensor))
            for tensor in (self.before, self.after)
        )
        return (
            f"line {self.line}: link {self.link!r}: {', '.join(changed)} kg m^2; principal moments "
            f"{' -> '.join(moments)} kg m^2"
        )


def repair_inertias(text: bytes, source: str | None = None) -> tuple[bytes, tuple[Repair, ...]]:
    """The URDF with the nearest possible tensor for each link whose tensor no body has, and what changed.

    A link without mass has no inertia: its tensor becomes 0.

    Raises ``DescriptionError`` as ``parse_robot``, and for what else is wrong with an inertia, as a negative
    mass: there is no nearest right one. Text in UTF-16 or UTF-32 cannot be changed.
    """
    robot = parse_robot(text, source)
    beyond_repair = Notes(source)
    for defect in (defect for link in robot.links for defect in link.defects):
        if defect.error.code != "KD402":
            beyond_repair.refuse(defect.error)
    beyond_repair.raise_errors()
    massless = {link.name for link in robot.links if link.defects}
    heavy = [(link.name, link.inertia) for link in robot.links if link.inertia and link.inertia.mass > 0.0]
    impossible = massless | {name for name, inertia in heavy if failed_condition(inertia.tensor)}
    repairs: list[Repair] = []
    edits: list[Edit] = []
    urdf = parse_text(text, source)
    for element in urdf.root.all("link"):  # of several <inertial> the first is the one that counts
        link = element.attributes.get("name", "")
        tensor = next((t for inertial in element.all("inertial")[:1] for t in inertial.all("inertia")), None)
        if link not in impossible or tensor is None:
            continue
        impossible.discard(link)
        written = [float(tensor.attributes.get(name, "").strip() or 0.0) for name in TENSOR_ENTRIES]
        before = symmetric(written)
        after = ZERO if link in massless else nearest_possible(before)
        repairs.append(Repair(link, tensor.line, before, after))
        for name, (i, j) in TENSOR_ENTRIES.items():
            if before[i][j] != after[i][j]:
                edits.append(urdf.attribute(tensor, name, repr(after[i][j])))
    if impossible:
        raise uneditable(Place(source), f"no <inertia> was found of {listed(sorted(impossible))}")
    return urdf.edited(edits), tuple(repairs)


def nearest_possible(tensor: Matrix) -> Matrix:
    """The nearest tensor that a body can have, in the sum of the squares of the entries' differences.

    The principal axes stay. The possible principal moments (a, b, c), none above the sum of the other two,
    are the combinations of (0, 1, 1), (1, 0, 1) and (1, 1, 0) with factors from 0 on, which are the second
    moments of mass: the nearest of them lies on the face that some of the three span.
    """
    J = np.array(tensor)
    moments, axes = np.linalg.eigh(J)
    rays = np.ones((3, 3)) - np.eye(3)
    best = np.zeros(3)
    for count in (1, 2, 3):
        for chosen in itertools.combinations(range(3), count):
            span = rays[:, chosen]
            factors = np.linalg.lstsq(span, moments, rcond=None)[0]
            near = span @ factors
            if np.all(factors >= 0.0) and np.linalg.norm(near - moments) < np.linalg.norm(best - moments):
                best = near
    change = axes @ np.diag(best - moments) @ axes.T
    change[np.abs(change) < ROUNDING * np.abs(J).max()] = 0.0
    return symmetric([float((J + change)[index]) for index in TENSOR_ENTRIES.values()])
