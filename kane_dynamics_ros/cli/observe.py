"""``kane_dynamics observe``: contacts in recorded bags, and thresholds for the node from bags without any."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import yaml

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.cli.arguments import (
    add_bag_arguments,
    add_parameters_argument,
    positive,
    report_folders,
)
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.contact.calibration import calibrated, observed, parameters_text
from kane_dynamics_ros.contact.events import find_contacts
from kane_dynamics_ros.contact.report import calibration_lines, collision_lines, contact_lines, write_report
from kane_dynamics_ros.contact.signals import constant_joints, mended
from kane_dynamics_ros.control.observer import GAIN, ObserverSettings, Thresholds
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.friction import ExtraFriction
from kane_dynamics_ros.replay.errors import BagError
from kane_dynamics_ros.replay.jobs import find_bags
from kane_dynamics_ros.replay.motion import Motion, contradicted, estimate
from kane_dynamics_ros.replay.recording import Recording, read_for, read_renamings
from kane_dynamics_ros.runtime import DynamicsModel, load_model
from kane_dynamics_ros.runtime.node_parameters import NODE, OF_THE_MODEL, file_parameters, with_parameter_file
from kane_dynamics_ros.text import named
from kane_dynamics_ros.yaml_text import load_yaml

DAMAGED = 2  # exit code
LONGEST_GAP = 0.2  # [s] between states that the observer bridges
DEGREES = 180.0 / np.pi, 1.0  # a radian in degrees, and by so much another factor may differ from it
GAIN_PER_RATE = 1 / 3  # of the recorded rate: a faster observer than its samples sees noise alone
NO_FRICTION = (
    "warning: the URDF's joints have damping or friction, which the node uses and this calibration does not: "
    "give --urdf-friction, or --parameters with the node's file"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """BAG..., the model, and what may be left to choose."""
    add_bag_arguments(parser)
    add_parameters_argument(parser)
    add = parser.add_argument
    alarms = positive("--false-alarms", "a number an hour: 0.1 is one in ten hours")
    text = "false alarms an hour to allow for; default: %(default)g"
    add("--false-alarms", type=alarms, default=1.0, metavar="X", help=text)
    add("--uncorrected", action="store_true", help="leave the model's own errors in the external efforts")
    add("--report", type=Path, metavar="DIR", help="write contacts.json and contacts.html")
    add("--thresholds", type=Path, metavar="FILE", help="decide as the node does with this parameter file")
    add("--calibrate", action="store_true", help="the bags hold no contact: find the node's thresholds")
    add("-o", "--output", type=Path, metavar="FILE", help="of --calibrate; default: thresholds.yaml")
    text = f"of the node's observer [1/s]; default: {GAIN:g}, at most a third of the rate"
    add("--gain", type=positive("--gain", "1/s"), metavar="K", help=text)
    text = "time constant [s] after which a lasting residual is an error of the model; default: never"
    add("--adaptation", type=positive("--adaptation", "s"), default=0.0, metavar="S", help=text)


def run(arguments: argparse.Namespace) -> int:
    """Print what was found in each bag, or the thresholds; 2 when a bag is damaged."""
    model, beyond = load_model(arguments.model), None
    file = arguments.parameters or _model_file(arguments.thresholds, model)
    if file is not None:
        model, beyond = with_parameter_file(model, file)
    elif arguments.urdf_friction:
        model = model.with_urdf_friction()
    elif arguments.calibrate and any(joint.damping or joint.friction for joint in model.joints):
        print(NO_FRICTION, file=sys.stderr)
    bags = [bag for path in arguments.bags for bag in find_bags(path)]
    renamings = read_renamings(arguments.rename)
    recordings: list[Recording] = []
    damages: list[str] = []
    for bag, folder in zip(bags, report_folders(arguments.report, bags), strict=True):
        lines = []
        with Progress("reading the bag") as progress:
            recording = read_for(model, bag, arguments.topic, renamings)
            progress.doing("looking for contacts")
            if arguments.calibrate:
                _require_signals(recording)
                recordings.append(recording)
            elif arguments.thresholds is not None:
                settings = read_thresholds(arguments.thresholds, model, beyond)
                lines = collision_lines(bag, observed(recording.states, settings)[1])
            else:
                lines = _contacts(arguments, recording, model, beyond, folder)
        damages += recording.damages
        for damage in recording.damages:
            print(f"error: {damage}", file=sys.stderr)
        print("".join(f"{line}\n" for line in lines), end="")
    if arguments.calibrate:
        _calibrate(arguments, recordings, model, beyond)
    return DAMAGED if damages else 0


def _model_file(thresholds: Path | None, model: DynamicsModel) -> Path | None:
    """The file of ``--thresholds``, if it holds parameters of the model, too, as a file for the node may."""
    if thresholds is None:
        return None
    read_thresholds(thresholds, model)  # refuses what holds none
    names = file_parameters(thresholds, NODE, "", "--thresholds")
    return thresholds if any(name.partition(".")[0] in OF_THE_MODEL for name in names) else None


def _require_signals(recording: Recording) -> None:
    """Raise ``BagError`` ("constant_effort") where position and effort of a joint are constant."""
    constant = constant_joints(recording.states.position, recording.states.effort)
    if constant:
        joints = [recording.states.joints[j] for j in constant]
        raise BagError(
            f"{recording.bag}: topic {recording.topic!r}: {named('joint', joints)}: hardly any motion, and "
            "an effort that never changes, not even by noise, so that no contact can show; move them while "
            "recording, have their efforts measured, or give a model in which they are locked (generate "
            "--lock JOINT=VALUE)",
            "constant_effort",
            bag=recording.bag,
            joints=tuple(joints),
        )


def _contacts(
    arguments: argparse.Namespace,
    recording: Recording,
    model: DynamicsModel,
    beyond: ExtraFriction | None,
    folder: Path | None,
) -> list[str]:
    """What to print of the contacts in a recording; the report is written where it is asked for."""
    _require_signals(recording)
    states, faults = mended(recording.states)
    if sum(fault.kind == "silent" for fault in faults) == len(model.joints):
        raise BagError(
            f"{recording.bag}: topic {recording.topic!r}: every joint's efforts are mostly one value: "
            "no contact can show; have efforts measured",
            "constant_effort",
            bag=recording.bag,
        )
    motion, warnings = _motion(replace(recording, states=states), arguments.cutoff)
    rate, correct = arguments.false_alarms, not arguments.uncorrected
    residual, contacts = find_contacts(motion, model, rate, correct=correct, beyond=beyond, faults=faults)
    lines = contact_lines(recording.bag, residual, contacts, model) + warnings
    if folder is None:
        return lines
    write_report(folder, recording.bag, residual, contacts, model)
    return [*lines, f"written: {folder / 'contacts.html'}, {folder / 'contacts.json'}"]


def _motion(recording: Recording, cutoff: float | None) -> tuple[Motion, list[str]]:
    """The motion, of joints whose velocity the positions contradict by these alone, and a warning of them.

    Raises ``BagError`` ("velocities") where the clock may be wrong, and all accelerations with it.
    """
    motion = estimate(recording, cutoff)
    wrong, factor = contradicted(motion)
    if not wrong.any():
        return motion, []
    if factor is not None and factor > 0.0 and abs(factor - DEGREES[0]) > DEGREES[1]:
        raise BagError(
            f"{recording.bag}: topic {recording.topic!r}: velocities of all joints are {factor:.3g} times "
            "what the positions do: contacts are not looked for, since the stamps may run as much too slow; "
            "mend them, or record without velocities if these have another unit",
            "velocities",
            bag=recording.bag,
            factor=factor,
        )
    states = recording.states
    velocity = np.where(wrong, np.nan, states.velocity)
    joints = [joint for joint, each in zip(states.joints, wrong, strict=True) if each]
    text = (
        f"  warning: velocity of {named('joint', joints)}: contradicts the position; its derivative is used"
    )
    return estimate(replace(recording, states=replace(states, velocity=velocity)), cutoff), [text]


def _calibrate(
    arguments: argparse.Namespace,
    recordings: Sequence[Recording],
    model: DynamicsModel,
    beyond: ExtraFriction | None,
) -> None:
    """Find, print and write the thresholds."""
    steps = [float(np.median(np.diff(each.states.stamps))) * 1e-9 for each in recordings]
    gain = arguments.gain or min(GAIN, GAIN_PER_RATE / max(steps))
    n = len(model.joint_names)
    never = Thresholds(np.full(n, np.inf), *np.zeros((3, n)))
    settings = replace(_observer(model, beyond, np.full(n, gain), never), adaptation=arguments.adaptation)
    with Progress() as progress:
        progress.doing("running the observer over the bags", total=len(recordings), unit="bags")
        runs = []
        for each in recordings:
            runs.append(observed(each.states, settings)[0])
            progress.advance()
        progress.doing("fitting the thresholds")
        calibration = calibrated(runs, settings, arguments.false_alarms)
    print("\n".join(calibration_lines(calibration, model)))
    file = arguments.output or Path("thresholds.yaml")
    write_file(file, parameters_text(calibration, settings, [each.bag.name for each in recordings]))
    print(f"written: {file}")


def read_thresholds(
    file: Path, model: DynamicsModel, beyond: ExtraFriction | None = None
) -> ObserverSettings:
    """The observer that a parameter file of ``--calibrate`` describes, with a model and friction beyond its.

    Raises ``KaneDynamicsError`` ("no_thresholds") for any other file.
    """
    n = len(model.joint_names)
    try:
        values = load_yaml(file.read_text(encoding="utf-8"))["/**"]["ros__parameters"]
        observer, collision = values["observer"], values["collision"]
        lists = [collision[name] for name in ("constant", "speed", "acceleration", "rest")]
        *parts, gain = (np.array(each, dtype=float) for each in (*lists, observer["gain"]))
        adaptation, confirmation = float(observer["adaptation"]), float(collision["confirmation"])
        if any(part.shape != (n,) for part in (*parts, gain)):
            raise ValueError(f"model {model.name!r} has {n} joints, its lists are not of that length")
    except (yaml.YAMLError, OSError, KeyError, TypeError, ValueError) as error:
        raise KaneDynamicsError(
            f"{file}: it cannot be read as thresholds ({error!r}); give a file that kane_dynamics observe "
            "--calibrate wrote for this model",
            "no_thresholds",
            file=file,
        ) from None
    settings = _observer(model, beyond, gain, Thresholds(*parts))
    return replace(settings, adaptation=adaptation, confirmation=confirmation)


def _observer(
    model: DynamicsModel, beyond: ExtraFriction | None, gain: Array, thresholds: Thresholds
) -> ObserverSettings:
    """The observer that runs over a recording."""
    rigid = model.without_friction()
    return ObserverSettings(rigid, model, gain, thresholds, longest_gap=LONGEST_GAP, beyond=beyond)
