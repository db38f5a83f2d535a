"""The plant on the reference robot: energy, holding, second witnesses, speed. Field reports 104, 106, 107."""

import time
from typing import Literal

import numpy as np
import pinocchio
import pytest
from compilers import C_COMPILER
from scipy.integrate import solve_ivp

from kane_dynamics_ros.friction import ExtraFriction
from kane_dynamics_ros.runtime import Payload, load_model
from kane_dynamics_ros.runtime.parameters import ParameterError
from kane_dynamics_ros.share import share_directory
from kane_dynamics_ros.simulation.actuators import InnerLoop
from kane_dynamics_ros.simulation.engine import SimulationDivergedError
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.hardware import SimulatedHardware
from kane_dynamics_ros.simulation.plant import Plant, PlantOptions
from kane_dynamics_ros.simulation.rollout import simulate

URDF = share_directory() / "urdf" / "manipulator_5dof.urdf"
MODEL = load_model("manipulator_5dof")
COMPILED = pytest.mark.skipif(
    MODEL.backend != "c" or C_COMPILER is None, reason="no C compiler: the compiled step cannot be built"
)
N = 5
FREE = PlantOptions(friction=Friction.none(N), hard_stops=False)
SWING = np.array([0.1, 0.3, 0.2, 0.4, 0.5]), np.array([1.0, 0.0, 0.0, 0.5, 0.2])  # [rad], [rad/s]
MINUTE = 60_000 if MODEL.backend == "c" else 3_000  # steps of 1 ms; pure Python takes 0.2 ms for one


def test_a_free_swing_keeps_its_energy_for_a_minute() -> None:
    plant = Plant(MODEL, FREE)
    plant.reset(*SWING)
    start, drift, kinetic = plant.energy(), 0.0, 0.0
    for step in range(MINUTE):
        plant.step(np.zeros(N))
        if step % 20 == 0:
            drift = max(drift, abs(plant.energy() - start))
            kinetic = max(kinetic, float(MODEL.energy(plant.q, plant.qd).kinetic))
    assert kinetic > 50.0  # [J] it does swing
    assert drift < 1e-6 * kinetic  # measured 1e-8


def test_a_fast_spin_is_stepped_in_parts_and_keeps_its_energy() -> None:
    plant = Plant(MODEL, FREE)
    plant.reset(SWING[0], np.array([1.0, 0.0, 0.0, 150.0, 200.0]))
    start, kinetic = plant.energy(), float(MODEL.energy(plant.q, plant.qd).kinetic)
    for _ in range(1000):
        plant.step(np.zeros(N))
    # whole steps of 1 ms would turn the wrist by 0.2 rad and lose 1e-4
    assert abs(plant.energy() - start) < 1e-6 * kinetic


def test_friction_never_adds_energy() -> None:
    """Field report 104: energy grew."""
    plant = Plant(MODEL, PlantOptions(hard_stops=False))
    plant.reset(*SWING)
    before = plant.energy()
    for _ in range(2000):
        plant.step(np.zeros(N))
        after = plant.energy()
        assert after <= before + 1e-9 * abs(before)  # the integrator's own error
        before = after


