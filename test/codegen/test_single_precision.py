"""The C for float: its results beside double, what it states, what it asks of compiler and library."""

import ctypes
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from compilers import C_COMPILER

from kane_dynamics_ros.cli.generate import write_single
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.print_single import LARGEST, STATES, single_costs
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.runtime import load_model

if C_COMPILER is None:
    pytest.skip("no C compiler on this machine", allow_module_level=True)

ROOT = Path(__file__).parents[2]
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-Werror", "-pedantic", "-Os"]
DERIVED = derive(serial_chain(load_robot(ROOT / "urdf/manipulator_5dof.urdf")))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_single(DERIVED, "arm", tmp_path_factory.mktemp("single"))


@pytest.fixture(scope="module")
def library(files: list[Path]) -> ctypes.CDLL:
    target = files[1].with_suffix(".so")
    command = [C_COMPILER, *STRICT, "-fPIC", "-shared", str(files[1]), "-o", str(target), "-lm"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(target))


def call(function: Callable[..., object], size: int, *arrays: np.ndarray) -> np.ndarray:
    given = [np.ascontiguousarray(array, dtype=np.float32) for array in arrays]
    out = np.zeros(size, dtype=np.float32)
    function(*(ctypes.c_void_p(array.ctypes.data) for array in (*given, out)))
    return out.astype(float)


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("inverse_dynamics", ("q", "qd", "qdd")),
        ("forward_dynamics", ("q", "qd", "tau")),
        ("bias", ("q", "qd")),
        ("gravity", ("q",)),
        ("inverse_dynamics_derivatives", ("q", "qd", "qdd")),
    ],
)
def test_results_differ_from_double_by_no_more_than_stated(
    library: ctypes.CDLL, name: str, inputs: tuple[str, ...]
) -> None:
    """Other states of the same distribution: half as much again, since a maximum grows with their number.

    Relative to the largest result of all states, as the statement says; relative to each state's own, gravity
    alone would miss it by orders of magnitude where an effort passes through zero.
    """
    model = load_model("manipulator_5dof")
    stated = single_costs(DERIVED)[name].error
    rng = np.random.default_rng(5)
    error = largest = 0.0
    for _ in range(3000):
        states = [rng.uniform(-LARGEST[x], LARGEST[x], 5).astype(np.float32) for x in inputs]
        expected = getattr(model, name)(*(state.astype(float) for state in states))
        expected = np.concatenate([np.ravel(x) for x in expected])
        found = call(getattr(library, f"arm_single_{name}"), expected.size, *states)
        error = max(error, np.abs(found - expected).max())
        largest = max(largest, np.abs(expected).max())
    assert stated / 1.5 < error / largest < 1.5 * stated


def test_tanh_of_friction_is_exact_to_single_precision(library: ctypes.CDLL) -> None:
    parameters = np.zeros(DERIVED.equations.layout.size)
    part = DERIVED.equations.layout.slices()
    parameters[part["coulomb"]] = 1.0
    parameters[part["coulomb_velocity"]] = 1.0
    prepared = call(library.arm_single_prepare, len(DERIVED.prepare.outputs), parameters)
    for value in (*np.linspace(-12.0, 12.0, 997), 1e-6, -3e-4, 0.2499, 0.2501, 1e30):
        speed = np.full(5, np.float32(value))
        found = call(library.arm_single_friction, 5, prepared, speed)[0]
        assert found == pytest.approx(np.tanh(float(np.float32(value))), rel=3e-7)


def test_nothing_of_the_c_library_is_needed_but_sinf_and_cosf(files: list[Path]) -> None:
    target = files[1].with_suffix(".o")
    subprocess.run([C_COMPILER, *STRICT, "-c", str(files[1]), "-o", str(target)], check=True)
    found = subprocess.run(["nm", "-u", str(target)], capture_output=True, text=True, check=True).stdout
    assert {line.split()[-1] for line in found.splitlines()} <= {"sinf", "cosf", "memcpy"}


def test_the_header_states_operations_stack_and_error_and_has_no_double(files: list[Path]) -> None:
    header, source = (path.read_text() for path in files)
    assert "double" not in re.sub(r"/\*.*?\*/", "", header + source, flags=re.S)
    assert "_batch" not in header + source
    cost = single_costs(DERIVED)["forward_dynamics"]
    stated = (
        f"{cost.operations} operations, at most {cost.stack} bytes of temporaries, error {cost.error:.0e}"
    )
    assert stated in header
    assert f"the largest of {STATES} random states, relative to the largest\n   result" in header
