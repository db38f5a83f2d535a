"""The motion that the demonstration asks for, and how well a controller's recorded run tracks it.

The motion is smooth, of all joints at once, and at rest at both ends. With
s_k = sin(2 pi k t / T), joint i follows

    q_i(t) = q_i(0) + A_i sin^2(pi t / T) s_n = q_i(0) + A_i (s_n / 2 - s_(n+1) / 4 - s_(n-1) / 4)

whose velocity and acceleration are 0 at t = 0 and t = T, and whose derivatives are sums of the same kind.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rosbags.highlevel import AnyReader

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.cli.demo.processes import DemonstrationError
from kane_dynamics_ros.control.validation import NANOSECOND, SECOND_NS, RequestPoint, TrajectoryRequest
from kane_dynamics_ros.replay.recording import read_recording

DURATION = 8.0  # T [s]
POINT_SPACING = 0.1  # [s]
SWINGS = np.array([1, 2, 2, 3, 3])  # n of each joint
AMPLITUDES = np.array([1.2, 0.5, 0.6, 0.6, 1.0])  # A [rad]

FEWEST_STATES = 100
LATE = 0.2  # of a period by which a state may be late before the next one counts as missing

RMS_LIMIT = 2e-3  # [rad] computed torque, every joint
GAIN_OF_FEEDFORWARD = 10.0  # PD alone over PD with feedforward, RMS
LOADED_JOINTS = (1, 2)  # joints 2 and 3, which carry the arm's weight
UNIT = "[mrad]"


# The motion


class ReferenceSamples(NamedTuple):
    """Positions, velocities and accelerations, each (N, n) [rad], [rad/s], [rad/s^2]."""

    q: Array
    qd: Array
    qdd: Array


def reference(times: ArrayLike, start: ArrayLike) -> ReferenceSamples:
    """The motion at times [s] since its start, (N,), from the configuration ``start`` (n,).

    Before 0 and after T the joints rest at ``start``.
    """
    t = np.clip(np.asarray(times, dtype=np.float64), 0.0, DURATION)[:, None]
    derivatives = [AMPLITUDES * window_derivative(t, order) for order in range(3)]
    return ReferenceSamples(np.asarray(start) + derivatives[0], derivatives[1], derivatives[2])


def window_derivative(t: Array, order: int) -> Array:
    """The derivative of the given order of sin^2(pi t / T) s_n, for each joint's n."""
    total = np.zeros((len(t), len(SWINGS)))
    for weight, k in ((0.5, SWINGS), (-0.25, SWINGS + 1), (-0.25, SWINGS - 1)):
        omega = 2.0 * np.pi * k / DURATION
        total += weight * omega**order * np.sin(omega * t + order * np.pi / 2.0)
    return total


def request(joint_names: tuple[str, ...], start: ArrayLike) -> TrajectoryRequest:
    """The motion as a trajectory, with velocity and acceleration."""
    times = np.linspace(0.0, DURATION, round(DURATION / POINT_SPACING) + 1)
    motion = reference(times, start)
    points = tuple(
        RequestPoint(round(t * SECOND_NS), *(tuple(values.tolist()) for values in state))
        for t, *state in zip(times, *motion, strict=True)
    )
    return TrajectoryRequest(joint_names, points)


# One controller's run, read back from the bag that was recorded of it


class Gaps(NamedTuple):
    """Joint states that are missing in a run, and the longest time without one [s]."""

    missing: int
    expected: int
    longest: float


class RecordedRun(NamedTuple):
    """What happened: times since the motion's start [s], (N,); the rest (N, n) in the model's joint order."""

    times: Array
    position: Array  # [rad]
    reference: Array  # [rad]
    effort: Array  # [N m], as the actuators gave it

    @property
    def error(self) -> Array:
        """Position minus reference [rad]."""
        return self.position - self.reference

    @property
    def gaps(self) -> Gaps:
        """Against the period that most states keep, from the motion's start to its end."""
        inside = np.diff(self.times)
        period = float(np.median(inside))
        steps = np.concatenate([[self.times[0] + period], inside, [DURATION - self.times[-1] + period]])
        missing = np.maximum(np.rint(steps / period - LATE) - 1, 0)  # a little late is not missing
        return Gaps(int(missing.sum()), len(self.times) + int(missing.sum()), float(steps.max()))

    def broken(self, values: Array) -> tuple[Array, Array]:
        """Times (M,) and values (M, n) to draw: NaN between two states that are not neighbours."""
        inside = np.diff(self.times)
        after = np.flatnonzero(np.rint(inside / np.median(inside) - LATE) > 1) + 1
        times = np.insert(self.times, after, np.nan)
        return times, np.insert(values, after, np.nan, axis=0)


