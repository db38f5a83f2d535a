"""The physical content of a chain: its hash, and whether a model comes from it.

Names of what moves (joints, tip) count: states and payloads are given by them. Damping and friction count,
since they are part of the torque when they are switched on. Limits, initial positions, the robot's name, the
names of lumped links, files and findings do not.

Sines and cosines differ in their last bit from one mathematics library to another. A module that was
generated on one computer must not be stale on another, so numbers count to ``DIGITS`` digits, those of a
vector or matrix together; lengths and rotations in absolute terms.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple, Protocol

from kane_dynamics_ros.description.chain import serial_chain
from kane_dynamics_ros.description.model import GRAVITY, Chain, Robot

DIGITS = 12
_GEOMETRY = ("R_PJ", "p_PoJo_P", "axis", "com")
_NOT_PHYSICAL = ("limits", "initial_position", "body", "lumped", "name", "parent")


def physics_hash(chain: Chain) -> str:
    """SHA-256 (hex) over the physical content, each number by the ``repr`` of its first digits.

    Kinematics, inertias, coordinates, mimics, locks, rotor inertias, damping and friction.

    >>> from kane_dynamics_ros.description import load_robot, serial_chain
    >>> from kane_dynamics_ros.share import share_directory
    >>> len(physics_hash(serial_chain(load_robot(share_directory() / "urdf" / "manipulator_5dof.urdf"))))
    64
    """
    lines = (f"{label}={value!r}\n" for label, value in physical_content(chain).items())
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def physical_content(chain: Chain) -> dict[str, object]:
    """Every value that the hash covers, under a label that names its joint."""
    content: dict[str, object] = {
        "root": chain.root,
        "tip": chain.tip,
        "coordinates": chain.coordinates,
        "tip orientation": rounded(chain.R_BT, least=1.0),
        "tip position": rounded(chain.p_BoTo_B, least=1.0),
        "locked joints": chain.locked,
        "joints": tuple(joint.name for joint in chain.joints),
    }
    if chain.branches:
        content["branches"] = chain.branches
    if chain.gravity != GRAVITY:  # so that the hashes of all other chains stay what they were
        content["gravity"] = rounded(chain.gravity, least=1.0)
    if any(joint.parent != k - 1 for k, joint in enumerate(chain.joints)):  # else it goes without saying
        content["parents"] = tuple(joint.parent for joint in chain.joints)
        content["tip body"] = chain.tip_body
    for joint in chain.joints:
        for key, value in flattened(asdict(joint)):
            if key not in _NOT_PHYSICAL:
                least = 1.0 if key in _GEOMETRY else 0.0
                content[f"joint {joint.name!r} {key}"] = rounded(value, least)
    return content


def flattened(fields: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names and values, those of the inertia in its place."""
    for key, value in fields.items():
        if key == "inertia":
            yield from value.items()
        else:
            yield key, value


def rounded(value: Any, least: float) -> Any:
    """A number, or nested tuples of them, to ``DIGITS`` digits of the largest or of ``least``."""
    size = max([least, *(abs(number) for number in numbers(value))])
    if size == 0.0:
        return value
    places = DIGITS - 1 - math.floor(math.log10(size))
    return at_places(value, places)


def numbers(value: Any) -> Iterator[float]:
    """The floats in nested tuples."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from numbers(part)


def at_places(value: Any, places: int) -> Any:
    """Floats rounded to decimal ``places``, -0 made 0; anything else as it is."""
    if isinstance(value, tuple):
        return tuple(at_places(part, places) for part in value)
    return round(value, places) + 0.0 if isinstance(value, float) else value


class ModelOrigin(Protocol):
    """What a generated model states about the chain that it was generated from."""

    @property
    def root(self) -> str: ...
    @property
    def tips(self) -> tuple[str, ...]: ...
    @property
    def locked(self) -> Mapping[str, float]: ...
    @property
    def urdf_hash(self) -> str: ...


class OriginCheck(NamedTuple):
    """The chain that a model should come from, its hash, and whether that is the model's."""

    chain: Chain
    hash: str
    matches: bool


def check_origin(model: ModelOrigin, robot: Robot) -> OriginCheck:
    """Whether ``model`` was generated from ``robot``: the same physics from root to tips, with its locks.

    Raises ``DescriptionError`` where the robot has no such chain.

    >>> from kane_dynamics_ros.description import load_robot
    >>> from kane_dynamics_ros.runtime import load_model
    >>> from kane_dynamics_ros.share import share_directory
    >>> robot = load_robot(share_directory() / "urdf" / "manipulator_5dof.urdf")
    >>> check_origin(load_model("manipulator_5dof", backend="python"), robot).matches
    True
    """
    return compare_origin(model, serial_chain(robot, model.tips, root=model.root, lock=model.locked))


def compare_origin(model: ModelOrigin, chain: Chain) -> OriginCheck:
    """Whether ``model`` was generated from ``chain``. The only place that decides this."""
    found = physics_hash(chain)
    return OriginCheck(chain, found, found == model.urdf_hash)
