"""Kane's equations of elastic arms against Lagrange's by finite differences, Pinocchio, MuJoCo and energy."""

import mujoco
import numpy as np
import pinocchio
import pytest
from elastic_arms import GRAVITY, URDF, kinetic_energy, pendulum, potential_energy, reference_arm, sliding_arm
from scipy.integrate import solve_ivp

from kane_dynamics_ros.elastic.arm import equations
from kane_dynamics_ros.elastic.posture import arm_frames
from kane_dynamics_ros.elastic.stepping import State, begin_step, end_step, method

ARMS = {"reference": reference_arm(E=7e4, elements=2), "sliding": sliding_arm()}


def random_state(model, seed, size=0.05):
    """Joint positions of order 1, deformations of order ``size``, speeds of order 1."""
    rng = np.random.default_rng(seed)
    x, u = rng.normal(size=model.size), rng.normal(size=model.size)
    x[model.n :] *= size
    return x, u


def differences(function, x, step=1e-6):
    """Central differences of an array function along each coordinate, (size, ...)."""
    moves = step * np.eye(len(x))
    return np.stack([(function(x + d) - function(x - d)) / (2 * step) for d in moves])


@pytest.mark.parametrize("name", ARMS)
def test_bias_is_what_lagrange_gives_from_the_energies(name):
    """h = dM/dx u u - u^T dM/dx u / 2 + dV/dx, all derivatives by finite differences."""
    model = ARMS[name]
    x, u = random_state(model, 1)
    dM = differences(lambda p: equations(model, p, u, GRAVITY).M, x)
    dV = differences(lambda p: np.array(potential_energy(model, p, GRAVITY)), x) - model.k @ x
    lagrange = np.einsum("lkj,l,j->k", dM, u, u) - 0.5 * np.einsum("kij,i,j->k", dM, u, u) + dV
    h = equations(model, x, u, GRAVITY).h
    # Differences with step 1e-6 of terms of size |h|: 1e-16 / 1e-6 and 1e-12 relative.
    np.testing.assert_allclose(h, lagrange, atol=3e-8 * abs(h).max())


def mass_points(model, x):
    """Root-frame positions of many mass points that have the arm's inertia: Gauss points of each element
    times four points of the section for the beams, seven points for each rigid body. (points, 3), masses.
    """
    frames, points, masses = arm_frames(model, x), [], []
    for body, frame, beam in zip(model.bodies, frames.bodies, frames.beams, strict=True):
        _rigid_points(body.spatial, frame, points, masses)
        if (flexure := body.flexure) is None:
            continue
        _rigid_points(flexure.rest, beam, points, masses)
        part = flexure.body.element
        delta = np.concatenate([np.zeros(6), x[flexure.place]])
        rate = flexure.body.mass / flexure.body.length
        b = np.sqrt(2 * flexure.body.R2[1, 1] / flexure.body.mass)  # a round section: the same along z
        for j in range(flexure.body.elements):
            for s, w in zip(*np.polynomial.legendre.leggauss(5), strict=True):
                along = (s + 1) / 2 * part.L
                for y, z in ((b, 0), (-b, 0), (0, b), (0, -b)):
                    displaced = shape(along, y, z, part.L) @ delta[6 * j : 6 * j + 12]
                    points.append(beam.p + beam.R @ (np.array([j * part.L + along, y, z]) + displaced))
                    masses.append(w / 2 * part.L * rate / 4)
    return np.array(points), np.array(masses)


def _rigid_points(spatial, frame, points, masses):
    """A body's mass, first and second moments by points on three axes."""
    if not spatial.any():
        return
    S = np.array([spatial[2, 4], spatial[0, 5], spatial[1, 3]])
    R2 = np.trace(spatial[:3, :3]) / 2 * np.eye(3) - spatial[:3, :3]
    second = R2 - np.outer(S, S) / spatial[3, 3]
    values, axes = np.linalg.eigh(second)
    for value, axis in zip(values, axes.T, strict=True):
        for sign in (1, -1):
            points.append(frame.p + frame.R @ (S / spatial[3, 3] + sign * axis))
            masses.append(value / 2)
    points.append(frame.p + frame.R @ S / spatial[3, 3])
    masses.append(spatial[3, 3] - values.sum())


def shape(x, y, z, L):
    """Displacement (3, 12) of the point (x, y, z) per nodal coordinate, sections not turned in bending."""
    a, b = 1 - x / L, x / L
    h1, h2, h3, h4 = (
        1 - 3 * b**2 + 2 * b**3,
        L * (b - 2 * b**2 + b**3),
        3 * b**2 - 2 * b**3,
        L * (b**3 - b**2),
    )
    return np.array(
        [
            [a, 0, 0, 0, 0, 0, b, 0, 0, 0, 0, 0],
            [0, h1, 0, -z * a, 0, h2, 0, h3, 0, -z * b, 0, h4],
            [0, 0, h1, y * a, -h2, 0, 0, 0, h3, y * b, -h4, 0],
        ]
    )


