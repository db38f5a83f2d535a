"""The verdict on one bag, in figures and in words: all that the table, the report and the exit code say."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.friction import ExtraFriction
from kane_dynamics_ros.replay import attribution
from kane_dynamics_ros.replay.comparison import FRICTION_TERMS, Comparison, Fit, compare, fit
from kane_dynamics_ros.replay.correlation import Delay
from kane_dynamics_ros.replay.coupled import Pair
from kane_dynamics_ros.replay.errors import BagError
from kane_dynamics_ros.replay.motion import EstimatedRecording, Motion
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.text import counted, listed, named

Cause = attribution.TipBody | attribution.LinkError | attribution.EffortScale

LEAST_TRAVEL = (0.05, 0.01)  # [rad], [m] that a joint must move; encoder noise is far below
LEAST_CHANGE = 0.2  # of its measured range by which the others must change a resting joint's effort
SMALLEST_EFFORT = 1e-6  # [N m] or [N]; below, an effort is nothing but rounding
TERM_NAMES = {
    "inertia": "inertia",
    "coriolis": "Coriolis and centrifugal effort",
    "gravity": "gravity",
    "viscous": "viscous friction",
    "Coulomb": "Coulomb friction",
    "offset": "constant offset",
    "load": "friction by the load",
    "stribeck": "rise of friction towards rest (Stribeck)",
    "coulomb_asymmetry": "half difference of Coulomb friction between the directions",
    "viscous_asymmetry": "half difference of viscous friction between the directions",
    "square_root": "friction by the root of the speed",
}
FALL = "fall of friction towards rest"  # where Stribeck's rise is negative
FRICTION_UNITS = {"viscous_asymmetry": " s/{m}", "square_root": " (s/{m})^1/2"}  # behind the effort's
UNEXPLAINED = 0.1  # of a joint's measured effort (RMS) that must have a cause, known or not
LEAST_EXPLAINED = 0.9  # R^2 below which a model does not explain an effort
LISTED = 20  # joints that a message lists
SAME_SCALE = 1.2  # ratio of factors that count as one
WHOLE = 3.0  # standard errors within which a coefficient of -1 means that the effort lacks the term


@dataclass(frozen=True)
class JointVerdict:
    """One joint: its figures, the terms at fault, and the same in words.

    ``travel`` [rad] or [m] is how far it moved. A joint that hardly moved, and whose effort the others did
    not change either, is not ``judged``: nothing follows from its figures.
    """

    name: str
    unit: str  # of effort: "N m" or "N"
    fit: Fit
    attributions: tuple[attribution.Attribution, ...]
    findings: tuple[str, ...]
    travel: float = math.inf
    judged: bool = True


@dataclass(frozen=True)
class Processing:
    """How the efforts were compared: rates and cut-off in Hz, seconds compared, delay, reading speed."""

    recorded_rate: float
    analysis_rate: float
    cutoff: float
    seconds: float
    messages: int
    messages_per_second: float
    delay: Delay | None


@dataclass(frozen=True)
class Verdict:
    """The verdict on one bag.

    ``cause``, and ``findings`` in words, are about the whole arm; ``damages``: what could not be read.
    ``coupling``: the drive that seems to turn with another joint, too.
    """

    bag: Path
    topic: str
    model: str
    joints: tuple[JointVerdict, ...]
    cause: Cause | None
    findings: tuple[str, ...]
    processing: Processing
    notes: tuple[str, ...]
    damages: tuple[str, ...]
    coupling: Pair | None = None


@dataclass(frozen=True)
class Analysis:
    """A verdict with what it was made of, for the figures and the bag of predictions."""

    verdict: Verdict
    estimated: EstimatedRecording
    model: DynamicsModel
    comparison: Comparison


def analyse(
    estimated: EstimatedRecording, model: DynamicsModel, beyond: ExtraFriction | None = None
) -> Analysis:
    """Judge a model, and the terms of its friction ``beyond`` its own, by what a recording shows.

    Raises ``BagError``: "no_effort" where no effort was measured, "no_motion" where no joint moves in what is
    compared, "not_finite" where a figure is not finite.
    """
    recording, motion = estimated.recording, estimated.motion
    travel = np.max([np.ptp(interval.q, axis=0) for interval in motion.compared], axis=0)
    moves = travel >= [LEAST_TRAVEL[joint.kind == "prismatic"] for joint in model.joints]
    refuse_unjudgeable(estimated, model, travel, moves)
    comparison = compare(model, motion, beyond)
    fits = finite_fits(comparison, model, recording.bag)
    change, measured_change = np.ptp(comparison.predicted, axis=0), np.ptp(comparison.measured, axis=0)
    judged = moves | (change > np.maximum(LEAST_CHANGE * measured_change, SMALLEST_EFFORT))
    causes = causes_of(model, motion, comparison, judged)
    independent = len(comparison.time) * 2 * motion.cutoff / motion.rate
    joints = []
    for j, one in enumerate(fits):
        attributions: list[attribution.Attribution] = []
        words: list[str] = []
        if not judged[j]:
            words = [f"hardly any motion ({_distance(model, j, travel)}): not judged"]
        elif not isinstance(causes.arm, attribution.EffortScale):
            common = None if causes.explained is None else causes.explained[:, j]
            coulomb = model.parameters.coulomb[j]
            attributions = attribution.attribute_joint(
                comparison, j, common, one.measured_rms, independent, coulomb=coulomb
            )
            words = [_sentence(model, j, each) for each in attributions] or unexplained(one)
        joints.append(
            JointVerdict(
                name=model.joint_names[j],
                unit=model.joints[j].effort_unit,
                fit=one,
                attributions=tuple(attributions),
                findings=tuple(words),
                travel=float(travel[j]),
                judged=bool(judged[j]),
            )
        )
    verdict = Verdict(
        bag=recording.bag,
        topic=recording.topic,
        model=model.name,
        joints=tuple(joints),
        cause=causes.arm,
        findings=causes.findings,
        processing=Processing(
            recorded_rate=motion.sampled,
            analysis_rate=motion.rate,
            cutoff=motion.cutoff,
            seconds=len(comparison.time) / motion.rate,
            messages=estimated.messages,
            messages_per_second=estimated.messages / recording.seconds,
            delay=estimated.delay,
        ),
        notes=(*recording.notes, *notes(motion)),
        damages=recording.damages,
        coupling=causes.coupling,
    )
    return Analysis(verdict, estimated, model, comparison)


def refuse_unjudgeable(
    estimated: EstimatedRecording, model: DynamicsModel, travel: Array, moves: Mask
) -> None:
    """Raise ``BagError`` where no joint moves in what is compared, or no effort was measured."""
    recording = estimated.recording
    where = f"{recording.bag}: topic {recording.topic!r}:"
    if not moves.any():
        sizes = [f"{name!r} ({_distance(model, j, travel)})" for j, name in enumerate(model.joint_names)]
        raise BagError(
            f"{where} hardly any motion of {'joint' if len(sizes) == 1 else 'joints'} "
            f"{', '.join(sizes[:LISTED])} in what is compared; without motion no term of the model can be "
            "judged: record a motion of every joint, fast and slow, up and down",
            "no_motion",
            bag=recording.bag,
        )
    if max(np.abs(interval.effort).max() for interval in estimated.motion.compared) <= SMALLEST_EFFORT:
        raise BagError(
            f"{where} the measured efforts of all joints are 0: they are not measured at all, and nothing "
            "can be said of the model; have the driver or joint_state_broadcaster publish them",
            "no_effort",
            bag=recording.bag,
        )


def finite_fits(comparison: Comparison, model: DynamicsModel, bag: Path) -> list[Fit]:
    """The figures of each joint. Raises ``BagError`` where one is not finite."""
    both = zip(comparison.measured.T, comparison.predicted.T, strict=True)
    fits = [fit(comparison.time, measured, predicted) for measured, predicted in both]
    odd = [
        name
        for name, one in zip(model.joint_names, fits, strict=True)
        if not all(value is None or math.isfinite(value) for value in one)
    ]
    if odd:
        raise BagError(
            f"{bag}: no verdict: the figures of {named('joint', odd)} are not finite; look for "
            "values in the bag that the robot cannot have had",
            "not_finite",
            bag=bag,
            joints=odd,
        )
    return fits


class Causes(NamedTuple):
    """What is wrong with the whole arm, the effort (N, n) that it explains, a coupled drive; the words."""

    arm: Cause | None
    explained: Array | None
    coupling: Pair | None
    findings: tuple[str, ...]


def causes_of(model: DynamicsModel, motion: Motion, comparison: Comparison, judged: Mask) -> Causes:
    """Look for one cause of the residuals of all joints that are ``judged`` (n,)."""
    arm: Cause | None = attribution.effort_scale(comparison, judged, SMALLEST_EFFORT)
    arm = arm or attribution.whole_arm_cause(model, motion, comparison)
    findings = () if arm is None else (arm_finding(arm, model.tips),)
    if isinstance(arm, attribution.EffortScale):
        return Causes(arm, None, None, findings)
    explained = None if arm is None else attribution.cause_effort(model, motion, arm)
    residual = comparison.residual if explained is None else comparison.residual - explained
    coupling = attribution.coupled_drive(model, comparison, residual, judged)
    if coupling is not None:
        findings = (*findings, coupling_finding(coupling, model))
    return Causes(arm, explained, coupling, findings)


# In words


def unexplained(figures: Fit) -> list[str]:
    """What is said of a joint that the model does not explain, though no term is at fault."""
    if figures.rmse < SMALLEST_EFFORT:
        return []
    if figures.r_squared is None:
        return ["the measured effort never changes, the model's does: it may not be measured at all"]
    error = f"{_percent(figures.rmse / figures.measured_rms)} %" if figures.measured_rms else "all"
    part = f"{_percent(figures.r_squared)} %" if figures.r_squared > 0 else "nothing"
    head = f"the model explains {part} of the measured effort's variance"
    if figures.r_squared < LEAST_EXPLAINED:
        return [
            f"{head}, and its error is {error} of the effort (RMS); no single term is surely the cause: "
            "kane_dynamics identify fits all of them together"
        ]
    if figures.rmse <= UNEXPLAINED * figures.measured_rms:
        return []
    return [
        f"{head}; its error is {error} of the effort (RMS), of which no term is the cause: as friction "
        "leaves it where a joint reverses, or noise"
    ]


def _distance(model: DynamicsModel, j: int, travel: Array) -> str:
    """How far joint ``j`` moved, with its unit."""
    return f"{travel[j]:.2g} {model.joints[j].unit}"


def _sentence(model: DynamicsModel, joint: int, one: attribution.Attribution) -> str:
    """What the model has less, or more, than the arm, as in "gravity 8 % too small"."""
    falls = one.term == "stribeck" and one.coefficient < 0
    text = f"{FALL if falls else TERM_NAMES[one.term]} {_amount(model, joint, one)}"
    if one.alike:
        others = " or ".join(TERM_NAMES[name] for name in one.alike)
        text += f" (or {others}: this motion cannot tell them apart)"
    return text


def _amount(model: DynamicsModel, joint: int, one: attribution.Attribution) -> str:
    size, sign = abs(one.coefficient), "too small" if one.coefficient > 0 else "too large"
    unit = model.joints[joint].effort_unit
    if one.term == "gravity" and abs(one.coefficient + 1.0) < max(WHOLE * one.error, 0.02):
        return (
            f"{_percent(size)} % too large: the measured effort lacks it, as that of robots that compensate "
            "gravity themselves (docs/howto/gravity_compensated_robots.md)"
        )
    if one.term in attribution.RIGID:
        return f"{_percent(size)} % {sign}"
    if one.term == "offset":
        return f"of {one.coefficient:+.3g} {unit} missing"
    if one.term == "load":
        return f"of {size:.3g} of the rigid bodies' effort missing"
    if one.term == "stribeck":
        return f"of {size:.3g} {unit} missing"
    if one.term in FRICTION_TERMS:
        per = FRICTION_UNITS.get(one.term, "").format(m="m" if unit == "N" else "rad")
        return f"of {one.coefficient:+.3g} {unit}{per} missing"
    modelled = model.parameters.coulomb
    if one.term == "viscous":
        modelled, unit = model.parameters.viscous, "N s/m" if unit == "N" else "N m s/rad"
    if one.coefficient > 0 and not modelled[joint]:
        sign = "missing"
    elif one.coefficient < 0 and not modelled[joint]:
        sign = "negative: the effort helps the motion, which friction never does; check the effort's sign"
    return f"{size:.3g} {unit} {sign}"


def _percent(part: float) -> str:
    return f"{100 * part:.0f}" if part > 0.095 else f"{100 * part:.1f}"


def arm_finding(cause: Cause, tips: Sequence[str]) -> str:
    """What the residuals of all joints together say."""
    if isinstance(cause, attribution.EffortScale):
        low, high = min(cause.factors), max(cause.factors)
        times = f"{low:.2g}" if high < SAME_SCALE * low else f"{low:.2g} to {high:.2g}"
        return f"all efforts are {times} times what the model gives: are they currents?"
    share = f"that explains {100 * cause.share:.0f} % of what friction leaves of the residuals"
    if isinstance(cause, attribution.LinkError):
        more = "heavier" if cause.factor > 1 else "lighter"
        return f"link {cause.link!r} is {_percent(abs(cause.factor - 1))} % {more} than in the model: {share}"
    x, y, z = (round(each, 3) + 0.0 for each in cause.com)  # no minus before a zero
    more = "more" if cause.mass > 0 else "less"
    carrier = "the tip" if len(tips) == 1 else repr(cause.frame)
    return (
        f"as if {carrier} carried {abs(cause.mass):.3g} kg {more} than the model knows of, centred at "
        f"({x:.3f}, {y:.3f}, {z:.3f}) m in the frame of {cause.frame!r}: {share}"
    )


def coupling_finding(pair: Pair, model: DynamicsModel) -> str:
    """What the residuals of two joints together say of a drive."""
    drive, joint = (model.joints[k] for k in (pair.drive, pair.joint))
    return (
        f"as if the drive of {drive.name!r} turned with {joint.name!r}, too, by about {pair.factor:.2g} "
        f"{drive.unit} a {joint.unit}: its friction explains {100 * pair.share:.0f} % or more of what other "
        "terms leave of both; kane_dynamics identify finds such couplings for the node's friction.coupling"
    )


def notes(motion: Motion) -> tuple[str, ...]:
    """What was done to the samples, and what was odd about them."""
    found = ["times are header stamps; receive times serve only for the delay of the commands"]
    if motion.reordered:
        found.append(f"{motion.reordered} joint states were received after a later one and sorted by stamp")
    if motion.repeated:
        found.append(f"{motion.repeated} joint states repeat the stamp before; the first of each was used")
    if motion.passes > 1:
        found.append(
            f"stamps jump back {counted(motion.passes - 1, 'time')}: a looped bag; the passes are shown one "
            "by one"
        )
    if motion.gaps:
        found.append(
            f"{counted(len(motion.gaps), 'gap')}, the longest {max(motion.gaps):.3g} s: nothing is filtered "
            "across them"
        )
    if motion.derived:
        found.append(f"no velocity of {listed(motion.derived)}: derived from the position")
    return tuple(found)


def delay_sentence(delay: Delay | None) -> str:
    """By how much the measured effort lags behind the command; empty where it is uncertain."""
    if delay is None or abs(delay.seconds) <= delay.uncertainty:
        return ""
    lags = "lags behind" if delay.seconds > 0.0 else "leads"
    return (
        f"measured effort {lags} the command by {1e3 * abs(delay.seconds):.2f} ms "
        f"(+- {1e3 * delay.uncertainty:.2g} ms, correlation {delay.correlation:.2f})"
    )
