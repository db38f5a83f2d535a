"""The verdict on one bag: everything that the table, the report and the exit code say."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.replay.attribution import (
    Attribution,
    LinkError,
    TipBody,
    attribute_joint,
    cause_effort,
    whole_arm_cause,
)
from kane_dynamics_ros.replay.comparison import Comparison, Fit, compare, fit
from kane_dynamics_ros.replay.correlation import Delay
from kane_dynamics_ros.replay.errors import NoMotionError, NotFiniteError
from kane_dynamics_ros.replay.motion import EstimatedRecording, Motion
from kane_dynamics_ros.replay.sentences import arm_findings, joint_findings, notes, unexplained
from kane_dynamics_ros.runtime import DynamicsModel

LEAST_TRAVEL = (0.05, 0.01)  # [rad], [m] that a joint must move; encoder noise is far below
LEAST_CHANGE = 0.2  # of its measured range by which the others must change a resting joint's effort
SMALLEST_EFFORT = 1e-6  # [N m] or [N]; below, an effort is nothing but rounding


@dataclass(frozen=True)
class JointVerdict:
    """One joint: its figures, the terms at fault, and the same in words.

    ``travel`` [rad] or [m] is how far it moved. A joint that hardly moved, and whose effort the others did
    not change either, is not ``judged``: nothing follows from its figures.
    """

    name: str
    unit: str  # of effort: "N m" or "N"
    fit: Fit
    attributions: tuple[Attribution, ...]
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
    """

    bag: Path
    topic: str
    model: str
    joints: tuple[JointVerdict, ...]
    cause: TipBody | LinkError | None
    findings: tuple[str, ...]
    processing: Processing
    notes: tuple[str, ...]
    damages: tuple[str, ...]


@dataclass(frozen=True)
class Analysis:
    """A verdict with the curves behind it, for the figures and the bag of predictions."""

    verdict: Verdict
    motion: Motion
    comparison: Comparison


def analyse(estimated: EstimatedRecording, model: DynamicsModel) -> Analysis:
    """Judge a model by what a recording shows.

    Raises ``NoMotionError`` where no joint moves in what is compared, and ``NotFiniteError`` where a figure
    is not finite.
    """
    motion = estimated.motion
    travel = np.max([np.ptp(interval.q, axis=0) for interval in motion.compared], axis=0)
    kinds = [joint.kind for joint in model.joints]
    moves = travel >= [LEAST_TRAVEL[kind == "prismatic"] for kind in kinds]
    if not moves.any():
        sizes = {
            name: f"{size:.2g} {'m' if kind == 'prismatic' else 'rad'}"
            for name, size, kind in zip(model.joint_names, travel, kinds, strict=True)
        }
        raise NoMotionError(estimated.bag, estimated.topic, sizes)
    comparison = compare(model, motion)
    joints = [fit(comparison.time, *columns) for columns in _columns(comparison)]
    odd = [name for name, one in zip(model.joint_names, joints, strict=True) if not _is_finite(one)]
    if odd:
        raise NotFiniteError(estimated.bag, odd)
    predicted, measured = np.ptp(comparison.predicted, axis=0), np.ptp(comparison.measured, axis=0)
    judged = moves | (predicted > np.maximum(LEAST_CHANGE * measured, SMALLEST_EFFORT))
    cause = whole_arm_cause(model, motion, comparison)
    explained = None if cause is None else cause_effort(model, motion, cause)
    processing = Processing(
        recorded_rate=motion.sampled,
        analysis_rate=motion.rate,
        cutoff=motion.cutoff,
        seconds=len(comparison.time) / motion.rate,
        messages=estimated.messages,
        messages_per_second=estimated.messages_per_second,
        delay=estimated.delay,
    )
    verdict = Verdict(
        bag=estimated.bag,
        topic=estimated.topic,
        model=model.name,
        joints=tuple(
            _joint(model, motion, comparison, explained, j, one, float(travel[j]), bool(judged[j]))
            for j, one in enumerate(joints)
        ),
        cause=cause,
        findings=arm_findings(cause, model.tip),
        processing=processing,
        notes=(*estimated.notes, *notes(motion)),
        damages=estimated.damages,
    )
    return Analysis(verdict, motion, comparison)


def _columns(comparison: Comparison) -> Iterator[tuple[Array, Array]]:
    """Measured and predicted effort of each joint, (N,) each."""
    return zip(comparison.measured.T, comparison.predicted.T, strict=True)


def _is_finite(figures: Fit) -> bool:
    return all(value is None or math.isfinite(value) for value in figures)


def _joint(
    model: DynamicsModel,
    motion: Motion,
    comparison: Comparison,
    explained: Array | None,
    j: int,
    figures: Fit,
    travel: float,
    judged: bool,
) -> JointVerdict:
    """One joint; ``explained`` is what the cause common to all joints adds to their efforts, (N, n)."""
    independent = len(comparison.time) * 2 * motion.cutoff / motion.rate
    common = None if explained is None else explained[:, j]
    attributions = attribute_joint(comparison, j, common, figures.measured_rms, independent) if judged else []
    linear = model.joints[j].kind == "prismatic"
    findings = joint_findings(model, j, attributions) or unexplained(figures)
    if not judged:
        findings = (f"hardly any motion ({travel:.2g} {'m' if linear else 'rad'}): not judged",)
    return JointVerdict(
        name=model.joint_names[j],
        unit="N" if linear else "N m",
        fit=figures,
        attributions=tuple(attributions),
        findings=findings,
        travel=travel,
        judged=judged,
    )
