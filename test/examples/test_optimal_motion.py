"""The optimal motion, held against Pinocchio: its efforts, its limits, and that it beats a plain one."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("casadi")
pinocchio = pytest.importorskip("pinocchio")
from compilers import C_COMPILER

if C_COMPILER is None:
    pytest.skip("no C compiler on this machine", allow_module_level=True)

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "examples/optimal_motion"))
from optimal_motion import DURATION, GOAL, LIMIT_SHARE, START, Motion, optimal_motion

ARM = pinocchio.buildModelFromUrdf(str(ROOT / "urdf/manipulator_5dof.urdf"))
LIMITS = LIMIT_SHARE * ARM.effortLimit


def efforts(motion: Motion) -> np.ndarray:
    data = ARM.createData()
    states = zip(motion.q, motion.qd, motion.qdd, strict=True)
    return np.array([pinocchio.rnea(ARM, data, *state) for state in states])


@pytest.fixture(scope="module")
def cheapest() -> Motion:
    return optimal_motion()


@pytest.fixture(scope="module")
def shortest() -> Motion:
    return optimal_motion(shortest=True)


@pytest.mark.parametrize("which", ["cheapest", "shortest"])
def test_pinocchio_finds_the_same_efforts_and_they_keep_the_limits(
    which: str, request: pytest.FixtureRequest
) -> None:
    motion = request.getfixturevalue(which)
    tau = efforts(motion)
    np.testing.assert_allclose(motion.tau, tau, atol=1e-9 * np.abs(tau).max())
    assert (np.abs(tau) <= LIMITS * (1 + 1e-6)).all()  # Ipopt's own relaxation of bounds is 1e-8
    np.testing.assert_allclose(motion.q[[0, -1]], [START, GOAL], atol=1e-7)
    np.testing.assert_allclose(motion.qd[[0, -1]], 0.0, atol=1e-7)


def test_speeds_and_positions_are_integrals_of_the_accelerations(cheapest: Motion) -> None:
    steps = np.diff(cheapest.time)[:, None]
    speeds = np.cumsum(steps * (cheapest.qdd[1:] + cheapest.qdd[:-1]) / 2, axis=0)
    np.testing.assert_allclose(cheapest.qd[1:], speeds, atol=1e-6)
    inside = steps * cheapest.qd[:-1] + steps**2 * (cheapest.qdd[:-1] / 3 + cheapest.qdd[1:] / 6)
    np.testing.assert_allclose(cheapest.q[1:], START + np.cumsum(inside, axis=0), atol=1e-6)


def test_the_energy_is_less_than_that_of_the_quintic_and_the_time_shorter(
    cheapest: Motion, shortest: Motion
) -> None:
    s = cheapest.time / DURATION
    rise, slope, bend = (
        10 * s**3 - 15 * s**4 + 6 * s**5,
        30 * s**2 - 60 * s**3 + 30 * s**4,
        60 * s - 180 * s**2 + 120 * s**3,
    )
    way = GOAL - START
    quintic = Motion(
        cheapest.time,
        START + np.outer(rise, way),
        np.outer(slope, way) / DURATION,
        np.outer(bend, way) / DURATION**2,
        cheapest.tau,
    )
    assert np.square(cheapest.tau / LIMITS).sum() < np.square(efforts(quintic) / LIMITS).sum()
    assert shortest.time[-1] < 0.9 * DURATION
    assert (np.abs(shortest.tau) / LIMITS).max() > 0.99  # at a limit: else it could be shorter
