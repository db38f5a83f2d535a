"""The momentum observer: closed forms on one joint, the reference robot's plant, and its decisions."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.control.observer import (
    MomentumObserver,
    ObserverSettings,
    Thresholds,
    TipWrench,
    default_thresholds,
    root_jacobian,
    tip_wrenches,
)
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.runtime import DynamicsModel, load_model
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.plant import Plant, PlantOptions

N = 5


def one_wrench(jacobian: np.ndarray, effort: np.ndarray, R_RT: np.ndarray, **options: Any) -> TipWrench:
    """At one tip."""
    (found,) = tip_wrenches(jacobian, effort, R_RT[None], **options)
    return found


@pytest.fixture(scope="module")
def model() -> DynamicsModel:
    return load_model("manipulator_5dof")


class OneJoint:
    """J q'' = tau + tau_ext - c tanh(q' / 0.01), as a model."""

    joint_names = ("j",)
    joints = (SimpleNamespace(name="j", effort_unit="N m"),)
    coupling = None

    def __init__(self, inertia: float = 2.0, coulomb: float = 0.0) -> None:
        self.inertia, self.coulomb = inertia, coulomb
        self.parameters = type("P", (), {"coulomb_velocity": 0.01})

    def momentum(self, q: Any, qd: Any) -> Any:
        return np.array([self.inertia * qd, 0.0 * qd])

    def friction_at(self, q: Any, qd: Any) -> Any:
        return self.coulomb * np.tanh(qd / 0.01)


def one_joint(gain: float = 40.0, constant: float = 1.0, coulomb: float = 0.0, **options: Any) -> Any:
    joint: Any = OneJoint(coulomb=coulomb)
    zero = np.zeros(1)
    thresholds = Thresholds(np.array([constant]), zero, zero, np.array([coulomb]))
    return MomentumObserver(ObserverSettings(joint, joint, np.array([gain]), thresholds, **options))


def test_the_residual_of_a_constant_effort_is_exact_at_irregular_times() -> None:
    """tau_ext (1 - exp(-K t)) to rounding, steps from 0.1 to 80 ms: no step is too long for the gain."""
    random = np.random.default_rng(3)
    observer, external, commanded = one_joint(held=True), 3.0, random.normal(size=400) * 5.0
    time = np.concatenate(([0.0], np.cumsum(random.uniform(1e-4, 0.08, 400))))
    qd = 0.7
    for k in range(400):
        observer.update(np.zeros(1), np.array([qd]), commanded[k : k + 1], time[k])
        if k:
            expected = external * -math.expm1(-40.0 * time[k])
            np.testing.assert_allclose(observer.residual, expected, rtol=1e-10)
        qd += (commanded[k] + external) / 2.0 * (time[k + 1] - time[k])


def test_a_measured_effort_that_ramps_leaves_no_residual() -> None:
    """The trapezoid integrates what is linear in time exactly."""
    observer, time = one_joint(), np.arange(0.0, 0.5, 0.004)
    for t in time:
        observer.update(np.zeros(1), np.array([6.0 * t * t / 2.0 / 2.0]), np.array([6.0 * t]), t)
    assert abs(observer.residual[0]) < 1e-12


def plant_run(model: DynamicsModel, observer: MomentumObserver, external: np.ndarray, step: float) -> None:
    """Half a second of the frictionless reference robot, moving fast, the external efforts constant."""
    plant = Plant(model, PlantOptions(time_step=step, friction=Friction.none(N), hard_stops=False))
    plant.reset(np.array([0.1, 0.8, 0.5, 0.3, 0.2]), np.array([1.0, -0.8, 1.2, 1.5, -2.0]))
    for k in range(round(0.5 / step) + 1):
        effort = model.gravity(plant.q) + 2.0 * np.sin(k * step * np.arange(1.0, 6.0))
        observer.update(plant.q.copy(), plant.qd.copy(), effort, k * step)
        plant.step(effort + external)


def quiet(model: DynamicsModel, gain: float = 20.0, **options: Any) -> MomentumObserver:
    """An observer that never reports, for an arm without friction."""
    zero = np.zeros(N)
    never = Thresholds(np.full(N, np.inf), zero, zero, zero)
    return MomentumObserver(ObserverSettings(model, model, np.full(N, gain), never, **options))


def test_the_residual_of_a_moving_arm_converges_with_the_square_of_the_step(model: DynamicsModel) -> None:
    """To tau_ext (1 - exp(-K t)) on all joints, though no acceleration is known."""
    external = np.array([8.0, -5.0, 4.0, 0.5, -0.3])
    expected = external * -math.expm1(-20.0 * 0.5)
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        observer = quiet(model, held=True)
        plant_run(model, observer, external, step)
        errors.append(np.abs(observer.residual - expected).max())
    assert errors[2] < 2e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.2)


