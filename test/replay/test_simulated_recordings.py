"""Recordings of the simulated hardware, which differs from its model in a known way.

Its drives, friction that sticks, hard stops and integrator are the simulation's, and share nothing with
the estimation.
"""

from pathlib import Path

import pytest
from replay_bags import write_bag
from simulated_arm import recorded

from kane_dynamics_ros.replay.attribution import TipBody
from kane_dynamics_ros.replay.motion import estimate_recording
from kane_dynamics_ros.replay.recording import read_recording
from kane_dynamics_ros.replay.verdict import Verdict, analyse
from kane_dynamics_ros.runtime import DynamicsModel, Payload, load_model

MODEL = load_model("manipulator_5dof")
LOAD = Payload(0.8, (0.0, 0.0, 0.05))


def verdict(folder: Path, payload: Payload, model: DynamicsModel) -> Verdict:
    bag = write_bag(folder / "bag", recorded(MODEL, payload))
    return analyse(estimate_recording(read_recording(bag, model.joint_names)), model).verdict


def test_a_model_with_the_arms_friction_explains_it(tmp_path: Path) -> None:
    found = verdict(tmp_path, Payload(), MODEL.with_urdf_friction())
    assert found.cause is None
    assert all(joint.fit.r_squared is not None and joint.fit.r_squared > 0.99 for joint in found.joints)


def test_every_joints_missing_friction_is_found(tmp_path: Path) -> None:
    """The smooth sign of the model differs from the plant's stiction near rest: within a tenth."""
    found = verdict(tmp_path, Payload(), MODEL)
    for joint, info in zip(found.joints, MODEL.joints, strict=True):
        terms = {one.term: one.coefficient for one in joint.attributions}
        assert terms["Coulomb"] == pytest.approx(info.friction, rel=0.1), joint
    assert found.cause is None


def test_an_untold_payload_is_found_beside_missing_friction(tmp_path: Path) -> None:
    found = verdict(tmp_path, LOAD, MODEL)
    assert isinstance(found.cause, TipBody)
    assert found.cause.mass == pytest.approx(LOAD.mass, rel=0.05)
    assert found.cause.com == pytest.approx(LOAD.com, abs=0.01)
    attributed = {joint.name: [one.term for one in joint.attributions] for joint in found.joints}
    assert "gravity" in attributed["alpha_2"]
    assert "gravity" in attributed["alpha_3"]
