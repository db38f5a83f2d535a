"""Partial velocities of a chain, as ``inspect`` prints them."""

from collections.abc import Iterator
from typing import NamedTuple

from kane_dynamics_ros.cli.inspect_tables import table, vector
from kane_dynamics_ros.description import Chain
from kane_dynamics_ros.formulation.algebra import Vector, add, cross
from kane_dynamics_ros.formulation.kinematics import numeric_sine_cosine, place
from kane_dynamics_ros.formulation.partial_velocities import partial_velocities
from kane_dynamics_ros.formulation.segments import segments_of

DIGITS = 9  # after the decimal point


class Partial(NamedTuple):
    """Of one body for one speed u_r, at q = 0, in body axes: omega_r, and v_r of the centre of mass G.

    [Malvezzi2017] eq. (2).
    """

    body: str
    speed: str
    omega: Vector
    v_G: Vector


def partials(chain: Chain) -> Iterator[Partial]:
    """Those that are not zero, body by body from the root."""
    n = len(chain.coordinates)
    placements = place(segments_of(chain), [0.0] * n, numeric_sine_cosine)
    for joint, row in zip(chain.joints, partial_velocities(placements, n), strict=True):
        for name, partial in zip(chain.coordinates, row, strict=True):
            v_G = add(partial.v_Bo, cross(partial.omega, joint.inertia.com))
            omega, v_G = cleaned(partial.omega), cleaned(v_G)
            if any(omega) or any(v_G):
                yield Partial(joint.body, name, omega, v_G)


def cleaned(v: Vector) -> Vector:
    """Without the traces that quarter turns written with twelve digits leave."""
    x, y, z = (round(float(entry), DIGITS) for entry in v)
    return (x, y, z)


def partial_lines(chain: Chain) -> list[str]:
    """A table of the partial velocities."""
    head = ("body", "speed", "partial angular velocity", "partial velocity of the centre of mass")
    rows = ((repr(p.body), repr(p.speed), vector(p.omega), vector(p.v_G)) for p in partials(chain))
    return table([head, *rows])
