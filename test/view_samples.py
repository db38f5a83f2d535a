"""A playback of the reference robot's demonstration motion, for the tests of the viewer."""

import json
import re
from pathlib import Path

import numpy as np

from kane_dynamics_ros.cli.demo_tracking import DURATION, reference
from kane_dynamics_ros.viewing.page import Curve, Playback, Quantity

URDF = Path(__file__).parents[1] / "urdf" / "manipulator_5dof.urdf"
JOINTS = ("gamma_1", "alpha_2", "alpha_3", "beta_4", "gamma_4")
START = np.array([0.0, 0.9, -1.2, 0.3, 0.5])
TIMES = np.linspace(0.0, DURATION, 401)
LAG = 0.2  # [s] of the robot behind its reference


def motion_at(times):
    """Positions (n, N) of the robot and of its reference."""
    return reference(np.asarray(times) - LAG, START).q.T, reference(times, START).q.T


def sample_playback(title="a run", urdf=None):
    robot, wanted = motion_at(TIMES)
    torque = (Curve("commanded", "reference", 10 * wanted), Curve("measured", "motion", 10 * robot))
    position = (Curve("reference", "reference", wanted), Curve("robot", "motion", robot))
    return Playback(
        title=title,
        urdf=URDF.read_text() if urdf is None else urdf,
        meshes={},
        joints=JOINTS,
        tip="tool",
        times=TIMES,
        motion_label="robot",
        position=robot,
        reference=wanted,
        quantities=(
            Quantity("torque", ("N m",) * 5, torque),
            Quantity("position", ("rad",) * 5, position),
        ),
    )


def embedded(text):
    """The playback that the page carries, as a browser would read it."""
    return json.loads(
        re.search(r'<script id="playback" type="application/json">(.*?)</script>', text, re.S)[1]
    )
