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
    assert units.first.one == FIRST
    assert sum(operations[name] for name in FIRST) < 0.1 * sum(operations.values())
    own = {name: 0 if facts["needs"] else operations[name] for name, facts in units.facts.items()}
    groups = {group for unit in units.home.values() for group in unit}
    assert all(len(group) <= 1 or sum(own[name] for name in group) <= MOST for group in groups)


@pytest.mark.parametrize("joints", [7, 15])  # 15: functions with default parameters call those that take them
def test_each_form_of_a_function_is_in_one_library(tmp_path: Path, joints: int) -> None:
    derived = derive(random_chain(np.random.default_rng(joints), joints, prismatic=0.0))
    units = Units(read_module(write_module(derived, "chain", tmp_path)[0]))
    libraries = [units.first, *dict.fromkeys(units.home.values())]
    for many in (False, True):
        assert sorted(name for unit in libraries for name in unit[many]) == sorted(units.facts)
    assert ("bias_with" in units.first.one) == (joints == 15)


def test_functions_of_other_libraries_are_called_wherever_they_are(
    compilations: Callable[[], int], cache: Path
) -> None:
    module = generated("panda").module
    model, python = (load_model(module, backend=backend) for backend in ("c", "python"))
    q = np.linspace(-1.0, 1.0, 7)
    moon = {"gravity": (0.0, 0.0, -1.62)}
    others = model.with_parameters(**moon), python.with_parameters(**moon)
    found, expected = (each.forward_dynamics_derivatives(q, q, q) for each in others)
    assert all(np.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in zip(found, expected, strict=True))
    states = np.tile(q, (3, 1))
    found, expected = (each.forward_dynamics_derivatives(states, states, states) for each in others)
    assert all(np.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in zip(found, expected, strict=True))
    before = compilations()
    assert np.allclose(others[0].mass_matrix(q), others[1].mass_matrix(q), rtol=1e-9)
    assert np.allclose(others[0].bias(q, q), others[1].bias(q, q), rtol=1e-9)
    assert compilations() == before  # they are there already
    for path in [path for path in cache.glob("*.so") if b"\0run_mass_matrix_with\0" in path.read_bytes()]:
        path.unlink()
    again = load_model(module, backend="c").with_parameters(**moon)
    assert np.array_equal(again.inverse_mass_matrix(q), others[0].inverse_mass_matrix(q))
    assert compilations() == before + 1


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
    text = next(
        text
        for each in wanted
        for name, text in each.texts.items()
        if "-DKD_RUNS_inverse_mass_matrix_with=1" in each.arguments and name.startswith("panda.c")
    )
    functions = {name for name in units.facts if f"KD_WITHOUT_{name}\n".encode() in text}
    assert functions == set(units.home["inverse_mass_matrix_with", False].one)
    assert "mass_matrix_with" not in functions  # which it calls


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
    for many, absent in ((False, "batch"), (True, "run")):
        library = units.library(units.home["forward_dynamics_derivatives", many])
        with pytest.raises(AttributeError):
            library[f"{absent}_forward_dynamics_derivatives"]


def test_nothing_is_compiled_in_control_once_a_node_has_its_model(
    compilations: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_model("manipulator_5dof", backend="c", ready=CONTROL)
    assert model.c_addresses is not None  # when the simulated arm is made
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


def test_what_a_node_needs_is_compiled_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    """Each call of this compiler waits until there was another."""
    calls, program = tmp_path / "calls", tmp_path / "compiler"
    calls.mkdir()
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exit 0\ntouch {calls}/$$\n'
        f'for k in $(seq 1000); do\n  [ $(ls {calls} | wc -l) -gt 1 ] && exec {C_COMPILER} "$@" -O0\n'
        "  sleep 0.05\ndone\nexit 1\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("CC", str(program))
    monkeypatch.setattr(compilation, "available_processors", lambda: 2)
    compile_model("manipulator_5dof", CONTROL)
    assert len(list(calls.iterdir())) > 2


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
