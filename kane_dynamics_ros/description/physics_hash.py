"""The physical content of a chain: its hash, and in what two chains differ."""

import hashlib
from dataclasses import asdict

from kane_dynamics_ros.description.model import Chain

# Names of what moves (joints, tip) count: states and payloads are given by them. Damping and friction
# count, since they are part of the torque when they are switched on. Limits, initial positions, the
# robot's name, the names of lumped links, files and findings do not.
_NOT_PHYSICAL = ("limits", "initial_position", "body", "lumped", "name", "back")


def physics_hash(chain: Chain) -> str:
    """SHA-256 (hex) over the physical content: kinematics, inertias, coordinates, mimics, locks, rotor
    inertias, damping and friction, each number by its ``repr``.
    """
    lines = (f"{label}={value!r}\n" for label, value in physical_content(chain).items())
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def describe_differences(a: Chain, b: Chain) -> tuple[str, ...]:
    """What differs in the physical content of ``a`` and ``b``, one line each; empty when the hashes agree."""
    ours, theirs = physical_content(a), physical_content(b)
    lines = []
    for label in dict.fromkeys((*ours, *theirs)):
        before, after = ours.get(label), theirs.get(label)
        if before != after:
            lines.append(f"{label}: {shown(before)} became {shown(after)}")
    return tuple(lines)


def shown(value: object) -> str:
    """A value as a difference shows it."""
    return "nothing" if value is None else repr(value)


def physical_content(chain: Chain) -> dict[str, object]:
    """Every value that the hash covers, under a label that names its joint."""
    content: dict[str, object] = {
        "root": chain.root,
        "tip": chain.tip,
        "coordinates": chain.coordinates,
        "tip orientation": chain.R_BT,
        "tip position": chain.p_BoTo_B,
        "locked joints": chain.locked,
        "joints": tuple(joint.name for joint in chain.joints),
    }
    for joint in chain.joints:
        for key, value in asdict(joint).items():
            if key == "inertia":
                content.update({f"joint {joint.name!r} {part}": entry for part, entry in value.items()})
            elif key not in _NOT_PHYSICAL:
                content[f"joint {joint.name!r} {key}"] = value
    return content
