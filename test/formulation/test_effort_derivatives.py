"""Derivatives from partial velocities, and shared axes, against dual numbers and the plain placement."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from random_chains import random_chain

from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane.dynamics import (
    composite_bodies,
    mass_matrix,
    resultants,
    segment_efforts,
)
from kane_dynamics_ros.formulation.kane.effort_derivatives import effort_derivatives
from kane_dynamics_ros.formulation.kane.frames import reframe
from kane_dynamics_ros.formulation.kane.kinematics import motion, placements_at
from kane_dynamics_ros.formulation.kane.segments import Segment
from kane_dynamics_ros.formulation.kane.shared_axes import parallel_families, placements_in_shared_axes

GRAVITY = (1.0, -2.0, -9.0)
STEP = 1e-6  # of central differences, whose error is about STEP^2 and rounding over STEP


def partly_parallel(seed: int, prismatic: float) -> list[Segment]:
    """Six random segments in common-normal frames, of which some follow with parallel axes."""
    chain = random_chain(np.random.default_rng(seed), 6, prismatic=prismatic)
    identity = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    segments = list(reframe(chain).segments)
    for k in (1, 2, 4):
        segments[k] = replace(segments[k], R_PJ=identity)
    return segments


def state(seed: int) -> tuple[list[float], list[float], list[float]]:
    q, qd, qdd = np.random.default_rng(seed + 100).uniform(-2.0, 2.0, (3, 6)).tolist()
    return q, qd, qdd


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("prismatic", [0.0, 0.5])
def test_derivatives_are_the_slopes_of_the_efforts(seed: int, prismatic: float) -> None:
    segments, (q, qd, qdd) = partly_parallel(seed, prismatic), state(seed)
    placements = placements_at(segments, q, sine_cosine)
    motions = motion(placements, qd, qdd, GRAVITY)
    found = effort_derivatives(
        placements, motions, resultants(placements, motions), composite_bodies(placements), qd
    )

    def slope(which: int, j: int) -> np.ndarray:
        efforts = []
        for sign in (1.0, -1.0):
            moved = [list(q), list(qd)]
            moved[which][j] += sign * STEP
            efforts.append(segment_efforts(segments, *moved, qdd, GRAVITY, sine_cosine))
        return (np.array(efforts[0]) - np.array(efforts[1])) / (2 * STEP)

    for which, table in enumerate(found):
        expected = np.array([slope(which, j) for j in range(6)]).T
        np.testing.assert_allclose(np.array(table), expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("prismatic", [0.0, 0.5])
def test_every_choice_of_shared_axes_gives_the_same_efforts_and_mass_matrix(
    seed: int, prismatic: float
) -> None:
    segments, (q, qd, qdd) = partly_parallel(seed, prismatic), state(seed)
    families = parallel_families(segments)
    assert max(family.last - family.first for family in families) >= 1
    expected = segment_efforts(segments, q, qd, qdd, GRAVITY, sine_cosine)
    M = mass_matrix(placements_at(segments, q, sine_cosine), 6)
    for choice in product(*(family.options() for family in families)):
        placements = placements_in_shared_axes(segments, q, sine_cosine, choice)
        wrenches = resultants(placements, motion(placements, qd, qdd, GRAVITY))
        efforts = [
            wrench[0 if p.segment.prismatic else 1][2] for p, wrench in zip(placements, wrenches, strict=True)
        ]
        np.testing.assert_allclose(efforts, expected, atol=1e-11 * np.abs(expected).max())
        np.testing.assert_allclose(mass_matrix(placements, 6), M, atol=1e-11 * np.abs(M).max())
