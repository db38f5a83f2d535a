"""``<origin>`` to a Placement."""

import math

from kane_dynamics_ros.description.attributes import Reader
from kane_dynamics_ros.description.geometry import Placement, rotation_quaternion, rotation_rpy
from kane_dynamics_ros.description.model import Matrix
from kane_dynamics_ros.description.value_errors import OrientationError

SHORTEST_QUATERNION = 1e-6
MOST_RADIANS = 2 * math.pi * 1.001  # [rad] nobody turns a frame further; 90 and 180 are degrees


def read_origin(owner: Reader) -> Placement:
    """``<origin xyz rpy>``: position, and turns about the parent's fixed axes X, Y, Z; absent means 0.

    Newer URDFs may give ``quat_xyzw`` in place of ``rpy``. Raises ``OrientationError``.
    """
    origin = owner.child("origin")
    if origin is None:
        return Placement()
    return Placement(read_orientation(origin), origin.vector("xyz"))


def read_orientation(origin: Reader) -> Matrix:
    """R of ``rpy`` or ``quat_xyzw``; the identity where neither is given."""
    if "quat_xyzw" in origin.element.attributes:
        if "rpy" in origin.element.attributes:
            raise OrientationError(origin.place, "both rpy and quat_xyzw are given")
        x, y, z, w = origin.numbers("quat_xyzw", 4)
        if math.hypot(x, y, z, w) < SHORTEST_QUATERNION:
            raise OrientationError(origin.place, "quat_xyzw is 0")
        return rotation_quaternion(x, y, z, w)
    rpy = origin.vector("rpy")
    if max(map(abs, rpy)) > MOST_RADIANS:
        written = " ".join(map(repr, rpy))
        origin.notes.add("KD507", f"rpy is {written} rad: degrees written for radians?", *origin.place[1:])
    return rotation_rpy(*rpy)
