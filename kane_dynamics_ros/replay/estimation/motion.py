"""From joint states to what the model needs: position, velocity, acceleration and measured effort."""

from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.replay.errors import CutoffError, TooShortError
from kane_dynamics_ros.replay.estimation.filters import (
    PER_CUTOFF,
    choose_cutoff,
    decimated,
    decimation,
    derivative,
    low_pass,
)
from kane_dynamics_ros.replay.estimation.passes import passes
from kane_dynamics_ros.replay.estimation.series import Series
from kane_dynamics_ros.replay.estimation.spans import Span, sampling_step, silences, spans
from kane_dynamics_ros.replay.reading.joint_states import JointStates
from kane_dynamics_ros.replay.reading.layout import Doubles
from kane_dynamics_ros.replay.reading.recording import Recording

SHORTEST = 1.0  # [s] of a stretch that is worth filtering, beside its ends
EDGE_CYCLES = 3.0  # periods of the cut-off after which less than 1e-3 of a filter's end effects is left
LOOKED_AT = 120.0  # [s] of motion from which the cut-off is chosen
TOLD = 0.9  # share of the positions' samples that velocity must have, or it is derived


@dataclass(frozen=True)
class Stretch:
    """A part without gaps at a uniform rate: arrays (N, n), ``time`` (N,).

    ``time`` [s] runs from the recording's first stamp; the passes of a looped bag follow each other.
    ``stamp`` [ns] is the header stamp of the first sample.
    """

    time: Doubles
    stamp: int
    q: Doubles
    qd: Doubles
    qdd: Doubles
    effort: Doubles


@dataclass(frozen=True)
class Motion:
    """The stretches of a recording, filtered alike, and how: all of it goes into the report.

    ``sampled`` [Hz] is the recorded rate, ``rate`` [Hz] the one after decimation, ``cutoff`` [Hz] the
    low-pass's; ``edge``: samples at each end of a stretch that the filters spoil; ``derived``: joints whose
    velocity was derived from the position; ``gaps`` are silences [s], and ``reordered`` and ``repeated``
    count messages.
    """

    stretches: tuple[Stretch, ...]
    sampled: float
    rate: float
    cutoff: float
    edge: int
    derived: tuple[str, ...]
    passes: int
    gaps: tuple[float, ...]
    reordered: int
    repeated: int


def estimate(recording: Recording, cutoff: float | None = None) -> Motion:
    """Resample, filter and differentiate a recording; ``cutoff`` [Hz] is chosen unless given.

    Raises ``TooShortError`` when no part without gaps is long enough, and ``CutoffError``.
    """
    ordered = list(passes(recording.states))
    joints = recording.states.joints
    derived = [_share_of_velocity(recording.states, j) < TOLD for j in range(len(joints))]
    found = list(spans((part.states for part in ordered), derived))
    longest = max(found, key=lambda span: span.seconds, default=None)
    if longest is None or longest.seconds < SHORTEST:
        raise TooShortError(recording.bag, recording.topic, longest.seconds if longest else 0.0, SHORTEST)
    step = sampling_step(longest)
    highest = 1 / step / PER_CUTOFF
    if cutoff is not None and cutoff > highest:
        raise CutoffError(recording.bag, recording.topic, cutoff, highest)
    cutoff = cutoff or choose_cutoff(_positions(longest, step), 1 / step)
    needed = SHORTEST + 2 * EDGE_CYCLES / cutoff
    if longest.seconds < needed:
        raise TooShortError(recording.bag, recording.topic, longest.seconds, needed)
    factor = decimation(1 / step, cutoff)
    rate = 1 / (step * factor)
    return Motion(
        stretches=tuple(_stretch(span, step, factor, cutoff) for span in found if span.seconds >= needed),
        sampled=1 / step,
        rate=rate,
        cutoff=cutoff,
        edge=int(np.ceil(EDGE_CYCLES * rate / cutoff)),
        derived=tuple(joint for joint, no in zip(joints, derived, strict=True) if no),
        passes=len(ordered),
        gaps=tuple(silences(found)),
        reordered=sum(part.reordered for part in ordered),
        repeated=sum(int((np.diff(part.states.stamps) == 0).sum()) for part in ordered),
    )


def _share_of_velocity(states: JointStates, joint: int) -> float:
    """How many of a joint's positions come with a velocity, 0 to 1."""
    positions = np.isfinite(states.position[:, joint]).sum()
    return float(np.isfinite(states.velocity[:, joint]).sum() / positions)


def _positions(span: Span, step: float) -> Doubles:
    """The first part of a span at the recorded rate, for choosing the cut-off: (N, n)."""
    grid = span.grid(step)[: int(LOOKED_AT / step)]
    return np.stack([one.at(grid) for one in span.position], axis=1)


def _stretch(span: Span, step: float, factor: int, cutoff: float) -> Stretch:
    """Sample, decimate and filter one span."""
    grid = span.grid(step)
    rate = 1 / (step * factor)

    def filtered(one: Series) -> Doubles:
        return low_pass(decimated(one.at(grid), factor), rate, cutoff)

    q = np.stack([filtered(one) for one in span.position], axis=1)
    qd = np.stack(
        [derivative(q[:, j], rate) if one is None else filtered(one) for j, one in enumerate(span.velocity)],
        axis=1,
    )
    return Stretch(
        time=grid[::factor] + span.shift,
        stamp=span.origin + round(span.start * 1e9),
        q=q,
        qd=qd,
        qdd=derivative(qd, rate),
        effort=np.stack([filtered(one) for one in span.effort], axis=1),
    )
