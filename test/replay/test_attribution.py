"""A cause is named only if it can be told from others, is possible, and holds where it was not fitted."""

import numpy as np
import pytest

from kane_dynamics_ros.replay.attribution import attribute

COUNT = 4000
TIME = np.arange(COUNT) / 100.0
random = np.random.default_rng(0)


def columns() -> dict[str, np.ndarray]:
    """Effort of each term of a joint that moves a lot; nothing runs parallel."""
    speed = np.sin(1.3 * TIME) + 0.5 * np.sin(2.1 * TIME + 1)
    return {
        "inertia": np.cos(3.1 * TIME) + 0.7 * np.cos(1.7 * TIME + 2),
        "coriolis": 0.3 * np.sin(4.3 * TIME) * speed,
        "gravity": 2.0 * np.sin(0.9 * TIME + 0.5),
        "viscous": speed,
        "Coulomb": np.tanh(speed / 0.01),
        "offset": np.ones(COUNT),
    }


def further() -> dict[str, np.ndarray]:
    """Effort of Stribeck's rise of that joint."""
    speed = columns()["viscous"]
    return {"stribeck": np.exp(-np.square(speed / 0.2)) * np.tanh(speed / 0.01)}


def named(
    residual: np.ndarray,
    contributions: dict[str, np.ndarray],
    second: dict[str, np.ndarray] | None = None,
) -> dict[str, float]:
    noise = 0.05 * np.random.default_rng(1).normal(size=COUNT)
    found = attribute(residual + noise, contributions, 1.0, COUNT / 4, second=second)
    return {one.term: one.coefficient for one in found}


def test_a_possible_error_is_named_with_its_size():
    terms = columns()
    assert named(0.3 * terms["gravity"], terms) == {"gravity": pytest.approx(0.3, abs=0.01)}


@pytest.mark.parametrize(("term", "size"), [("gravity", 8.6), ("coriolis", -5.2), ("inertia", -1.4)])
def test_an_impossible_size_is_not_named(term, size):
    """Nine times the gravity of the model, or Coriolis efforts of the opposite sign: another cause,
    unknown.
    """
    terms = columns()
    assert term not in named(size * terms[term], terms)


def test_efforts_of_the_wrong_sign_are_named():
    terms = columns()
    assert named(-2.0 * terms["gravity"], terms) == {"gravity": pytest.approx(-2.0, abs=0.02)}


def test_viscous_and_coulomb_friction_whose_errors_cancel_are_named_together():
    """Each alone explains hardly anything, Stribeck's rise more than either."""
    terms = columns()
    wrong = 1.0 * terms["viscous"] - 0.85 * terms["Coulomb"]
    assert named(wrong, terms, further()) == {
        "viscous": pytest.approx(1.0, abs=0.02),
        "Coulomb": pytest.approx(-0.85, abs=0.02),
    }


def test_a_rise_of_friction_is_named_beside_coulomb_but_not_for_a_small_part_of_what_is_unexplained():
    terms, rise = columns(), further()
    known = 1.0 * terms["Coulomb"] + 1.5 * rise["stribeck"]
    assert named(known, terms, rise) == {
        "Coulomb": pytest.approx(1.0, abs=0.02),
        "stribeck": pytest.approx(1.5, abs=0.02),
    }
    assert set(named(known + 1.5 * np.sin(7.7 * TIME), terms, rise)) == {"Coulomb"}


def test_what_happens_once_is_no_cause():
    """A push of two seconds that looks like gravity there, and nowhere else."""
    terms = columns()
    pushed = np.where((TIME > 10) & (TIME < 12), 1.0, 0.0) * terms["gravity"]
    assert named(pushed, terms) == {}


def test_a_term_that_the_others_make_up_together_is_not_named():
    terms = columns()
    imitated = terms | {"gravity": terms["inertia"] - terms["viscous"] + 0.01 * random.normal(size=COUNT)}
    assert "gravity" not in named(0.3 * imitated["gravity"], imitated)


def test_slow_noise_is_not_taken_for_a_cause():
    """Residuals that hang together for seconds have few independent samples: their likeness to a term is
    chance.
    """
    terms = columns()
    wrong = 0
    for seed in range(10):
        steps = np.random.default_rng(seed).normal(size=COUNT)
        drift = np.convolve(steps, np.exp(-np.arange(2000) / 300.0))[:COUNT]
        wrong += bool(named(0.5 * drift / drift.std(), terms))
    assert wrong <= 1
