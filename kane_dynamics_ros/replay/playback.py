"""What a page plays: a bag beside the reference that the node stated, or the curves behind a verdict."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.description import Chain, DescriptionError
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.replay.bag import open_bag
from kane_dynamics_ros.replay.errors import BagError, joint_mismatch
from kane_dynamics_ros.replay.messages import JOINT_STATE_TYPE, JointStateDecoder, JointStates
from kane_dynamics_ros.replay.motion import unwrapped
from kane_dynamics_ros.replay.recording import read_recording, set_aside
from kane_dynamics_ros.replay.verdict import Analysis
from kane_dynamics_ros.text import named
from kane_dynamics_ros.viewing.page import (
    Curve,
    Playback,
    ShownRobot,
    ViewOptions,
    moving,
    page,
    robot_from_file,
    robot_from_text,
)

MOST_SAMPLES = 3000
FINEST_STEP = 0.01  # [s]
REFERENCE_TOPIC = "/feedforward"  # how the topic of the stated reference ends


# A bag


def playback_of_bag(
    bag: Path, urdf: Path | None, options: ViewOptions | None = None
) -> tuple[Playback, list[str]]:
    """The playback, and warnings about the bag and the meshes. Raises ``BagError``, ``DescriptionError``."""
    recording = read_recording(bag, joints=())
    robot = _robot(bag, recording.description if urdf is None else None, urdf, options or ViewOptions())
    if robot is None:
        raise BagError(
            f"{bag}: no robot_description was recorded; give the robot with --urdf FILE",
            "no_description",
            bag=bag,
        )
    joints = robot.chain.coordinates
    state_decoder, reference_decoder = JointStateDecoder(joints), JointStateDecoder(joints)
    with open_bag(bag) as opened:
        decoders = {
            topic.name: reference_decoder
            for topic in opened.topics()
            if topic.type == JOINT_STATE_TYPE and topic.name.endswith(REFERENCE_TOPIC)
        }
        decoders[recording.topic] = state_decoder
        for block in opened.blocks(decoders):
            decoders[block.topic].add(block)
    recorded = state_decoder.result()
    if not set(recorded.found) & set(joints):
        raise joint_mismatch(bag, recording.topic, joints, recorded.found)
    states, impossible = set_aside(recorded)
    reference, _ = set_aside(reference_decoder.result())
    # even times [ns] from the first stamp to the last, no closer and no more than a page needs
    first, last = float(states.stamps.min()), float(states.stamps.max())
    count = min(MOST_SAMPLES, int((last - first) / (1e9 * FINEST_STEP)) + 2)
    times = np.linspace(first, last, count)
    position, effort = _sampled(states, times, robot.chain)
    shown = moving(1e-9 * (times - first), position.T)
    times, position, effort = times[shown], position[:, shown], effort[:, shown]
    torques, positions = [Curve("measured", "motion", effort)], [Curve("robot", "motion", position)]
    errors = []
    wanted: Array | None = None
    if len(reference.stamps):
        wanted, commanded = _sampled(reference, times, robot.chain)
        torques.append(Curve("commanded", "reference", commanded))
        positions.append(Curve("reference", "reference", wanted))
        errors.append(robot.position("tracking error", Curve("error", "motion", position - wanted)))
    title = f"{bag.resolve().parent.name}/{bag.resolve().name}"
    quantities = robot.effort("torque", *torques), robot.position("position", *positions), *errors
    playback = robot.playback(title, 1e-9 * (times - times[0]), "robot", position, quantities)
    warnings = [*recording.damages, *map(str, impossible), *robot.meshes.warnings]
    if untold := [name for name in joints if name not in recorded.found]:
        warnings.append(f"{named('joint', untold)}: no position was recorded; shown at 0")
    return replace(playback, reference=wanted), warnings


def _robot(bag: Path, description: str | None, urdf: Path | None, options: ViewOptions) -> ShownRobot | None:
    """The robot that the bag describes, else that of a file, else none. Raises ``DescriptionError``."""
    if description is not None:
        return robot_from_text(description, f"robot_description in {bag}", bag.parent, options)
    return None if urdf is None else robot_from_file(urdf, options)


def _sampled(states: JointStates, times: Array, chain: Chain) -> tuple[Array, Array]:
    """Position and effort (n, N) at given times [ns], between stamps linear; NaN where never told."""
    order = np.argsort(states.stamps, kind="stable")
    stamps = states.stamps[order]
    turning = [j for j, joint in enumerate(chain.leaders) if joint.kind != "prismatic"]

    def at(values: Array) -> Array:
        told = np.isfinite(values)
        return np.interp(times, stamps[told], values[told]) if told.any() else np.full(len(times), np.nan)

    position, effort = unwrapped(stamps, states.position[order], turning), states.effort[order]
    return np.array([at(column) for column in position.T]), np.array([at(column) for column in effort.T])


# A verdict's curves


def write_view(
    analysis: Analysis, urdf: Path | None, file: Path, xacro: Mapping[str, str] | None = None
) -> tuple[bool, list[str]]:
    """Write the page, with the model's chain in the robot: the motion as it was filtered for the verdict.

    Returns False, and writes no page, where nothing usable says what the robot looks like.

    ``urdf`` stands in for a description that the bag has lost, expanded with the arguments ``xacro``.
    Returns warnings too, of meshes not shown. Raises ``OutputFileError``.
    """
    bag, description = analysis.verdict.bag, analysis.estimated.recording.description
    model, comparison = analysis.model, analysis.comparison
    given = {"xacro_arguments": xacro or {}} if description is None else {}
    options = ViewOptions(model.root, model.tips, model.locked, given)
    try:
        robot = _robot(bag, description, urdf, options)
    except DescriptionError as error:
        return False, [f"{file.name} is not written: {error}"]
    if robot is None:
        return False, []
    thin = slice(None, None, max(1, len(comparison.time) // MOST_SAMPLES))  # to what a page needs
    position = np.concatenate([interval.q for interval in analysis.estimated.motion.compared])[thin].T
    measured = Curve("measured", "motion", comparison.measured[thin].T)
    predicted = Curve("predicted", "reference", comparison.predicted[thin].T)
    residual = Curve("measured minus predicted", "motion", comparison.residual[thin].T)
    quantities = (
        robot.effort("torque: measured, predicted (dashed)", measured, predicted),
        robot.effort("residual torque", residual),
        robot.position("position", Curve("robot", "motion", position)),
    )
    times = comparison.time[thin] - comparison.time[0]
    write_file(file, page(robot.playback(bag.name, times, "robot", position, quantities)))
    return True, robot.meshes.warnings
