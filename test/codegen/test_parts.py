"""Functions cut into parts: the same results as uncut, and a length that does not grow with the arm."""

import ctypes
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from compilers import C_COMPILER
from random_chains import random_chain

from kane_dynamics_ros.codegen.derive import Derived, derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.codegen.parameters import default_parameters
from kane_dynamics_ros.codegen.parts import LARGE, LONGEST, cut_in_parts
from kane_dynamics_ros.codegen.passes import Listing
from kane_dynamics_ros.codegen.print_c import c_source
from kane_dynamics_ros.errors import NonFiniteError, ShapeError
from kane_dynamics_ros.runtime import load_model

CUT = ("inverse_dynamics_derivatives_with", "regressor")  # both beyond LARGE


@pytest.fixture(scope="module")
def long_arm() -> Derived:
    return derive(random_chain(np.random.default_rng(0), 13, prismatic=0.2))


def inputs(derived: Derived) -> dict[str, np.ndarray]:
    parameters = default_parameters(derived.equations.layout, derived.chain)
    rng = np.random.default_rng(3)
    state = {name: rng.uniform(-2.0, 2.0, derived.equations.n) for name in ("q", "qd", "qdd")}
    return {"prepared": np.array(derived.prepare.evaluated({"parameters": parameters}), dtype=float), **state}


def evaluated_in_parts(listing: Listing, longest: int, given: dict[str, np.ndarray]) -> np.ndarray:
    """The outputs by way of the parts alone, the shared array full of NaN before."""
    parts, room = cut_in_parts(listing, longest)
    m = np.full(room, np.nan)
    found = np.full(len(listing.outputs), np.nan)
    for part in parts:
        passed = [listing.graph.reference(index) for index in part.given]
        own = part.listing
        values = replace(own, outputs=[*own.outputs, *passed]).evaluated({**given, "m": m})
        found[list(part.outputs)] = values[: len(own.outputs)]
        m[list(part.given.values())] = values[len(own.outputs) :]
    return found


@pytest.mark.parametrize("longest", [1, 7, 500])
@pytest.mark.parametrize("name", ["inverse_dynamics", "mass_matrix_with", "tip_pose"])
def test_parts_compute_what_the_whole_does(long_arm: Derived, name: str, longest: int) -> None:
    listing, given = long_arm.listings[name], inputs(long_arm)
    expected = np.array(listing.evaluated(given))
    np.testing.assert_array_equal(evaluated_in_parts(listing, longest, given), expected)


@pytest.mark.skipif(C_COMPILER is None, reason="no C compiler on this machine")
def test_compiled_parts_agree_with_the_uncut_functions_in_python(long_arm: Derived, tmp_path: Path) -> None:
    """The C is optimised and contracted, so that sums differ by rounding: 1e-11 of the largest element."""
    (tmp_path / "arm.h").write_text("#include <stddef.h>\n")
    functions = tuple(f for f in long_arm.equations.functions if f.name in (*CUT, "inverse_dynamics"))
    alone = replace(long_arm, equations=replace(long_arm.equations, functions=functions))
    (tmp_path / "arm.c").write_text(c_source("arm", alone, "0"))
    library = tmp_path / "arm.so"
    command = [C_COMPILER, "-std=c99", "-O1", "-ffp-contract=fast", "-fPIC", "-shared", "-w"]
    subprocess.run([*command, "-o", str(library), str(tmp_path / "arm.c"), "-lm"], check=True)
    compiled, given = ctypes.CDLL(str(library)), inputs(long_arm)
    assert {f.name for f in functions} > set(CUT)
    for function in (f for f in functions if f.name in CUT):
        listing = long_arm.listings[function.name]
        assert len(listing.statements) >= LARGE
        found = np.full(len(listing.outputs), np.nan)
        arrays = [*(given[argument] for argument in function.arguments), found]
        getattr(compiled, f"arm_{function.name}")(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))
        expected = np.array(listing.evaluated(given))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("backend", ["python", *(["c"] if C_COMPILER else [])])
def test_christoffel_symbols_of_a_long_arm_are_half_the_slope_of_its_bias(
    long_arm: Derived, backend: str, tmp_path: Path
) -> None:
    """V is quadratic in qd, so a central difference of any step is its slope; friction has no part in C."""
    assert "coriolis" not in long_arm.listings
    module, *_ = write_module(long_arm, "arm", tmp_path)
    model = load_model(module, backend=backend)  # type: ignore[arg-type]
    q, qd = np.random.default_rng(3).uniform(-2.0, 2.0, (2, 3, 13))
    columns = [0.25 * (model.bias(q, qd + step) - model.bias(q, qd - step)) for step in np.eye(13)]
    expected = np.stack(columns, axis=-1)
    found = model.with_parameters(viscous=[1.0] * 13).coriolis(q, qd)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    out = np.empty((13, 13))
    assert model.coriolis(q[0], qd[0], out) is out
    np.testing.assert_array_equal(out, model.coriolis(q[0], qd[0]))
    with pytest.raises(ShapeError):
        model.coriolis(q[0], qd[0, :-1])
    with pytest.raises(NonFiniteError):
        model.coriolis(q[0] * np.nan, qd[0])


@pytest.mark.parametrize("n", [14, 20])
def test_no_function_in_the_c_of_a_longer_arm_is_longer(n: int) -> None:
    """Statements of each C function: a compiler spends their square."""
    derived = derive(random_chain(np.random.default_rng(n), n, prismatic=0.0))
    bodies = re.split(r"^\}$", c_source("arm", derived, "0"), flags=re.MULTILINE)
    parts = [body.count(";\n") for body in bodies if "KD_APART kd_" in body]
    assert len(parts) > 60
    assert max(parts) <= 2 * LONGEST  # statements, values stored for other parts, and outputs
    assert max(body.count(";\n") for body in bodies) < 1.1 * LARGE


def test_places_of_the_shared_array_are_used_again(long_arm: Derived) -> None:
    parts, room = cut_in_parts(long_arm.listings["inverse_dynamics_derivatives_with"])
    places = [place for part in parts for place in part.given.values()]
    assert set(places) == set(range(room))
    assert room < 0.7 * len(places)
