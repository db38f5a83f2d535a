"""An arm that differs from its model on purpose: the verdict must name the joint and the term.

The arm is Pinocchio's, with one thing changed; its recording goes through a bag file.
"""

from pathlib import Path

import numpy as np
import pinocchio
import pytest
from replay_bags import Array, brought_to_rest, effort, motion, pinocchio_arm, record, write_bag

from kane_dynamics_ros.replay.attribution import LinkError, TipBody
from kane_dynamics_ros.replay.motion import estimate_recording
from kane_dynamics_ros.replay.recording import read_recording
from kane_dynamics_ros.replay.verdict import Verdict, analyse
from kane_dynamics_ros.runtime import load_model

RATE = 500.0
MODEL = load_model("manipulator_5dof")
# Swept widely enough that gravity changes its sign, or nobody could tell it from an offset.
Q, QD, QDD = (2.0 * values for values in motion(30.0, RATE, 5))


def verdict(folder: Path, tau: Array, noise: float = 1.0, velocity: bool = True, seed: int = 5) -> Verdict:
    """Recorded with encoder noise of 0.1 mrad, 10 mrad/s, and 2 % noise on every effort, times ``noise``."""
    random = np.random.default_rng(seed)

    def noisy(values: Array, size: Array | float) -> Array:
        return values + noise * size * random.standard_normal(values.shape)

    taken = record(
        noisy(Q, 1e-4),
        noisy(QD, 1e-2) if velocity else None,
        noisy(tau, 0.02 * tau.std(axis=0)),
        RATE,
        MODEL.joint_names,
    )
    bag = write_bag(folder / "bag", taken)
    return analyse(estimate_recording(read_recording(bag, MODEL.joint_names)), MODEL).verdict


def attributed(found: Verdict) -> dict[str, tuple[str, ...]]:
    """Terms by joint, for the joints that have any."""
    return {
        joint.name: tuple(one.term for one in joint.attributions)
        for joint in found.joints
        if joint.attributions
    }


def heavier(body: int, factor: float) -> pinocchio.Model:
    """The arm with the mass and inertia of one body scaled."""
    arm = pinocchio_arm()
    inertia = arm.inertias[body]
    arm.inertias[body] = pinocchio.Inertia(inertia.mass * factor, inertia.lever, inertia.inertia * factor)
    return arm


@pytest.mark.parametrize("velocity", [True, False])
def test_an_exact_model_is_not_blamed(tmp_path: Path, velocity: bool) -> None:
    found = verdict(tmp_path, effort(pinocchio_arm(), Q, QD, QDD), velocity=velocity)
    assert attributed(found) == {}
    assert found.findings == ()
    # 2 % noise at 500 Hz, of which a low-pass below 15 Hz leaves a fifth: 0.4 % of the standard deviation
    assert all(joint.fit.r_squared is not None and joint.fit.r_squared > 0.999 for joint in found.joints)


def test_without_noise_the_model_explains_everything(tmp_path: Path) -> None:
    found = verdict(tmp_path, effort(pinocchio_arm(), Q, QD, QDD), noise=0.0)
    assert all(joint.fit.nrmse is not None and joint.fit.nrmse < 1e-4 for joint in found.joints)


@pytest.mark.parametrize(
    ("drive", "joint", "factor"), [(4, 3, 1.0), (3, 4, 1.0), (4, 3, -0.4)], ids=["wrist", "upwards", "slow"]
)
def test_a_drive_that_turns_with_another_joint_is_named(
    tmp_path: Path, drive: int, joint: int, factor: float
) -> None:
    C = np.eye(5)
    C[drive, joint] = factor
    w = QD @ C.T
    drives = np.array([0.0, 0.0, 0.0, 0.3, 0.5]) * np.tanh(w / 0.01) + 0.1 * w
    found = verdict(tmp_path, effort(pinocchio_arm(), Q, QD, QDD) + drives @ C)
    assert found.coupling is not None
    assert (found.coupling.drive, found.coupling.joint) == (drive, joint)
    assert found.coupling.factor == pytest.approx(factor, rel=0.05)
    [words] = found.findings
    turned, other = MODEL.joint_names[drive], MODEL.joint_names[joint]
    said = (
        f"the drive of {turned!r} turned with {other!r}, too, by about {found.coupling.factor:.2g} rad a rad"
    )
    assert said in words


def test_friction_of_two_neighbours_is_no_coupling(tmp_path: Path) -> None:
    tau = effort(pinocchio_arm(), Q, QD, QDD)
    tau[:, 3:] += 0.4 * np.tanh(QD[:, 3:] / 0.01) + 0.2 * QD[:, 3:]
    found = verdict(tmp_path, tau)
    assert found.coupling is None
    assert found.findings == ()


