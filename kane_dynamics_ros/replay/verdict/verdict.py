"""The verdict on one bag: everything that the table, the report and the exit code say."""

from dataclasses import dataclass
from pathlib import Path

from kane_dynamics_ros.replay.estimation.delay import Delay
from kane_dynamics_ros.replay.estimation.motion import Motion, Observation
from kane_dynamics_ros.replay.reading.messages import Doubles
from kane_dynamics_ros.replay.verdict.attribution import (
    Blame,
    LinkError,
    TipBody,
    blame_joint,
    cause_effort,
    whole_arm_cause,
)
from kane_dynamics_ros.replay.verdict.comparison import Comparison, Fit, compare, fit
from kane_dynamics_ros.replay.verdict.sentences import arm_findings, joint_findings, notes
from kane_dynamics_ros.runtime.interface import DynamicsModel


@dataclass(frozen=True)
class JointVerdict:
    """One joint: its figures, the terms to blame, and the same in words."""

    name: str
    unit: str  # of effort: "N m" or "N"
    fit: Fit
    blames: tuple[Blame, ...]
    findings: tuple[str, ...]


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


def analyse(observation: Observation, model: DynamicsModel) -> Analysis:
    """Judge a model by what a recording shows."""
    motion = observation.motion
    comparison = compare(model, motion)
    cause = whole_arm_cause(model, motion, comparison)
    explained = None if cause is None else cause_effort(model, motion, cause)
    processing = Processing(
        recorded_rate=motion.sampled,
        analysis_rate=motion.rate,
        cutoff=motion.cutoff,
        seconds=len(comparison.time) / motion.rate,
        messages=observation.messages,
        messages_per_second=observation.messages_per_second,
        delay=observation.delay,
    )
    verdict = Verdict(
        bag=observation.bag,
        topic=observation.topic,
        model=model.name,
        joints=tuple(_joint(model, motion, comparison, explained, j) for j in range(len(model.joint_names))),
        cause=cause,
        findings=arm_findings(cause, model.tip),
        processing=processing,
        notes=(*observation.notes, *notes(motion)),
        damages=observation.damages,
    )
    return Analysis(verdict, motion, comparison)


def _joint(
    model: DynamicsModel, motion: Motion, comparison: Comparison, explained: Doubles | None, j: int
) -> JointVerdict:
    """One joint; ``explained`` is what the cause common to all joints adds to their efforts, (N, n)."""
    figures = fit(comparison.time, comparison.measured[:, j], comparison.predicted[:, j])
    independent = len(comparison.time) * 2 * motion.cutoff / motion.rate
    common = None if explained is None else explained[:, j]
    blames = blame_joint(comparison, j, common, figures.measured_rms, independent)
    return JointVerdict(
        name=model.joint_names[j],
        unit="N" if model.joints[j].kind == "prismatic" else "N m",
        fit=figures,
        blames=tuple(blames),
        findings=joint_findings(model, j, blames, figures),
    )