def test_gains_are_each_joints_own(model: DynamicsModel) -> None:
    observer = quiet(model, held=True)
    gains = np.array([5.0, 10.0, 20.0, 40.0, 80.0])
    observer.settings = ObserverSettings(model, model, gains, observer.settings.thresholds, held=True)
    external = np.array([8.0, -5.0, 4.0, 0.5, -0.3])
    plant_run(model, observer, external, 1e-3)
    np.testing.assert_allclose(observer.residual, external * -np.expm1(-gains * 0.5), atol=2e-3)  # the step's


def test_a_gap_or_a_repeated_time_concludes_nothing() -> None:
    observer = one_joint(longest_gap=0.05)
    rest = np.zeros(1)
    assert not observer.update(rest, rest, rest, 0.0)
    assert observer.update(rest, rest, rest, 0.01)
    assert not observer.update(rest, rest + 9.0, rest, 0.01)
    assert not observer.update(rest, rest + 9.0, rest, 0.5)  # what happened in the gap is not known
    assert observer.update(rest, rest + 9.0, rest, 0.51)
    assert observer.residual[0] == 0.0


def test_a_contact_of_before_a_gap_is_no_collision_after_it() -> None:
    """States pause, as in an emergency stop, the collision is reset, and the arm is free again."""
    observer = one_joint(gain=100.0, constant=1.0, longest_gap=0.05)
    rest = np.zeros(1)
    for k in range(100):
        observer.update(rest, rest, np.array([-2.0]), k * 1e-3)
    assert observer.collision is not None
    observer.reset()
    for k in range(100):
        observer.update(rest, rest, rest, 0.5 + k * 1e-3)
    assert observer.collision is None
    assert observer.residual[0] == 0.0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_collision_is_latched_with_its_joint_until_it_is_reset(sign: float) -> None:
    observer = one_joint(gain=100.0, constant=1.0)
    for k in range(200):
        push = sign * 2.0 if k >= 100 else 0.0
        observer.update(np.zeros(1), np.zeros(1), np.array([-push]), k * 1e-3)  # what holds the arm still
    found = observer.collision
    assert found is not None
    assert (found.joint, found.unit) == ("j", "N m")
    # r passes half of its end after ln 2 / K = 6.9 ms
    assert found.time == pytest.approx(0.1 + 0.0069, abs=1.5e-3)
    assert found.residual * sign > found.threshold == 1.0
    observer.update(np.zeros(1), np.zeros(1), np.zeros(1), 0.3)
    assert observer.collision is found
    observer.reset()
    assert observer.collision is None


def test_the_threshold_must_be_exceeded_for_as_long_as_is_asked() -> None:
    observer = one_joint(gain=1000.0, confirmation=0.02)
    for k in range(400):
        push = 5.0 if 100 <= k < 115 or k >= 300 else 0.0
        observer.update(np.zeros(1), np.zeros(1), np.array([-push]), k * 1e-3)
        if k == 250:
            assert observer.collision is None
    assert observer.collision is not None
    assert observer.collision.time == pytest.approx(0.321, abs=2e-3)


def test_an_older_state_changes_nothing() -> None:
    observer, still = one_joint(), np.zeros(1)
    assert observer.seen == -math.inf
    for time in (1.0, 1.01):
        observer.update(still, still, still, time)
    assert not observer.update(still, np.array([5.0]), still, 1.005)
    assert observer.seen == 1.01
    assert observer.update(still, still, still, 1.02)
    assert observer.residual[0] == 0.0


def test_after_an_interruption_any_time_may_follow_and_what_was_adapted_to_stays() -> None:
    observer, still = one_joint(gain=100.0, adaptation=1.0), np.zeros(1)
    for k in range(2000):
        observer.update(still, still, still - 0.9, 10.0 + k * 1e-3)
    offset = observer.offset
    assert offset[0] == pytest.approx(0.9, rel=0.02)  # after two time constants or more
    observer.interrupt()
    assert not observer.update(still, still + 5.0, still - 0.9, 1.0)  # what it moved meanwhile is not known
    assert observer.update(still, still + 5.0, still - 0.9, 1.001)
    np.testing.assert_allclose(observer.contact, 0.0, atol=0.02)
    observer.update(still, still + 5.0, still - 5.9, 1.002)
    assert observer.contact[0] > 0.1  # of 5 N m, within a millisecond of a time constant of ten