def test_missing_coulomb_friction_is_found_on_its_joint(tmp_path: Path) -> None:
    tau = effort(pinocchio_arm(), Q, QD, QDD)
    tau[:, 3] += 0.4 * np.tanh(QD[:, 3] / 0.01)
    found = verdict(tmp_path, tau)
    assert attributed(found) == {"beta_4": ("Coulomb",)}
    [one] = found.joints[3].attributions
    assert one.coefficient == pytest.approx(0.4, rel=0.02)
    assert one.share > 0.95
    assert found.joints[3].findings[0].startswith("Coulomb friction 0.")
    assert found.joints[3].findings[0].endswith(" N m missing")


def test_missing_viscous_friction_and_an_offset_are_told_apart(tmp_path: Path) -> None:
    tau = effort(pinocchio_arm(), Q, QD, QDD)
    tau[:, 1] += 12.0 * QD[:, 1]
    tau[:, 2] += 3.0
    found = verdict(tmp_path, tau)
    assert attributed(found) == {"alpha_2": ("viscous",), "alpha_3": ("offset",)}
    assert found.joints[1].attributions[0].coefficient == pytest.approx(12.0, rel=0.02)
    assert found.joints[2].attributions[0].coefficient == pytest.approx(3.0, rel=0.02)


def test_friction_by_the_load_and_by_direction_is_named_as_the_node_takes_it(tmp_path: Path) -> None:
    tau = effort(pinocchio_arm(), Q, QD, QDD)
    direction = np.tanh(QD / 0.01)
    tau[:, 1] += (4.0 + 0.15 * np.abs(tau[:, 1])) * direction[:, 1]
    tau[:, 2] += 3.0 * direction[:, 2] + 5.0 * QD[:, 2] + 4.0 * np.abs(QD[:, 2])
    found = verdict(tmp_path, tau)
    assert {joint: set(terms) for joint, terms in attributed(found).items()} == {
        "alpha_2": {"load", "Coulomb"},
        "alpha_3": {"Coulomb", "viscous", "viscous_asymmetry"},
    }
    sizes = [{one.term: one.coefficient for one in joint.attributions} for joint in found.joints]
    assert sizes[1] == pytest.approx({"load": 0.15, "Coulomb": 4.0}, rel=0.05)
    assert sizes[2] == pytest.approx({"Coulomb": 3.0, "viscous": 5.0, "viscous_asymmetry": 4.0}, rel=0.05)
    assert "friction by the load of 0.15 of the rigid bodies' effort missing" in found.joints[1].findings


def test_friction_that_the_model_has_too_much_of_is_found(tmp_path: Path) -> None:
    """The arm has none; the model believes in the URDF's."""
    tau = effort(pinocchio_arm(), Q, QD, QDD)
    bag = write_bag(tmp_path / "bag", record(Q, QD, tau, RATE, MODEL.joint_names))
    model = MODEL.with_parameters(viscous=(0.0, 5.0, 0.0, 0.0, 0.0))
    found = analyse(estimate_recording(read_recording(bag, model.joint_names)), model).verdict
    assert found.joints[1].findings == ("viscous friction 5 N m s/rad too large",)
    assert attributed(found) == {"alpha_2": ("viscous",)}


def test_a_mass_10_percent_off_is_found_on_the_joints_that_carry_it(tmp_path: Path) -> None:
    """Limb 3 and what it moves: joints 1 to 3 feel it, by gravity and inertia; the wrist does not."""
    found = verdict(tmp_path, effort(heavier(3, 1.1), Q, QD, QDD))
    terms = attributed(found)
    assert set(terms) == {"gamma_1", "alpha_2", "alpha_3"}
    assert {"inertia", "gravity"} <= set(terms["alpha_3"])
    assert "gravity" in terms["alpha_2"]
    assert all(one.coefficient > 0 for joint in found.joints for one in joint.attributions)
    assert isinstance(found.cause, LinkError)
    assert (found.cause.link, round(found.cause.factor, 2)) == ("limb_3", 1.1)
    assert found.findings[0].startswith("link 'limb_3' is 1")
    assert "% heavier than in the model: that explains" in found.findings[0]


def test_gravity_of_one_joint_is_found_with_its_size(tmp_path: Path) -> None:
    """Gravity 8 % greater than the model's at joint 2 alone, as a spring on it would make it."""
    still = np.zeros_like(Q)
    tau = effort(pinocchio_arm(), Q, QD, QDD)
    tau[:, 1] += 0.08 * effort(pinocchio_arm(), Q, still, still)[:, 1]
    found = verdict(tmp_path, tau)
    assert attributed(found) == {"alpha_2": ("gravity",)}
    assert found.joints[1].attributions[0].coefficient == pytest.approx(0.08, abs=0.003)


def test_a_payload_nobody_told_is_found_with_mass_and_place(tmp_path: Path) -> None:
    arm = pinocchio_arm()
    tip = arm.frames[arm.getFrameId("tool")].placement
    load = pinocchio.Inertia(0.5, np.array([0.02, 0.0, 0.1]), np.zeros((3, 3)))
    arm.inertias[5] += tip.act(load)
    found = verdict(tmp_path, effort(arm, Q, QD, QDD))
    assert isinstance(found.cause, TipBody)
    assert found.cause.mass == pytest.approx(0.5, rel=0.02)
    np.testing.assert_allclose(found.cause.com, [0.02, 0.0, 0.1], atol=0.005)
    assert {"alpha_2", "alpha_3"} <= set(attributed(found))
    assert found.findings[0].startswith("as if the tip carried 0.5")


