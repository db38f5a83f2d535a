"""The implicit step of an arm: order, rigid limit, statics, speed."""

import time

import numpy as np
import pytest
from elastic_arms import GRAVITY, pendulum, reference_arm
from scipy.integrate import solve_ivp

from kane_dynamics_ros.elastic import compiled_pass
from kane_dynamics_ros.elastic.arm import equations
from kane_dynamics_ros.elastic.posture import arm_frames, compensate_sag, rigid_tip_position, sag
from kane_dynamics_ros.elastic.stepping import State, begin_step, end_step, method, start
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.runtime.compilation import compiler

Q = np.array([0.1, 0.3, 0.2, 0.4, 0.5])


def simulate(model, x, effort, until, h, radius=0.8, viscous=0.0):
    """The state after ``until`` [s] under constant joint efforts, from rest."""
    how = method(model, h, radius)
    friction = np.full(model.n, viscous)
    free = np.zeros(model.n, dtype=bool)
    state = start(model, x, np.zeros(model.size), effort, GRAVITY, friction, free)
    for _ in range(round(until / h)):
        state = end_step(begin_step(model, state, effort, GRAVITY, friction, how))
    return state


def test_the_step_converges_with_order_two_to_another_integrator():
    model = pendulum(E=2e9, elements=1)
    n, viscous = model.size, 0.3

    def rate(t, y):
        found = equations(model, y[:n], y[n:], GRAVITY)
        load = -found.h - model.k @ y[:n] - model.c @ y[n:]
        load[0] += 1.5 - viscous * y[n]
        return np.concatenate([y[n:], np.linalg.solve(found.M, load)])

    exact = solve_ivp(rate, (0, 0.1), np.zeros(2 * n), "DOP853", rtol=1e-9, atol=1e-12).y[:n, -1]
    errors = [
        abs(simulate(model, np.zeros(n), np.array([1.5]), 0.1, h, viscous=viscous).x - exact)[[0, 3, 5]]
        for h in (2e-4, 1e-4)
    ]
    np.testing.assert_allclose(np.log2(errors[0] / errors[1]), 2.0, atol=0.3)


def test_as_stiffness_grows_the_motion_becomes_the_rigid_one():
    """Difference proportional to 1 / E, and under 1e-6 rad for a stiff arm."""
    effort, until, h = np.array([5.0, 40.0, 12.0, 2e-3, 1e-3]), 0.25, 5e-4
    rigid = simulate(reference_arm(links=()), Q, effort, until, h)
    differences = []
    for E in (7e13, 7e14):
        arm = reference_arm(E=E, elements=1)
        x = sag(arm, Q, GRAVITY)
        found = simulate(arm, x, effort, until, h)
        differences.append(abs(found.x[:5] - rigid.x).max())
    assert abs(rigid.x - Q).max() > 0.1  # it has moved
    assert differences[1] < 1e-6
    assert differences[0] / differences[1] == pytest.approx(10.0, rel=0.3)


def test_rigid_limit_equals_the_generated_module():
    """The rigid equations here against the shipped module, term by term."""
    model, arm = load_model("manipulator_5dof"), reference_arm(links=())
    rng = np.random.default_rng(7)
    q, qd = rng.normal(size=(2, 5))
    found = equations(arm, q, qd, GRAVITY)
    np.testing.assert_allclose(found.M, model.mass_matrix(q), atol=1e-10)
    np.testing.assert_allclose(found.h, model.bias(q, qd), atol=1e-9)


def test_a_level_cantilever_sags_by_the_closed_form():
    """m g L^4 / (8 EI), two thirds of whose slope is at the end: m g L^3 / (6 EI)."""
    E = 2e11
    model = pendulum(E=E, elements=3)
    x = sag(model, [0.0], GRAVITY)
    weight, EI = 0.6 * 9.81, E * np.pi * 0.016**4 / 64
    # Equal nodal loads are exact for a beam under a uniform load; the rest is of order (sag / L)^2 = 1e-6.
    assert arm_frames(model, x).tip.p[2] == pytest.approx(-weight / (8 * EI), rel=5e-6)
    assert x[-2] == pytest.approx(weight / (6 * EI), rel=5e-6)


def test_sag_compensation_puts_the_tip_where_the_rigid_arm_has_it():
    model = reference_arm()
    sagged = np.linalg.norm(arm_frames(model, sag(model, Q, GRAVITY)).tip.p - rigid_tip_position(model, Q))
    corrected = compensate_sag(model, Q, GRAVITY)
    left = arm_frames(model, sag(model, corrected, GRAVITY)).tip.p - rigid_tip_position(model, Q)
    assert sagged > 1e-3
    assert np.linalg.norm(left) < 1e-9


def test_an_arm_in_equilibrium_stays_there():
    model = reference_arm()
    x = sag(model, Q, GRAVITY)
    effort = equations(model, x, np.zeros(model.size), GRAVITY).h[:5]
    np.testing.assert_allclose(simulate(model, x, effort, 0.1, 1e-3).x, x, atol=1e-12)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_step_costs_some_times_one_solution_of_its_linear_system(compiled, monkeypatch):
    """Two elastic links of four elements each: 53 coordinates. Neither the machine nor its load matters."""
    if compiled and compiler() is None:
        pytest.skip("no C compiler on this machine")
    if not compiled:
        monkeypatch.setattr(compiled_pass, "shared_function", lambda *_: None)
    model = reference_arm()
    x = sag(model, Q, GRAVITY)
    state, how = State(x, np.zeros(model.size), np.zeros(model.size)), method(model, 1e-3)
    A, b = np.eye(model.size) + 0.01, np.ones(model.size)
    steps, solutions = [], []
    for _ in range(200):
        start = time.thread_time()
        state = end_step(begin_step(model, state, np.zeros(5), GRAVITY, np.zeros(5), how))
        middle = time.thread_time()
        np.linalg.solve(A, b)
        steps.append(middle - start)
        solutions.append(time.thread_time() - middle)
    assert np.median(steps) < (15 if compiled else 100) * np.median(solutions)
