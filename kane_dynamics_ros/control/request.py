"""A trajectory as it was asked for: joints in any order, nothing checked yet."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class RequestPoint:
    """One point; an empty sequence means that the point does not carry the field.

    ``time_ns`` is the time from the trajectory's start [ns].
    """

    time_ns: int
    positions: Sequence[float] = ()
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()
    effort: Sequence[float] = ()


@dataclass(frozen=True)
class TrajectoryRequest:
    """``stamp_ns`` is the start on the caller's clock [ns]; 0 means at reception."""

    names: Sequence[str]
    points: Sequence[RequestPoint]
    stamp_ns: int = 0
