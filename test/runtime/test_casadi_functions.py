"""CasADi's functions of a generated module: the model's values, Jacobians that are its slopes, any thread."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compilers import C_COMPILER
from generated_robots import generated
from random_chains import random_chain

casadi = pytest.importorskip("casadi")
if C_COMPILER is None:
    pytest.skip("no C compiler on this machine", allow_module_level=True)

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.runtime.casadi_functions import casadi_functions
from kane_dynamics_ros.runtime.compilation import CompileError

CHANGES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "gravity and friction": {
        "gravity": (1.0, 2.0, -3.0),
        "viscous": [0.3] * 6,
        "coulomb": [0.5] * 6,
        "coulomb_velocity": 0.4,
    },
}
STEP = 1e-6  # of central differences: relative error about its square plus 1e-16 / STEP


@pytest.fixture(scope="module", params=CHANGES)
def model(request: pytest.FixtureRequest) -> Any:
    return load_model(generated("ur5").module).with_parameters(**CHANGES[request.param])


def values(model: Any, name: str, arguments: list[np.ndarray]) -> np.ndarray:
    if name == "tip_position":
        return np.asarray(model.tip_pose(*arguments)[:3, 3])
    return np.asarray(getattr(model, name)(*arguments))


def test_values_are_the_models_and_jacobians_their_slopes(model: Any) -> None:
    state = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 6))
    functions = casadi_functions(model)
    assert set(functions) == {"inverse_dynamics", "forward_dynamics", "bias", "gravity", "tip_position"}
    for name, function in functions.items():
        arguments = list(state[: function.n_in()])
        found = np.array(function(*arguments)).ravel()  # friction may be added in another order
        np.testing.assert_allclose(found, values(model, name, arguments), rtol=1e-13, atol=1e-13)
        blocks = function.jacobian()(*arguments, 0)
        for k, block in enumerate(blocks if isinstance(blocks, tuple) else (blocks,)):
            slopes = []
            for j in range(6):
                ahead, behind = ([x.copy() for x in arguments] for _ in range(2))
                ahead[k][j] += STEP
                behind[k][j] -= STEP
                slopes.append((values(model, name, ahead) - values(model, name, behind)) / (2 * STEP))
            expected = np.array(slopes).T
            np.testing.assert_allclose(
                np.array(block), expected, atol=1e-7 * max(np.abs(expected).max(), 1.0)
            )


def test_many_threads_give_what_one_does(model: Any) -> None:
    states = np.random.default_rng(4).uniform(-1.0, 1.0, (3, 6, 64))
    forward = casadi_functions(model)["forward_dynamics"]
    for derived in (forward, forward.jacobian()):
        given = [*states, np.zeros((6, 64))][: derived.n_in()]
        one, many = derived.map(64)(*given), derived.map(64, "thread", 4)(*given)
        for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (one, many)), strict=True):
            np.testing.assert_array_equal(np.array(a), np.array(b))


def test_inputs_that_casadi_leaves_out_are_zero(model: Any) -> None:
    bias = casadi_functions(model)["bias"]
    expected = model.bias(np.ones(6), np.zeros(6))
    np.testing.assert_allclose(np.array(bias(np.ones(6), 0)).ravel(), expected, rtol=1e-13)


def arm(folder: Path, seed: int) -> Path:
    """A module of a random chain of two joints; another robot with each seed."""
    return write_module(derive(random_chain(np.random.default_rng(seed), 2, prismatic=0.0)), "arm", folder)[0]


def test_c_text_that_was_changed_is_not_compiled(tmp_path: Path, cache: Path) -> None:
    """One constant of 516.45 became 536.49 without a word; and any code in NAME.c ran."""
    model = load_model(arm(tmp_path, 1), backend="python")
    source = tmp_path / "arm.c"
    source.write_text(source.read_text().replace("return", "return ", 1))
    with pytest.raises(CompileError) as raised:
        casadi_functions(model)
    assert (raised.value.code, raised.value.path) == ("changed", source)


@pytest.mark.parametrize("backend", ["c", "python"])
def test_a_model_whose_module_was_written_again_never_becomes_the_other_robot(
    backend: Any, tmp_path: Path, cache: Path
) -> None:
    model = load_model(arm(tmp_path, 1), backend=backend)
    expected = model.gravity([0.1, 0.2])
    functions = casadi_functions(model)
    arm(tmp_path, 2)
    np.testing.assert_allclose(np.array(functions["gravity"]([0.1, 0.2])).ravel(), expected, rtol=1e-13)
    with pytest.raises(CompileError) as raised:
        casadi_functions(model)
    assert raised.value.code == "changed"


def test_generate_writes_a_file_that_compiles_without_warnings(tmp_path: Path) -> None:
    urdf = Path(__file__).parents[2] / "urdf/manipulator_5dof.urdf"
    command = [sys.executable, "-m", "kane_dynamics_ros", "generate", str(urdf), "--casadi", "--no-compile"]
    subprocess.run([*command, "--name", "arm", "-o", str(tmp_path)], check=True, capture_output=True)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic", "-fPIC", "-shared"]
    sources = [str(tmp_path / "arm.c"), str(tmp_path / "arm_casadi.c")]
    subprocess.run([C_COMPILER, *strict, *sources, "-o", str(tmp_path / "arm.so"), "-lm"], check=True)
    function = casadi.external("arm_casadi_inverse_dynamics", str(tmp_path / "arm.so"))
    expected = load_model("manipulator_5dof").inverse_dynamics(*np.ones((3, 5)))
    np.testing.assert_allclose(np.array(function(*np.ones((3, 5)))).ravel(), expected, rtol=1e-12)
