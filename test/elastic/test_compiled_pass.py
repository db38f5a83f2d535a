"""The compiled pass against the NumPy one, and what happens without a compiler."""

import logging
import subprocess

import numpy as np
import pytest
from compilers import C_COMPILER
from elastic_arms import GRAVITY, pendulum, reference_arm, sliding_arm

from kane_dynamics_ros.elastic import compiled_pass as module
from kane_dynamics_ros.elastic.arm import equations
from kane_dynamics_ros.elastic.arm_model import with_payload
from kane_dynamics_ros.elastic.compiled_pass import compiled_pass
from kane_dynamics_ros.elastic.stepping import method
from kane_dynamics_ros.runtime import Payload, compilation
from kane_dynamics_ros.runtime.compilation import CompileError

needs_compiler = pytest.mark.skipif(C_COMPILER is None, reason="no C compiler on this machine")
PAYLOAD = Payload(1.3, (0.1, 0.0, 0.05), (0.1, 0.0, 0.01, 0.2, 0.0, 0.2))
ARMS = {
    "two elastic links": reference_arm(),
    "with a payload": with_payload(reference_arm(elements=2), PAYLOAD),
    "skew, sliding, following": sliding_arm(),
    "rigid": reference_arm(links=()),
}


@needs_compiler
@pytest.mark.parametrize("name", ARMS)
def test_both_give_the_same_equations(name):
    """Two orders of the same sums: round-off."""
    model = ARMS[name]
    compiled = compiled_pass(model)
    rng = np.random.default_rng(8)
    for _ in range(3):
        x, u = rng.normal(size=(2, model.size))
        x[model.n :] *= 0.1
        found, expected = compiled(x, u, GRAVITY), equations(model, x, u, GRAVITY)
        np.testing.assert_allclose(found.M, expected.M, atol=1e-13 * abs(expected.M).max())
        np.testing.assert_allclose(found.h, expected.h, atol=1e-13 * abs(expected.h).max())


@needs_compiler
def test_arrays_of_any_layout_are_taken():
    model = ARMS["rigid"]
    x, u = np.arange(20.0)[::2][:5] / 10, np.arange(5, dtype=np.int64)
    np.testing.assert_allclose(
        compiled_pass(model)(x, u, GRAVITY).h, equations(model, x, u.astype(float), GRAVITY).h, rtol=1e-12
    )


def test_links_that_their_load_stiffens_stay_in_numpy():
    assert compiled_pass(pendulum(1e9, 2, stiffened=True)) is None


def test_without_a_compiler_numpy_steps_and_the_log_says_why(monkeypatch, caplog):
    def fail(source):
        raise CompileError("no compiler", "no_compiler")

    monkeypatch.setattr(compilation, "shared_library", fail)
    compilation.shared_function.cache_clear()
    with caplog.at_level(logging.WARNING):
        assert method(ARMS["rigid"], 1e-3).compiled is None
    compilation.shared_function.cache_clear()
    (said,) = (record.getMessage() for record in caplog.records)
    assert "arm_pass.c" in said
    assert "no compiler" in said


@needs_compiler
def test_the_source_compiles_without_warnings(tmp_path):
    warnings = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror"]
    subprocess.run(["cc", *warnings, "-c", module.SOURCE, "-o", tmp_path / "arm_pass.o"], check=True)
