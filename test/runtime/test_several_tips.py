"""A tree's tips: a payload and a wrench at each of them, in Python and C, against Pinocchio.

The two arms with tools at their hands, turned and set off, a camera on the pelvis, in the middle of the tree,
and a lamp on the base, which nothing moves. 1e-12 relative, as for whole robots.
"""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio
import pytest
from generated_robots import relative_error

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.errors import ShapeError
from kane_dynamics_ros.runtime import DynamicsModel, Payload, load_model
from kane_dynamics_ros.runtime.compilation import compiler
from kane_dynamics_ros.runtime.parameters import ParameterError

TWO_ARMS = Path(__file__).parents[2] / "urdf/two_arms.urdf"
TIPS = ("left_tool", "right_tool", "camera", "lamp")
CARRIERS = ("left_hand", "right_hand", "pelvis", "base")
AGREEMENT = 1e-12
BACKENDS = ["python"] + (["c"] if compiler() else [])
PAYLOADS = {
    "left_tool": Payload(1.5, (0.02, 0.1, -0.03), (0.02, 0.001, 0.0, 0.03, 0.002, 0.025)),
    "right_tool": Payload(0.7, (-0.05, 0.0, 0.08)),
    "camera": Payload(0.3, (0.0, 0.01, 0.0), (0.001, 0.0, 0.0, 0.001, 0.0, 0.001)),
    "lamp": Payload(5.0),
}


@pytest.fixture(scope="module")
def urdf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tools = "".join(
        f'<link name="{tip}"/><joint name="{tip}_fixed" type="fixed"><parent link="{carrier}"/>'
        f'<child link="{tip}"/><origin xyz="{0.05 + 0.1 * k} -0.02 {0.1 * k}" rpy="0.3 {0.2 + k} -0.5"/>'
        "</joint>"
        for k, (tip, carrier) in enumerate(zip(TIPS, CARRIERS, strict=True))
    )
    path = tmp_path_factory.mktemp("tips") / "two_arms.urdf"
    path.write_text(TWO_ARMS.read_text().replace("</robot>", f"{tools}</robot>"))
    return path


@pytest.fixture(scope="module")
def module(urdf: Path) -> Path:
    return write_module(derive(serial_chain(load_robot(urdf), TIPS)), "two_arms", urdf.parent)[0]


@pytest.fixture(params=BACKENDS)
def model(module: Path, request: pytest.FixtureRequest) -> DynamicsModel:
    return load_model(module, backend=request.param)


class Theirs:
    """Pinocchio's model with the payloads; joints in our order."""

    def __init__(self, urdf: Path, model: DynamicsModel, payloads: dict[str, Payload]) -> None:
        self.model = pinocchio.buildModelFromUrdf(str(urdf))
        self.tips = {tip: self.model.frames[self.model.getFrameId(tip)] for tip in TIPS}
        for tip, payload in payloads.items():
            xx, xy, xz, yy, yz, zz = payload.inertia
            tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            body = pinocchio.Inertia(payload.mass, np.array(payload.com), tensor)
            self.model.appendBodyToJoint(self.tips[tip].parentJoint, body, self.tips[tip].placement)
        self.data = self.model.createData()
        self.order = [self.model.joints[self.model.getJointId(name)].idx_q for name in model.joint_names]
        self.joints = [self.model.getJointId(name) for name in model.joint_names]

    def into(self, values: np.ndarray) -> np.ndarray:
        theirs = np.zeros(len(values))
        theirs[self.order] = values
        return theirs

    def forces(self, wrenches: dict[str, np.ndarray]) -> Any:
        """Wrenches in tip axes as forces on the joints' bodies."""
        forces = pinocchio.StdVec_Force()
        forces.extend([pinocchio.Force.Zero() for _ in range(self.model.njoints)])
        for tip, w in wrenches.items():
            frame = self.tips[tip]
            forces[frame.parentJoint] += frame.placement.act(pinocchio.Force(w[:3], w[3:]))
        return forces


def states() -> list[tuple[np.ndarray, ...]]:
    random = np.random.default_rng(3)
    return [tuple(random.uniform(-2, 2, (3, 8))) for _ in range(10)]


