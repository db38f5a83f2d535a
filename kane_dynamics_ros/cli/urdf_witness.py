"""A witness that reads the URDF itself: Pinocchio on the whole robot, its other joints held.

All other witnesses start from the ``Chain`` that the module was derived from, so that a fault of reading,
lumping or following would pass them all. This one shares only the XML parser: what an element means, which
joint follows which, where a held one stands, and what a rotor or a friction adds is decided here anew.
"""

import importlib
import math
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.description import Inertia
from kane_dynamics_ros.description.findings import Notes
from kane_dynamics_ros.description.xml_tree import Element, parse_xml, strip_namespace
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.formulation.witnesses.loads import Actuation

MOVING = ("revolute", "continuous", "prismatic")
PREFIX = "joint:"  # Pinocchio confuses a joint with a link of the same name
ROTORS = ("rotorInertia", "rotor_inertia", "motorInertia", "drake:rotor_inertia")
REDUCTIONS = ("mechanicalReduction", "mechanical_reduction")


class WitnessError(KaneDynamicsError):
    """The witness cannot judge a robot; code "not_installed" or "unreadable"."""


class Law(NamedTuple):
    """A joint's position is ``rate * q[coordinate] + offset``, or ``offset`` where ``coordinate`` is None."""

    coordinate: int | None
    rate: float
    offset: float


