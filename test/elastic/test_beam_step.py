"""The spin-up manoeuvre of Kane, Ryan and Banerjee (1987), and the order of the implicit step."""

import math
import time

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from kane_dynamics_ros.elastic.body import clamped, straight_beam
from kane_dynamics_ros.elastic.equations import RigidMotion, axial_load, coefficients, geometric_stiffness
from kane_dynamics_ros.elastic.link import BeamRates
from kane_dynamics_ros.elastic.stepping import State, beam_step, sample_time

# The beam of the paper, as Simo and Vu-Quoc used it: L = 10 m, EA = 2.8e7 N, EI = 1.4e4 N m^2, 1.2 kg/m.
BEAM = BeamRates(m=1.2, my=6e-4, mz=6e-4, ry=0.0, rz=0.0, EA=2.8e7, GJ=1.4e4, EIy=1.4e4, EIz=1.4e4)
LENGTH = 10.0
SPEED, RISE = 6.0, 15.0  # [rad/s], [s]


def spin(t):
    """omega and epsilon of the manoeuvre."""
    if t >= RISE:
        return SPEED, 0.0
    turn = 2 * math.pi * t / RISE
    return SPEED / RISE * (t - RISE / (2 * math.pi) * math.sin(turn)), SPEED / RISE * (1 - math.cos(turn))


def turning(body, omega, epsilon, damping=(0.0, 0.0), stiffened=False):
    """Eq. (20) of a beam on a hub that turns about z, with proportional damping."""
    motion = RigidMotion(np.zeros(3), np.array([0.0, 0.0, omega]), np.array([0.0, 0.0, epsilon]))
    system, (a, b) = coefficients(body, motion), damping
    k_G = geometric_stiffness(body, axial_load(body, motion)) if stiffened else 0.0
    return system._replace(c=system.c + a * system.m + b * body.k, k=system.k + k_G)


def at_rest(body):
    return State(*np.zeros((3, len(body.free))))


def spin_up(stiffened, until, h=0.01, elements=10, radius=0.9):
    """Time, and the tip's axial and transverse displacement."""
    body = clamped(straight_beam("plane", BEAM, LENGTH, elements))
    state, rows = at_rest(body), []
    for i in range(round(until / h)):
        system = turning(body, *spin(sample_time(i * h, h, radius)), stiffened=stiffened)
        state = beam_step(state, system, h, radius)
        rows.append((i * h + h, state.x[-3], state.x[-2]))
    return np.array(rows).T


def mujoco_spin_up(until, segments=16, h=0.001):
    """The same beam as a chain of rigid segments and hinge springs: no small-displacement assumption.

    Half of each spring's segment length on either side, a spring EI / (L / segments) in between; the root
    spring is twice as stiff, because it stands for half a segment only.
    """
    part = LENGTH / segments
    hinge, body = 'joint type="hinge" axis="0 0 1"', ""
    for i in reversed(range(segments)):
        stiffness = BEAM.EIz / part * (2 if i == 0 else 1)
        inertia = BEAM.m * part * part**2 / 12
        body = (
            f'<body pos="{part if i else 0} 0 0"><{hinge} stiffness="{stiffness}"/>'
            f'<inertial pos="{part / 2} 0 0" mass="{BEAM.m * part}" diaginertia="1e-3 {inertia} {inertia}"/>'
            f"{body}</body>"
        )
    hub = (
        "<body><" + hinge + ' armature="1e7"/>'
        f'<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{body}</body>'
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option gravity="0 0 0" timestep="{h}" integrator="RK4"/>'
        f"<worldbody>{hub}</worldbody></mujoco>"
    )
    data, rows = mujoco.MjData(model), []
    for i in range(round(until / h)):
        data.qfrc_applied[0] = 1e7 * spin((i + 0.5) * h)[1]
        mujoco.mj_step(model, data)
        absolute = np.cumsum(data.qpos)
        tip = part * np.array(
            [np.cos(absolute[1:] - absolute[0]).sum(), np.sin(absolute[1:] - absolute[0]).sum()]
        )
        rows.append((data.time, tip[1]))
    return np.array(rows).T


def test_the_tip_lags_and_recovers_as_a_chain_without_small_displacements_does():
    _, _, transverse = spin_up(True, 20.0)
    _, witness = mujoco_spin_up(8.0)
    # The largest lag is 6 % of the length; what is linearized is of the order of its square: 0.4 %.
    assert transverse.min() == pytest.approx(witness.min(), rel=0.01)
    assert transverse.min() == pytest.approx(-0.574, abs=0.002)
    assert abs(transverse[-500:]).max() < 0.005  # it swings about the straight beam afterwards


def test_the_spun_beam_is_longer_by_the_closed_form():
    """u = m omega^2 L^3 / (3 EA); the steady stretch also pulls: next order omega^2 m L^2 / EA = 1.5e-4."""
    t, axial, _ = spin_up(True, 20.0)
    exact = BEAM.m * SPEED**2 * LENGTH**3 / (3 * BEAM.EA)
    assert axial[t > RISE].mean() == pytest.approx(exact, rel=1e-3)


def test_without_stiffening_the_manoeuvre_diverges():
    """What Kane, Ryan and Banerjee warned of: 6 rad/s is above the first frequency, 3.80 rad/s."""
    _, _, transverse = spin_up(False, 15.0)
    assert abs(transverse[-1]) > LENGTH


def test_the_step_converges_with_order_two_to_another_integrator():
    elements, until = 4, 0.5
    body = clamped(straight_beam("plane", BEAM, LENGTH, elements))

    def derivative(t, x):
        omega, epsilon = 3 - 3 * math.cos(4 * t), 12 * math.sin(4 * t)
        s = turning(body, omega, epsilon, (0.1, 1e-3))
        d, v = np.split(x, 2)
        return np.concatenate([v, np.linalg.solve(s.m, s.Q - s.c @ v - s.k @ d)])

    exact = solve_ivp(derivative, (0, until), np.zeros(24), "Radau", rtol=1e-9, atol=1e-12).y[10, -1]
    errors = []
    for steps in (200, 400):
        h, state = until / steps, at_rest(body)
        for i in range(steps):
            t = sample_time(i * h, h, 0.8)
            system = turning(body, 3 - 3 * math.cos(4 * t), 12 * math.sin(4 * t), (0.1, 1e-3))
            state = beam_step(state, system, h, 0.8)
        errors.append(abs(state.x[-2] - exact))
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.25)


def test_assembling_and_one_step_of_forty_elements_cost_a_few_solutions_of_as_many_equations():
    """Both are timed in one thread, in turns, so that neither the machine nor its load matters."""
    body = clamped(straight_beam("plane", BEAM, LENGTH, 40))
    state = at_rest(body)
    A, b = np.eye(len(state.x)) + 0.01, np.ones(len(state.x))
    steps, solutions = [], []
    for _ in range(200):
        start = time.thread_time()
        state = beam_step(state, turning(body, 1.0, 0.1, (0.1, 1e-4), stiffened=True), 1e-3)
        middle = time.thread_time()
        np.linalg.solve(A, b)
        steps.append(middle - start)
        solutions.append(time.thread_time() - middle)
    assert np.median(steps) < 10 * np.median(solutions)  # 6 was measured
