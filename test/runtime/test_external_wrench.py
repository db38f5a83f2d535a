"""A wrench on the tip, and the momentum of an observer: by virtual power, against Pinocchio and MuJoCo.

Tolerances: 1e-10 relative between libraries, as everywhere; finite differences as far as they carry.
"""

from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
import pinocchio
import pytest
from generated_robots import URDFS, GeneratedRobot, generated, relative_error
from random_chains import random_chain

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.errors import NonFiniteError, ShapeError
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.runtime.compilation import compiler
from kane_dynamics_ros.runtime.parameters import ParameterError

STATES = 100
AGREEMENT = 1e-10
BACKENDS = ["python"] + (["c"] if compiler() else [])


@pytest.fixture(scope="module", params=URDFS)
def robot(request: pytest.FixtureRequest) -> GeneratedRobot:
    return generated(request.param)


@pytest.fixture(params=BACKENDS)
def model(robot: GeneratedRobot, request: pytest.FixtureRequest) -> Any:
    return load_model(robot.module, backend=request.param)


def states(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, qd (STATES, n) and wrenches (STATES, 6)."""
    random = np.random.default_rng(11)
    return (
        random.uniform(-np.pi, np.pi, (STATES, n)),
        random.normal(size=(STATES, n)),
        random.normal(size=(STATES, 6)) * [30.0, 30.0, 30.0, 3.0, 3.0, 3.0],
    )


def in_root_axes(model: Any, q: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """Wrenches (N, 6) in tip axes, turned into root axes."""
    R_RT = model.tip_pose(q)[:, :3, :3]
    return np.concatenate([np.einsum("nij,nj->ni", R_RT, part) for part in (wrench[:, :3], wrench[:, 3:])], 1)


def test_the_effort_of_a_wrench_agrees_with_pinocchio(robot: GeneratedRobot, model: Any) -> None:
    """As a force on the last joint's body: inverse dynamics without and with it differ by J^T w."""
    theirs, data = robot.pinocchio()
    q, _, wrench = states(theirs.nv)
    tip = theirs.frames[theirs.getFrameId(model.tip)]
    rest = np.zeros(theirs.nv)
    expected = []
    for position, w in zip(q, wrench, strict=True):
        forces = pinocchio.StdVec_Force()
        forces.extend([pinocchio.Force.Zero() for _ in range(theirs.njoints)])
        forces[tip.parentJoint] = tip.placement.act(pinocchio.Force(w[:3], w[3:]))
        loaded = pinocchio.rnea(theirs, data, position, rest, rest, forces).copy()
        expected.append(pinocchio.rnea(theirs, data, position, rest, rest) - loaded)
    assert relative_error(model.external_effort(q, wrench), expected) < AGREEMENT
    root = in_root_axes(model, q, wrench)
    assert relative_error(model.external_effort(q, root, frame="root"), expected) < AGREEMENT


def test_the_effort_of_a_wrench_agrees_with_mujoco() -> None:
    """``mj_applyFT`` at the tool's origin of the reference robot, force and torque in world axes."""
    from kane_dynamics_ros.simulation.mujoco_engine import MujocoEngine

    robot = generated("manipulator_5dof")
    model = load_model(robot.module)
    engine = MujocoEngine(robot.urdf.read_text(), model)
    q, _, wrench = states(5)
    body = engine._model.body(model.tip).id
    expected = []
    for position, w in zip(q, wrench, strict=True):
        engine.reset(position, np.zeros(5))
        mujoco.mj_forward(engine._model, engine._data)
        effort = np.zeros(engine._model.nv)
        point = engine._data.xpos[body].copy()
        mujoco.mj_applyFT(engine._model, engine._data, w[:3], w[3:], point, body, effort)
        expected.append(effort[engine._velocity])
    assert relative_error(model.external_effort(q, wrench, frame="root"), expected) < AGREEMENT


@pytest.fixture(scope="module", params=["followers", "prismatic"])
def unusual(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An arm of which two joints follow others, and one of which some joints slide."""
    sliding = request.param == "prismatic"
    chain = random_chain(np.random.default_rng(8), 5, prismatic=0.5 if sliding else 0.0)
    if sliding:
        assert {"prismatic", "revolute"} <= {joint.kind for joint in chain.joints}
    else:
        places = [(0, 1.0, 0.0), (1, 1.0, 0.0), (2, 1.0, 0.0), (1, -0.7, 0.3), (0, 2.0, -0.1)]
        joints = [
            replace(joint, coordinate=i, multiplier=m, offset=b)
            for joint, (i, m, b) in zip(chain.joints, places, strict=True)
        ]
        chain = replace(chain, joints=tuple(joints), coordinates=chain.coordinates[:3])
    folder = tmp_path_factory.mktemp("unusual")
    return load_model(write_module(derive(chain), "arm", folder)[0], backend="python")


def test_virtual_power_of_the_effort_is_that_of_the_wrench(unusual: Any) -> None:
    """tau_ext . qd = f . v + m . omega, with the tip's velocity from differences of its pose."""
    q, qd, wrench = states(len(unusual.joint_names))
    h = 1e-6
    before, after = unusual.tip_pose(q - h * qd), unusual.tip_pose(q + h * qd)
    v = (after[:, :3, 3] - before[:, :3, 3]) / (2 * h)
    spin = np.einsum("nij,nkj->nik", (after - before)[:, :3, :3] / (2 * h), unusual.tip_pose(q)[:, :3, :3])
    omega = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    root = in_root_axes(unusual, q, wrench)
    power = (root[:, :3] * v).sum(1) + (root[:, 3:] * omega).sum(1)
    for effort in (unusual.external_effort(q, root, frame="root"), unusual.external_effort(q, wrench)):
        np.testing.assert_allclose((effort * qd).sum(1), power, rtol=1e-7, atol=1e-6)  # rounding over h


def test_momentum_is_the_slope_of_the_lagrangian(unusual: Any) -> None:
    """p = dL/dqd and C^T qd - g = dL/dq, by differences of the energies."""
    n = len(unusual.joint_names)
    q, qd, _ = states(n)

    def lagrangian(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        energy = unusual.energy(q, qd)
        return np.asarray(energy.kinetic - energy.potential)

    p, drift = unusual.momentum(q, qd).swapaxes(0, 1)
    h = 1e-5
    for j in range(n):
        step = h * np.eye(n)[j]
        by_qd = (lagrangian(q, qd + step) - lagrangian(q, qd - step)) / (2 * h)
        by_q = (lagrangian(q + step, qd) - lagrangian(q - step, qd)) / (2 * h)
        np.testing.assert_allclose(p[:, j], by_qd, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(drift[:, j], by_q, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("frame", ["tip", "root"])
def test_the_derivative_of_the_effort_agrees_with_differences(model: Any, frame: Any) -> None:
    n = len(model.joint_names)
    q, _, wrench = states(n)
    h = 1e-5
    found = model.external_effort_derivatives(q, wrench, frame=frame)
    for j in range(n):
        step = h * np.eye(n)[j]
        ahead, behind = (model.external_effort(q + sign * step, wrench, frame=frame) for sign in (1, -1))
        np.testing.assert_allclose(found[:, :, j], (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-6)


def test_momentum_and_its_drift_agree_with_pinocchio(robot: GeneratedRobot, model: Any) -> None:
    """p = M qd; C^T qd - g from Pinocchio's Coriolis matrix, and again as the slope of the Lagrangian."""
    theirs, data = robot.pinocchio()
    q, qd, _ = states(theirs.nv)
    found = model.momentum(q, qd)
    expected = []
    for position, speed in zip(q, qd, strict=True):
        upper = np.triu(pinocchio.crba(theirs, data, position))
        p = (upper + np.triu(upper, 1).T) @ speed
        C = pinocchio.computeCoriolisMatrix(theirs, data, position, speed).copy()
        gravity = pinocchio.computeGeneralizedGravity(theirs, data, position)
        expected.append([p, C.T @ speed - gravity])
    assert relative_error(found, expected) < AGREEMENT


def test_momentum_changes_with_rotors_and_payload_as_the_mass_matrix_does(model: Any) -> None:
    from kane_dynamics_ros.runtime import Payload

    n = len(model.joint_names)
    loaded = model.with_parameters(
        rotor_inertia=np.arange(n) * 0.1, payload=Payload(2.0, (0.1, 0.0, 0.2)), gravity=(1.0, 2.0, -3.0)
    )
    q, qd, _ = states(n)
    p, drift = loaded.momentum(q, qd).swapaxes(0, 1)
    assert relative_error(p, np.einsum("nij,nj->ni", loaded.mass_matrix(q), qd)) < AGREEMENT
    expected = np.einsum("nji,nj->ni", loaded.coriolis(q, qd), qd) - loaded.gravity(q)
    assert relative_error(drift, expected) < AGREEMENT


def test_single_states_agree_with_batches(model: Any) -> None:
    q, qd, wrench = (rows[:5] for rows in states(len(model.joint_names)))
    for frame in ("tip", "root"):
        one_by_one = [model.external_effort(*row, frame=frame) for row in zip(q, wrench, strict=True)]
        np.testing.assert_allclose(model.external_effort(q, wrench, frame=frame), one_by_one, atol=1e-12)
    one_by_one = [model.momentum(*row) for row in zip(q, qd, strict=True)]
    np.testing.assert_allclose(model.momentum(q, qd), one_by_one, atol=1e-12)


def test_wrenches_of_wrong_shape_or_frame_are_refused(model: Any) -> None:
    q, _, wrench = states(len(model.joint_names))
    for arguments, error in (
        ((q[0], wrench[0, :5]), ShapeError),
        ((q[0], wrench), ShapeError),
        ((q, wrench[0]), ShapeError),
        ((q, wrench[:3]), ShapeError),
        ((q[0], wrench[0] * np.nan), NonFiniteError),
    ):
        with pytest.raises(error, match="wrench"):
            model.external_effort(*arguments)
    with pytest.raises(ParameterError, match="world"):
        model.external_effort(q[0], wrench[0], frame="world")


@pytest.mark.parametrize("friction", [0.0, 0.7])
@pytest.mark.parametrize("frame", ["tip", "root"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_wrench_enters_inverse_and_forward_dynamics(backend: Any, frame: Any, friction: float) -> None:
    model = load_model(generated("panda").module, backend=backend).with_parameters(viscous=[friction] * 7)
    random = np.random.default_rng(4)
    for shape in ((), (40,)):
        q, qd, qdd = random.normal(size=(3, *shape, 7))
        wrench = random.normal(size=(*shape, 6))
        tau = model.inverse_dynamics(q, qd, qdd, wrench=wrench, frame=frame)
        expected = model.inverse_dynamics(q, qd, qdd) - model.external_effort(q, wrench, frame=frame)
        np.testing.assert_allclose(tau, expected, rtol=0, atol=1e-13 * np.abs(expected).max())
        back = model.forward_dynamics(q, qd, tau, wrench=wrench, frame=frame)
        np.testing.assert_allclose(back, qdd, atol=1e-8)  # M's condition number is about 1e5


def loaded_in_pinocchio(robot: GeneratedRobot, tip: str, wrench: np.ndarray) -> Any:
    """Pinocchio's external forces for a wrench in tip axes: on the body that carries the tip."""
    theirs, _ = robot.pinocchio()
    frame = theirs.frames[theirs.getFrameId(tip)]
    forces = pinocchio.StdVec_Force()
    forces.extend([pinocchio.Force.Zero() for _ in range(theirs.njoints)])
    forces[frame.parentJoint] = frame.placement.act(pinocchio.Force(wrench[:3], wrench[3:]))
    return forces


@pytest.mark.parametrize("frame", ["tip", "root"])
def test_reactions_under_a_wrench_agree_with_pinocchio(robot: GeneratedRobot, model: Any, frame: Any) -> None:
    """The force that passes each joint, in the joint's frame, which is the link's; batch, single and out."""
    theirs, data = robot.pinocchio()
    q, qd, wrench = (rows[:20] for rows in states(theirs.nv))
    qdd = qd[::-1] * 3.0
    expected = []
    for row in zip(q, qd, qdd, wrench, strict=True):
        pinocchio.rnea(theirs, data, *row[:3], loaded_in_pinocchio(robot, model.tip, row[3]))
        expected.append([[*data.f[i].linear, *data.f[i].angular] for i in range(1, theirs.njoints)])
    given = wrench if frame == "tip" else in_root_axes(model, q, wrench)
    found = model.reaction_wrenches(q, qd, qdd, wrench=given, frame=frame)
    assert relative_error(found, expected) < AGREEMENT
    out = np.empty_like(found[0])
    single = model.reaction_wrenches(q[0], qd[0], qdd[0], out, wrench=given[0], frame=frame)
    assert single is out
    np.testing.assert_allclose(single, found[0], atol=1e-11)


@pytest.mark.parametrize("frame", ["tip", "root"])
@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_derivatives_under_a_wrench_agree_with_differences(model: Any, frame: Any, friction: float) -> None:
    n = len(model.joint_names)
    arm = model.with_parameters(viscous=[friction] * n)
    q, qd, wrench = (rows[:10] for rows in states(n))
    third = 5.0 * qd[::-1]
    h = 1e-5
    for function in (arm.inverse_dynamics, arm.forward_dynamics):
        slopes = getattr(arm, f"{function.__name__}_derivatives")
        by_q, by_qd = slopes(q, qd, third, wrench=wrench, frame=frame)
        scale = max(np.abs(by_q).max(), np.abs(by_qd).max())
        for j in range(n):
            step = h * np.eye(n)[j]
            along_q = function(q + step, qd, third, wrench=wrench, frame=frame)
            along_q = along_q - function(q - step, qd, third, wrench=wrench, frame=frame)
            along_qd = function(q, qd + step, third, wrench=wrench, frame=frame)
            along_qd = along_qd - function(q, qd - step, third, wrench=wrench, frame=frame)
            np.testing.assert_allclose(by_q[:, :, j], along_q / (2 * h), atol=1e-7 * scale, rtol=1e-6)
            np.testing.assert_allclose(by_qd[:, :, j], along_qd / (2 * h), atol=1e-7 * scale, rtol=1e-6)


def test_forward_dynamics_under_a_wrench_agree_with_pinocchio(robot: GeneratedRobot, model: Any) -> None:
    theirs, data = robot.pinocchio()
    q, qd, wrench = (rows[:20] for rows in states(theirs.nv))
    tau = 7.0 * qd[::-1]
    expected = [
        pinocchio.aba(theirs, data, *row[:3], loaded_in_pinocchio(robot, model.tip, row[3])).copy()
        for row in zip(q, qd, tau, wrench, strict=True)
    ]
    assert relative_error(model.forward_dynamics(q, qd, tau, wrench=wrench), expected) < AGREEMENT


def test_a_wrench_of_wrong_shape_is_refused_by_the_reactions_too(model: Any) -> None:
    n = len(model.joint_names)
    q, qd, wrench = states(n)
    for frame in ("tip", "root"):
        with pytest.raises(ShapeError, match="wrench"):
            model.reaction_wrenches(q, qd, qd, wrench=wrench[0], frame=frame)
        with pytest.raises(NonFiniteError, match="wrench"):
            model.reaction_wrenches(q, qd, qd, wrench=wrench * np.inf, frame=frame)
    with pytest.raises(ParameterError, match="world"):
        model.reaction_wrenches(q, qd, qd, wrench=wrench, frame="world")
