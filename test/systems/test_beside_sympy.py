"""Accelerations of the documented systems beside SymPy's KanesMethod, at random states."""

import numpy as np
import pages
import pytest
import sympy_kane

from kane_dynamics_ros.systems import System, close, complete_speeds, forward_dynamics

# page, the name of its system, the independent speeds, a posture, and what is fixed when it is closed
CASES = [
    ("rolling_disk", "system", ("heading", "lean", "spin"), [0.1, 0.2, 0.3, 0.4, 0.5]),
    ("knife_edge", "skate", ("x", "turn"), [0.1, 0.2, 0.3]),
    ("cart_and_pendulums", None, ("x", "a", "b"), [0.1, 0.5, -0.4]),
    ("slider_crank", "engine", ("crank",), [1.0, -1.2, 0.2]),
    ("five_bar", "five_bar", ("left", "right"), [-2.2, 1.0, -0.9, -1.0]),
]


def system_of(page: str, name: str | None) -> System:
    """The system that a page defines."""
    names, _ = pages.run_page(page)
    return names[name] if name else names["cart"](3.0, 1.0, 0.5, 9.81)


@pytest.mark.parametrize(("page", "name", "independent", "posture"), CASES, ids=[case[0] for case in CASES])
def test_accelerations_are_those_of_sympys_kanes_method(page, name, independent, posture):
    system = system_of(page, name)
    method = sympy_kane.kanes_method(system, independent)
    random = np.random.default_rng(1)
    for _ in range(3):
        q = close(system, posture + random.uniform(-0.05, 0.05, len(posture)))
        u = complete_speeds(system, q, random.uniform(-1, 1, len(posture)))
        found = forward_dynamics(system, q, u, np.zeros(len(posture)))
        expected = sympy_kane.accelerations(method, q, u, system.coordinates)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
