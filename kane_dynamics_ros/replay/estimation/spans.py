"""The parts of a recording without gaps, found before anything is sampled."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kane_dynamics_ros.replay.estimation.series import Series, covered, period, series
from kane_dynamics_ros.replay.reading.joint_states import JointStates
from kane_dynamics_ros.replay.reading.layout import Doubles

GAP_PERIODS, GAP_SECONDS = 5, 0.02  # a silence longer than both is a gap, not a late sample


@dataclass(frozen=True)
class Span:
    """A part without gaps, from ``start`` to ``end`` [s] in the time of its pass through the recording.

    ``shift`` [s] leads from that time to the report's, where passes follow each other; ``origin`` [ns] is
    the stamp at the pass's time 0. The series are the whole pass's, one a joint; a velocity is ``None``
    where it must be derived.
    """

    start: float
    end: float
    shift: float
    origin: int
    position: list[Series]
    velocity: list[Series | None]
    effort: list[Series]

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return self.end - self.start

    def grid(self, step: float) -> Doubles:
        """Uniform times [s] inside the span."""
        return np.asarray(self.start + step * np.arange(int(self.seconds / step * (1 + 1e-12)) + 1))


def spans(parts: Iterable[JointStates], derived: Sequence[bool]) -> Iterator[Span]:
    """The parts without gaps of every pass, in order; each pass sorted by stamp.

    ``derived``: joints whose velocity is not told often enough, so that it does not count.
    """
    shift = 0.0
    for states in parts:
        origin = int(states.stamps[0])
        position, told, effort = (
            series(states.stamps, origin, values)
            for values in (states.position, states.velocity, states.effort)
        )
        velocity = [None if skip else one for one, skip in zip(told, derived, strict=True)]
        times = [one.time for one in (*position, *velocity, *effort) if one is not None]
        if min(map(len, times)) < 2:
            continue  # too little of this pass to know every joint
        step = max(map(period, times))
        for start, end in covered(times, max(GAP_PERIODS * step, GAP_SECONDS)):
            yield Span(start, end, shift, origin, position, velocity, effort)
        shift += float(states.stamps[-1] - origin) * 1e-9 + step


def sampling_step(span: Span) -> float:
    """The sampling period [s]: the slowest joint's, averaged over the span, so that no grid drifts."""
    usual = max(period(one.time) for one in (*span.position, *span.effort))
    return span.seconds / max(1, round(span.seconds / usual))


def silences(found: list[Span]) -> list[float]:
    """How long the gaps between the spans of a pass last [s]."""
    return [after.start - before.end for before, after in pairwise(found) if before.shift == after.shift]