def test_the_motion_is_the_one_of_pinocchio_and_a_variable_step_integrator() -> None:
    other = pinocchio.buildModelFromUrdf(str(URDF))
    data = other.createData()
    effort = np.array([3.0, 60.0, 20.0, 0.1, 0.1])

    def rate(_: float, state: np.ndarray) -> np.ndarray:
        return np.r_[state[N:], pinocchio.aba(other, data, state[:N], state[N:], effort)]

    expected = solve_ivp(rate, (0.0, 1.0), np.r_[SWING], method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    plant = Plant(MODEL, FREE)
    plant.reset(*SWING)
    for _ in range(1000):
        plant.step(effort)
    # fourth order at 1 ms: local errors near (w h)^5 / 120 with w up to 20 rad/s, 1000 steps
    np.testing.assert_allclose(np.r_[plant.q, plant.qd], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("friction", [Friction.none(N), None])
def test_gravity_compensation_keeps_the_pose_for_a_minute(friction: Friction | None) -> None:
    """Field report 104: joints drifted by themselves."""
    plant = Plant(MODEL, PlantOptions(friction=friction))
    pose = plant.q.copy()
    for _ in range(MINUTE):
        plant.step(MODEL.gravity(plant.q))
    # without friction the pose is in neutral equilibrium: rounding of 1e-16 in g, integrated twice
    np.testing.assert_allclose(plant.q, pose, atol=1e-9)


def test_friction_holds_the_arm_exactly_below_its_level() -> None:
    plant = Plant(MODEL)
    pose = plant.q.copy()
    load = MODEL.gravity(pose)
    extra = 0.99 * np.array([joint.friction for joint in MODEL.joints])
    for effort in (load + extra, load - extra):
        for _ in range(500):
            plant.step(effort)
        np.testing.assert_array_equal(plant.q, pose)
        np.testing.assert_array_equal(plant.qd, np.zeros(N))


def test_the_arm_falls_onto_its_stops_and_rests() -> None:
    plant = Plant(MODEL)
    for _ in range(10_000):  # measured: at rest after 9 s
        plant.step(np.zeros(N))
    lower = np.array([joint.lower for joint in MODEL.joints])
    upper = np.array([joint.upper for joint in MODEL.joints])
    assert (plant.q >= lower).all()
    assert (plant.q <= upper).all()
    np.testing.assert_array_equal(plant.qd, np.zeros(N))


def test_a_payload_attached_while_running_acts_at_once_and_without_a_jump() -> None:
    payload = Payload(2.0, (0.0, 0.0, 0.1), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01))
    plant = Plant(MODEL, FREE)
    plant.reset(*SWING)
    plant.step(np.zeros(N))
    before = plant.q.copy(), plant.qd.copy()
    plant.set_payload(payload)
    np.testing.assert_array_equal((plant.q, plant.qd), before)
    loaded = Plant(MODEL.with_parameters(payload=payload), FREE)
    loaded.reset(*before)
    for arm in (plant, loaded):
        for _ in range(100):
            arm.step(np.zeros(N))
    np.testing.assert_array_equal(plant.q, loaded.q)
    plant.set_payload(Payload())
    released = Plant(MODEL, FREE)
    released.reset(plant.q, plant.qd)
    for arm in (plant, released):
        arm.step(np.zeros(N))
    np.testing.assert_array_equal(plant.q, released.q)


def test_a_payload_that_is_not_finite_is_refused_and_the_old_one_stays() -> None:
    """Field report 107: a NaN inertia aborted the forward dynamics."""
    plant = Plant(MODEL)
    with pytest.raises(ParameterError) as caught:
        plant.set_payload(Payload(float("nan")))
    assert str(caught.value) == "parameter payload.mass: found [nan]; allowed: 1 finite number >= 0"
    assert plant.model.parameters.payload == Payload()
    plant.step(np.zeros(N))


@COMPILED
@pytest.mark.parametrize(
    "options",
    [
        FREE,
        PlantOptions(),
        PlantOptions(locked=("alpha_3",), restitution=0.5),
        PlantOptions(friction=Friction((1,) * N, (1, 1, 1, 0, 0), ExtraFriction.of(N))),  # integers
        PlantOptions(
            friction=Friction(
                (1.0,) * N,
                (1.0, 1.0, 1.0, 0.1, 0.1),
                ExtraFriction.of(
                    N,
                    **dict.fromkeys(("offset", "load", "coulomb_asymmetry", "square_root"), np.full(N, 0.05)),
                    stribeck=np.array([1.0, -0.5, 2.0, 0.0, 0.1]),
                    viscous_asymmetry=np.full(N, -0.5),
                    stribeck_velocity=np.full(N, 0.3),
                ),
            )
        ),
    ],
)
def test_compiled_and_numpy_steps_agree(options: PlantOptions) -> None:
    arms = Plant(MODEL, options), Plant(load_model("manipulator_5dof", backend="python"), options)
    for arm in arms:
        arm.reset(*SWING)
    for step in range(1000):  # long enough to meet stops, stick and slide
        effort = np.array([30.0 * np.sin(step / 100), 40.0 + 50.0 * np.sin(step / 70), 20.0, 0.05, -0.05])
        for arm in arms:
            arm.step(effort)
    # two ways to solve the same equations: rounding of 1e-16, grown by the motion's own sensitivity
    np.testing.assert_allclose(arms[0].q, arms[1].q, atol=1e-9)
    np.testing.assert_allclose(arms[0].qd, arms[1].qd, atol=1e-8)


@COMPILED
def test_a_step_costs_tens_of_evaluations_not_hundreds_as_in_numpy() -> None:
    arm = SimulatedHardware(Plant(MODEL))
    arm.write(MODEL.gravity(arm.engine.q))

    def seconds() -> float:
        start = time.perf_counter()
        for _ in range(100):
            arm.step()
        return time.perf_counter() - start

    state = np.full(N, 0.1)

    def evaluations() -> float:
        start = time.perf_counter()
        for _ in range(100):
            MODEL.inverse_dynamics(state, state, state)
        return time.perf_counter() - start

    pairs = [(seconds(), evaluations()) for _ in range(200)]  # short: some run with no other process between
    # 20 were measured; the step in NumPy takes 600
    assert min(ours for ours, _ in pairs) < 60 * min(call for _, call in pairs)


def position_pd(rate: float, kp: float, kd: float) -> np.ndarray:
    """Errors [rad] of the last wrist joint, 1e-3 kg m^2, in the last half second of 2 s under PD."""
    goal = np.array([0.0, 0.9, -1.2, 0.3, 0.5])
    lock = ("gamma_1", "alpha_2", "alpha_3", "beta_4")
    arm = SimulatedHardware(Plant(MODEL, PlantOptions(friction=Friction.none(N), locked=lock)))
    arm.engine.reset(goal - np.array([0.0, 0.0, 0.0, 0.0, 0.1]), np.zeros(N))

    def law(reference: np.ndarray, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return kp * (reference[0] - q) - kd * qd

    reference = np.array([goal, np.zeros(N), np.zeros(N)])
    run = simulate(MODEL, law, lambda _: reference, 2.0, arm, rate)
    return np.abs(run.error[run.time > 1.5, 4])


def test_a_light_wrist_wobbles_at_100_hz_and_rests_at_1_khz() -> None:
    """Field report 106. Documented bound: kd < 2 J / T, that is 0.2 at 100 Hz and 2 at 1 kHz."""
    assert position_pd(100.0, 4.0, 0.3).max() > 0.1
    assert position_pd(1000.0, 4.0, 0.3).max() < 1e-6
    assert position_pd(100.0, 1.0, 0.1).max() < 1e-3


def test_inner_position_loops_hold_every_joint_of_the_arm() -> None:
    arm = SimulatedHardware(Plant(MODEL), inner_loop=InnerLoop(MODEL, "position"))
    goal = arm.engine.q + np.array([0.1, -0.1, 0.1, -0.1, 0.1])
    arm.write(goal)
    for _ in range(1000):
        arm.step()
    # dry friction, which the loop does not know, leaves F / (M w^2): 0.02 / (1e-3 * 157^2) at the wrist
    np.testing.assert_allclose(arm.read().position, goal, atol=1e-3)


@pytest.mark.parametrize("backend", ["auto", "python"])
def test_a_diverging_arm_names_the_joint_and_keeps_its_state(backend: Literal["auto", "python"]) -> None:
    plant = Plant(load_model("manipulator_5dof", backend=backend))
    pose = plant.q.copy()
    with pytest.raises(SimulationDivergedError) as caught, np.errstate(all="ignore"):
        plant.step(np.array([0.0, 0.0, 0.0, 1e300, 0.0]))
    assert str(caught.value) == (
        "the simulated arm diverged at 0.001 s, first at joint 'beta_4': its state is not finite any more; "
        "use a step shorter than 0.001 s, softer controller gains, or a rotor inertia on that joint"
    )
    np.testing.assert_array_equal(plant.q, pose)
