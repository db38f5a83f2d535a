"""The demonstration's motion against finite differences, and at its ends."""

import numpy as np

from kane_dynamics_ros.cli.demo.recording import DURATION, reference, request

START = np.array([0.0, 0.9, -1.2, 0.3, 0.5])
JOINTS = ("gamma_1", "alpha_2", "alpha_3", "beta_4", "gamma_4")


def test_velocity_and_acceleration_are_the_derivatives_of_the_position():
    h = 1e-4  # central differences err by h^2 q'''/6: below 1e-6 for |q'''| < 30 and, doubled, for q''''
    times = np.linspace(0.01, DURATION - 0.01, 500)
    before, here, after = (reference(times + shift, START) for shift in (-h, 0.0, h))
    np.testing.assert_allclose((after.q - before.q) / (2 * h), here.qd, atol=1e-6)
    np.testing.assert_allclose((after.qd - before.qd) / (2 * h), here.qdd, atol=1e-6)


def test_motion_begins_and_ends_at_rest_where_it_started():
    for motion in (reference([0.0, DURATION], START), reference([-1.0, DURATION + 1.0], START)):
        np.testing.assert_allclose(motion.q, [START, START], atol=1e-12)
        np.testing.assert_allclose(motion.qd, 0.0, atol=1e-12)
        np.testing.assert_allclose(motion.qdd, 0.0, atol=1e-12)


def test_every_joint_moves():
    assert (np.ptp(reference(np.linspace(0.0, DURATION, 200), START).q, axis=0) > 0.5).all()


def test_message_carries_velocity_and_acceleration_at_increasing_times():
    points = request(JOINTS, START).points
    times = np.array([1e-9 * point.time_ns for point in points])
    motion = reference(times, START)
    assert request(JOINTS, START).names == JOINTS
    assert times[0] == 0.0
    assert times[-1] == DURATION
    assert (np.diff(times) > 0.0).all()
    np.testing.assert_allclose([p.positions for p in points], motion.q, atol=1e-7)  # times round to 1 ns
    np.testing.assert_allclose([p.velocities for p in points], motion.qd, atol=1e-7)
    np.testing.assert_allclose([p.accelerations for p in points], motion.qdd, atol=1e-7)
