"""NAME.c in units: what makes a torque is compiled first, the rest when it is called or a node starts."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from generated_robots import generated
from random_chains import random_chain

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.runtime import CONTROL, CompileError, compilation, load_model
from kane_dynamics_ros.runtime.load import compile_model, read_module
from kane_dynamics_ros.runtime.units import FIRST, MOST, Units

C_COMPILER = compilation.compiler()
pytestmark = pytest.mark.skipif(C_COMPILER is None, reason="needs a C compiler")
Q = np.array([0.1, 0.5, 0.3, 0.2, 0.3])


@pytest.fixture
def compilations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Callable[[], int]:
    """How often the compiler compiled so far; at no optimisation, on which no count depends."""
    calls, program = tmp_path / "calls", tmp_path / "compiler"
    calls.touch()
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] || echo x >> {calls}\nexec {C_COMPILER} "$@" -O0\n')
    program.chmod(0o755)
    monkeypatch.setenv("CC", str(program))
    return lambda: len(calls.read_text().split())


def test_of_a_seven_joint_arms_operations_a_tenth_is_compiled_before_its_first_torque() -> None:
    units = Units(read_module(generated("panda").module))
    operations = {name: facts["operations"] for name, facts in units.facts.items()}
    assert units.first == list(FIRST)
    assert sum(operations[name] for name in units.first) < 0.1 * sum(operations.values())
    assert all(len(group) == 1 or sum(operations[n] for n in group) <= MOST for group in units.home.values())
    assert set(units.home) == set(operations)


def test_a_long_function_lives_in_one_unit_with_its_form_that_takes_parameters(tmp_path: Path) -> None:
    derived = derive(random_chain(np.random.default_rng(15), 15, prismatic=0.0))
    units = Units(read_module(write_module(derived, "chain", tmp_path)[0]))
    for name in ("bias", "mass_matrix", "forward_dynamics_derivatives"):
        assert list(units.facts[name]["needs"]) == [f"{name}_with"]  # too long to be written twice
        assert units.home[name] is units.home[f"{name}_with"]
    assert set(units.home) == set(units.facts)


def test_a_unit_holds_the_text_of_its_own_functions_only(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    wanted: list[compilation.Wanted] = []
    build = compilation.run_compiler

    def noted(command: str, each: compilation.Wanted, *others: object) -> None:
        wanted.append(each)
        build(command, each, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(compilation, "run_compiler", noted)
    units = Units(read_module(generated("panda").module))
    units.form("inverse_mass_matrix_with", many=False)
    (text,) = (
        text for name, text in wanted[0].texts.items() if name.startswith("panda") and name.endswith(".c")
    )
    functions = {name for name in units.facts if f"KD_WITHOUT_{name}\n".encode() in text}
    assert functions == {*units.home["inverse_mass_matrix_with"], "mass_matrix_with"}


def test_a_function_is_compiled_when_it_is_called_first(compilations: Callable[[], int]) -> None:
    model, python = (load_model("manipulator_5dof", backend=backend) for backend in ("c", "python"))
    assert compilations() == 1
    assert np.allclose(model.inverse_dynamics(Q, Q, Q), python.inverse_dynamics(Q, Q, Q), rtol=1e-12)
    assert np.allclose(np.vstack(model.terms(Q, Q, Q)), np.vstack(python.terms(Q, Q, Q)), atol=1e-10)
    assert compilations() == 1
    for _ in range(2):
        assert np.allclose(model.regressor(Q, Q, Q), python.regressor(Q, Q, Q), atol=1e-12)
    assert compilations() == 2
    states = np.tile(Q, (100, 1)) * np.linspace(0.5, 1.5, 100)[:, None]
    assert np.allclose(model.gravity(states), python.gravity(states), atol=1e-10)  # the form for many states
    assert compilations() == 3
    moon = {"gravity": (0.0, 0.0, -1.62)}
    found = model.with_parameters(**moon).gravity(Q)  # the form that takes parameters
    assert np.allclose(found, python.with_parameters(**moon).gravity(Q), atol=1e-10)
    assert compilations() == 4
    again = load_model("manipulator_5dof", backend="c")
    again.regressor(Q, Q, Q)
    assert compilations() == 4


def test_the_form_of_a_long_function_for_many_states_waits_until_it_is_called(
    compilations: Callable[[], int],
) -> None:
    module = generated("panda").module
    model, python = (load_model(module, backend=backend) for backend in ("c", "python"))
    state = np.linspace(-1.0, 1.0, 7)
    before = compilations()
    for count, states in enumerate((state, state[None], np.tile(state, (33, 1))), start=1):
        found = model.forward_dynamics_derivatives(states, states, states)
        expected = python.forward_dynamics_derivatives(states, states, states)
        assert all(np.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in zip(found, expected, strict=True))
        assert compilations() == before + (1 if count < 3 else 2)
    units = Units(read_module(module))
    group = units.home["forward_dynamics_derivatives"]
    one, many = units.library(group, ("BATCHES",)), units.library(group, ("STATES",))
    for library, absent in ((one, "batch"), (many, "run")):
        with pytest.raises(AttributeError):
            library[f"{absent}_forward_dynamics_derivatives"]


def test_nothing_is_compiled_in_control_once_a_node_has_its_model(
    compilations: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_model("manipulator_5dof", backend="c", ready=CONTROL)
    before = compilations()
    for each in (model, model.with_parameters(gravity=(0.0, 0.0, -1.62), viscous=[1.0] * 5)):
        each.inverse_dynamics(Q, Q, Q, wrench=np.ones(6))
        each.inverse_dynamics([Q, Q], [Q, Q], [Q, Q])
        each.terms(Q, Q, Q)
        each.bias(Q, Q)
        each.mass_matrix([Q, Q])
        each.momentum(Q, Q)
        each.tip_pose(Q)
        each.tip_jacobian(Q)
        each.external_effort(np.tile(Q, (6, 1)), np.eye(6), frame="root")
        each.energy(Q, Q)
        assert each.c_addresses is not None
    assert compilations() == before


def test_a_function_that_cannot_be_compiled_says_so_and_the_others_go_on(
    compilations: Callable[[], int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = load_model("manipulator_5dof", backend="c")
    (tmp_path / "compiler").write_text("#!/bin/sh\n[ $1 = --version ] || { echo no >&2; exit 1; }\n")
    with pytest.raises(CompileError) as raised:
        model.regressor(Q, Q, Q)
    assert raised.value.code == "compiler_failed"
    assert np.isfinite(model.gravity(Q)).all()


def test_compile_model_builds_the_first_library_and_what_is_asked_for(
    compilations: Callable[[], int], cache: Path
) -> None:
    path = compile_model("manipulator_5dof")
    assert path.parent == cache
    assert compilations() == 1
    compile_model("manipulator_5dof", ["regressor", "no_such_function"])
    assert compilations() == 2
    load_model("manipulator_5dof", backend="c").regressor(Q, Q, Q)
    assert compilations() == 2
