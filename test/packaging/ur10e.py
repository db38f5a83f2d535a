"""A UR10e from the figures that its maker publishes: DH parameters, masses, centres of mass, limits."""

import math
from pathlib import Path

from small_urdf import joint, link, robot

# d [m], a [m], alpha [rad], mass [kg], centre of mass in the DH frame [m], moments of inertia about it
# [kg m^2], effort [N m], speed [rad/s], largest angle [rad]
HALF = math.pi / 2
JOINTS = {
    "shoulder_pan": (
        0.1807,
        0.0,
        HALF,
        7.369,
        (0.021, 0.0, 0.027),
        (0.0341, 0.0353, 0.0216),
        330.0,
        2.09,
        6.28,
    ),
    "shoulder_lift": (
        0.0,
        -0.6127,
        0.0,
        13.051,
        (0.38, 0.0, 0.158),
        (0.0281, 0.7707, 0.7694),
        330.0,
        2.09,
        6.28,
    ),
    "elbow": (0.0, -0.57155, 0.0, 3.989, (0.24, 0.0, 0.068), (0.0101, 0.3093, 0.3065), 150.0, 3.14, 3.14),
    "wrist_1": (0.17415, 0.0, HALF, 2.1, (0.0, 0.007, 0.018), (0.0030, 0.0022, 0.0026), 56.0, 3.14, 6.28),
    "wrist_2": (0.11985, 0.0, -HALF, 1.98, (0.0, 0.007, 0.018), (0.0030, 0.0022, 0.0026), 56.0, 3.14, 6.28),
    "wrist_3": (0.11655, 0.0, 0.0, 0.615, (0.0, 0.0, -0.026), (0.0003, 0.0004, 0.0003), 56.0, 3.14, 6.28),
}


def ur10e_urdf(folder: Path) -> Path:
    """Write its URDF: a link's frame is its joint's, about whose z axis it turns."""
    parts, parent, xyz, rpy = [link("base", "")], "base", "0 0 0", "0 0 0"
    for name, (d, a, alpha, mass, com, moments, effort, speed, largest) in JOINTS.items():
        x, y, z = com
        centre = (
            a + x,
            math.cos(alpha) * y - math.sin(alpha) * z,
            d + math.sin(alpha) * y + math.cos(alpha) * z,
        )
        tensor = " ".join(
            f'{key}="{value}"' for key, value in zip(("ixx", "iyy", "izz"), moments, strict=True)
        )
        place = " ".join(map(repr, centre))
        inertia = (
            f'<inertial><origin xyz="{place}" rpy="{alpha!r} 0 0"/><mass value="{mass}"/>'
            f'<inertia {tensor} ixy="0" ixz="0" iyz="0"/></inertial>'
        )
        limit = f'<limit lower="{-largest}" upper="{largest}" velocity="{speed}" effort="{effort}"/>'
        inside = f'<axis xyz="0 0 1"/>{limit}'
        parts += [link(name, inertia), joint(f"{name}_joint", parent, name, inside=inside, xyz=xyz, rpy=rpy)]
        parent, xyz, rpy = name, f"{a!r} 0 {d!r}", f"{alpha!r} 0 0"
    urdf = folder / "ur10e.urdf"
    urdf.write_text(robot(*parts, attributes='name="ur10e"'), encoding="utf-8")
    return urdf
