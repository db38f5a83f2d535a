"""A chain's joints and bodies as tables of text."""

from collections.abc import Sequence

from kane_dynamics_ros.description import Chain, ChainJoint
from kane_dynamics_ros.description.errors import listed
from kane_dynamics_ros.description.physical import principal_moments


def joint_lines(chain: Chain) -> list[str]:
    """Each joint: coordinate, kind, axis, position in the frame before it, limits, friction, rotor."""
    head = ("joint", "coordinate", "kind", "axis", "position [m]", "range", "velocity", "effort", "damping")
    rows = [joint_row(joint, chain) for joint in chain.joints]
    return table([(*head, "friction", "rotor inertia"), *rows])


def joint_row(joint: ChainJoint, chain: Chain) -> tuple[str, ...]:
    """One joint's cells."""
    limits = joint.limits
    return (
        repr(joint.name),
        coordinate(joint, chain),
        joint.kind,
        vector(joint.axis),
        vector(joint.p_PoJo_P),
        f"{known(limits.lower)} .. {known(limits.upper)}",
        known(limits.velocity),
        known(limits.effort),
        *(f"{value:.6g}" for value in (joint.damping, joint.friction, joint.rotor_inertia)),
    )


def coordinate(joint: ChainJoint, chain: Chain) -> str:
    """``q1``, or ``-1 q1 + 0.02`` for a follower."""
    q = f"q{joint.coordinate + 1}"
    if chain.coordinates[joint.coordinate] == joint.name:
        return q
    return f"{joint.multiplier:.6g} {q}" + (f" + {joint.offset:.6g}" if joint.offset else "")


def body_lines(chain: Chain) -> list[str]:
    """Each body: mass, centre of mass, principal moments, and what is lumped into it."""
    head = ("body", "mass [kg]", "centre of mass [m]", "principal moments [kg m^2]", "lumped into it")
    return table([head, *(body_row(joint) for joint in chain.joints)])


def body_row(joint: ChainJoint) -> tuple[str, ...]:
    """One body's cells."""
    return (
        repr(joint.body),
        f"{joint.inertia.mass:.6g}",
        vector(joint.inertia.com),
        vector(principal_moments(joint.inertia.tensor)),
        listed(joint.lumped) or "-",
    )


def vector(values: Sequence[float]) -> str:
    """Numbers separated by spaces."""
    return " ".join(f"{value + 0.0:.5g}" for value in values)


def known(value: float | None) -> str:
    """A number, or ? where it is unknown."""
    return "?" if value is None else f"{value:.6g}"


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns aligned on the left; the first row is the head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