@pytest.mark.parametrize("speed", [0.005, -0.3])
def test_at_constant_speed_the_threshold_is_that_of_the_speed_from_the_first_residual_on(
    speed: float,
) -> None:
    """1 - |tanh(q'/0.01)| of the friction at rest, and |q'|."""
    observer = one_joint(constant=1.0, coulomb=0.2)
    assert not observer.threshold_parts.any()
    for k in range(4):
        observer.update(np.array([speed * 0.01 * k]), np.array([speed]), np.zeros(1), 0.01 * k)
        if k:
            slow = 1.0 - abs(math.tanh(speed / 0.01))
            np.testing.assert_allclose(observer.threshold_parts[:, 0], [slow, abs(speed), 0.0], atol=1e-15)
            np.testing.assert_allclose(observer.threshold, 1.0 + 0.2 * slow, rtol=1e-14)


def test_the_acceleration_in_a_threshold_rises_from_rest_as_the_residual_does() -> None:
    """|q''| (1 - exp(-K t)): an error that grows with the acceleration is never above its threshold."""
    observer, acceleration = one_joint(gain=40.0), -2.0
    for k in range(6):
        t = 0.01 * k
        observer.update(np.zeros(1), np.array([acceleration * t]), np.zeros(1), t)
        if k:
            expected = 2.0 * -math.expm1(-40.0 * t)
            assert observer.threshold_parts[2, 0] == pytest.approx(expected, rel=1e-12)


def test_dry_friction_of_unknown_sign_stays_below_the_threshold() -> None:
    """A joint at rest under any load that its friction may hold: the bound follows from the model."""
    observer = one_joint(gain=50.0, constant=1e-9, coulomb=3.0)
    random = np.random.default_rng(0)
    for k in range(2000):
        load = 3.0 * random.uniform(-1.0, 1.0) if k % 40 == 0 else load  # noqa: F821 - set at k = 0
        observer.update(np.zeros(1), np.zeros(1), np.array([load]), k * 1e-3)
        assert observer.collision is None
    assert np.abs(observer.residual).max() > 0.1


@pytest.mark.parametrize(("share", "reports"), [(1.0, False), (0.8, True)])
def test_errors_that_grow_with_speed_and_acceleration_stay_below_thresholds_that_do(
    share: float, reports: bool
) -> None:
    """A wrong inertia and damping: their residual is the low pass of the error, and so is the bound."""
    wrong: Any = OneJoint(inertia=2.0)
    bound = Thresholds(np.array([1e-6]), np.array([0.5 * share]), np.array([0.4 * share]), np.zeros(1))
    observer = MomentumObserver(ObserverSettings(wrong, wrong, np.array([50.0]), bound))
    for t in np.arange(0.0, 3.0, 1e-3):
        grown, growth = 1.0 - math.exp(-t), math.exp(-t)
        qd = math.sin(7 * t) * grown
        qdd = 7 * math.cos(7 * t) * grown + math.sin(7 * t) * growth
        observer.update(np.zeros(1), np.array([qd]), np.array([2.39 * qdd + 0.49 * qd]), float(t))
    assert (observer.collision is not None) is reports
    assert np.abs(observer.residual).max() > 0.5


def test_a_lasting_residual_is_adapted_to_and_a_push_is_not() -> None:
    observer = one_joint(gain=50.0, constant=1.0, adaptation=1.0)
    for k in range(8000):
        offset = 0.9 + 1.5 * min(k / 6000, 1.0)  # drifts far beyond the threshold
        push = 2.0 if k >= 7000 else 0.0
        observer.update(np.zeros(1), np.zeros(1), np.array([-offset - push]), k * 1e-3)
        if k == 6999:
            assert observer.collision is None
            assert observer.residual[0] > 2.0
    assert observer.collision is not None
    assert observer.contact[0] == pytest.approx(2.0, abs=0.3)


def test_default_thresholds_never_report_a_joint_without_an_effort_limit(model: DynamicsModel) -> None:
    limits = np.array([250.0, np.inf, 120.0, 0.0, 15.0])
    found = default_thresholds(model.with_urdf_friction(), limits)
    np.testing.assert_allclose(found.constant, [6.25, np.inf, 3.0, np.inf, 0.375])
    np.testing.assert_allclose(found.rest, [joint.friction for joint in model.joints])


# The wrench at the tip.


def six_axis_arm() -> DynamicsModel:
    from generated_robots import generated

    return load_model(generated("panda").module)


POSTURE = np.array([0.3, -0.5, 0.2, -1.9, 0.1, 1.6, 0.4])


def test_an_arm_of_seven_joints_tells_the_whole_wrench_in_tip_axes() -> None:
    arm = six_axis_arm()
    w = np.array([10.0, -5.0, 8.0, 0.5, -1.0, 0.3])
    effort, R_RT = arm.external_effort(POSTURE, w), arm.tip_pose(POSTURE)[:3, :3]
    found = one_wrench(root_jacobian(arm, POSTURE), effort, R_RT)
    np.testing.assert_allclose(found.value, w, rtol=1e-9)
    np.testing.assert_allclose(found.resolution, 1.0, rtol=1e-9)
    assert found.determined.all()