def wrenches(seed: int = 5) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {tip: random.uniform(-20, 20, 6) for tip in TIPS}


def test_a_payload_at_each_tip_agrees_with_pinocchio(urdf: Path, model: DynamicsModel) -> None:
    loaded = model.with_parameters(payload=PAYLOADS)
    theirs = Theirs(urdf, model, PAYLOADS)
    for q, qd, qdd in states():
        mine = map(theirs.into, (q, qd, qdd))
        expected = pinocchio.rnea(theirs.model, theirs.data, *mine)[theirs.order]
        assert relative_error(loaded.inverse_dynamics(q, qd, qdd), expected) < AGREEMENT
        Y = loaded.regressor(q, qd, qdd)
        assert relative_error(Y @ loaded.inertial_parameters, expected) < AGREEMENT
        M = pinocchio.crba(theirs.model, theirs.data, theirs.into(q))[np.ix_(theirs.order, theirs.order)]
        assert relative_error(loaded.mass_matrix(q), M) < AGREEMENT
        center = pinocchio.centerOfMass(theirs.model, theirs.data, theirs.into(q))
        assert np.allclose(loaded.center_of_mass(q), center, rtol=1e-12)


@pytest.mark.parametrize("loaded", [False, True])
def test_a_wrench_at_each_tip_agrees_with_pinocchio(urdf: Path, model: DynamicsModel, loaded: bool) -> None:
    """In tip and in root axes; inverse and forward dynamics, their derivatives, the joints' reactions."""
    payloads = PAYLOADS if loaded else {}
    theirs, model = Theirs(urdf, model, payloads), model.with_parameters(payload=payloads)
    w = wrenches()
    forces = theirs.forces(w)
    square = np.ix_(theirs.order, theirs.order)
    for q, qd, qdd in states():
        mine = [theirs.into(x) for x in (q, qd, qdd)]
        tau = pinocchio.rnea(theirs.model, theirs.data, *mine, forces)[theirs.order].copy()
        assert relative_error(model.inverse_dynamics(q, qd, qdd, wrench=w), tau) < AGREEMENT
        reactions = np.array([theirs.data.f[joint].vector for joint in theirs.joints])
        assert relative_error(model.reaction_wrenches(q, qd, qdd, wrench=w), reactions) < AGREEMENT
        in_root = {tip: turned(model.tip_pose(q, tip=tip)[:3, :3], each) for tip, each in w.items()}
        at_root = {"wrench": in_root, "frame": "root"}
        assert relative_error(model.inverse_dynamics(q, qd, qdd, **at_root), tau) < AGREEMENT
        assert relative_error(model.reaction_wrenches(q, qd, qdd, **at_root), reactions) < AGREEMENT
        # Accelerations times M: their rounding is that of the largest effort over the least inertia.
        M, found = model.mass_matrix(q), model.forward_dynamics(q, qd, tau, wrench=w)
        assert np.abs(M @ (found - qdd)).max() < AGREEMENT * np.abs(tau).max()
        pinocchio.computeRNEADerivatives(theirs.model, theirs.data, *mine, forces)
        by_q, by_qd = model.inverse_dynamics_derivatives(q, qd, qdd, wrench=w)
        assert relative_error(by_q, theirs.data.dtau_dq[square]) < AGREEMENT
        assert relative_error(by_qd, theirs.data.dtau_dv[square]) < AGREEMENT
        pinocchio.computeABADerivatives(theirs.model, theirs.data, *mine[:2], theirs.into(tau), forces)
        by_q, by_qd = model.forward_dynamics_derivatives(q, qd, tau, wrench=w)
        # The derivatives contain accelerations that were solved for, with that rounding.
        assert relative_error(M @ by_q, M @ theirs.data.ddq_dq[square]) < 10 * AGREEMENT
        assert relative_error(M @ by_qd, M @ theirs.data.ddq_dv[square]) < 10 * AGREEMENT


