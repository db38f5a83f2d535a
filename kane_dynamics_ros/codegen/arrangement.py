"""How a chain is arranged before its equations are written: the same torques, by the fewest operations.

Three things are free. Masses may be regrouped (``segments.regroup``), vectors written in axes that bodies
share (``shared_axes``), and lengths measured in a unit of which one is exactly 1. Rules choose them; for
inverse dynamics, which is called most, single changes are tried as well, as long as one pays.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from kane_dynamics_ros.algebra import Vector, scale
from kane_dynamics_ros.formulation.kane.frames import SNAP
from kane_dynamics_ros.formulation.kane.segments import BodyInertia, Keep, Segment, regroup
from kane_dynamics_ros.formulation.kane.shared_axes import Family, last_families, own_axes, parallel_families

SEARCHED = 12  # joints up to which single changes are tried; beyond, the rules alone keep the cost linear
DECIMALS = 9  # of lengths [m] that are counted as the same
LEAST_LEVER = 1e-3  # a kept mass is a first moment over this lever at least [m]: no large cancelling masses


@dataclass(frozen=True)
class Arrangement:
    """The choices. ``keep`` has an entry a segment.

    ``length``: the unit of length [m]. The unit of mass is 1 kg m^2 / length^2, so that torques stay in N m.
    """

    keep: tuple[Keep, ...]
    families: tuple[Family, ...]
    length: float = 1.0

    def rewritten(self, segments: Sequence[Segment], gravity: Vector) -> tuple[tuple[Segment, ...], Vector]:
        """The chain and gravity regrouped and in these units. Scalars may be numbers or code expressions."""
        regrouped = regroup(segments, self.keep)
        if self.length == 1.0:
            return regrouped, gravity
        in_unit = tuple(_in_unit(segment, self.length) for segment in regrouped)
        return in_unit, scale(1.0 / self.length, gravity)


Cost = Callable[[Arrangement], int]


def plain_arrangement(segments: Sequence[Segment]) -> Arrangement:
    """Own axes, the most frequent length as unit, and mass kept wherever the step to a joint is along x or y.

    That saves inverse dynamics four operations a joint unless the inner body's force is needed by nobody.
    """
    keep = tuple(_keeps(segment)[-1] for segment in segments)
    return Arrangement(keep, own_axes(segments), _units(segments)[0])


def sharing_arrangement(segments: Sequence[Segment]) -> Arrangement:
    """The arrangement with axes shared where joints are parallel, and no mass kept.

    Composite bodies hold all masses, so that a kept one saves nothing where they are needed.
    """
    return Arrangement(
        tuple(_keeps(segment)[0] for segment in segments),
        parallel_families(segments),
        _units(segments)[0],
    )


def improved(start: Arrangement, segments: Sequence[Segment], cost: Cost) -> Arrangement:
    """``start`` after single changes of what is kept and of the axes at tips, each of which lowers the cost.

    Args:
        start: where to begin.
        segments: in common-normal frames, not regrouped.
        cost: operations of what is wanted; asked again of the same arrangements.
    """
    if len(segments) > SEARCHED:
        return start
    best, last = start, None
    while best != last:
        last = best
        for change in range(len(segments) + len(last_families(segments, best.families))):
            for trial in _changed(best, change, segments):
                if cost(trial) < cost(best):
                    best = trial
    return best


def _changed(arrangement: Arrangement, change: int, segments: Sequence[Segment]) -> list[Arrangement]:
    """The axes at a tip changed, or else what is kept at a segment."""
    if change >= len(segments):
        families = arrangement.families
        k = last_families(segments, families)[change - len(segments)]
        return [
            replace(arrangement, families=(*families[:k], option, *families[k + 1 :]))
            for option in families[k].options()
        ]
    keep = arrangement.keep
    options = _keeps(segments[change])
    return [replace(arrangement, keep=(*keep[:change], option, *keep[change + 1 :])) for option in options]


def _keeps(segment: Segment) -> list[Keep]:
    """What mass can be kept at a joint, the rule's choice last."""
    options: list[Keep] = ["none"]
    if segment.parent >= 0 and not segment.prismatic:
        x, y, _ = cast(tuple[float, float, float], segment.p_PoJo_P)
        options += ["y"] if abs(y) > LEAST_LEVER else []
        options += ["x"] if abs(x) > LEAST_LEVER else []
    return options


def _units(segments: Sequence[Segment]) -> list[float]:
    """Lengths of the chain, the most frequent first, and 1 m; only 1 m where a joint slides: force in N."""
    if any(segment.prismatic for segment in segments):
        return [1.0]
    steps = [cast(float, x) for segment in segments for x in segment.p_PoJo_P]
    lengths = [abs(x) for x in steps if abs(x) > LEAST_LEVER]
    frequency = Counter(round(length, DECIMALS) for length in lengths)
    return [*sorted(lengths, key=lambda length: (-frequency[round(length, DECIMALS)], -length)), 1.0]


def _in_unit(segment: Segment, length: float) -> Segment:
    x, y, z = (_ones(x / length) for x in segment.p_PoJo_P)
    body = segment.body
    return replace(
        segment,
        p_PoJo_P=(x, y, z),
        body=BodyInertia(body.mass * (length * length), scale(length, body.moment), body.second),
    )


def _ones(value: float) -> float:
    """1 and -1 without the last digits that rounding leaves."""
    return math.copysign(1.0, value) if abs(abs(value) - 1.0) < SNAP else value
