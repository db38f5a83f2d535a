"""A system of a URDF, and of a YAML file beside it that closes its loops, which URDF cannot say."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from kane_dynamics_ros.algebra import Vector
from kane_dynamics_ros.description import Robot, load_robot
from kane_dynamics_ros.systems.model import (
    GROUND,
    Body,
    Coincident,
    Constraint,
    Coupling,
    MultibodyError,
    Point,
    System,
    X,
    Y,
    Z,
)
from kane_dynamics_ros.yaml_text import load_yaml

KINDS = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed"}
KEYS = {  # what each entry of a file may hold, and must
    "loops": ({"link_a", "at_a", "link_b", "at_b", "along"}, {"link_a", "link_b"}),
    "couplings": ({"follower", "leader", "ratio", "offset"}, {"follower", "leader"}),
}
LARGEST = 100_000  # bytes of a file of loops


def load_system(urdf: str | Path, loops: str | Path | None = None) -> System:
    """The system of a URDF or xacro file, its loops closed as a YAML file says.

    The file holds lists: ``loops`` (``link_a``, ``at_a``, ``link_b``, ``at_b``: two points of links that
    coincide, each in its link's axes [m]; ``along``: in which directions of the root link, all by default),
    ``couplings`` (``follower``, ``leader``, ``ratio``, ``offset`` of joints), ``independent`` (joints), and a
    mapping ``posture`` (joints to positions from which a generated module closes the loops).

    Raises:
        MultibodyError: ``bad_file``, with the file's name and the entry. DescriptionError: of the URDF.
    """
    robot = load_robot(urdf)
    system = system_of_robot(robot)
    return system if loops is None else with_loops(system, robot, Path(loops), read_loops(Path(loops)))


def system_of_robot(robot: Robot) -> System:
    """Every body of a robot, in tree order; bodies and coordinates have the names of the joints.

    Mimic joints become couplings. Damping, friction and rotors are left out.

    Raises:
        MultibodyError: ``bad_body`` for a floating or planar joint: write it as several joints.
    """
    links = {link.name: link for link in robot.links}
    carried_by = {robot.root: GROUND}
    bodies: list[Body] = []
    waiting = [joint for joint in reversed(robot.joints) if joint.parent == robot.root]
    while waiting:  # depth first, in the file's order
        joint = waiting.pop()
        kind = KINDS.get(joint.kind)
        if kind is None:
            raise MultibodyError(
                f"joint {joint.name!r} is {joint.kind}; write it as prismatic and revolute joints in a row",
                "bad_body",
                body=joint.name,
            )
        own: dict[str, Any] = {
            "joint": kind,
            "axis": joint.axis,
            "at": joint.p_PoJo_P,
            "rotation": joint.R_PJ,
        }
        if (inertia := links[joint.child].inertia) is not None:
            (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.tensor
            own |= {"mass": inertia.mass, "com": inertia.com, "inertia": (xx, xy, xz, yy, yz, zz)}
        bodies.append(Body(joint.name, carried_by[joint.parent], **own))
        carried_by[joint.child] = joint.name
        waiting += [child for child in reversed(robot.joints) if child.parent == joint.child]
    couplings = tuple(
        Coupling(joint.name, joint.mimic.leader, joint.mimic.multiplier, joint.mimic.offset)
        for joint in robot.joints
        if joint.mimic is not None
    )
    return System(robot.name, tuple(bodies), couplings)


def with_loops(system: System, robot: Robot, path: Path, given: Mapping[str, Any]) -> System:
    """The system with the constraints that a file gave."""
    carried_by = {robot.root: GROUND} | {joint.child: joint.name for joint in robot.joints}
    constraints: list[Constraint] = list(system.constraints)
    for entry in _entries(path, given, "loops"):
        points = []
        for side in ("a", "b"):
            link = entry[f"link_{side}"]
            if link not in carried_by:
                raise _wrong(path, f"link {link!r} is not in the URDF; its links are {', '.join(carried_by)}")
            points.append(Point(carried_by[link], _vector(path, entry.get(f"at_{side}", [0, 0, 0]))))
        along = tuple(_vector(path, direction) for direction in entry.get("along", (X, Y, Z)))
        constraints.append(Coincident(points[0], points[1], along))
    for entry in _entries(path, given, "couplings"):
        numbers = {key: _number(path, entry[key]) for key in ("ratio", "offset") if key in entry}
        constraints.append(Coupling(entry["follower"], entry["leader"], **numbers))
    chosen = given.get("independent")
    if chosen is not None:
        if not (isinstance(chosen, list) and all(isinstance(name, str) for name in chosen)):
            raise _wrong(path, f"independent: found {chosen!r}; a list of joints is needed")
        chosen = tuple(chosen)
    return replace(system, constraints=tuple(constraints), independent=chosen)


def read_loops(path: Path) -> Mapping[str, Any]:
    """What a file of loops says. Raises ``MultibodyError``: ``bad_file``."""
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise _wrong(path, f"more than {LARGEST} bytes; a file of loops is short")
        given = load_yaml(text)
    except (OSError, yaml.YAMLError) as error:
        raise _wrong(path, f"cannot be read as YAML ({str(error).splitlines()[0]})") from error
    allowed = (*KEYS, "independent", "posture")
    if not isinstance(given, dict) or any(key not in allowed for key in given):
        raise _wrong(path, f"a mapping with some of {', '.join(allowed)} is needed")
    posture = given.get("posture", {})
    if not isinstance(posture, dict):
        raise _wrong(path, f"posture: found {posture!r}; a mapping from joints to positions is needed")
    for value in posture.values():
        _number(path, value)
    return given


def _entries(path: Path, given: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    entries = given.get(key, [])
    allowed, needed = KEYS[key]
    if not isinstance(entries, list):
        raise _wrong(path, f"{key}: a list is needed")
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict) or not needed <= set(entry) <= allowed:
            raise _wrong(
                path, f"{key}, entry {number}: found {entry!r}; its keys are {', '.join(sorted(allowed))}"
            )
    return entries


def _vector(path: Path, value: Any) -> Vector:
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        raise _wrong(path, f"found {value!r}; three numbers are needed")
    x, y, z = (_number(path, component) for component in value)
    return x, y, z


def _number(path: Path, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < float("inf"):
        raise _wrong(path, f"found {value!r}; a finite number is needed")
    return float(value)


def _wrong(path: Path, what: str) -> MultibodyError:
    return MultibodyError(f"{path}: {what}", "bad_file", path=path)
