"""Run-time parameters against Pinocchio models that have them built in."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio
import pytest
from generated_robots import generated, relative_error
from random_chains import random_chain, random_inertia

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.description.geometry import failed_condition
from kane_dynamics_ros.formulation.kane.segments import body_inertia
from kane_dynamics_ros.runtime import Payload, load_model
from kane_dynamics_ros.runtime.compilation import compiler
from kane_dynamics_ros.runtime.parameters import ParameterError, checked_payload

BACKENDS = ["python"] + (["c"] if compiler() else [])
TIGHT = 1e-12  # rounding of two different recursions
PAYLOAD = Payload(1.5, (0.05, -0.1, 0.2), (0.02, 0.003, -0.001, 0.03, 0.002, 0.025))


@pytest.fixture(params=BACKENDS)
def model(request: pytest.FixtureRequest) -> Any:
    return load_model(generated("panda").module, backend=request.param)


@pytest.fixture
def states(model: Any) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(4, 50, len(model.joint_names)))


def inverse(pair: tuple[Any, Any], states: np.ndarray) -> np.ndarray:
    return np.array([pinocchio.rnea(*pair, *row).copy() for row in zip(*states[:3], strict=True)])


def test_gravity_points_anywhere(model: Any, states: np.ndarray) -> None:
    theirs, data = generated("panda").pinocchio()
    theirs.gravity.linear = np.array([1.0, -2.0, 3.0])
    ours = model.with_parameters(gravity=(1.0, -2.0, 3.0))
    assert relative_error(ours.inverse_dynamics(*states[:3]), inverse((theirs, data), states)) < TIGHT


def test_a_payload_is_a_body_fixed_to_the_tip(model: Any, states: np.ndarray) -> None:
    theirs, _ = generated("panda").pinocchio()
    tip = theirs.frames[theirs.getFrameId(model.tip)]
    xx, xy, xz, yy, yz, zz = PAYLOAD.inertia
    body = pinocchio.Inertia(
        PAYLOAD.mass, np.array(PAYLOAD.com), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    )
    theirs.appendBodyToJoint(tip.parentJoint, body, tip.placement)
    ours = model.with_parameters(payload=PAYLOAD)
    expected = inverse((theirs, theirs.createData()), states)
    assert relative_error(ours.inverse_dynamics(*states[:3]), expected) < TIGHT
    Y = ours.regressor(*states[:3])
    assert relative_error(Y @ ours.inertial_parameters, expected) < TIGHT


def test_rotor_inertia_adds_once_to_the_diagonal(model: Any, states: np.ndarray) -> None:
    rotors = np.linspace(0.1, 0.7, 7)  # field report 57: gear ratio squared times inertia, once
    M = model.mass_matrix(states[0])
    np.testing.assert_allclose(
        model.with_parameters(rotor_inertia=rotors).mass_matrix(states[0]) - M,
        np.broadcast_to(np.diag(rotors), M.shape),
        atol=1e-13,
    )


def test_friction_is_off_until_it_is_asked_for(model: Any, states: np.ndarray) -> None:
    """Field report 37: which terms a torque includes is stated, with a switch."""
    q, qd, qdd, _ = states
    assert not model.friction(qd).any()
    rubbing = model.with_parameters(viscous=[0.5] * 7, coulomb=[2.0] * 7, coulomb_velocity=0.1)
    friction = 0.5 * qd + 2.0 * np.tanh(qd / 0.1)
    np.testing.assert_allclose(rubbing.friction(qd), friction, rtol=1e-13)
    for name, arguments in (("inverse_dynamics", (q, qd, qdd)), ("bias", (q, qd))):
        difference = getattr(rubbing, name)(*arguments) - getattr(model, name)(*arguments)
        np.testing.assert_allclose(difference, friction, atol=1e-11)
    back = rubbing.forward_dynamics(q, qd, rubbing.inverse_dynamics(q, qd, qdd))
    np.testing.assert_allclose(back, qdd, atol=1e-8)  # M's condition number is about 1e5
    urdf = model.with_urdf_friction()
    assert urdf.parameters.viscous == tuple(joint.damping for joint in model.joints)


def test_coulomb_friction_is_smooth_and_zero_at_rest(model: Any) -> None:
    """Field report 59: noise of 1e-4 rad/s about rest must not make 1 N m of friction chatter."""
    rubbing = model.with_parameters(coulomb=[1.0] * 7)
    assert not rubbing.friction(np.zeros(7)).any()
    assert np.abs(rubbing.friction(np.full(7, 1e-4))).max() < 0.011


def test_terms_add_up_to_the_torque(model: Any, states: np.ndarray) -> None:
    ours = model.with_parameters(viscous=[0.5] * 7, coulomb=[2.0] * 7, payload=PAYLOAD)
    terms = ours.terms(*states[:3])
    total = terms.inertia + terms.coriolis + terms.gravity + terms.friction
    assert relative_error(total, ours.inverse_dynamics(*states[:3])) < TIGHT
    M, C = ours.mass_matrix(states[0]), ours.coriolis(*states[:2])
    assert relative_error(terms.inertia, np.einsum("kij,kj->ki", M, states[2])) < TIGHT
    assert relative_error(terms.coriolis, np.einsum("kij,kj->ki", C, states[1])) < TIGHT


def test_derivatives_agree_with_pinocchio(model: Any, states: np.ndarray) -> None:
    theirs, data = generated("panda").pinocchio()
    q, qd, qdd, tau = states
    expected: list[tuple] = []
    for row in zip(q, qd, qdd, tau, strict=True):
        pinocchio.computeRNEADerivatives(theirs, data, *row[:3])
        inverse_slopes = data.dtau_dq.copy(), data.dtau_dv.copy()
        pinocchio.computeABADerivatives(theirs, data, row[0], row[1], row[3])
        expected.append((*inverse_slopes, data.ddq_dq.copy(), data.ddq_dv.copy()))
    found = (
        *model.inverse_dynamics_derivatives(q, qd, qdd),
        *model.forward_dynamics_derivatives(q, qd, tau),
    )
    for ours, reference in zip(found, zip(*expected, strict=True), strict=True):
        assert relative_error(ours, np.array(reference)) < 1e-10  # M^-1 in the last two


def test_energy_poses_and_reactions_agree_with_pinocchio(model: Any, states: np.ndarray) -> None:
    theirs, data = generated("panda").pinocchio()
    q, qd, qdd, _ = states
    tip = theirs.getFrameId(model.tip)
    energy = model.energy(q, qd)
    for k in range(len(q)):
        assert energy.kinetic[k] == pytest.approx(
            pinocchio.computeKineticEnergy(theirs, data, q[k], qd[k]), rel=TIGHT
        )
        fixed = (
            pinocchio.computePotentialEnergy(theirs, data, np.zeros(7))
            - model.energy(np.zeros(7), np.zeros(7)).potential
        )  # of bodies before the first joint, which ours leaves out
        assert energy.potential[k] + fixed == pytest.approx(
            pinocchio.computePotentialEnergy(theirs, data, q[k]), rel=1e-11
        )
        pinocchio.rnea(theirs, data, q[k], qd[k], qdd[k])
        reactions = [np.concatenate([data.f[i].linear, data.f[i].angular]) for i in range(1, 8)]
        assert (
            relative_error([model.reaction_wrenches(q[k], qd[k], qdd[k]).ravel()], [np.ravel(reactions)])
            < TIGHT
        )
        pinocchio.framesForwardKinematics(theirs, data, q[k])
        np.testing.assert_allclose(model.tip_pose(q[k]), data.oMf[tip].homogeneous, atol=1e-13)
        J = pinocchio.computeFrameJacobian(theirs, data, q[k], tip, pinocchio.LOCAL_WORLD_ALIGNED)
        np.testing.assert_allclose(model.tip_jacobian(q[k]), np.vstack([J[3:], J[:3]]), atol=1e-13)
        np.testing.assert_allclose(
            model.tip_velocity(q[k], qd[k]), model.tip_jacobian(q[k]) @ qd[k], atol=1e-13
        )
        np.testing.assert_allclose(
            model.center_of_mass_velocity(q[k], qd[k]),
            model.center_of_mass_jacobian(q[k]) @ qd[k],
            atol=1e-13,
        )


def test_base_parameters_give_the_same_torque(model: Any, states: np.ndarray) -> None:
    base = model.base_parameters()
    assert len(base.columns) == 43  # published for this arm: Gaz et al. 2019
    Y, pi = model.regressor(*states[:3]), model.inertial_parameters
    assert relative_error(base.regressor(Y) @ (base.map @ pi), Y @ pi) < 1e-10


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_identified_set_is_loaded_without_generating_again(tmp_path: Path, backend: Any) -> None:
    """--inertial runtime: a module of one set of masses, given those of another chain."""
    rng = np.random.default_rng(5)
    chain = random_chain(rng, 4)
    others = [replace(joint, inertia=random_inertia(rng)) for joint in chain.joints]
    other = replace(chain, joints=tuple(others))
    kept = load_model(write_module(derive(chain, inertial="runtime"), "kept", tmp_path)[0], backend=backend)
    fresh = load_model(write_module(derive(other), "fresh", tmp_path)[0], backend="python")
    values = [x for joint in others for x in body_inertia(joint.inertia).inertial_parameters()]
    loaded = kept.with_parameters(inertial=values)
    states = rng.normal(size=(4, 20, 4))
    assert relative_error(loaded.inverse_dynamics(*states[:3]), fresh.inverse_dynamics(*states[:3])) < 1e-11
    forward = states[0], states[1], states[3]
    assert relative_error(loaded.forward_dynamics(*forward), fresh.forward_dynamics(*forward)) < 1e-10


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"gravity": (0.0, 0.0)}, "gravity"),
        ({"gravity": 9.81}, "gravity"),
        ({"gravity": "123"}, "gravity"),
        ({"gravity": ["1", "2", "3"]}, "gravity"),
        ({"gravity": [[1.0], [2.0, 3.0]]}, "gravity"),
        ({"gravity": (10**400, 0, 0)}, "gravity"),
        ({"gravity": np.ma.masked_array([0.0, 0.0, -9.81], mask=[0, 0, 1])}, "gravity"),
        ({"viscous": [-1.0] * 7}, "viscous"),
        ({"coulomb_velocity": 0.0}, "coulomb_velocity"),
        ({"payload": 2.0}, "payload"),
        ({"payload": Payload(-1.0)}, "payload.mass"),
        ({"payload": Payload(1.0, inertia=(1.0, 0.0, 0.0, 1.0, 0.0, 3.0))}, "payload.inertia"),
        ({"mass": 1.0}, "mass"),
    ],
)
def test_nonsense_is_refused_by_name(changes: dict[str, Any], name: str) -> None:
    model = load_model(generated("panda").module, backend="python")
    with pytest.raises(ParameterError) as raised:
        model.with_parameters(**changes)
    assert raised.value.name == name
    assert str(raised.value).startswith(f"parameter {name}: found ")
    (value,) = changes.values()
    assert raised.value.found is value or name.startswith("payload.")


def test_an_inertia_that_a_payload_may_have_is_possible_for_a_link_too() -> None:
    """Two checks with two tolerances, of which the payload's is the stricter."""
    rng = np.random.default_rng(5)
    verdicts = set()
    for miss in [*np.logspace(-13, 0, 60), *-np.logspace(-13, 0, 20)]:
        for least in (0.0, 1e-6, 0.3, -miss):  # thin rods, plates, and what has a negative moment
            middle = rng.uniform(1.0, 2.0)
            moments = np.array([least, middle, (least + middle) * (1.0 + miss)]) * 10.0 ** rng.uniform(-4, 2)
            R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            J = R @ np.diag(moments) @ R.T
            J = (J + J.T) / 2
            try:
                checked_payload(Payload(1.0, (0.0, 0.0, 0.0), tuple(J[np.triu_indices(3)].tolist())))
                payload = True
            except ParameterError:
                payload = False
            link = failed_condition(tuple(map(tuple, J.tolist()))) is None
            verdicts.add((payload, link))
    assert verdicts == {(True, True), (False, True), (False, False)}


def test_rotor_inertia_of_the_urdf_is_a_default(tmp_path: Path) -> None:
    chain = serial_chain(load_robot(generated("manipulator_5dof").urdf))
    geared = replace(chain.joints[1], rotor_inertia=1.0)
    chain = replace(chain, joints=(chain.joints[0], geared, *chain.joints[2:]))
    model = load_model(write_module(derive(chain), "geared", tmp_path)[0], backend="python")
    plain = load_model(generated("manipulator_5dof").module, backend="python")
    difference = model.inverse_dynamics(*np.ones((3, 5))) - plain.inverse_dynamics(*np.ones((3, 5)))
    np.testing.assert_allclose(difference, [0.0, 1.0, 0.0, 0.0, 0.0], atol=1e-12)
