"""Generated dynamics against Pinocchio and MuJoCo at 1,000 random states, from C and from Python.

The tolerance is the 1e-10 that the package promises. What is left of it is rounding: two recursive
algorithms differ by some hundred units in the last place, more where M is ill-conditioned.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio
import pytest
from generated_robots import URDFS, GeneratedRobot, generated, relative_error

from kane_dynamics_ros.generated import manipulator_5dof
from kane_dynamics_ros.runtime import load_model, python_kernel
from kane_dynamics_ros.runtime.compilation import compiler

STATES = 1000
AGREEMENT = 1e-10
BACKENDS = ["python"] + (["c"] if compiler() else [])


@pytest.fixture(scope="module", params=URDFS)
def robot(request: pytest.FixtureRequest) -> GeneratedRobot:
    return generated(request.param)


@pytest.fixture(scope="module")
def states(robot: GeneratedRobot) -> np.ndarray:
    """q, qd, qdd and tau, each (STATES, n)."""
    n = len(robot.joint_names)
    scale = np.array([np.pi, 3.0, 10.0, 20.0])[:, None, None]
    return np.random.default_rng(7).uniform(-1.0, 1.0, (4, STATES, n)) * scale


@pytest.fixture(scope="module")
def pinocchio_answers(robot: GeneratedRobot, states: np.ndarray) -> dict[str, np.ndarray]:
    model, data = robot.pinocchio()

    def mass(q: np.ndarray) -> np.ndarray:
        upper = np.triu(pinocchio.crba(model, data, q))
        return upper + np.triu(upper, 1).T

    def inverse_mass(q: np.ndarray) -> np.ndarray:
        upper = np.triu(pinocchio.computeMinverse(model, data, q))
        return upper + np.triu(upper, 1).T

    functions: dict[str, Callable[..., Any]] = {
        "inverse_dynamics": lambda q, qd, qdd, tau: pinocchio.rnea(model, data, q, qd, qdd).copy(),
        "mass_matrix": lambda q, qd, qdd, tau: mass(q),
        "bias": lambda q, qd, qdd, tau: pinocchio.nonLinearEffects(model, data, q, qd).copy(),
        "gravity": lambda q, qd, qdd, tau: pinocchio.computeGeneralizedGravity(model, data, q).copy(),
        "forward_dynamics": lambda q, qd, qdd, tau: pinocchio.aba(model, data, q, qd, tau).copy(),
        "inverse_mass_matrix": lambda q, qd, qdd, tau: inverse_mass(q),
        "inverse_dynamics_derivatives": lambda q, qd, qdd, tau: np.array(
            pinocchio.computeRNEADerivatives(model, data, q, qd, qdd)[:2]
        ),
        "forward_dynamics_derivatives": lambda q, qd, qdd, tau: np.array(
            pinocchio.computeABADerivatives(model, data, q, qd, tau)[:2]
        ),
    }
    rows = list(zip(*states, strict=True))
    return {name: np.array([f(*row) for row in rows]) for name, f in functions.items()}


ARGUMENTS = {
    "inverse_dynamics": (0, 1, 2),
    "mass_matrix": (0,),
    "bias": (0, 1),
    "gravity": (0,),
    "forward_dynamics": (0, 1, 3),
    "inverse_mass_matrix": (0,),
    "inverse_dynamics_derivatives": (0, 1, 2),
    "forward_dynamics_derivatives": (0, 1, 3),
}


def evaluated(model: Any, function: str, arguments: Sequence[Any]) -> np.ndarray:
    """A function of the model; two derivatives side by side, as Pinocchio's are."""
    found = getattr(model, function)(*arguments)
    return np.stack(found, axis=-3) if isinstance(found, tuple) else found


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", ARGUMENTS)
def test_batches_agree_with_pinocchio(
    robot: GeneratedRobot,
    states: np.ndarray,
    pinocchio_answers: dict[str, np.ndarray],
    function: str,
    backend: Any,
) -> None:
    model = load_model(robot.module, backend=backend)
    assert model.backend == backend
    assert model.joint_names == tuple(robot.pinocchio()[0].names)[1:]
    for same in (model, model.with_parameters(coulomb_velocity=0.02)):  # nominal forms; those with parameters
        found = evaluated(same, function, [states[k] for k in ARGUMENTS[function]])
        assert relative_error(found, pinocchio_answers[function]) < AGREEMENT


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", ARGUMENTS)
def test_single_states_agree_with_batches(
    robot: GeneratedRobot, states: np.ndarray, function: str, backend: Any
) -> None:
    model = load_model(robot.module, backend=backend)
    arguments = [states[k][:20] for k in ARGUMENTS[function]]
    one_by_one = [evaluated(model, function, row) for row in zip(*arguments, strict=True)]
    # the batch kernel may contract products and sums differently, which a small pivot makes larger
    assert relative_error(evaluated(model, function, arguments), one_by_one) < 1e-11


def mujoco_model(robot: GeneratedRobot) -> Any:
    """MuJoCo's model of the chain: no meshes, contacts, limits or damping; other joints fixed."""
    text = robot.urdf.read_text()
    text = re.sub(r"<(visual|collision)\b.*?</\1>", "", text, flags=re.S)
    text = re.sub(r"<dynamics\b[^>]*/>", "", text)
    for name in re.findall(r'<joint name="([^"]+)" type="(?:revolute|prismatic|continuous)"', text):
        if name not in robot.joint_names:
            text = re.sub(rf'(<joint name="{re.escape(name)}" type=)"\w+"', r'\1"fixed"', text)
    options = '<mujoco><compiler discardvisual="true" fusestatic="true" balanceinertia="false"/></mujoco>'
    text = re.sub(r"(<robot\b[^>]*>)", rf"\1{options}", text, count=1)
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.gravity[:] = (0.0, 0.0, -9.81)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return model


@pytest.mark.parametrize("backend", BACKENDS)
def test_inverse_and_forward_dynamics_agree_with_mujoco(
    robot: GeneratedRobot, states: np.ndarray, backend: Any
) -> None:
    theirs = mujoco_model(robot)
    data = mujoco.MjData(theirs)
    model = load_model(robot.module, backend=backend)
    names = [mujoco.mj_id2name(theirs, mujoco.mjtObj.mjOBJ_JOINT, i) for i in range(theirs.njnt)]
    assert tuple(names) == model.joint_names
    inverse, forward, mass = [], [], []
    for q, qd, qdd, tau in zip(*states, strict=True):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(theirs, data)
        inverse.append(data.qfrc_inverse.copy())
        data.qfrc_applied[:] = tau
        mujoco.mj_forward(theirs, data)
        forward.append(data.qacc.copy())
        full = np.zeros((theirs.nv, theirs.nv))
        mujoco.mj_fullM(theirs, full, data.qM) if hasattr(data, "qM") else mujoco.mj_fullM(theirs, data, full)
        mass.append(full)
    q, qd, qdd, tau = states
    assert relative_error(model.inverse_dynamics(q, qd, qdd), inverse) < AGREEMENT
    assert relative_error(model.forward_dynamics(q, qd, tau), forward) < AGREEMENT
    assert relative_error(model.mass_matrix(q), mass) < AGREEMENT


def test_both_backends_have_the_same_least_pivot_of_a_mass_matrix():
    source = Path(manipulator_5dof.__file__).with_suffix(".c").read_text(encoding="utf-8")
    (least,) = re.findall(r"#define KD_SINGULAR (\S+)", source)
    assert float(least) == python_kernel.SINGULAR