def turned(R: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    return np.concatenate([R @ wrench[:3], R @ wrench[3:]])


def test_derivatives_of_efforts_of_wrenches_in_root_axes_are_their_differences(model: DynamicsModel) -> None:
    """Central differences carry to about 1e-9 of the largest entry."""
    q, w, h = states()[0][0], wrenches(), 1e-6
    steps = h * np.eye(8)
    expected = np.stack(
        [
            (model.external_effort(q + s, w, frame="root") - model.external_effort(q - s, w, frame="root"))
            / (2 * h)
            for s in steps
        ],
        axis=-1,
    )
    assert relative_error(model.external_effort_derivatives(q, w, frame="root"), expected) < 1e-8


def test_pose_and_jacobian_of_each_tip_agree_with_pinocchio(urdf: Path, model: DynamicsModel) -> None:
    theirs = Theirs(urdf, model, {})
    for q, _, _ in states():
        for tip in TIPS:
            frame = theirs.model.getFrameId(tip)
            J = pinocchio.computeFrameJacobian(
                theirs.model, theirs.data, theirs.into(q), frame, pinocchio.LOCAL_WORLD_ALIGNED
            )[:, theirs.order]
            expected = np.vstack([J[3:], J[:3]])
            assert np.allclose(model.tip_jacobian(q, tip=tip), expected, atol=1e-12)
            pinocchio.forwardKinematics(theirs.model, theirs.data, theirs.into(q))
            pinocchio.updateFramePlacements(theirs.model, theirs.data)
            pose = theirs.data.oMf[frame].homogeneous
            assert np.allclose(model.tip_pose(q, tip=tip), pose, atol=1e-12)
    assert np.array_equal(model.tip_pose(q), model.tip_pose(q, tip="left_tool"))


def test_batches_take_wrenches_by_tip_state_by_state(model: DynamicsModel) -> None:
    q = np.random.default_rng(1).uniform(-1, 1, (40, 8))
    w = {tip: np.random.default_rng(k).normal(size=(40, 6)) for k, tip in enumerate(TIPS[:2])}
    rows = [model.external_effort(q[k], {tip: w[tip][k] for tip in w}) for k in range(40)]
    assert np.allclose(model.external_effort(q, w), rows, rtol=1e-13, atol=1e-13)
    out = np.empty((40, 4, 4))
    assert model.tip_pose(q, out, tip="right_tool") is out
    assert np.array_equal(out[3], model.tip_pose(q[3], tip="right_tool"))


def test_one_wrench_or_payload_is_that_of_the_first_tip_and_the_others_stay(model: DynamicsModel) -> None:
    q, w = states()[0][0], wrenches()
    first = model.external_effort(q, {"left_tool": w["left_tool"]})
    assert np.array_equal(model.external_effort(q, w["left_tool"]), first)
    both = model.with_parameters(payload=PAYLOADS)
    other = both.with_parameters(payload=Payload(3.0))
    assert other.parameters.payloads == (Payload(3.0), *both.parameters.payloads[1:])
    assert (
        both.with_parameters(payload={"camera": Payload()}).parameters.payloads[1] == PAYLOADS["right_tool"]
    )


def test_the_efforts_of_several_wrenches_add_up(model: DynamicsModel) -> None:
    q, w = states()[1][0], wrenches()
    parts = sum(model.external_effort(q, {tip: each}) for tip, each in w.items())
    assert np.allclose(model.external_effort(q, w), parts, rtol=1e-12)
    assert not model.external_effort(q, {"lamp": w["lamp"]}).any()


def test_unknown_tips_and_wrong_shapes_are_refused(model: DynamicsModel) -> None:
    q = np.zeros(8)
    for call in (
        lambda: model.external_effort(q, {"hand": np.zeros(6)}),
        lambda: model.tip_pose(q, tip="hand"),
        lambda: model.with_parameters(payload={"hand": Payload(1.0)}),
        lambda: model.with_parameters(payload={"camera": Payload(-1.0)}),
        lambda: model.with_parameters(payload={"camera": 1.0}),
    ):
        with pytest.raises(ParameterError):
            call()
    for wrong in (np.zeros(5), np.zeros((2, 6)), np.zeros(24)):
        with pytest.raises(ShapeError):
            model.external_effort(q, {"camera": wrong})


def test_a_model_with_payloads_survives_pickling(model: DynamicsModel) -> None:
    loaded = model.with_parameters(payload=PAYLOADS)
    assert pickle.loads(pickle.dumps(loaded)).parameters == loaded.parameters
