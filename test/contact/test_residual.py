"""What the motion explains, and what may be expected without contact: as far as a recording can tell."""

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.contact.residual import external_efforts, spread
from kane_dynamics_ros.replay.motion import Interval, Motion
from kane_dynamics_ros.runtime import load_model

CUTOFF = 12.5  # [Hz]


def explained(rate: float, seed: int) -> Array:
    """What is taken for errors of the model, (N, n), of efforts that are sampled at a multiple of 100 Hz.

    All joints move as one sine does; the efforts are off by what lasts as long as the motion.
    """
    model, random = load_model("manipulator_5dof"), np.random.default_rng(seed)
    time = np.arange(round(20.0 * rate)) / rate
    size = random.uniform(0.5, 1.0, 5)
    q, qd, qdd = (np.outer(each, size) for each in (np.sin(time), np.cos(time), -np.sin(time)))
    off = gaussian_filter1d(random.normal(size=(2000, 5)), 30.0, axis=0)
    off = CubicSpline(np.arange(2000) / 100.0, off / off.std(axis=0))(time)
    tau = model.inverse_dynamics(q, qd, qdd) + off * [3.0, 3.0, 1.5, 0.2, 0.2]
    motion = Motion((Interval(time, 0, q, qd, qdd, tau),), rate, rate, CUTOFF, 1, (), 1, (), 0, 0)
    residual = external_efforts(motion, model)
    every = np.searchsorted(residual.time, np.arange(0.1, 19.8, 0.01) - 1e-6)
    return np.asarray((residual.external - residual.uncorrected)[every])


def test_an_arm_that_is_sampled_more_often_shows_no_more_of_its_model_s_errors() -> None:
    """They last as long as motions do: more samples of them are no more evidence. 0.1 if samples counted."""
    for seed in range(2):
        slow, fast = explained(100.0, seed), explained(400.0, seed)
        assert (np.abs(slow).max(axis=0) > [1.0, 1.0, 1.0, 0.03, 0.03]).all()  # [N m]
        assert (np.std(fast - slow, axis=0) < 0.02 * np.std(slow, axis=0)).all()


def test_the_spread_does_not_vanish_where_noise_takes_an_acceleration_through_zero() -> None:
    """Accelerations and efforts are noise that grows and falls over seconds: against the size that it has."""
    time, below = np.arange(6000) / 100.0, []
    size = 0.2 + np.square(np.sin(0.5 * time))
    for seed in range(4):
        noise = gaussian_filter1d(np.random.default_rng(seed).normal(size=(2, 6000)), 3.0, axis=1)
        qdd, external = (size * noise / noise.std(axis=1)[:, None])[..., None]
        everywhere = np.ones(6000, bool)
        found = spread(external, np.zeros_like(qdd), qdd, everywhere, 0.65, 100.0 / CUTOFF)[:, 0]
        below.append(np.quantile(found / (0.935 * size), 0.01))  # 65 % of normal values are within that
    assert np.mean(below) > 0.38  # 0.36 where accelerations count by their values
