"""The elastic arm as the simulator's engine."""

import math

import numpy as np
import pytest
from elastic_arms import URDF

from kane_dynamics_ros.elastic.posture import rigid_tip_position
from kane_dynamics_ros.elastic.reader import elastic_arm
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.friction import ExtraFriction
from kane_dynamics_ros.runtime import Payload, load_model
from kane_dynamics_ros.simulation.elastic_plant import ElasticPlant
from kane_dynamics_ros.simulation.engine import SimulationDivergedError
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.hardware import SimulatedHardware
from kane_dynamics_ros.simulation.plant import Plant, PlantOptions

TEXT = URDF.read_text(encoding="utf-8")
ELASTIC = '<elastic E="{E}" G="{G}" density="1500" tube="0.05 0.02" elements="2"/>'
Q = np.array([0.1, 0.3, 0.2, 0.4, 0.5])
AT_REST = np.zeros(5)


@pytest.fixture(scope="module")
def model():
    return load_model("manipulator_5dof")


def bent(E=7e10, links=("limb_2", "limb_3")):
    text = TEXT
    for link in links:
        text = text.replace(f'<link name="{link}">', f'<link name="{link}">' + ELASTIC.format(E=E, G=E / 2.6))
    return text


def plant(model, E=7e10, **options):
    free = Friction.none(5)
    return ElasticPlant(
        elastic_arm(bent(E), model), model, PlantOptions(**{"friction": free, "hard_stops": False} | options)
    )


def test_the_rigid_limit_is_the_rigid_plant(model):
    """E a million times steel's: 1e-6 rad after 0.1 s. The step's own error is 5e-7 with this time step."""
    rigid = Plant(model, PlantOptions(time_step=2.5e-4, friction=Friction.none(5), hard_stops=False))
    stiff = plant(model, E=2e17, time_step=2.5e-4)
    effort = model.gravity(Q) + np.array([10.0, 16.0, -6.0, 2e-3, 2e-3])
    for engine in (rigid, stiff):
        engine.reset(Q, AT_REST)
        for _ in range(400):
            engine.step(effort)
    assert abs(rigid.q - Q).max() > 0.1
    np.testing.assert_allclose(stiff.q, rigid.q, atol=1e-6)


def test_under_gravity_compensation_the_joints_stay_and_the_tip_sags(model):
    """The rigid model's gravity torques differ from the sagging arm's by their product with the sag."""
    engine = plant(model)
    engine.reset(Q, AT_REST)
    sagged = engine.tip.p[2] - rigid_tip_position(engine.arm, Q)[2]
    assert -0.02 < sagged < -0.001
    engine.set_brake(np.full(5, math.inf))
    for _ in range(100):
        engine.step(model.gravity(Q))
    np.testing.assert_array_equal(engine.q, Q)
    assert engine.tip.p[2] - rigid_tip_position(engine.arm, Q)[2] == pytest.approx(sagged, abs=1e-9)


def test_a_dropped_payload_makes_the_tip_swing_at_the_first_frequency(model):
    """Joints locked, limb 3 and 2 swing; the tip's height crosses its rest at the first mode's rate."""
    engine = plant(model)
    engine.set_payload(Payload(mass=2.0))
    engine.reset(Q, AT_REST)
    engine.set_payload(Payload())
    engine.set_brake(np.full(5, math.inf))
    heights = []
    for _ in range(600):
        engine.step(AT_REST)
        heights.append(engine.tip.p[2])
    engine.reset(Q, AT_REST)
    swing = np.array(heights) - engine.tip.p[2]
    assert swing[:100].max() > 5e-4
    assert abs(swing[-100:]).max() < abs(swing[:100]).max()  # structural damping
    np.testing.assert_array_equal(engine.q, Q)


def test_dry_friction_holds_a_joint_and_hard_stops_hold_it_within(model):
    sticky = Friction((0.0,) * 5, (200.0,) * 5, ExtraFriction.of(5))
    engine = plant(model, friction=sticky)
    engine.reset(Q, AT_REST)
    for _ in range(50):
        engine.step(AT_REST)  # gravity needs under 100 N m
    np.testing.assert_array_equal(engine.q, Q)
    stopped = plant(model, hard_stops=True)
    upper = np.array([np.inf if joint.upper is None else joint.upper for joint in model.joints])
    stopped.reset(Q + np.array([0.0, 3.3, 0.0, 0.0, 0.0]), AT_REST)
    reached = []
    for _ in range(200):
        stopped.step(model.gravity(stopped.q) + np.array([0.0, 150.0, 0.0, 0.0, 0.0]))
        reached.append(stopped.q[1])
    assert max(reached) == upper[1]  # it meets the stop, and bounces off by the links' elasticity
    assert min(reached[100:]) < upper[1]


def test_it_is_an_engine_of_the_simulated_hardware(model):
    hardware = SimulatedHardware(plant(model))
    hardware.write(model.gravity(hardware.engine.q))
    for _ in range(5):
        hardware.step()
    reading = hardware.read()
    assert hardware.time == pytest.approx(0.005)
    np.testing.assert_array_equal(reading.position, hardware.engine.q)


def test_a_step_that_leaves_the_finite_numbers_is_refused(model):
    engine = plant(model)
    with pytest.raises(SimulationDivergedError):
        engine.step(np.full(5, np.inf))
    np.testing.assert_array_equal(engine.qd, AT_REST)


def test_factors_scale_the_bodies(model):
    plain = elastic_arm(bent(), model)
    double = elastic_arm(bent(), model, factors=dict.fromkeys(model.bodies, 2.0))
    for one, two in zip(plain.bodies, double.bodies, strict=True):
        np.testing.assert_allclose(2 * one.spatial, two.spatial)
        if one.flexure is not None:
            np.testing.assert_allclose(2 * one.flexure.m, two.flexure.m)
            np.testing.assert_allclose(2 * one.flexure.rest, two.flexure.rest, atol=1e-12)


def test_a_urdf_without_elastic_links_or_of_another_robot_is_refused(model, tmp_path):
    with pytest.raises(KaneDynamicsError) as caught:
        elastic_arm(TEXT, model)
    assert (caught.value.code, caught.value.robot, caught.value.file) == (
        "no_elastic_link",
        "manipulator_5dof",
        None,
    )
    other = bent().replace('<mass value="0.6"/>', '<mass value="0.7"/>')
    with pytest.raises(KaneDynamicsError) as refused:
        elastic_arm(other, model)
    assert (refused.value.code, refused.value.expected) == ("other_robot", model.urdf_hash)
    assert refused.value.found != model.urdf_hash
    empty = tmp_path / "none.yaml"
    empty.write_text("{}")
    with pytest.raises(KaneDynamicsError) as caught:
        elastic_arm(TEXT, model, empty)
    assert (caught.value.code, caught.value.file) == ("no_elastic_link", empty)
    heavy = bent().replace('density="1500"', 'density="15000"')
    with pytest.raises(KaneDynamicsError) as caught:
        elastic_arm(heavy, model)
    assert caught.value.code == "elastic_value"
