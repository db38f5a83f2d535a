"""``kane_dynamics observe``: contacts in recorded bags, and thresholds for the node from bags without any."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import yaml

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.cli.arguments import (
    add_bag_arguments,
    optional_number,
    positive_number,
    report_folders,
)
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.contact.calibration import calibrated, observed, parameters_text
from kane_dynamics_ros.contact.events import find_contacts
from kane_dynamics_ros.contact.report import calibration_lines, collision_lines, contact_lines, write_report
from kane_dynamics_ros.contact.residual import constant_joints
from kane_dynamics_ros.control.observer import GAIN, ObserverSettings, Thresholds
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.replay.errors import BagError
from kane_dynamics_ros.replay.jobs import find_bags
from kane_dynamics_ros.replay.motion import estimate
from kane_dynamics_ros.replay.recording import Recording, check_units, read_recording, read_renamings
from kane_dynamics_ros.runtime import DynamicsModel, load_model
from kane_dynamics_ros.text import named

DAMAGED = 2  # exit code
LONGEST_GAP = 0.2  # [s] between states that the observer bridges
GAIN_PER_RATE = 1 / 3  # of the recorded rate: a faster observer than its samples sees noise alone


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """BAG..., the model, and what may be left to choose."""
    add_bag_arguments(parser)
    add = parser.add_argument
    add("--false-alarms", default="1", metavar="X", help="false alarms an hour to allow for; default: 1")
    add("--uncorrected", action="store_true", help="leave the model's own errors in the external efforts")
    add("--report", type=Path, metavar="DIR", help="write contacts.json and contacts.html")
    add("--thresholds", type=Path, metavar="FILE", help="decide as the node does with this parameter file")
    add("--calibrate", action="store_true", help="the bags hold no contact: find the node's thresholds")
    add("-o", "--output", type=Path, metavar="FILE", help="of --calibrate; default: thresholds.yaml")
    add(
        "--gain",
        metavar="K",
        help=f"of the node's observer [1/s]; default: {GAIN:g}, at most a third of the rate",
    )
    add(
        "--adaptation",
        metavar="S",
        help="time constant [s] after which a lasting residual is an error of the model; default: never",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print what was found in each bag, or the thresholds; 2 when a bag is damaged."""
    model = load_model(arguments.model)
    if arguments.urdf_friction:
        model = model.with_urdf_friction()
    rate = positive_number(
        "--false-alarms", arguments.false_alarms, "a number an hour: 0.1 is one in ten hours"
    )
    bags = [bag for path in arguments.bags for bag in find_bags(path)]
    renamings = read_renamings(arguments.rename)
    damaged, recordings = False, []
    for bag, folder in zip(bags, report_folders(arguments.report, bags), strict=True):
        with Progress() as progress:
            progress.doing("reading the bag")
            recording = read_recording(bag, model.joint_names, arguments.topic, renamings=renamings)
            states = recording.states
            check_units(bag, recording.topic, states.position, model.joints)
            progress.doing("looking for contacts")
            if arguments.calibrate:
                _require_signals(recording, states.position, states.effort)
                recordings.append(recording)
                lines = []
            elif arguments.thresholds is not None:
                settings = read_thresholds(arguments.thresholds, model)
                lines = collision_lines(bag, observed(states, settings)[1], model)
            else:
                lines = _contacts(arguments, recording, model, rate, folder)
        damaged |= bool(recording.damages)
        for damage in recording.damages:
            print(f"error: {damage}", file=sys.stderr)
        if lines:
            print("\n".join(lines))
    if arguments.calibrate:
        _calibrate(arguments, recordings, model, rate)
    return DAMAGED if damaged else 0


def _require_signals(recording: Recording, position: Array, effort: Array) -> None:
    """Raise ``BagError`` ("constant_effort") where position and effort of a joint, (N, n), are constant."""
    constant = constant_joints(position, effort)
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
    rate: float,
    folder: Path | None,
) -> list[str]:
    """What to print of the contacts in a recording; the report is written where it is asked for."""
    motion = estimate(recording, optional_number("--cutoff", arguments.cutoff, "Hz"))
    parts = motion.compared
    position, effort = (np.concatenate([getattr(part, name) for part in parts]) for name in ("q", "effort"))
    _require_signals(recording, position, effort)
    residual, contacts = find_contacts(motion, model, rate, correct=not arguments.uncorrected)
    lines = contact_lines(recording.bag, residual, contacts, model)
    if folder is None:
        return lines
    write_report(folder, recording.bag, residual, contacts, model)
    return [*lines, f"written: {folder / 'contacts.html'}, {folder / 'contacts.json'}"]


def _calibrate(
    arguments: argparse.Namespace, recordings: Sequence[Recording], model: DynamicsModel, rate: float
) -> None:
    steps = [float(np.median(np.diff(each.states.stamps))) * 1e-9 for each in recordings]
    gain = optional_number("--gain", arguments.gain, "1/s") or min(GAIN, GAIN_PER_RATE / max(steps))
    adaptation = optional_number("--adaptation", arguments.adaptation, "s") or 0.0
    n = len(model.joint_names)
    zero = np.zeros(n)
    never = Thresholds(np.full(n, np.inf), zero, zero, zero)
    settings = _settings(model, np.full(n, gain), never, adaptation)
    runs = [observed(each.states, settings)[0] for each in recordings]
    calibration = calibrated(runs, settings, rate)
    print("\n".join(calibration_lines(calibration, model)))
    file = arguments.output or Path("thresholds.yaml")
    names = [each.bag.name for each in recordings]
    write_file(file, parameters_text(calibration, settings, names))
    print(f"written: {file}")


def _settings(
    model: DynamicsModel,
    gain: Array,
    thresholds: Thresholds,
    adaptation: float,
    confirmation: float = 0.0,
) -> ObserverSettings:
    """The node's observer: its gain and thresholds, friction by the model's coefficients."""
    n = len(model.joint_names)
    rigid = model.with_parameters(viscous=(0.0,) * n, coulomb=(0.0,) * n)
    return ObserverSettings(
        rigid,
        model,
        gain,
        thresholds,
        adaptation=adaptation,
        confirmation=confirmation,
        longest_gap=LONGEST_GAP,
    )


def read_thresholds(file: Path, model: DynamicsModel) -> ObserverSettings:
    """The observer that a parameter file of ``--calibrate`` describes.

    Raises ``KaneDynamicsError`` ("no_thresholds") for any other file.
    """
    n = len(model.joint_names)
    try:
        values = yaml.safe_load(file.read_text(encoding="utf-8"))["/**"]["ros__parameters"]
        observer, collision = values["observer"], values["collision"]
        parts = [
            np.array(collision[name], dtype=float) for name in ("constant", "speed", "acceleration", "rest")
        ]
        gain = np.array(observer["gain"], dtype=float)
        adaptation, confirmation = float(observer["adaptation"]), float(collision["confirmation"])
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise _no_thresholds(file, f"it cannot be read as thresholds ({error!r})") from None
    if any(part.shape != (n,) for part in (*parts, gain)):
        raise _no_thresholds(
            file, f"model {model.name!r} has {n} joints, the file's lists are not of that length"
        )
    return _settings(model, gain, Thresholds(*parts), adaptation, confirmation)


def _no_thresholds(file: Path, reason: str) -> KaneDynamicsError:
    return KaneDynamicsError(
        f"{file}: {reason}; give a file that kane_dynamics observe --calibrate wrote for this model",
        "no_thresholds",
        file=file,
    )
