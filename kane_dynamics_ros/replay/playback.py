"""What a page plays: a bag beside the reference that the node stated, or the curves behind a verdict."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.description import Chain, DescriptionError
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.replay.bag import open_bag
from kane_dynamics_ros.replay.errors import BagError, joint_mismatch
from kane_dynamics_ros.replay.messages import JOINT_STATE_TYPE, JointStateDecoder, JointStates
from kane_dynamics_ros.replay.motion import EstimatedRecording, unwrapped
from kane_dynamics_ros.replay.recording import Recording, read_recording, set_aside
from kane_dynamics_ros.replay.verdict import Analysis
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.viewing.page import Curve, Playback, Quantity, moving, page
from kane_dynamics_ros.viewing.shown_robot import ShownRobot, ViewOptions, robot_from_file, robot_from_text

MOST_SAMPLES = 3000
FINEST_STEP = 0.01  # [s]
REFERENCE_TOPIC = "/feedforward"  # how the topic of the stated reference ends
POSITION_UNITS = {"N m": "rad", "N": "m"}  # by the effort's


# A bag


def playback_of_bag(
    bag: Path, urdf: Path | None, options: ViewOptions | None = None
) -> tuple[Playback, list[str]]:
    """The playback, and warnings about the bag and the meshes. Raises ``BagError``, ``DescriptionError``."""
    recording = read_recording(bag, joints=())
    options = options or ViewOptions()
    robot = _robot(bag, recording.description if urdf is None else None, urdf, options)
    if robot is None:
        raise BagError(
            f"{bag}: no robot_description was recorded; give the robot with --urdf FILE",
            "no_description",
            bag=bag,
        )
    recorded, wished = read_states(recording, robot.chain)
    states, impossible = set_aside(recorded)
    reference, _ = set_aside(wished)
    warnings = [*recording.damages, *map(str, impossible), *robot.meshes.warnings]
    times = time_grid(states.stamps)
    times = times[moving(1e-9 * (times - times[0]), Samples(states, times, robot.chain).position.T)]
    motion = Samples(states, times, robot.chain)
    wanted = Samples(reference, times, robot.chain) if len(reference.stamps) else None
    playback = Playback(
        title=f"{robot.chain.robot}: {bag.resolve().parent.name}/{bag.resolve().name}",
        urdf=robot.urdf,
        meshes=robot.meshes.by_name,
        joints=robot.chain.coordinates,
        tip=robot.chain.tip,
        times=1e-9 * (times - times[0]),
        motion_label="robot",
        position=motion.position,
        reference=wanted.position if wanted else None,
        quantities=quantities(robot, motion, wanted),
        held=robot.held,
        note=robot.meshes.note,
    )
    return playback, warnings


def _robot(bag: Path, description: str | None, urdf: Path | None, options: ViewOptions) -> ShownRobot | None:
    """The robot that the bag describes, else that of a file, else none. Raises ``DescriptionError``."""
    if description is not None:
        return robot_from_text(description, f"robot_description in {bag}", bag.parent, options)
    return None if urdf is None else robot_from_file(urdf, options)


def read_states(recording: Recording, chain: Chain) -> tuple[JointStates, JointStates]:
    """The joint states, and the reference that ``feedforward_node`` stated (empty when there is none).

    Raises ``JointMismatchError`` where the bag has no joint of the robot.
    """
    joints = chain.coordinates
    states, reference = JointStateDecoder(joints), JointStateDecoder(joints)
    with open_bag(recording.bag) as bag:
        decoders = {
            topic.name: reference
            for topic in bag.topics()
            if topic.type == JOINT_STATE_TYPE and topic.name.endswith(REFERENCE_TOPIC)
        }
        decoders[recording.topic] = states
        for block in bag.blocks(decoders):
            decoders[block.topic].add(block)
    found = states.result()
    if not set(found.found) & set(joints):
        raise joint_mismatch(recording.bag, recording.topic, joints, found.found)
    return found, reference.result()


def time_grid(stamps: NDArray[np.int64]) -> NDArray[np.float64]:
    """Even times [ns] from the first stamp to the last, no closer and no more than a page needs."""
    first, last = float(stamps.min()), float(stamps.max())
    count = min(MOST_SAMPLES, int((last - first) / (1e9 * FINEST_STEP)) + 2)
    return np.linspace(first, last, count)


class Samples:
    """Joint states at given times [ns]: ``position`` and ``effort`` (n, N); NaN where never told."""

    def __init__(self, states: JointStates, times: Array, chain: Chain) -> None:
        order = np.argsort(states.stamps, kind="stable")
        stamps = states.stamps[order]
        kinds = {joint.name: joint.kind for joint in chain.joints}
        turning = [j for j, name in enumerate(chain.coordinates) if kinds[name] != "prismatic"]
        position = unwrapped(states.position[order], turning)
        self.position = np.array([at(times, stamps, column) for column in position.T])
        self.effort = np.array([at(times, stamps, column) for column in states.effort[order].T])


def at(times: Array, stamps: NDArray[np.int64], values: Array) -> Array:
    """Values of one joint between its stamps; before the first and after the last, those."""
    told = np.isfinite(values)
    return np.interp(times, stamps[told], values[told]) if told.any() else np.full(len(times), np.nan)


def quantities(robot: ShownRobot, motion: Samples, wanted: Samples | None) -> tuple[Quantity, ...]:
    """Torque, position and, with a reference, the tracking error."""
    torque = [Curve("measured", "motion", motion.effort)]
    position = [Curve("robot", "motion", motion.position)]
    if wanted is None:
        return robot.effort(*torque), robot.position("position", *position)
    torque.append(Curve("commanded", "reference", wanted.effort))
    position.append(Curve("reference", "reference", wanted.position))
    error = Curve("error", "motion", motion.position - wanted.position)
    return (
        robot.effort(*torque),
        robot.position("position", *position),
        robot.position("tracking error", error),
    )


# A verdict's curves


def write_view(
    estimated: EstimatedRecording,
    analysis: Analysis,
    model: DynamicsModel,
    urdf: Path | None,
    file: Path,
    xacro: Mapping[str, str] | None = None,
) -> tuple[bool, list[str]]:
    """Write the page, with the model's chain in the robot.

    Returns False, and writes no page, where nothing usable says what the robot looks like.

    ``urdf`` stands in for a description that the bag has lost, expanded with the arguments ``xacro``.
    Returns warnings too, of meshes not shown. Raises ``OutputFileError``.
    """
    given = {"xacro_arguments": xacro or {}} if estimated.description is None else {}
    options = ViewOptions(model.root, model.tips, model.locked, given)
    try:
        robot = _robot(estimated.bag, estimated.description, urdf, options)
    except DescriptionError as error:
        return False, [f"{file.name} is not written: {error}"]
    if robot is None:
        return False, []
    write_file(file, page(playback_of_analysis(estimated, analysis, robot)))
    return True, robot.meshes.warnings


def playback_of_analysis(estimated: EstimatedRecording, analysis: Analysis, robot: ShownRobot) -> Playback:
    """The motion as it was filtered for the verdict, thinned to what a page needs."""
    comparison = analysis.comparison
    thin = slice(None, None, max(1, len(comparison.time) // MOST_SAMPLES))
    position = np.concatenate([interval.q for interval in analysis.motion.intervals])[thin].T
    units = tuple(joint.unit for joint in analysis.verdict.joints)
    measured = Curve("measured", "motion", comparison.measured[thin].T)
    predicted = Curve("predicted", "reference", comparison.predicted[thin].T)
    residual = Curve("measured minus predicted", "motion", comparison.residual[thin].T)
    return Playback(
        title=f"{robot.chain.robot}: {estimated.bag.name}",
        urdf=robot.urdf,
        meshes=robot.meshes.by_name,
        joints=estimated.joints,
        tip=robot.chain.tip,
        times=comparison.time[thin] - comparison.time[0],
        motion_label="robot",
        position=position,
        reference=None,
        quantities=(
            Quantity("torque: measured, predicted (dashed)", units, (measured, predicted)),
            Quantity("residual torque", units, (residual,)),
            Quantity(
                "position",
                tuple(POSITION_UNITS.get(unit, "rad") for unit in units),
                (Curve("robot", "motion", position),),
            ),
        ),
        held=robot.held,
        note=robot.meshes.note,
    )
