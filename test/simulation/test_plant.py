"""The plant against closed forms."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kane_dynamics_ros.errors import SingularMassMatrixError
from kane_dynamics_ros.friction import ExtraFriction
from kane_dynamics_ros.simulation.engine import SimulationDivergedError, SimulationError
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.plant import Plant, PlantOptions

Arm = Callable[..., Any]


def run(plant: Plant, effort: float, steps: int) -> None:
    for _ in range(steps):
        plant.step(np.full(len(plant.q), effort))


def test_constant_effort_gives_the_parabola(uncoupled_arm: Arm) -> None:
    plant = Plant(uncoupled_arm([2.0]))
    run(plant, 3.0, 1000)
    # 1 s at 1.5 rad/s^2; rounding of 1000 sums
    np.testing.assert_allclose([plant.q[0], plant.qd[0]], [0.75, 1.5], rtol=1e-12)


@pytest.mark.parametrize("inertia", [1.0, 1e-3, 1e-6, 1e-9])
def test_viscous_damping_follows_the_exponential_at_any_inertia(uncoupled_arm: Arm, inertia: float) -> None:
    damping, effort = 0.1, 0.2
    plant = Plant(uncoupled_arm([inertia], damping=damping))
    run(plant, effort, 50)
    expected = effort / damping * (1.0 - np.exp(-damping / inertia * 0.05))
    # the scheme is exact for one joint of constant inertia; rounding only
    np.testing.assert_allclose(plant.qd[0], expected, rtol=1e-10)


def test_coulomb_friction_stops_a_joint_after_the_right_distance(uncoupled_arm: Arm) -> None:
    plant = Plant(uncoupled_arm([0.5], friction=1.0))
    plant.reset(np.zeros(1), np.ones(1))
    run(plant, 0.0, 600)
    assert plant.qd[0] == 0.0
    # J v^2 / (2 F) = 0.25 rad; the last step, which ends in rest, is off by at most v h
    np.testing.assert_allclose(plant.q[0], 0.25, atol=1e-6)


def test_friction_at_rest_holds_and_does_not_push(uncoupled_arm: Arm) -> None:
    plant = Plant(uncoupled_arm([1e-3], load=[0.3], friction=0.5))
    plant.reset(np.array([0.7]), np.zeros(1))
    for effort in (0.0, 0.75, -0.15):  # net loads -0.3, 0.45, -0.45: all below 0.5
        run(plant, effort, 300)
        assert plant.q[0] == 0.7
        assert plant.qd[0] == 0.0
    run(plant, 0.9, 1)  # net 0.6: 0.1 above what friction holds
    np.testing.assert_allclose(plant.qd[0], 0.1 / 1e-3 * 1e-3, rtol=1e-12)


def test_stribeck_friction_holds_more_at_rest_than_it_brakes_in_motion(uncoupled_arm: Arm) -> None:
    more = ExtraFriction.of(1, stribeck=np.array([0.3]), stribeck_velocity=np.array([0.01]))
    friction = Friction(viscous=(0.0,), coulomb=(0.5,), beyond=more)
    plant = Plant(uncoupled_arm([1.0]), PlantOptions(friction=friction))
    run(plant, 0.79, 300)
    assert plant.q[0] == 0.0
    plant.reset(np.zeros(1), np.ones(1))  # far above the Stribeck velocity: only Coulomb is left
    run(plant, 0.5, 300)
    np.testing.assert_allclose(plant.qd[0], 1.0, rtol=1e-12)


TERMS = {
    "offset": 0.1,
    "load": 0.2,
    "stribeck": -0.3,
    "coulomb_asymmetry": 0.05,
    "viscous_asymmetry": -0.02,
    "square_root": 0.04,
    "stribeck_velocity": 0.6,
}


@pytest.mark.parametrize("speed", [0.5, -0.5])
def test_every_term_of_friction_is_what_the_node_commands_for_a_steady_speed(
    uncoupled_arm: Arm, speed: float
) -> None:
    """The formula of ``kane_dynamics_ros.friction`` at a width that is nothing beside the speed."""
    beyond = ExtraFriction.of(1, **{name: np.array([value]) for name, value in TERMS.items()})
    load = np.array([1.5])
    commanded = beyond.effort(np.array([speed]), load, 1e-9) + 0.1 * speed + 0.5 * np.sign(speed)
    plant = Plant(uncoupled_arm([1.0], load=[1.5]), PlantOptions(friction=Friction((0.1,), (0.5,), beyond)))
    plant.reset(np.zeros(1), np.array([speed]))
    run(plant, float((load + commanded)[0]), 500)
    np.testing.assert_allclose(plant.qd, [speed], rtol=1e-12)


def test_friction_by_the_load_takes_the_load_of_the_acceleration_too(uncoupled_arm: Arm) -> None:
    """J a = tau - l |J a| while it speeds up: a = tau / (J (1 + l)); each of five rounds leaves l of it."""
    beyond = ExtraFriction.of(1, load=np.array([0.1]))
    plant = Plant(uncoupled_arm([2.0]), PlantOptions(friction=Friction((0.0,), (0.0,), beyond)))
    plant.reset(np.zeros(1), np.array([0.1]))
    run(plant, 3.3, 100)
    np.testing.assert_allclose(plant.qd, [0.1 + 0.1 * 3.3 / 2.2], rtol=1e-5)


def test_friction_by_direction_holds_more_one_way_than_the_other(uncoupled_arm: Arm) -> None:
    """0.5 N m one way, 0.3 the other, about an offset of 1 N m."""
    beyond = ExtraFriction.of(1, coulomb_asymmetry=np.array([0.1]), offset=np.array([1.0]))
    plant = Plant(uncoupled_arm([1.0]), PlantOptions(friction=Friction((0.0,), (0.4,), beyond)))
    for effort, accelerates in ((1.49, 0.0), (0.71, 0.0), (1.51, 0.01), (0.69, -0.01)):
        plant.reset(np.zeros(1), np.zeros(1))
        run(plant, effort, 10)
        np.testing.assert_allclose(plant.qd, [0.01 * accelerates], atol=1e-12)


@pytest.mark.parametrize(
    "beyond",
    [
        {"coulomb_asymmetry": 0.6},
        {"viscous_asymmetry": 0.2},
        {"stribeck": -0.6},
        {"load": -0.1},
        {"square_root": -0.1},
        {"offset": np.nan},
        {"stribeck_velocity": 0.0},
    ],
)
def test_friction_that_drives_is_refused_by_name(beyond: dict[str, float]) -> None:
    with pytest.raises(SimulationError) as caught:
        Friction((0.1,), (0.5,), ExtraFriction.of(1, **{name: np.array([x]) for name, x in beyond.items()}))
    assert next(iter(beyond)).split("_")[0] in str(caught.value)


def test_a_hard_stop_is_not_passed_and_can_be_left(uncoupled_arm: Arm) -> None:
    plant = Plant(uncoupled_arm([1.0], limits=(-0.1, 0.1)))
    plant.reset(np.zeros(1), np.array([20.0]))
    highest = 0.0
    for _ in range(200):
        run(plant, 5.0, 1)
        highest = max(highest, plant.q[0])
    assert highest <= 0.1
    np.testing.assert_array_equal([plant.q[0], plant.qd[0]], [0.1, 0.0])
    run(plant, -1.0, 100)
    np.testing.assert_allclose([plant.q[0], plant.qd[0]], [0.1 - 0.005, -0.1], rtol=1e-12)


def test_a_hard_stop_gives_back_its_share_of_the_speed(uncoupled_arm: Arm) -> None:
    plant = Plant(uncoupled_arm([1.0], limits=(-0.1, 0.1)), PlantOptions(restitution=0.5))
    plant.reset(np.array([0.0]), np.array([2.0]))
    run(plant, 0.0, 60)
    np.testing.assert_allclose(plant.qd[0], -1.0, rtol=1e-12)


def test_an_arm_that_starts_outside_its_limits_is_not_moved_and_may_come_back(uncoupled_arm: Arm) -> None:
    plant = Plant(uncoupled_arm([1.0], limits=(-0.1, 0.1)))
    plant.reset(np.array([0.12]), np.zeros(1))
    run(plant, 1.0, 10)
    assert plant.q[0] == 0.12
    run(plant, -1.0, 100)
    np.testing.assert_allclose(plant.q[0], 0.12 - 0.005, rtol=1e-12)


def test_brakes_hold_any_effort(uncoupled_arm: Arm) -> None:
    plant = Plant(uncoupled_arm([1.0, 1e-9]))
    plant.set_brake(np.full(2, np.inf))
    plant.reset(np.array([0.3, -0.2]), np.ones(2))
    run(plant, 1e6, 2)
    held = plant.q.copy()
    run(plant, -1e6, 100)
    np.testing.assert_array_equal(plant.q, held)


def test_a_massless_joint_is_refused_with_the_way_out(uncoupled_arm: Arm) -> None:
    """Field report 107: a zero inertia aborted the forward dynamics."""
    with pytest.raises(SingularMassMatrixError) as caught:
        Plant(uncoupled_arm([1.0, 0.0]))
    assert str(caught.value) == (
        "the mass matrix is singular at joint 'j1': nothing resists its acceleration; lock it "
        "(--lock JOINT=VALUE), give the link an inertia, or give the joint a rotor inertia"
    )


def test_a_massless_joint_runs_when_it_is_locked_or_has_a_rotor(uncoupled_arm: Arm) -> None:
    locked = Plant(uncoupled_arm([1.0, 0.0]), PlantOptions(locked=("j1",)))
    run(locked, 1.0, 200)
    np.testing.assert_allclose(locked.q, [0.02, 0.0], rtol=1e-12)
    geared = Plant(uncoupled_arm([1.0, 0.0]).with_parameters(rotor_inertia=(0.0, 0.5)))
    run(geared, 1.0, 200)
    np.testing.assert_allclose(geared.q, [0.02, 0.04], rtol=1e-12)


def test_a_diverging_arm_says_where_and_what_to_do(uncoupled_arm: Arm) -> None:
    plant = Plant(uncoupled_arm([1.0]))
    with pytest.raises(SimulationDivergedError) as caught, np.errstate(over="ignore", invalid="ignore"):
        run(plant, 1e308, 1)
    assert str(caught.value) == (
        "the simulated arm diverged at 0.001 s, first at joint 'j0': its state is not finite any more; use "
        "a step shorter than 0.001 s, softer controller gains, or a rotor inertia on that joint"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_step": 0.0}, "simulation option time_step: found 0.0; allowed: above 0 s, at most 0.1 s"),
        ({"restitution": 1.5}, "simulation option restitution: found 1.5; allowed: 0 to 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(SimulationError) as caught:
        PlantOptions(**options)  # type: ignore[arg-type]
    assert str(caught.value) == message
