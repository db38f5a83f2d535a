"""A witness that reads the URDF itself: Pinocchio on the whole robot, its other joints held.

All other witnesses start from the ``Chain`` that the module was derived from, so that a fault of reading,
lumping or following would pass them all. This one shares only the XML parser: what an element means, which
joint follows which, where a held one stands, and what a rotor or a friction adds is decided here anew.
"""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.description import Inertia
from kane_dynamics_ros.description.xml_tree import Element, parse_urdf
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.formulation.witnesses.loads import Actuation

MOVING = ("revolute", "continuous", "prismatic")
ROTORS = ("rotorInertia", "rotor_inertia", "motorInertia", "drake:rotor_inertia")
REDUCTIONS = ("mechanicalReduction", "mechanical_reduction")
DOWN = (0.0, 0.0, -9.81)
Names = Sequence[str]


class WitnessError(KaneDynamicsError):
    """The witness cannot judge a robot; code "not_installed" or "unreadable"."""


class UrdfWitness:
    """Inverse dynamics of the robot of a URDF's text in the n coordinates of a module.

    Its m moving joints are at K q + b, with K (m, n): a follower has its leader's row times its multiplier.

    Args:
        text: the URDF, expanded.
        coordinates: the module's joints; n of them.
        root, tips, locked: of the module.

    Raises:
        WitnessError: Pinocchio is not installed, or a number of the URDF cannot be read.
    """

    def __init__(
        self, text: bytes, coordinates: Names, root: str, tips: Names, locked: Mapping[str, float]
    ) -> None:
        try:
            self.pin: Any = importlib.import_module("pinocchio")
        except ImportError as error:
            message = "Pinocchio is not installed (python3 -m pip install pin)"
            raise WitnessError(message, "not_installed") from error
        tree = parse_urdf(text)
        self.coordinates, self.root, self.locked = tuple(coordinates), root, locked
        self.joints = {joint.attributes["name"]: joint for joint in tree.all("joint")}
        self.above = {_link(joint, "child"): joint for joint in self.joints.values()}
        try:
            self._build(tree)
            self.tips = [self.place[tip] for tip in tips]
            self.R_0R = self.place[root][1].rotation
            self.rotors = np.array([_rotor(self.joints[name], tree) for name in self.moving])
        except (ValueError, KeyError, IndexError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise WitnessError(f"Pinocchio cannot read this URDF: {reason}", "unreadable") from error

    def _build(self, tree: Element) -> None:
        """Pinocchio's model, link by link from the robot's root.

        ``place``: of each link, the Pinocchio joint that moves it, 0 for none, and its frame in that joint's.
        """
        pin, links = self.pin, {link.attributes["name"]: link for link in tree.all("link")}
        self.model = pin.Model()
        self.place = {name: (0, pin.SE3.Identity()) for name in links if name not in self.above}
        self.moving: list[str] = []
        K: list[Array] = []
        b: list[float] = []
        pending = list(self.place)
        while pending:
            link = pending.pop()
            mover, frame = self.place[link]
            for inertial in links[link].all("inertial")[:1]:
                self.model.appendBodyToJoint(mover, self._body(inertial), frame * self._origin(inertial))
            for name, joint in self.joints.items():
                if _link(joint, "parent") != link:
                    continue
                row, offset = self._law(name)
                child, at = _link(joint, "child"), frame * self._origin(joint)
                if row.any():
                    slides = _kind(joint) == "prismatic"
                    kind = pin.JointModelPrismaticUnaligned if slides else pin.JointModelRevoluteUnaligned
                    index = self.model.addJoint(mover, kind(_axis(joint)), at, f"joint {len(K)}")
                    self.place[child] = index, pin.SE3.Identity()
                    self.moving, K, b = [*self.moving, name], [*K, row], [*b, offset]
                else:
                    self.place[child] = mover, at * self._displaced(joint, offset)
                pending.append(child)
        self.K = np.array(K).reshape(len(K), len(self.coordinates))
        self.b = np.array(b)

    def _displaced(self, joint: Element, position: float) -> Any:
        """How a held joint stands."""
        R, p = np.eye(3), np.zeros(3)
        if _kind(joint) == "prismatic":
            p = position * _axis(joint)
        elif _kind(joint) in MOVING:
            R = self.pin.AngleAxis(position, _axis(joint)).toRotationMatrix()
        return self.pin.SE3(R, p)

    def _origin(self, owner: Element) -> Any:
        """The pose in ``<origin>``."""
        origin = owner.first("origin")
        given = {} if origin is None else origin.attributes
        R = self.pin.rpy.rpyToMatrix(_numbers(given.get("rpy", "0 0 0")))
        if "quat_xyzw" in given:
            R = self.pin.Quaternion(_numbers(given["quat_xyzw"])).normalized().matrix()
        return self.pin.SE3(R, _numbers(given.get("xyz", "0 0 0")))

    def _body(self, inertial: Element) -> Any:
        """Mass and tensor of ``<inertial>``, about the centre of mass."""
        tensor = inertial.first("inertia")
        six = (_number(tensor, name, 0.0) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        xx, xy, xz, yy, yz, zz = six
        body = self.pin.Inertia.Zero()
        body.mass = _number(inertial.first("mass"), "value", 0.0)
        body.inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return body

    # Which joint follows which coordinate

    def _law(self, name: str) -> tuple[Array, float]:
        """A joint's row of K and entry of b: it moves with a coordinate of the same leader, or not at all."""
        row = np.zeros(len(self.coordinates))
        if _kind(self.joints[name]) not in MOVING:
            return row, 0.0
        leader, m, b = self._led(name)
        if leader not in self.locked and self._carried(leader) and self._carried(name):
            for index, coordinate in enumerate(self.coordinates):
                other, m_c, b_c = self._led(coordinate)
                if other == leader:  # q_leader = (q_c - b_c) / m_c
                    row[index] = m / m_c
                    return row, b - m / m_c * b_c
        return row, m * self._rest(leader) + b

    def _led(self, name: str) -> tuple[str, float, float]:
        """(leader, m, b) with q = m q_leader + b; the joint itself, 1 and 0 where it follows none."""
        mimic = self.joints[name].first("mimic")
        if mimic is None or mimic.attributes.get("joint", "") not in self.joints:
            return name, 1.0, 0.0
        leader, m, b = self._led(mimic.attributes["joint"])
        own = _number(mimic, "multiplier", 1.0)
        return leader, own * m, own * b + _number(mimic, "offset", 0.0)

    def _rest(self, name: str) -> float:
        """Where a joint is held: as locked, or at 0 or the limit nearest to it."""
        limit = self.joints[name].first("limit")
        if name in self.locked:
            return self.locked[name]
        if limit is None or _kind(self.joints[name]) == "continuous":
            return 0.0
        lower, upper = _number(limit, "lower", 0.0), _number(limit, "upper", 0.0)
        return min(max(0.0, lower), upper) if lower <= upper else 0.0

    def _carried(self, name: str) -> bool:
        """Whether the root carries a joint."""
        below = _link(self.joints[name], "child")
        return any(_link(joint, "parent") == self.root for joint in self._up(below))

    def _up(self, link: str) -> Iterator[Element]:
        """The joints from a link to the robot's root."""
        while link in self.above:
            yield self.above[link]
            link = _link(self.above[link], "parent")

    # What is compared

    @property
    def gravity(self) -> tuple[float, float, float]:
        """Free fall in the axes of the root link, where no joint above may tilt it; else along its -z."""
        for joint in self._up(self.root):
            kind = _kind(joint)
            if kind in ("fixed", "prismatic") or joint.attributes["name"] in self.locked:
                continue
            axis = self.place[_link(joint, "child")][1].rotation @ _axis(joint)  # it turns about this
            if kind == "floating" or np.linalg.norm(np.cross(axis, DOWN)) > 1e-9:
                return DOWN
        x, y, z = (float(value) for value in self.R_0R.T @ np.array(DOWN))
        return (x, y, z)

    def actuation(self, coulomb_velocity: float) -> Actuation:
        """What rotors and friction add at each coordinate, by the power of all joints that it moves.

        For joints i with rates k_i: J = sum k_i^2 J_i, viscous d = sum k_i^2 d_i, Coulomb f = sum |k_i| f_i.
        """
        dynamics = [self.joints[name].first("dynamics") for name in self.moving]
        damping, friction = (
            np.array([_number(each, name, 0.0) for each in dynamics]) for name in ("damping", "friction")
        )
        J, d, f = self.rotors @ self.K**2, damping @ self.K**2, friction @ np.abs(self.K)
        return Actuation(tuple(J.tolist()), tuple(d.tolist()), tuple(f.tolist()), coulomb_velocity)

    def effort(
        self,
        q: Array,
        qd: Array,
        qdd: Array,
        gravity: Sequence[float],
        payloads: Sequence[Inertia],
        actuation: Actuation,
    ) -> Array:
        """Effort of each coordinate (n,) [N m] or [N], with a payload in each tip's frame.

        Of the rigid bodies by the power of all joints: tau = K^T tau_joints.
        """
        model = self.model.copy()
        model.gravity.linear = self.R_0R @ np.array(gravity)
        for (mover, frame), payload in zip(self.tips, payloads, strict=True):
            if payload.mass > 0.0:
                body = self.pin.Inertia(payload.mass, np.array(payload.com), np.array(payload.tensor))
                model.appendBodyToJoint(mover, body, frame)
        state = self.K @ q + self.b, self.K @ qd, self.K @ qdd
        rigid = self.K.T @ self.pin.rnea(model, model.createData(), *state)
        return np.asarray(rigid + actuation.effort(qd, qdd), float)


# The elements, as XML says them


def _rotor(joint: Element, tree: Element) -> float:
    """The rotor inertia at a joint: ``armature``, or J r^2 of the one clear transmission that says so."""
    armature = _number(joint.first("dynamics"), "armature", 0.0)
    if armature > 0.0:
        return armature
    for place in (tree, *tree.all("ros2_control")):
        for transmission in place.all("transmission"):
            joints, actuators = transmission.all("joint"), transmission.all("actuator")
            names = [each.attributes.get("name") for each in joints]
            if names != [joint.attributes["name"]] or len(actuators) != 1:
                continue
            parts = [*transmission.children, *joints[0].children, *actuators[0].children]
            J = {_value(part) for part in parts if part.tag in ROTORS}
            r = {_value(part) for part in parts if part.tag in REDUCTIONS}
            if any(part.tag.startswith("drake:") for part in parts):
                r = r - {1.0} | {_value(part) for part in parts if part.tag == "drake:gear_ratio"} or {1.0}
            if len(J) == len(r) == 1 and 0.0 not in r:
                return J.pop() * r.pop() ** 2
    return 0.0


def _number(element: Element | None, name: str, default: float) -> float:
    text = "" if element is None else element.attributes.get(name, "").strip()
    return float(text) if text else default


def _numbers(text: str) -> Array:
    return np.array([float(word) for word in text.split()])


def _value(element: Element) -> float:
    return float(element.attributes.get("value", element.text))


def _kind(joint: Element) -> str:
    return joint.attributes["type"].strip()


def _link(joint: Element, role: str) -> str:
    return joint.all(role)[0].attributes["link"]


def _axis(joint: Element) -> Array:
    axis = joint.first("axis")
    xyz = _numbers("1 0 0" if axis is None else axis.attributes.get("xyz", "1 0 0"))
    return np.asarray(xyz / np.linalg.norm(xyz), float)
