"""The motion that the demonstration asks for, and how well a controller's recorded run tracks it.

The motion is smooth, of all joints at once, and at rest at both ends: joint i follows

    q_i(t) = q_i(0) + A_i sin^2(pi t / T) sin(2 pi n_i t / T)
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from rosbags.highlevel import AnyReader

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.control.approach import request_after
from kane_dynamics_ros.control.smooth_motion import SampledMotion, windowed
from kane_dynamics_ros.control.validation import NANOSECOND, SECOND_NS, TrajectoryRequest
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.replay.recording import read_recording

DURATION = 8.0  # T [s]
POINT_SPACING = 0.1  # [s]
SWINGS = (1, 2, 2, 3, 3)  # n of each joint
AMPLITUDES = np.array([1.2, 0.5, 0.6, 0.6, 1.0])  # A [rad]

FEWEST_STATES = 100
LATE = 0.2  # of a period by which a state may be late before the next one counts as missing

RMS_LIMIT = 2e-3  # [rad] computed torque, every joint
GAIN_OF_FEEDFORWARD = 10.0  # PD alone over PD with feedforward, RMS
LOADED_JOINTS = (1, 2)  # joints 2 and 3, which carry the arm's weight
UNIT = "[mrad]"

LINES: tuple[dict[str, Any], ...] = (  # the last two nearly coincide: a broad line under a narrow one
    {"color": "#c44e52", "linewidth": 1.4},
    {"color": "#f0b27a", "linewidth": 3.2},
    {"color": "#2a6f97", "linewidth": 1.3},
)
STYLE: dict[Any, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "figure.dpi": 130,
    "grid.alpha": 0.3,
    "legend.frameon": False,
}
SMALLEST_ERROR = 1e-3  # [mrad] where the logarithmic axis ends


class DemonstrationError(KaneDynamicsError):
    """The demonstration cannot go on.

    Codes: ``node_failed``, a node ended when it should not, or with an error (``node``, ``exit_code``,
    ``log``); ``foreign_node``, one is on its domain, and commands could reach a robot of its owner; of the
    recording (``bag``), ``too_short`` and ``no_trajectory``.
    """


# The motion


def reference(times: ArrayLike, start: ArrayLike) -> SampledMotion:
    """The motion at times [s] since its start, (N,), from the configuration ``start`` (n,).

    Before 0 and after T the joints rest at ``start``.
    """
    times = np.asarray(times, dtype=np.float64)
    t = np.clip(times, 0.0, DURATION)
    unit = np.array([windowed(n, t, DURATION) for n in SWINGS])  # (n, 3, N)
    q, qd, qdd = AMPLITUDES * np.moveaxis(unit, 0, -1)
    return SampledMotion(times, np.asarray(start) + q, qd, qdd)


def request(joint_names: Sequence[str], start: ArrayLike) -> TrajectoryRequest:
    """The motion as a trajectory, with velocity and acceleration."""
    times = np.linspace(0.0, DURATION, round(DURATION / POINT_SPACING) + 1)
    return request_after(0.0, joint_names, times, reference(times, start)[1:])


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


def read_run(bag: Path, joint_names: Sequence[str], start_position: Array) -> RecordedRun:
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
        for connection, _, data in reader.messages(connections) if connections else ():
            message: Any = reader.deserialize(data, connection.msgtype)
            return int(message.header.stamp.sec) * SECOND_NS + int(message.header.stamp.nanosec)
    message = f"{bag}: no trajectory was recorded; see the nodes' logs beside it"
    raise DemonstrationError(message, "no_trajectory", bag=bag)


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


def write_errors(path: Path, joint_names: Sequence[str], errors: Mapping[str, TrackingError]) -> None:
    """The table as CSV, in rad."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["controller", "joint", "rms_rad", "peak_rad"])
        for label, error in errors.items():
            writer.writerows([label, *row] for row in zip(joint_names, error.rms, error.peak, strict=True))


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


# Its pictures


def plot_all(folder: Path, joint_names: Sequence[str], runs: Mapping[str, RecordedRun]) -> list[Path]:
    """Write the pictures of position, tracking error and torque; returns their paths."""
    *_, last = runs.values()
    written = [folder / name for name in ("position.png", "error.png", "torque.png")]
    with rc_context(STYLE):
        figure = drawn("Joint positions", "[rad]", joint_names, runs, lambda run: run.position)
        times, values = last.broken(last.reference)
        for axes, column in zip(figure.axes, values.T, strict=True):
            axes.plot(times, column, "k:", label="reference", linewidth=1.2)
        save(figure, written[0])
        title = "Size of the tracking error (logarithmic scale)"
        figure = drawn(title, UNIT, joint_names, runs, lambda run: 1e3 * np.abs(run.error))
        for axes in figure.axes:
            axes.set_yscale("log")
            axes.set_ylim(bottom=SMALLEST_ERROR)
        save(figure, written[1])
        save(drawn("Joint torques", "[N m]", joint_names, runs, lambda run: run.effort), written[2])
    return written


def drawn(
    title: str,
    unit: str,
    joint_names: Sequence[str],
    runs: Mapping[str, RecordedRun],
    values: Callable[[RecordedRun], Array],
) -> Figure:
    """A figure with a row for each joint, in it a line for each run, on a common time axis."""
    figure = Figure(figsize=(9.0, 1.7 * len(joint_names) + 1.0), layout="constrained")
    rows = figure.subplots(len(joint_names), 1, sharex=True)
    for (label, run), line in zip(runs.items(), LINES, strict=True):
        times, broken = run.broken(values(run))  # with a hole where states are missing
        for axes, column in zip(rows, broken.T, strict=True):
            axes.plot(times, column, label=label, **line)
    for axes, name in zip(rows, joint_names, strict=True):
        axes.set(title=name, ylabel=unit)
    rows[-1].set_xlabel("time since the start [s]")
    rows[-1].set_xlim(0.0, max(run.times[-1] for run in runs.values()))
    figure.suptitle(title, fontsize=13)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Add one legend for all rows, and write the figure."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    figure.savefig(path)