def test_a_payload_is_found_though_the_arm_rests_half_of_the_time(tmp_path: Path) -> None:
    """As after a motion whose recording goes on."""
    arm = pinocchio_arm()
    tip = arm.frames[arm.getFrameId("tool")].placement
    arm.inertias[5] += tip.act(pinocchio.Inertia(0.5, np.array([0.0, 0.0, 0.1]), np.zeros((3, 3))))
    seconds = len(Q) / RATE
    q, qd, qdd = brought_to_rest(Q, RATE, seconds, 2 * seconds)
    taken = record(q, qd, effort(arm, q, qd, qdd), RATE, MODEL.joint_names)
    recording = read_recording(write_bag(tmp_path / "bag", taken), MODEL.joint_names)
    found = analyse(estimate_recording(recording), MODEL).verdict
    assert isinstance(found.cause, TipBody)
    assert found.cause.mass == pytest.approx(0.5, rel=0.05)


def test_a_payload_beside_missing_friction_is_found_all_the_same(tmp_path: Path) -> None:
    arm = pinocchio_arm()
    tip = arm.frames[arm.getFrameId("tool")].placement
    arm.inertias[5] += tip.act(pinocchio.Inertia(0.5, np.array([0.0, 0.0, 0.1]), np.zeros((3, 3))))
    friction = np.array([4.0, 4.0, 2.0, 0.3, 0.1]) * np.tanh(QD / 0.01)
    found = verdict(tmp_path, effort(arm, Q, QD, QDD) + friction)
    assert isinstance(found.cause, TipBody)
    assert found.cause.mass == pytest.approx(0.5, rel=0.05)
    assert "Coulomb" in attributed(found)["beta_4"]


@pytest.mark.parametrize(("body", "link"), [(2, "limb_2"), (5, "hand")])
def test_the_link_that_weighs_something_else_is_named(tmp_path: Path, body: int, link: str) -> None:
    found = verdict(tmp_path, effort(heavier(body, 0.8), Q, QD, QDD))
    assert isinstance(found.cause, LinkError)
    assert found.cause.link == link
    assert found.cause.factor == pytest.approx(0.8, abs=0.02)


def test_efforts_that_no_arm_could_need_are_not_blamed_on_a_link(tmp_path: Path) -> None:
    """Measured with the wrong sign: the best fit would be a link of negative mass."""
    found = verdict(tmp_path, -effort(pinocchio_arm(), Q, QD, QDD))
    assert found.cause is None
    assert all(joint.attributions[0].coefficient == pytest.approx(-2.0, abs=0.1) for joint in found.joints)


@pytest.mark.parametrize("seed", range(6))
def test_efforts_without_gravity_are_named_whatever_the_noise(tmp_path: Path, seed: int) -> None:
    """Franka's and newer UR drivers': the coefficient is -1, so that noise takes it to either side."""
    tau = effort(pinocchio_arm(), Q, QD, QDD) - effort(pinocchio_arm(), Q, 0 * QD, 0 * QDD)
    found = verdict(tmp_path, tau, seed=seed)
    assert set(attributed(found).values()) == {("gravity",)}
    carrying = [joint for joint in found.joints if joint.attributions]
    assert {"alpha_2", "alpha_3"} <= {joint.name for joint in carrying}
    for joint in carrying:
        assert joint.attributions[0].coefficient == pytest.approx(-1.0, abs=0.03)
        assert "gravity_compensated_robots.md" in joint.findings[0]


def test_efforts_in_ampere_are_one_finding(tmp_path: Path) -> None:
    tau = effort(pinocchio_arm(), Q, QD, QDD)
    found = verdict(tmp_path, 0.08 * (tau + 0.2 * tau.std(axis=0) * np.tanh(QD / 0.01)))
    assert found.findings == ("all efforts are 0.08 times what the model gives: are they currents?",)
    assert not any(joint.findings for joint in found.joints)


def test_efforts_in_ampere_of_motors_that_differ_give_their_range(tmp_path: Path) -> None:
    tau = effort(pinocchio_arm(), Q, QD, QDD) * [0.05, 0.05, 0.1, 0.2, 0.2]
    [finding] = verdict(tmp_path, tau).findings
    assert "0.05 to 0.2 times" in finding


def test_a_gravity_term_twice_as_large_is_no_other_unit(tmp_path: Path) -> None:
    tau = effort(pinocchio_arm(), Q, QD, QDD) + effort(pinocchio_arm(), Q, 0 * QD, 0 * QDD)
    assert not any("currents" in finding for finding in verdict(tmp_path, tau).findings)
