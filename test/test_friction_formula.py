"""The friction formula against its definition, and that the node commands and the observer subtracts it."""

import math

import numpy as np
import pytest

from kane_dynamics_ros.control.law import (
    MODES,
    Law,
    TermSwitches,
    direction_after,
    efforts,
    efforts_by_term,
)
from kane_dynamics_ros.control.observer import MomentumObserver, ObserverSettings, default_thresholds
from kane_dynamics_ros.friction import BEYOND, ExtraFriction
from kane_dynamics_ros.runtime import load_model

MODEL = load_model("manipulator_5dof", backend="python").with_parameters(
    viscous=(0.3,) * 5, coulomb=(0.7,) * 5
)
WIDTH = MODEL.parameters.coulomb_velocity


def coefficients(seed=0):
    random = np.random.default_rng(seed)
    terms = {name: random.uniform(0.1, 1.0, 5) for name in (*BEYOND, "stribeck_velocity")}
    return {**terms, "at_rest": np.zeros(5)}


def by_hand(terms, joint, qd, load):
    """The formula of kane_dynamics_ros.friction, one joint, one number at a time."""
    t = {name: float(values[joint]) for name, values in terms.items()}
    s = math.tanh(qd / WIDTH)
    return (
        t["viscous_asymmetry"] * abs(qd)
        + t["square_root"] * math.copysign(math.sqrt(abs(qd)), qd)
        + (t["stribeck"] * math.exp(-((qd / t["stribeck_velocity"]) ** 2)) + t["load"] * abs(load)) * s
        + t["coulomb_asymmetry"] * abs(s)
        + t["offset"]
    )


def test_the_formula():
    terms, random = coefficients(), np.random.default_rng(1)
    qd, load = random.normal(size=(7, 5)), 10 * random.normal(size=(7, 5))
    found = ExtraFriction(**terms).effort(qd, load, WIDTH)
    expected = [[by_hand(terms, j, qd[i, j], load[i, j]) for j in range(5)] for i in range(7)]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "gravity_compensation"])
