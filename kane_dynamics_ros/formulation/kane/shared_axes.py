"""Axes for the vectors of each body, chosen so that few vectors have to be turned from body to body.

Vectors of a body need not be written in its own axes: nothing in the recursions differentiates components.
Joints that follow each other with parallel axes form a family, whose bodies can share one set of axes: then
no vector is turned within it. What turns instead are the bodies' own inertial parameters and the steps from
joint to joint, by sums of angles: a few constants rather than every vector of every pass. The shared axes
are those of one body of the family, or ``UNTURNED``: those in which the family's first joint sits. For the
family at a tip the latter leaves nothing to turn at all, and a body that its joint's turn does not
change, as a flange of equal second moments across its axis, then stops depending on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kane_dynamics_ros.algebra import Scalar, add, apply, rotate_about, scale
from kane_dynamics_ros.formulation.kane.kinematics import Placement, SineCosine, Turn, Z
from kane_dynamics_ros.formulation.kane.segments import BodyInertia, Segment

UNTURNED = -1


@dataclass(frozen=True)
class Family:
    """Segments ``first`` to ``last``, each on the one before, their axes parallel.

    ``axes``: whose axes serve all: a segment's, or UNTURNED.
    """

    first: int
    last: int
    axes: int

    def options(self) -> list["Family"]:
        """The family with every choice of axes."""
        return [replace(self, axes=axes) for axes in (UNTURNED, *range(self.first, self.last + 1))]


def own_axes(segments: Sequence[Segment]) -> tuple[Family, ...]:
    """Every body in its own axes, as ``kinematics.placements_at`` does."""
    return tuple(Family(k, k, k) for k in range(len(segments)))


def parallel_families(segments: Sequence[Segment]) -> tuple[Family, ...]:
    """Families as large as they can be; the joints' axes must be z (``frames.reframe``).

    Families of several, and those that carry no other, are UNTURNED; the others have their own axes.
    """
    starts = [
        k
        for k, segment in enumerate(segments)
        if not k or segment.parent < k - 1 or not _is_identity(segment)
    ]
    ends = [*(k - 1 for k in starts[1:]), len(segments) - 1]
    families = [Family(first, last, UNTURNED) for first, last in zip(starts, ends, strict=True)]
    at_tips = last_families(segments, families)
    return tuple(
        replace(family, axes=family.first) if family.first == family.last and k not in at_tips else family
        for k, family in enumerate(families)
    )


def last_families(segments: Sequence[Segment], families: Sequence[Family]) -> list[int]:
    """The indices of the families that carry no other."""
    carriers = {segments[family.first].parent for family in families}
    return [
        k for k, family in enumerate(families) if not carriers & set(range(family.first, family.last + 1))
    ]


def placements_in_shared_axes(
    segments: Sequence[Segment], q: Sequence[Scalar], sine_cosine: SineCosine, families: Sequence[Family]
) -> tuple[Placement, ...]:
    """``kinematics.placements_at`` with the axes of each body chosen, which serves every recursion alike.

    The bodies in the placements are written in the chosen axes, and hence depend on q.

    Args:
        segments: the chain, joint axes along z.
        q: coordinates, (n,).
        sine_cosine: both of an angle of these scalars.
        families: of all segments, root to tip.
    """

    def turn(outer: int, inner: int) -> Turn | None:
        return _turn(segments, q, sine_cosine, outer, inner)

    placements: list[Placement] = []
    axes: list[int] = []  # of each segment: whose axes serve it, the number before its family's for UNTURNED
    for family in families:
        base, parent = family.first - 1, segments[family.first].parent
        chosen = base if family.axes == UNTURNED else family.axes
        lead = turn(parent, axes[parent]) if parent >= 0 else None
        for k in range(family.first, family.last + 1):
            segment, first = segments[k], k == family.first
            before = lead if first else turn(k - 1, chosen)
            p = segment.p_PoJo_P
            if segment.prismatic:
                position = segment.multiplier * q[segment.coordinate] + segment.offset
                p = add(p, apply(segment.R_PJ, scale(position, segment.axis)))
            body = _turned(segment.body, turn(k, chosen))
            placements.append(
                Placement(
                    replace(segment, body=body),
                    turn(chosen, base) if first else None,
                    p if before is None else rotate_about(Z, *before, p),
                    lead if first else None,
                )
            )
            axes.append(chosen)
    return tuple(placements)


def _turn(
    segments: Sequence[Segment], q: Sequence[Scalar], sine_cosine: SineCosine, outer: int, inner: int
) -> Turn | None:
    """Sine and cosine of the turn of one body of a family from another; ``None`` where it is always 0."""
    low, high = sorted((inner, outer))
    turning = [segment for segment in segments[low + 1 : high + 1] if not segment.prismatic]
    if not turning:
        return None
    positions = [segment.multiplier * q[segment.coordinate] for segment in turning]
    angle = sum(positions[1:], positions[0]) + sum(segment.offset for segment in turning)
    sine, cosine = sine_cosine(angle)
    return (sine if outer > inner else -1 * sine), cosine


def _is_identity(segment: Segment) -> bool:
    """Whether the joint's axes at position 0 are those of the body before it."""
    return all(entry == int(i == j) for i, row in enumerate(segment.R_PJ) for j, entry in enumerate(row))


def _turned(body: BodyInertia, turn: Turn | None) -> BodyInertia:
    """The body in axes from which its own are turned about z.

    With t = (S_xx - S_yy) cos - 2 S_xy sin: S_xx' = S_yy + t cos, S_yy' = S_xx - t cos, S_xy' = S_xy + t sin.
    """
    if turn is None:
        return body
    xx, xy, xz, yy, yz, zz = body.second
    sine, cosine = turn
    t = (xx - yy) * cosine - 2 * xy * sine
    xz, yz, _ = rotate_about(Z, sine, cosine, (xz, yz, 0))
    second = (yy + t * cosine, xy + t * sine, xz, xx - t * cosine, yz, zz)
    return BodyInertia(body.mass, rotate_about(Z, sine, cosine, body.moment), second)
