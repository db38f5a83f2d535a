"""Two arms on a torso, recorded: loads and pushes at either hand, by Pinocchio, are told by the hand."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pinocchio
import pytest
from replay_bags import effort, motion, record, write_bag
from view_samples import embedded

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.contact import events
from kane_dynamics_ros.contact.changes import Change
from kane_dynamics_ros.contact.events import force_jacobians
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.replay.attribution import TipBody
from kane_dynamics_ros.replay.jobs import Job, run_job
from kane_dynamics_ros.runtime import load_model

URDF = Path(__file__).parents[2] / "urdf" / "two_arms.urdf"
HANDS = ("left_hand", "right_hand")
RATE, SECONDS = 100.0, 20.0


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    chain = serial_chain(load_robot(URDF), list(HANDS))
    return write_module(derive(chain), "two_arms", tmp_path_factory.mktemp("tree"))[0]


def arm():
    return pinocchio.buildModelFromUrdf(str(URDF))


def recorded(folder, pin, q, qd, tau):
    noise = 0.01 * tau.std(axis=0) * np.random.default_rng(3).standard_normal(tau.shape)
    return write_bag(folder / "bag", record(q, qd, tau + noise, RATE, list(pin.names)[1:]))


@pytest.mark.parametrize("hand", HANDS)
def test_forces_at_each_tip_load_the_joints_as_pinocchio_says(module, hand):
    pin, model = arm(), load_model(module, backend="python")
    q = np.random.default_rng(1).uniform(-1.0, 1.0, 8)
    frame, axes = pin.getFrameId(hand), pinocchio.LOCAL_WORLD_ALIGNED
    expected = pinocchio.computeFrameJacobian(pin, pin.createData(), q, frame, axes)[:3]
    # rounding of sums over eight joints
    np.testing.assert_allclose(force_jacobians(model, q)[hand], expected, atol=1e-12)


@pytest.mark.parametrize("hand", HANDS)
def test_a_contacts_force_is_told_in_the_axes_of_its_tip(module, hand):
    """At one moment and without noise: the spread of all efforts is the same."""
    pin, model, force = arm(), load_model(module, backend="python"), np.array([10.0, -20.0, 30.0])
    q, data, frame = np.random.default_rng(2).uniform(-1.0, 1.0, 8), pin.createData(), pin.getFrameId(hand)
    J = pinocchio.computeFrameJacobian(pin, data, q, frame, pinocchio.LOCAL)[:3]  # in the hand's axes
    one = np.ones((1, 8))
    moment = SimpleNamespace(time=np.zeros(1), q=q[None], floor=one[0], stiction=0.0 * one)
    best = events._contact(moment, model, Change(0, 1, 0, J.T @ force, one[0], one[0]), 0.5).forces[0]
    assert best.tip == hand
    assert np.isfinite(best.errors).all()  # every component is determined
    np.testing.assert_allclose(best.value, force, atol=1e-9)


@pytest.mark.parametrize("hand", HANDS)
def test_a_load_is_told_by_the_hand_that_carries_it(tmp_path, module, hand):
    pin = arm()
    centre = np.array([0.04, 0.02, 0.03])
    load = pinocchio.Inertia(1.5, centre, 1e-4 * np.eye(3))
    pin.appendBodyToJoint(pin.frames[pin.getFrameId(hand)].parentJoint, load, pinocchio.SE3.Identity())
    q, qd, qdd = motion(SECONDS, RATE, 8)
    bag = recorded(tmp_path, pin, q, qd, effort(pin, q, qd, qdd))
    found = run_job(Job(bag, str(module), urdf=URDF, report=tmp_path / "report"))
    assert found.error is None
    cause = found.verdict.cause
    assert isinstance(cause, TipBody)
    assert cause.frame == hand
    assert cause.mass == pytest.approx(1.5, rel=0.05)
    assert cause.com == pytest.approx(centre, abs=0.02)
    assert f"as if {hand!r} carried" in found.verdict.findings[0]
    untouched = {"left_hand": "right", "right_hand": "left"}[hand]
    for joint in found.verdict.joints:
        if joint.name.startswith(untouched):
            assert joint.attributions == ()
    assert embedded((tmp_path / "report" / "view.html").read_text())["joints"] == list(pin.names)[1:]


def test_pushes_are_told_by_the_hand_that_is_pushed(tmp_path, module, capsys):
    pin, data = arm(), arm().createData()
    q, qd, qdd = (0.5 * part for part in motion(SECONDS, RATE, 8))
    tau = effort(pin, q, qd, qdd)
    time = np.arange(len(q)) / RATE
    pushes = {
        "left_hand": (5.0, np.array([0.0, 40.0, 60.0])),
        "right_hand": (12.0, np.array([40.0, 0.0, -60.0])),
    }
    for hand, (start, force) in pushes.items():
        for i in np.flatnonzero((time > start) & (time < start + 1.0)):
            frame, axes = pin.getFrameId(hand), pinocchio.LOCAL_WORLD_ALIGNED
            tau[i] -= pinocchio.computeFrameJacobian(pin, data, q[i], frame, axes)[:3].T @ force
    bag = recorded(tmp_path, pin, q, qd, tau)
    report = tmp_path / "report"
    assert main(["observe", str(bag), "--model", str(module), "--report", str(report)]) == 0
    found = json.loads((report / "contacts.json").read_text())["contacts"]
    assert [contact["forces"][0]["tip"] for contact in found] == list(pushes)
    for contact, (start, force) in zip(found, pushes.values(), strict=True):
        assert start - 0.2 < contact["peak"] < start + 1.2
        best, other = contact["forces"]
        assert best["explained"] > 0.9 > other["explained"]
        known = np.array(best["determined"])
        assert known.any()
        pinocchio.framesForwardKinematics(pin, data, q[round(contact["peak"] * RATE)])
        force = data.oMf[pin.getFrameId(best["tip"])].rotation.T @ force  # in the hand's axes
        # the low-pass rounds the push, and the fit of the model's errors takes a little of it
        assert np.array(best["force"])[known] == pytest.approx(force[known], abs=0.3 * np.linalg.norm(force))
    printed = capsys.readouterr().out
    assert "as a force at 'right_hand'" in printed
    assert "tip axes" in printed
    words = ["observe", str(bag), "--model", str(module), "--calibrate", "-o", str(tmp_path / "limits.yaml")]
    assert main(words) == 0
    calibrated = capsys.readouterr().out
    assert all(f"finds a force at {hand!r}" in calibrated for hand in HANDS)
    page = tmp_path / "view.html"
    words = ["view", str(bag), "--urdf", str(URDF), "--tip", "left_hand", "--tip", "right_hand"]
    assert main([*words, "-o", str(page)]) == 0
    assert embedded(page.read_text())["joints"] == list(pin.names)[1:]