@pytest.mark.parametrize("name", ARMS)
def test_mass_matrix_gives_the_kinetic_energy_of_all_mass_points(name):
    model = ARMS[name]
    x, u = random_state(model, 2)
    step = 1e-6
    forward, masses = mass_points(model, x + step * u)
    backward, _ = mass_points(model, x - step * u)
    velocities = (forward - backward) / (2 * step)
    summed = 0.5 * float(masses @ np.square(velocities).sum(axis=1))
    assert kinetic_energy(equations(model, x, u, GRAVITY).M, u) == pytest.approx(summed, rel=1e-8)


def test_an_undeformed_arm_has_the_rigid_inverse_dynamics_of_pinocchio():
    model = reference_arm()
    robot = pinocchio.buildModelFromUrdf(str(URDF))
    x, u = random_state(model, 3)
    x[5:] = u[5:] = 0.0
    qdd = np.random.default_rng(4).normal(size=5)
    found = equations(model, x, u, GRAVITY)
    expected = pinocchio.rnea(robot, robot.createData(), x[:5], u[:5], qdd)
    np.testing.assert_allclose(found.M[:5, :5] @ qdd + found.h[:5], expected, rtol=1e-10, atol=1e-10)


def derivative(model, x, u):
    found = equations(model, x, u, GRAVITY)
    return np.linalg.solve(found.M, -found.h - model.k @ x - model.c @ u)


def test_a_free_undamped_arm_keeps_its_energy():
    model = sliding_arm(E=3e7)
    x, u = random_state(model, 5, size=0.01)
    u[model.n :] *= 0.01
    n = model.size

    def energy(state):
        M = equations(model, state[:n], state[n:], GRAVITY).M
        return kinetic_energy(M, state[n:]) + potential_energy(model, state[:n], GRAVITY)

    def rate(t, state):
        return np.concatenate([state[n:], derivative(model, state[:n], state[n:])])

    start = np.concatenate([x, u])
    end = solve_ivp(rate, (0, 0.03), start, "DOP853", rtol=1e-9, atol=1e-10).y[:, -1]
    kinetic = kinetic_energy(equations(model, x, u, GRAVITY).M, u)
    assert abs(end[: model.n] - x[: model.n]).max() > 0.01  # it has moved
    assert energy(end) == pytest.approx(energy(start), abs=1e-7 * kinetic)  # the integrator's tolerance


def test_damping_takes_energy_away():
    model = reference_arm(E=7e4, elements=2)
    x, u = random_state(model, 6)
    rate = -float(u @ model.c @ u)
    a = derivative(model, x, u)
    h = 1e-7

    def energy(sign):
        p, v = x + sign * h * u + h * h / 2 * a, u + sign * h * a
        return kinetic_energy(equations(model, p, v, GRAVITY).M, v) + potential_energy(model, p, GRAVITY)

    assert rate < 0
    assert (energy(1) - energy(-1)) / (2 * h) == pytest.approx(rate, rel=1e-5)  # round-off of a difference


def mujoco_pendulum(EI, segments, until, h):
    """The pendulum as rigid segments with hinge springs; where its tip is, (x, z).

    The first joint is free; the springs lie between segments, each for one segment's length of beam.
    """
    part, mass = 1.0 / segments, 0.6 / segments
    inertia, body = mass * part**2 / 12, ""
    for i in reversed(range(segments)):
        spring = f'stiffness="{EI / part}"' if i else ""
        body = (
            f'<body pos="{part if i else 0} 0 0"><joint type="hinge" axis="0 1 0" {spring}/>'
            f'<inertial pos="{part / 2} 0 0" mass="{mass}" diaginertia="{inertia} {inertia} {inertia}"/>'
            f"{body}</body>"
        )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{h}" integrator="RK4"/><worldbody>{body}</worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    for _ in range(round(until / h)):
        mujoco.mj_step(model, data)
    angles = np.cumsum(data.qpos)
    return part * np.array([np.cos(angles).sum(), -np.sin(angles).sum()])


def test_a_falling_elastic_pendulum_agrees_with_a_chain_of_rigid_segments():
    """A different discretization, without small displacements. The tip swings by 20 mm about the rigid rod,
    which turns with 5 rad/s at the end; so the axial load matters too.
    """
    until, h, E = 0.4, 5e-4, 2e9
    witness = mujoco_pendulum(E * np.pi * 0.016**4 / 64, 8, until, 2e-4)  # 16 segments: 0.02 mm further
    stiffened, plain, rigid = (
        swing(arm, until, h) for arm in (pendulum(E, 4, stiffened=True), pendulum(E, 4), pendulum(1e4 * E, 1))
    )
    # Left out: the shortening by the slope, 20 mm^2 / 1 m = 0.3 mm. Without stiffening, the phase is wrong.
    assert np.linalg.norm(stiffened - witness) < 0.2e-3
    assert np.linalg.norm(plain - witness) > 1.5e-3
    assert np.linalg.norm(rigid - witness) > 1.2e-3


def swing(model, until, h):
    state, how = State(*np.zeros((3, model.size))), method(model, h, 0.9)
    state = state._replace(a=derivative(model, state.x, state.u))
    for _ in range(round(until / h)):
        state = end_step(begin_step(model, state, np.zeros(1), GRAVITY, np.zeros(1), how))
    return arm_frames(model, state.x).tip.p[[0, 2]]