def test_every_mode_commands_it_at_the_reference(mode):
    random = np.random.default_rng(2)
    reference, q, qd = random.normal(size=(3, 5)), random.normal(size=5), random.normal(size=5)
    gains, terms = (400.0 * np.ones(5), 40.0 * np.ones(5)), coefficients()
    plain = Law(mode, MODEL, *gains, TermSwitches())
    law = Law(mode, MODEL, *gains, TermSwitches(), ExtraFriction(**terms))
    load = plain.rigid.inverse_dynamics(*reference)
    expected = [by_hand(terms, j, reference[1, j], load[j]) for j in range(5)]
    change = efforts(law, reference, q, qd) - efforts(plain, reference, q, qd)
    np.testing.assert_allclose(change, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(efforts_by_term(law, reference, q, qd).total, efforts(law, reference, q, qd))


def test_it_is_commanded_without_viscous_and_coulomb_friction_too_but_not_when_switched_off():
    bare = MODEL.with_parameters(viscous=(0.0,) * 5, coulomb=(0.0,) * 5)
    offset = ExtraFriction.of(5, offset=np.arange(5.0))
    reference, none = np.zeros((3, 5)), np.zeros(5)
    for on in (True, False):
        law = Law("feedforward", bare, none, none, TermSwitches(friction=on), offset)
        found = efforts(law, reference, none, none) - bare.gravity(none)
        np.testing.assert_allclose(found, np.arange(5.0) * on, atol=1e-12)


def test_the_observer_takes_no_offset_for_a_contact():
    """An arm at rest whose measured effort is gravity and the offset: no residual is left."""
    offset = np.array([2.0, -3.0, 1.0, 0.5, -0.5])
    q, rest = np.array([0.1, 0.5, -0.7, 0.3, 0.2]), np.zeros(5)
    rigid = MODEL.with_parameters(viscous=(0.0,) * 5, coulomb=(0.0,) * 5)
    left = []
    for beyond in (ExtraFriction.of(5, offset=offset), None):
        thresholds = default_thresholds(rigid, np.full(5, 100.0))
        observer = MomentumObserver(
            ObserverSettings(rigid, MODEL, np.full(5, 20.0), thresholds, beyond=beyond)
        )
        for k in range(400):
            observer.update(q, rest, rigid.gravity(q) + offset, 0.005 * k)
        left.append(observer.residual)
    assert left[0] == pytest.approx(0.0, abs=1e-9)
    assert np.abs(left[1]) == pytest.approx(np.abs(offset), rel=1e-3)


def test_the_nodes_parameters_make_it():
    pytest.importorskip("rclpy", reason="the node's parameters need ROS 2")
    from kane_dynamics_ros.nodes.feedforward.parameters import TABLE
    from kane_dynamics_ros.runtime.node_parameters import friction_beyond

    values = {each.name: each.default for each in TABLE}
    assert not friction_beyond(values, MODEL.joint_names).any
    values["friction.load"] = [0.1, 0.2, 0.3, 0.4, 0.5]
    found = friction_beyond(values, MODEL.joint_names)
    assert found.load.tolist() == values["friction.load"]
    assert found.stribeck_velocity.tolist() == [1.0] * 5


def test_the_parameters_that_the_node_takes_make_the_simulated_arm():
    """Each by its own name; without them the URDF's friction, with more at rest by ``plant.static_ratio``."""
    pytest.importorskip("rclpy", reason="the node's parameters need ROS 2")
    from kane_dynamics_ros.nodes.hardware.parameters import TABLE, joint_friction

    values = {each.name: each.default for each in TABLE} | {"plant.static_ratio": 1.5}
    by_urdf = joint_friction(MODEL, values)
    assert list(by_urdf.viscous) == [joint.damping for joint in MODEL.joints]
    assert list(by_urdf.beyond.stribeck) == [0.5 * joint.friction for joint in MODEL.joints]
    given = {name: list(0.1 * each) for name, each in coefficients().items()}
    given |= {"viscous": [0.3] * 5, "coulomb": [0.7] * 5}
    found = joint_friction(MODEL, values | {f"friction.{name}": each for name, each in given.items()})
    assert (list(found.viscous), list(found.coulomb)) == (given.pop("viscous"), given.pop("coulomb"))
    assert {name: list(getattr(found.beyond, name)) for name in given} == given


@pytest.mark.parametrize("coupled", [False, True])
def test_what_stays_at_rest_has_the_direction_of_the_last_motion(coupled):
    """A law that saw the second joint move back, the first one never: 60 % of level and Coulomb friction."""
    C = np.eye(5)
    C[2, 1] = 0.5 * coupled
    model = MODEL.with_parameters(coupling=C.ravel()) if coupled else MODEL
    terms = {**coefficients(), "at_rest": np.full(5, 0.6), "coupling": C if coupled else None}
    law, none = (
        Law("feedforward", model, np.zeros(5), np.zeros(5), TermSwitches(), ExtraFriction(**terms)),
        np.zeros(5),
    )
    motion, rest = np.zeros((2, 3, 5))
    motion[1, 1] = -0.3
    direction = direction_after(law, rest, direction_after(law, motion, none))
    assert direction.tolist() == [0.0, -1.0, -1.0 * coupled, 0.0, 0.0]
    change = efforts(law, rest, none, none, direction) - efforts(law, rest, none, none)
    load = np.linalg.inv(C).T @ law.rigid.gravity(none)
    level = 0.7 + terms["stribeck"] + terms["load"] * np.abs(load)
    np.testing.assert_allclose(change, C.T @ (0.6 * level * direction), rtol=1e-12, atol=1e-12)
    moving = efforts(law, motion, none, none, direction) - efforts(law, motion, none, none)
    np.testing.assert_allclose(moving[1], 0.0, atol=1e-9)
