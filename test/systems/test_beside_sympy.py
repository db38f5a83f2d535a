"""Accelerations of the documented systems, and of the wind pump, beside SymPy's KanesMethod."""

import numpy as np
import pages
import pytest
import sympy_kane

from kane_dynamics_ros.papers.wind_pump_mechanism import Mechanism, coordinates, pump_system
from kane_dynamics_ros.systems import System, close, complete_speeds, forward_dynamics

# By page: the name of its system there, the independent speeds for KanesMethod, a posture
CASES = {
    "rolling_disk": ("system", ("heading", "lean", "spin"), [0.1, 0.2, 0.3, 0.4, 0.5]),
    "knife_edge": ("skate", ("x", "turn"), [0.1, 0.2, 0.3]),
    "chaplygin_sleigh": ("sleigh", ("u_1", "u_3"), [0.1, 0.2, 0.7]),
    "bicycle": ("bicycle", ("lean", "steer", "rear wheel"), [0.1, 0.2, 0.3, 0.1, 0.5, 0.01, 0.2, 0.6, -0.3]),
    "cart_and_pendulums": (None, ("x", "a", "b"), [0.1, 0.5, -0.4]),
    "four_bar": ("four_bar", ("drive",), [-1.0, 0.5, -1.0]),
    "slider_crank": ("engine", ("crank",), [1.0, -1.2, 0.2]),
    "five_bar": ("five_bar", ("left", "right"), [-2.2, 1.0, -0.9, -1.0]),
    "palletiser": ("arm", ("shoulder", "crank", "tool"), [-1.2, 1.0, -0.2, -1.0, 0.2]),
    "wind_pump": (None, ("crank", "slide"), coordinates(Mechanism(), 0.4, 0.5)),
}


def system_of(page: str) -> System:
    """The system that a page defines, or the paper's wind pump."""
    if page == "wind_pump":
        return pump_system(Mechanism())
    names, _ = pages.run_page(page)
    name = CASES[page][0]
    return names[name] if name else names["cart"](3.0, 1.0, 0.5, 9.81)


def derivation(page: str) -> tuple[System, sympy_kane.Derivation, np.ndarray]:
    """The system, KanesMethod's equations of it, and a posture that satisfies the constraints."""
    system, (_, independent, guess) = system_of(page), CASES[page]
    posture = close(system, guess)
    return system, sympy_kane.Derivation(system, independent, posture), posture


@pytest.mark.parametrize("page", CASES)
def test_accelerations_are_those_of_sympys_kanes_method(page):
    system, theirs, posture = derivation(page)
    random = np.random.default_rng(1)
    for _ in range(2):
        q = close(system, posture + random.uniform(-0.05, 0.05, len(posture)))
        u = complete_speeds(system, q, random.uniform(-1, 1, len(posture)))
        found = forward_dynamics(system, q, u, np.zeros(len(posture)))
        assert found == pytest.approx(theirs.accelerations(q, u), rel=1e-9, abs=1e-9)


def test_every_system_with_a_page_is_compared():
    """But for the page of two arms, which has no constraints and is compared with Pinocchio's trees."""
    assert set(pages.PAGES) - set(CASES) == {"two_arms"}