def test_what_the_posture_cannot_tell_is_said() -> None:
    """A force along the stretched arm loads no joint; what is told of others is right all the same."""
    model = load_model("manipulator_5dof")
    q = np.array([0.4, 0.9, 0.0, 0.2, 0.1])  # the elbow straight
    J, R_RT = root_jacobian(model, q), model.tip_pose(q)[:3, :3]
    silent = np.linalg.svd(J[:3].T)[2][-1]  # a force that no joint feels
    assert np.abs(J[:3].T @ silent).max() < 1e-9
    force = np.array([3.0, -2.0, 5.0])
    found = one_wrench(J, J[:3].T @ force, R_RT, assume="force")
    told = R_RT @ found.value[:3]
    np.testing.assert_allclose(told, force - silent * (silent @ force), atol=1e-9)
    mixed = np.abs(R_RT.T @ silent)
    np.testing.assert_allclose(found.resolution[:3], 1.0 - mixed**2, atol=1e-9)
    assert not found.determined[np.argmax(mixed)]


def test_near_a_singular_posture_the_wrench_stays_bounded() -> None:
    """Undamped least squares would answer noise of 0.1 N m with thousands of newtons."""
    model = load_model("manipulator_5dof")
    q = np.array([0.4, 0.9, 1e-5, 0.2, 0.1])
    noise = np.random.default_rng(1).normal(size=(50, 5)) * 0.1
    J, R_RT = root_jacobian(model, q), model.tip_pose(q)[:3, :3]
    largest = max(np.abs(one_wrench(J, each, R_RT, assume="force").value).max() for each in noise)
    undamped = np.abs(np.linalg.lstsq(J[:3].T, noise.T, rcond=1e-15)[0]).max()
    assert undamped > 1e3
    assert largest < 20.0


def test_a_constant_force_is_told_while_the_arm_moves(model: DynamicsModel) -> None:
    """The Jacobian comes through the residual's low pass, so that both are late alike."""
    force = np.array([20.0, 10.0, -15.0])
    observer = quiet(model, gain=10.0, wrench=True, held=True)
    step = 1e-3
    plant = Plant(model, PlantOptions(time_step=step, friction=Friction.none(N), hard_stops=False))
    plant.reset(np.array([0.1, 0.8, 0.9, 0.3, 0.2]), np.array([1.0, -0.4, 0.6, 0.0, 0.0]))
    for k in range(1100):
        q, qd = plant.q.copy(), plant.qd.copy()
        command = model.gravity(q) - np.array([3.0, 3.0, 3.0, 0.01, 0.01]) * qd
        observer.update(q, qd, command, k * step)
        load = model.external_effort(q, np.array([*force, 0.0, 0.0, 0.0]), frame="root")
        plant.step(command + (load if k >= 100 else 0.0))
    assert observer.jacobian is not None
    R_RT = model.tip_pose(q)[:3, :3]
    now = R_RT @ one_wrench(root_jacobian(model, q), observer.residual, R_RT, assume="force").value[:3]
    alike = R_RT @ one_wrench(observer.jacobian, observer.residual, R_RT, assume="force").value[:3]
    assert np.linalg.norm(alike - force) < 0.1 * np.linalg.norm(now - force)


def test_forces_at_both_hands_of_a_tree_are_told_apart(tmp_path: Path) -> None:
    """In the plane that the arms move in; across it only the waist feels them, both alike."""
    urdf = Path(__file__).parents[2] / "urdf/two_arms.urdf"
    chain = serial_chain(load_robot(urdf), "all")
    model = load_model(write_module(derive(chain), "two_arms", tmp_path)[0], backend="python")
    q = np.array([0.3, 0.4, 0.7, -1.1, 0.5, -0.6, -0.9, 0.8])
    along, up = np.array([math.cos(q[0]), math.sin(q[0]), 0.0]), np.array([0.0, 0.0, 1.0])
    forces = {"left_hand": 4.0 * along + 9.0 * up, "right_hand": -7.0 * along + 5.0 * up}
    wrenches = {tip: [*force, 0.0, 0.0, 0.0] for tip, force in forces.items()}
    effort = model.external_effort(q, wrenches, frame="root")
    J = root_jacobian(model, q)
    R_RT = np.stack([model.tip_pose(q, tip=tip)[:3, :3] for tip in model.tips])
    found = tip_wrenches(J, effort, R_RT, assume="force", damping=1e-9)
    for tip, each, R in zip(model.tips, found, R_RT, strict=True):
        np.testing.assert_allclose(R @ each.value[:3], forces[tip], atol=1e-9)
        assert not each.determined[:3].all()
