"""A verdict's curves as a record to play: the recorded motion, efforts measured and predicted."""

from pathlib import Path

import numpy as np

from kane_dynamics_ros.description import DescriptionError
from kane_dynamics_ros.replay.estimation.observation import Observation
from kane_dynamics_ros.replay.verdict.verdict import Analysis
from kane_dynamics_ros.replay.viewing.page import Quantity, Record, Series, page
from kane_dynamics_ros.replay.viewing.shown_robot import ShownRobot, robot_from_file, robot_from_text

MOST_SAMPLES = 3000
POSITION_UNITS = {"N m": "rad", "N": "m"}


def write_view(observation: Observation, analysis: Analysis, urdf: Path | None, file: Path) -> bool:
    """Write the page; False, and no page, where nothing usable says what the robot looks like.

    ``urdf`` stands in for a description that the bag has lost.
    """
    try:
        robot = recorded_robot(observation, urdf)
    except DescriptionError:
        return False
    if robot is None:
        return False
    file.write_text(page(record_of_analysis(observation, analysis, robot)), encoding="utf-8")
    return True


def recorded_robot(observation: Observation, urdf: Path | None) -> ShownRobot | None:
    """The robot that the bag describes, else the user's file. Raises ``DescriptionError``."""
    bag = observation.bag
    if observation.description is not None:
        return robot_from_text(observation.description, f"robot_description in {bag}", bag.parent, None)
    return None if urdf is None else robot_from_file(urdf, None)


def record_of_analysis(observation: Observation, analysis: Analysis, robot: ShownRobot) -> Record:
    """The motion as it was filtered for the verdict, thinned to what a page needs."""
    comparison = analysis.comparison
    thin = slice(None, None, max(1, len(comparison.time) // MOST_SAMPLES))
    position = np.concatenate([stretch.q for stretch in analysis.motion.stretches])[thin].T
    units = tuple(joint.unit for joint in analysis.verdict.joints)
    measured = Series("measured", "motion", comparison.measured[thin].T)
    predicted = Series("predicted", "reference", comparison.predicted[thin].T)
    residual = Series("measured minus predicted", "motion", comparison.residual[thin].T)
    return Record(
        title=f"{robot.chain.robot}: {observation.bag.name}",
        urdf=robot.urdf,
        meshes=robot.meshes,
        joints=observation.joints,
        tip=robot.chain.tip,
        times=comparison.time[thin] - comparison.time[0],
        motionLabel="robot",
        position=position,
        reference=None,
        quantities=(
            Quantity("torque: measured, predicted (dashed)", units, (measured, predicted)),
            Quantity("residual torque", units, (residual,)),
            Quantity(
                "position",
                tuple(POSITION_UNITS.get(unit, "rad") for unit in units),
                (Series("robot", "motion", position),),
            ),
        ),
    )
