"""The linear model against Pinocchio's regressor and efforts; sums over lags against their definition."""

import numpy as np
import pinocchio
import pytest
from planted_arm import JOINTS, MODEL, OURS, motion, planted, recorded, store_of, write
from scipy.interpolate import CubicSpline

from kane_dynamics_ros.identification import recordings
from kane_dynamics_ros.identification.regression import FAMILIES, Guess, Regression, chosen_terms
from kane_dynamics_ros.replay.correlation import bartlett, memory

N = len(JOINTS)
NOTHING = np.zeros(10)


def guess_of(truth):
    return Guess(truth.inertial.ravel(), truth.rotor, None, np.zeros(N), np.zeros(N), np.ones(N))


def regression_of(store, blocks=12):
    return Regression(store, MODEL, [NOTHING], [False], blocks)


def coefficients(regression, truth):
    rows = np.zeros((N, regression.width - 2))
    rows[:, : regression.base] = regression.map @ truth.inertial.ravel()
    columns = dict(zip(FAMILIES, chosen_terms(0, 0)[: len(FAMILIES)], strict=True))
    for name, values in (("rotor", truth.rotor), ("viscous", truth.viscous), ("coulomb", truth.coulomb)):
        rows[:, regression.base + columns[name]] = values
    return rows


def test_the_true_parameters_leave_nothing_but_the_filters_rounding(tmp_path):
    """Efforts are Pinocchio's rnea and a friction that turns within milliseconds: 4e-4 of them may remain."""
    truth = planted(3)
    q, qd, qdd = motion(20.0, 250.0, 1)
    tau = truth.effort(q, qd, qdd)
    with store_of(write(tmp_path / "bag", q, qd, tau, 250.0)) as store:
        regression = regression_of(store)
        rows = list(regression.rows(0, guess_of(truth)))
    left = np.concatenate([each.residual(coefficients(regression, truth)) for each in rows])
    assert np.sqrt((left**2).mean(axis=0)) == pytest.approx(0, abs=4e-4 * np.sqrt((tau**2).mean()))


def test_base_columns_give_pinocchios_regressor():
    truth = planted(4)
    q, qd, qdd = motion(4.0, 50.0, 2)
    base = MODEL.base_parameters()
    data = truth.arm.createData()
    ours = MODEL.regressor(q, qd, qdd)[..., base.columns]
    for i in range(0, len(q), 20):
        theirs = pinocchio.computeJointTorqueRegressor(truth.arm, data, q[i], qd[i], qdd[i])
        theirs = theirs.reshape(N, N, 10)[..., OURS].reshape(N, -1)
        np.testing.assert_allclose(
            ours[i] @ base.map @ truth.inertial.ravel(),
            theirs @ truth.inertial.ravel(),
            rtol=1e-9,
            atol=1e-9,
        )


def test_blocks_add_up_to_the_whole_and_hold_plain_sums_of_squares(tmp_path):
    truth = planted(5)
    bag, _ = recorded(tmp_path / "bag", truth, 20.0)
    with store_of(bag) as store:
        guess = guess_of(truth)
        steps = [regression_of(store, k) for k in (1, 12)]
        whole, parts = (each.accumulated(guess) for each in steps)
        rows = list(steps[0].rows(0, guess))
    np.testing.assert_allclose(parts.gram.sum(axis=0), whole.gram[0], rtol=1e-9, atol=1e-9)
    efforts = np.concatenate([r.Z[..., -1] for r in rows])
    np.testing.assert_allclose(whole.gram[0, :, -1, -1], (efforts**2).sum(axis=0))
    assert parts.count.sum(axis=0) == pytest.approx(len(efforts))


def test_a_bag_read_in_pieces_gives_the_rows_of_one_read_whole(tmp_path, monkeypatch):
    truth = planted(6)
    bag, _ = recorded(tmp_path / "bag", truth, 40.0)
    gathered = []
    for messages in (10**6, 2048):
        monkeypatch.setattr(recordings, "MESSAGES", messages)
        with store_of(bag, cutoff=4.0) as store:
            [track] = store.tracks
            pieces = list(store.pieces(track, 4096))
            inside = [slice(p.edge, -p.edge) for p in pieces]
            gathered.append(
                [
                    np.concatenate([getattr(p, x)[i] for p, i in zip(pieces, inside, strict=True)])
                    for x in ("time", "q", "effort")
                ]
            )
    (time, q, effort), (time_p, q_p, effort_p) = gathered
    assert len(time_p) == pytest.approx(len(time), abs=len(time) // 100)
    assert np.diff(time_p).min() > 0  # no sample comes twice
    shared = (time_p >= time[0]) & (time_p <= time[-1])
    # inside the pieces' edges less than 1e-3 of what a filter spoils is left
    for j in range(N):
        for whole, parts in ((q, q_p), (effort, effort_p)):
            at = CubicSpline(time, whole[:, j])(time_p)[shared]
            assert np.abs(parts[shared, j] - at).max() < 5e-3 * np.ptp(whole[:, j])


def test_memory_does_not_grow_with_the_bag(tmp_path, monkeypatch):
    """Peak of Python's and NumPy's allocations while reading: four times the messages, the same peak."""
    import tracemalloc

    monkeypatch.setattr(recordings, "MESSAGES", 2048)
    peaks = []
    for seconds in (40.0, 160.0):
        q, qd, _ = motion(seconds, 250.0, 0)
        bag = write(tmp_path / f"bag_{seconds:.0f}", q, qd, q, 250.0)
        tracemalloc.start()
        with store_of(bag) as store:
            for _piece in store.pieces(store.tracks[0], 4096):
                pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


def test_sums_over_lags_are_newey_and_wests():
    scores = np.random.default_rng(0).normal(size=(50, 3))
    L = 7
    expected = np.zeros((3, 3))
    for t in range(50):
        for s in range(50):
            expected += max(0.0, 1 - abs(t - s) / L) * np.outer(scores[t], scores[s])
    np.testing.assert_allclose(bartlett(scores, L), expected, atol=1e-9)


def test_the_error_of_a_mean_of_correlated_noise_is_the_textbooks():
    """AR(1): the variance of the mean of N samples is sigma^2 / N (1 + rho) / (1 - rho)."""
    random, rho, count = np.random.default_rng(1), 0.8, 40_000
    noise = np.zeros(count)
    for t, e in enumerate(random.normal(size=count - 1), 1):
        noise[t] = rho * noise[t - 1] + e
    found = bartlett(noise[:, None], memory(noise, 8))[0, 0] / count**2
    expected = noise.var() / count * (1 + rho) / (1 - rho)
    assert found == pytest.approx(expected, rel=0.15)
    assert found > 6 * noise.var() / count  # what independent samples would have