class UrdfWitness:
    """Inverse dynamics of the robot of a URDF's text in the coordinates of a module.

    Args:
        text: the URDF, expanded.
        coordinates: the module's joints; n of them.
        root, tip, locked: of the module.

    Raises:
        WitnessError: Pinocchio is not installed, or it refuses the URDF.
    """

    def __init__(
        self, text: bytes, coordinates: Sequence[str], root: str, tip: str, locked: Mapping[str, float]
    ) -> None:
        tree = parse_xml(text)
        strip_namespace(tree, Notes())
        self.pin = pin = _pinocchio()
        self.coordinates, self.root, self.locked = tuple(coordinates), root, locked
        self.joints = {joint.attributes["name"]: joint for joint in tree.all("joint")}
        try:
            self.laws = {name: self._law(name) for name in self.joints}
            self.model = pin.buildModelFromXML(_plain_urdf(tree, pin))
            frames = [self.model.frames[self.model.getFrameId(link)] for link in (root, tip)]
            self.rotors = {name: self._rotor(name, tree) for name in self.joints}
        except (ValueError, KeyError, IndexError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise WitnessError(f"Pinocchio cannot read this URDF: {reason}", "unreadable") from error
        self.data = self.model.createData()
        held = self._configuration(np.zeros(len(self.coordinates)))
        pin.framesForwardKinematics(self.model, self.data, held)
        self.R_0R = self.data.oMf[self.model.getFrameId(root)].rotation.copy()
        self.tip = frames[1]

    # Which joint follows which coordinate

    def _law(self, name: str) -> Law:
        """How a joint moves: with a coordinate that has its leader, or not at all."""
        if self.joints[name].attributes["type"].strip() not in MOVING:
            return Law(None, 0.0, 0.0)
        leader, m, b = self._led(name)
        if leader in self.locked or not self._carried(leader) or not self._carried(name):
            return Law(None, 0.0, m * self._rest(leader) + b)
        for index, coordinate in enumerate(self.coordinates):
            other, m_c, b_c = self._led(coordinate)
            if other == leader:  # q_leader = (q_c - b_c) / m_c
                return Law(index, m / m_c, b - m / m_c * b_c)
        return Law(None, 0.0, m * self._rest(leader) + b)

    def _led(self, name: str) -> tuple[str, float, float]:
        """(leader, m, b) with q = m q_leader + b; the joint itself, 1 and 0 where it follows none."""
        mimic = _first(self.joints[name], "mimic")
        if mimic is None or mimic.attributes.get("joint", "") not in self.joints:
            return name, 1.0, 0.0
        leader, m, b = self._led(mimic.attributes["joint"])
        own = _number(mimic, "multiplier", 1.0)
        return leader, own * m, own * b + _number(mimic, "offset", 0.0)

    def _rest(self, name: str) -> float:
        """Where a joint is held: as locked, or at 0 or the limit nearest to it."""
        limit = _first(self.joints[name], "limit")
        kind = self.joints[name].attributes["type"].strip()
        if name in self.locked:
            return self.locked[name]
        if limit is None or kind == "continuous":
            return 0.0
        lower, upper = _number(limit, "lower", 0.0), _number(limit, "upper", 0.0)
        return min(max(0.0, lower), upper) if lower <= upper else 0.0

    def _carried(self, name: str) -> bool:
        """Whether the root carries a joint."""
        return self.root in (link for link, _ in self._above(self.joints[name]))

    def _above(self, joint: Element) -> Iterator[tuple[str, Element]]:
        """The links from a joint's parent to the robot's root, each with the joint below it."""
        by_child = {_child_of(joint): joint for joint in self.joints.values()}
        below: Element | None = joint
        while below is not None:
            link = below.all("parent")[0].attributes["link"]
            yield link, below
            below = by_child.get(link)

    # What is compared

    @property
    def gravity(self) -> tuple[float, float, float]:
        """Free fall in the axes of the root link, where no joint above may tilt it; else along its -z."""
        below_root = next((joint for joint in self.joints.values() if _child_of(joint) == self.root), None)
        down = np.array((0.0, 0.0, -9.81))
        for _, joint in self._above(below_root) if below_root is not None else ():
            name, kind = joint.attributes["name"], joint.attributes["type"].strip()
            if kind in ("fixed", "prismatic") or name in self.locked:
                continue
            axis = self.data.oMf[self.model.getFrameId(PREFIX + name)].rotation @ _axis(joint)
            if kind == "floating" or np.linalg.norm(np.cross(axis, down)) > 1e-9:
                return (0.0, 0.0, -9.81)
        x, y, z = (float(value) for value in self.R_0R.T @ down)
        return (x, y, z)

    def actuation(self, coulomb_velocity: float) -> Actuation:
        """What rotors and friction add at each coordinate, by the power of all joints that it moves.

        For joints i with rates k_i: J = sum k_i^2 J_i, viscous d = sum k_i^2 d_i, Coulomb f = sum |k_i| f_i.
        """
        n = len(self.coordinates)
        J, d, f = np.zeros(n), np.zeros(n), np.zeros(n)
        for name, law in self.laws.items():
            if law.coordinate is not None:
                dynamics = _first(self.joints[name], "dynamics")
                J[law.coordinate] += law.rate**2 * self.rotors[name]
                d[law.coordinate] += law.rate**2 * _number(dynamics, "damping", 0.0)
                f[law.coordinate] += abs(law.rate) * _number(dynamics, "friction", 0.0)
        return Actuation(tuple(J.tolist()), tuple(d.tolist()), tuple(f.tolist()), coulomb_velocity)

    def rigid_effort(
        self, q: Array, qd: Array, qdd: Array, gravity: Sequence[float], payload: Inertia
    ) -> Array:
        """Effort of each coordinate (n,) [N m] or [N] for the rigid bodies and a payload in the tip frame.

        By the power of all joints i that follow coordinate j: tau_j = sum rate_i tau_i.
        """
        model = self.model.copy()
        model.gravity.linear = self.R_0R @ np.array(gravity)
        if payload.mass > 0.0:
            body = self.pin.Inertia(payload.mass, np.array(payload.com), np.array(payload.tensor))
            model.appendBodyToJoint(self.tip.parentJoint, body, self.tip.placement)
        V, A = np.zeros(model.nv), np.zeros(model.nv)
        moved = [(name, law) for name, law in self.laws.items() if law.coordinate is not None]
        for name, law in moved:
            V[self._index(name)] = law.rate * qd[law.coordinate]
            A[self._index(name)] = law.rate * qdd[law.coordinate]
        efforts = self.pin.rnea(model, model.createData(), self._configuration(q), V, A)
        tau = np.zeros(len(self.coordinates))
        for name, law in moved:
            tau[law.coordinate] += law.rate * efforts[self._index(name)]
        return tau

    def _index(self, name: str) -> int:
        return int(self.model.joints[self.model.getJointId(PREFIX + name)].idx_v)

    def _configuration(self, q: Array) -> Array:
        """Pinocchio's configuration; of a continuous joint it keeps cosine and sine."""
        Q: Array = self.pin.neutral(self.model)
        for name, law in self.laws.items():
            if self.joints[name].attributes["type"].strip() in MOVING:
                joint = self.model.joints[self.model.getJointId(PREFIX + name)]
                position = law.offset + (0.0 if law.coordinate is None else law.rate * q[law.coordinate])
                values = (position,) if joint.nq == 1 else (math.cos(position), math.sin(position))
                Q[joint.idx_q : joint.idx_q + joint.nq] = values
        return Q

    def _rotor(self, name: str, tree: Element) -> float:
        """The rotor inertia at a joint: ``armature``, or J r^2 of the one clear transmission that says so."""
        armature = _number(_first(self.joints[name], "dynamics"), "armature", 0.0)
        if armature > 0.0:
            return armature
        for place in (tree, *tree.all("ros2_control")):
            for transmission in place.all("transmission"):
                joints, actuators = transmission.all("joint"), transmission.all("actuator")
                if [joint.attributes.get("name") for joint in joints] != [name] or len(actuators) != 1:
                    continue
                parts = [*transmission.children, *joints[0].children, *actuators[0].children]
                J = {_value(part) for part in parts if part.tag in ROTORS}
                r = {_value(part) for part in parts if part.tag in REDUCTIONS}
                if any(part.tag.startswith("drake:") for part in parts):
                    r = r - {1.0} | {_value(part) for part in parts if part.tag == "drake:gear_ratio"} or {
                        1.0
                    }
                if len(J) == len(r) == 1 and 0.0 not in r:
                    return J.pop() * r.pop() ** 2
        return 0.0


def _pinocchio() -> ModuleType:
    try:
        pinocchio = importlib.import_module("pinocchio")
    except ImportError as error:
        message = "Pinocchio is not installed (python3 -m pip install pin)"
        raise WitnessError(message, "not_installed") from error
    return pinocchio


# The elements, as XML says them


def _first(element: Element, tag: str) -> Element | None:
    return next(iter(element.all(tag)), None)


def _number(element: Element | None, name: str, default: float) -> float:
    text = "" if element is None else element.attributes.get(name, "").strip()
    return float(text) if text else default


def _value(element: Element) -> float:
    return float(element.attributes.get("value", element.text))


def _child_of(joint: Element) -> str:
    return joint.all("child")[0].attributes["link"]


def _axis(joint: Element) -> Array:
    axis = _first(joint, "axis")
    text = "1 0 0" if axis is None else axis.attributes.get("xyz", "1 0 0")
    xyz: Array = np.array([float(word) for word in text.split()])
    return np.asarray(xyz / np.linalg.norm(xyz), float)


def _plain_urdf(tree: Element, pin: Any) -> str:
    """The URDF with its links' inertias and its joints alone, in the plainest form, for urdfdom."""
    parts = []
    for link in tree.all("link"):
        inertial = _first(link, "inertial")
        parts.append(
            f"<link name={quoteattr(link.attributes['name'])}>{_plain_inertial(inertial, pin)}</link>"
        )
    for joint in tree.all("joint"):
        name, kind = PREFIX + joint.attributes["name"], joint.attributes["type"].strip()
        parent = joint.all("parent")[0].attributes["link"]
        moving = ""
        if kind in MOVING:
            xyz = " ".join(map(repr, _axis(joint).tolist()))
            moving = f'<axis xyz="{xyz}"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
        parts.append(
            f'<joint name={quoteattr(name)} type="{kind if moving else "fixed"}">'
            f"<parent link={quoteattr(parent)}/><child link={quoteattr(_child_of(joint))}/>"
            f"{_plain_origin(joint, pin)}{moving}</joint>"
        )
    return f'<robot name="robot">{"".join(parts)}</robot>'


def _plain_inertial(inertial: Element | None, pin: Any) -> str:
    if inertial is None:
        return ""
    mass, tensor = _first(inertial, "mass"), _first(inertial, "inertia")
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    moments = " ".join(f'{name}="{_number(tensor, name, 0.0)!r}"' for name in names)
    origin = _plain_origin(inertial, pin)
    return f'<inertial>{origin}<mass value="{_number(mass, "value", 0.0)!r}"/><inertia {moments}/></inertial>'


def _plain_origin(owner: Element, pin: Any) -> str:
    """``<origin>`` with xyz and rpy."""
    origin = _first(owner, "origin")
    given = {} if origin is None else origin.attributes
    rpy = given.get("rpy", "0 0 0")
    if "quat_xyzw" in given:
        quaternion = pin.Quaternion(np.array([float(word) for word in given["quat_xyzw"].split()]))
        turns = pin.rpy.matrixToRpy(quaternion.normalized().matrix())
        rpy = " ".join(map(repr, turns.tolist()))
    return f"<origin xyz={quoteattr(given.get('xyz', '0 0 0'))} rpy={quoteattr(rpy)}/>"