def read_run(bag: Path, joint_names: tuple[str, ...], start_position: Array) -> RecordedRun:
    """The joint states of a recorded run from the motion's start to its end. Raises when there are few."""
    states = read_recording(bag, joint_names).states
    times = NANOSECOND * (states.stamps - start_of_motion(bag)).astype(np.float64)
    during = (times >= 0.0) & (times <= DURATION)
    if during.sum() < FEWEST_STATES:
        raise DemonstrationError(
            f"{bag}: {during.sum()} joint states during the motion; at least {FEWEST_STATES} are needed; see "
            "the nodes' logs beside it, and whether the machine is too busy",
            "too_short",
            bag=bag,
        )
    wanted = reference(times[during], start_position).q
    return RecordedRun(times[during], states.position[during], wanted, states.effort[during])


def start_of_motion(bag: Path) -> int:
    """The start time [ns] that the recorded trajectory states."""
    with AnyReader([bag]) as reader:
        connections = [c for c in reader.connections if c.topic.endswith("joint_trajectory")]
        first = next(iter(reader.messages(connections)), None) if connections else None
        if first is None:
            raise DemonstrationError(
                f"{bag}: no trajectory was recorded; see the nodes' logs beside it", "no_trajectory", bag=bag
            )
        connection, _, data = first
        message: Any = reader.deserialize(data, connection.msgtype)
    return int(message.header.stamp.sec) * SECOND_NS + int(message.header.stamp.nanosec)


# Its errors, and what they must satisfy


class TrackingError(NamedTuple):
    """RMS and peak error of each joint [rad], (n,)."""

    rms: Array
    peak: Array


def tracking_error(run: RecordedRun) -> TrackingError:
    """Errors over the whole motion, each joint state counting once."""
    return TrackingError(np.sqrt(np.mean(run.error**2, axis=0)), np.max(np.abs(run.error), axis=0))


def table(joint_names: Sequence[str], errors: Mapping[str, TrackingError]) -> str:
    """The errors in mrad, a line for each joint, RMS and peak of each controller side by side."""
    width = max(map(len, (*joint_names, UNIT)))
    heads = "".join(f"{label:>22}" for label in errors)
    units = "".join(f"{'RMS':>13}{'peak':>9}" for _ in errors)
    lines = [f"{'':{width}}{heads}", f"{UNIT:{width}}{units}"]
    for i, name in enumerate(joint_names):
        cells = "".join(f"{1e3 * e.rms[i]:13.3f}{1e3 * e.peak[i]:9.3f}" for e in errors.values())
        lines.append(f"{name:{width}}{cells}")
    return "\n".join(lines)


def gaps_found(runs: Mapping[str, RecordedRun]) -> list[str]:
    """Runs in which joint states are missing: what they show of those times is not known."""
    return [
        f"{label}: {gaps.missing} of {gaps.expected} joint states are missing, up to {gaps.longest:.3f} s "
        "in a row; is the machine too busy for --wall-clock?"
        for label, gaps in ((label, run.gaps) for label, run in runs.items())
        if gaps.missing
    ]


def shortcomings(
    joint_names: Sequence[str], pd: TrackingError, feedforward: TrackingError, computed: TrackingError
) -> list[str]:
    """Every figure that is not as good as an exact model must make it; empty when all are."""
    found = [
        f"computed torque tracks {name} to {1e3 * rms:.3f} mrad RMS; the limit is {1e3 * RMS_LIMIT:g} mrad"
        for name, rms in zip(joint_names, computed.rms, strict=True)
        if not rms < RMS_LIMIT
    ]
    for i in LOADED_JOINTS:
        ratio = pd.rms[i] / feedforward.rms[i]
        if not ratio >= GAIN_OF_FEEDFORWARD:
            found.append(
                f"feedforward makes {joint_names[i]} track {ratio:.1f} times better than PD alone; "
                f"at least {GAIN_OF_FEEDFORWARD:g} times is expected"
            )
    return found


def write_errors(path: Path, joint_names: Sequence[str], errors: Mapping[str, TrackingError]) -> None:
    """The table as CSV, in rad."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["controller", "joint", "rms_rad", "peak_rad"])
        for label, error in errors.items():
            writer.writerows([label, *row] for row in zip(joint_names, error.rms, error.peak, strict=True))
