"""Loading: seals, backends, libraries of other machines, threads."""

import logging
import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from generated_robots import generated
from random_chains import random_chain

from kane_dynamics_ros.codegen.derived import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description.model import Inertia
from kane_dynamics_ros.errors import (
    BatchError,
    KaneDynamicsError,
    NonFiniteError,
    ShapeError,
    SingularMassMatrixError,
)
from kane_dynamics_ros.runtime import Payload, build, load_model
from kane_dynamics_ros.runtime.build import compiler
from kane_dynamics_ros.runtime.errors import (
    BackendError,
    CompileError,
    ModelNotFoundError,
    ModelSealError,
    NoMassError,
)

BACKENDS = ["python"] + (["c"] if compiler() else [])
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A module of two joints, not yet compiled."""
    chain = random_chain(np.random.default_rng(1), 2, prismatic=0.0)
    return write_module(derive(chain), "small", tmp_path)[0]


def test_a_missing_model_is_named_with_the_ones_there_are() -> None:
    with pytest.raises(ModelNotFoundError) as raised:
        load_model("no_such_robot")
    assert str(raised.value) == (
        "no model 'no_such_robot': give the path of a generated NAME.py (kane_dynamics generate writes one), "
        "or one of the shipped models: manipulator_5dof"
    )


def test_a_changed_module_is_refused_before_any_of_it_runs(small: Path, tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    small.write_text(f"open({str(trace)!r}, 'w')\n" + small.read_text())
    with pytest.raises(ModelSealError) as raised:
        load_model(small, backend="python")
    assert str(raised.value) == (
        f"{small}: the file was changed after it was generated: its hash does not match; "
        "generate it again with kane_dynamics generate"
    )
    assert not trace.exists()


def test_a_file_without_a_seal_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("MODEL = {}\n")
    with pytest.raises(ModelSealError) as raised:
        load_model(path)
    assert str(raised.value) == (
        f"{path}: this is not a module that kane_dynamics generated: it has no seal; "
        "generate it again with kane_dynamics generate"
    )


def test_the_record_of_verification_may_be_rewritten(small: Path) -> None:
    small.write_text(small.read_text().replace("VERIFIED = None", "VERIFIED = {'lagrange': 1e-15}"))
    assert load_model(small, backend="python").name == "small"


def test_without_a_compiler_the_pure_python_form_answers_and_says_why(
    small: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(build, "compiler", lambda: None)
    with caplog.at_level(logging.WARNING):
        assert load_model(small).backend == "python"
    source = small.with_suffix(".c")
    reason = f"{source}: cannot be compiled: no C compiler was found ($CC, cc, gcc, clang); "
    assert caplog.messages == [
        reason + "use backend='python' or mend that; pure Python gives the same answers, slower"
    ]
    with pytest.raises(CompileError) as raised:
        load_model(small, backend="c")
    assert str(raised.value) == reason + "use backend='python' or mend that"


@needs_compiler
def test_the_library_is_built_once_and_again_for_another_processor(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_model(small).backend == "c"
    (first,) = small.parent.glob("*.so")
    stamp = first.stat().st_mtime_ns
    load_model(small)
    assert first.stat().st_mtime_ns == stamp
    monkeypatch.setattr(build, "processor", lambda: "another machine")
    load_model(small)
    assert len(list(small.parent.glob("*.so"))) == 2


@needs_compiler
def test_changed_c_code_is_not_compiled(small: Path) -> None:
    source = small.with_suffix(".c")
    source.write_text(source.read_text() + "\n")
    with pytest.raises(CompileError) as raised:
        load_model(small, backend="c")
    assert str(raised.value) == (
        f"{source}: cannot be compiled: it was changed after it was generated; "
        "use backend='python' or mend that"
    )


@needs_compiler
def test_a_folder_that_cannot_be_written_sends_the_library_to_the_cache(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    really_writable = build.writable
    monkeypatch.setattr(build, "writable", lambda folder: folder != small.parent and really_writable(folder))
    assert load_model(small).backend == "c"
    assert len(list((tmp_path / "cache/kane_dynamics_ros").glob("small.*"))) == 1


@needs_compiler
def test_a_folder_with_spaces_and_a_quote_compiles(small: Path, tmp_path: Path) -> None:
    folder = tmp_path / 'my "arms" $HOME'
    shutil.copytree(small.parent, folder, ignore=lambda *_: ["my*"])
    assert load_model(folder / "small.py").backend == "c"


@pytest.mark.parametrize("backend", BACKENDS)
def test_wrong_arguments_raise_our_errors(small: Path, backend: str) -> None:
    model = load_model(small, backend=backend)
    zero = np.zeros(2)
    cases: list[tuple[tuple, type[KaneDynamicsError], str]] = [
        ((np.zeros(3), zero, zero), ShapeError, "q: found shape (3,); allowed are (2,) and (N, 2)"),
        (
            (zero, np.zeros((1, 1, 2)), zero),
            ShapeError,
            "qd: found shape (1, 1, 2); allowed are (2,) and (N, 2)",
        ),
        ((zero, zero, 1.0), ShapeError, "qdd: found shape (); allowed are (2,) and (N, 2)"),
        (
            (zero, zero, np.zeros((4, 2))),
            BatchError,
            "qdd: found shape (4, 2); it must be (2,), like the first argument's",
        ),
    ]
    for arguments, error, message in cases:
        with pytest.raises(error) as raised:
            model.inverse_dynamics(*arguments)
        assert str(raised.value) == message
    for bad in (np.nan, np.inf, -np.inf):
        for arguments in ((zero, zero, [0.0, bad]), (np.zeros((300, 2)), np.zeros((300, 2)), _last(bad))):
            with pytest.raises(NonFiniteError) as raised:
                model.inverse_dynamics(*arguments)
            assert str(raised.value) == "qdd: found a value that is not finite; every value must be finite"
    with pytest.raises(TypeError):
        model.inverse_dynamics(zero, zero, 1j * zero)


def _last(bad: float) -> np.ndarray:
    batch = np.zeros((300, 2))
    batch[-1, 1] = bad
    return batch


@pytest.mark.parametrize("backend", BACKENDS)
def test_any_real_array_is_taken_and_none_is_changed(small: Path, backend: str) -> None:
    model = load_model(small, backend=backend)
    expected = model.inverse_dynamics([1.0, 2.0], [3.0, 4.0], [5.0, 6.0])
    reversed_q = np.array([2.0, 9.0, 1.0])[::-2]
    found = model.inverse_dynamics(reversed_q, np.array([3, 4]), np.array([5, 6], dtype=np.float32))
    np.testing.assert_array_equal(found, expected)
    assert model.inverse_dynamics(*np.zeros((3, 0, 2))).shape == (0, 2)
    assert model.mass_matrix(np.zeros((3, 2))).shape == (3, 2, 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_result_goes_into_the_array_that_is_given(small: Path, backend: str) -> None:
    model = load_model(small, backend=backend)
    for shape in ((3, 2), (3, 40, 2)):
        states = np.random.default_rng(0).normal(size=shape)
        out = np.full(shape[1:], np.nan)
        for ours in (model, model.with_parameters(viscous=[1.0, 2.0])):
            assert ours.inverse_dynamics(*states, out) is out
            np.testing.assert_array_equal(out, ours.inverse_dynamics(*states))
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    for bad in (frozen, np.zeros(2, dtype=np.float32), np.zeros(4)[::2], [0.0, 0.0]):
        with pytest.raises(TypeError, match=r"^out: a writable float64 array in C order is needed$"):
            model.inverse_dynamics(*np.zeros((3, 2)), bad)
    with pytest.raises(ValueError, match=r"^out: its shape is not the result's$"):
        model.inverse_dynamics(*np.zeros((3, 2)), np.zeros(3))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_result_over_an_input_is_refused(small: Path, backend: str) -> None:
    q = np.zeros(2)
    with pytest.raises(ValueError, match=r"^out: it overlaps an input$"):
        load_model(small, backend=backend).inverse_dynamics(q, np.ones(2), np.ones(2), q)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_effort_is_never_stretched_over_a_batch_that_rubs(small: Path, backend: str) -> None:
    model = load_model(small, backend=backend).with_parameters(viscous=[1.0, 2.0])
    with pytest.raises(BatchError) as raised:
        model.forward_dynamics(np.zeros((3, 2)), np.zeros((3, 2)), np.zeros(2))
    assert str(raised.value) == "tau: found shape (2,); it must be (3, 2), like the first argument's"
    with pytest.raises(ShapeError) as raised:
        model.forward_dynamics(np.zeros(2), np.zeros(2), 0.0)
    assert str(raised.value) == "tau: found shape (); allowed are (2,) and (N, 2)"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("bad", [["1", "2"], [None, 0.0], np.array([1.0, 2.0], dtype=object)])
def test_texts_and_objects_are_not_numbers(small: Path, backend: str, bad: object) -> None:
    with pytest.raises(TypeError):
        load_model(small, backend=backend).gravity(bad)


def test_an_unknown_backend_is_refused(small: Path) -> None:
    with pytest.raises(BackendError) as raised:
        load_model(small, backend="numba")  # type: ignore[arg-type]
    assert str(raised.value) == "backend 'numba'; allowed are 'auto', 'c', 'python'"


def test_pythons_cache_of_an_older_module_is_not_used(tmp_path: Path) -> None:
    """A module generated again in the same second may have the same size."""
    chain = random_chain(np.random.default_rng(1), 1)
    names = ("left", "rear")
    for name in names:
        one = replace(chain, joints=(replace(chain.joints[0], name=name),), coordinates=(name,))
        path = write_module(derive(one), "arm", tmp_path)[0]
        os.utime(path, (1e9, 1e9))
        assert load_model(path, backend="python").joint_names == (name,)


@needs_compiler
@pytest.mark.parametrize("count", [1, 31, 32, 33, 8191, 16384, 50001])
def test_batches_of_any_length_are_cut_and_shared_without_a_seam(small: Path, count: int) -> None:
    """Blocks of 32 states, threads from 16,384 on: each row as in pure Python."""
    states = np.random.default_rng(count).normal(size=(3, count, 2))
    compiled, python = (load_model(small, backend=backend) for backend in ("c", "python"))
    expected = python.inverse_dynamics(*states)
    np.testing.assert_allclose(compiled.inverse_dynamics(*states), expected, rtol=0, atol=1e-11)
    states[1, -1, 0] = np.inf
    with pytest.raises(NonFiniteError):
        compiled.inverse_dynamics(*states)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_massless_wrist_is_named_and_never_gives_nan(tmp_path: Path, backend: str) -> None:
    chain = random_chain(np.random.default_rng(3), 3, prismatic=0.0)
    nothing = Inertia(0.0, (0.0, 0.0, 0.0), ((0.0,) * 3,) * 3)
    last = replace(chain.joints[-1], inertia=nothing, name="wrist")
    chain = replace(chain, joints=(*chain.joints[:2], last), coordinates=(*chain.coordinates[:2], "wrist"))
    model = load_model(write_module(derive(chain), "massless", tmp_path)[0], backend=backend)
    with pytest.raises(SingularMassMatrixError) as raised:
        model.forward_dynamics(np.ones(3), np.ones(3), np.ones(3))
    assert str(raised.value) == (
        "the mass matrix is singular at joint 'wrist': nothing resists its acceleration; lock it "
        "(--lock JOINT=VALUE), give the link an inertia, or give the joint a rotor inertia"
    )
    with pytest.raises(SingularMassMatrixError, match="'wrist'"):
        model.forward_dynamics(np.ones((5, 3)), np.ones((5, 3)), np.ones((5, 3)))
    geared = model.with_parameters(rotor_inertia=[0.0, 0.0, 0.1])
    assert np.isfinite(geared.forward_dynamics(np.ones(3), np.ones(3), np.ones(3))).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_rotors_alone_move_and_have_no_centre_of_mass(tmp_path: Path, backend: str) -> None:
    chain = random_chain(np.random.default_rng(3), 2, prismatic=0.0)
    nothing = Inertia(0.0, (0.0, 0.0, 0.0), ((0.0,) * 3,) * 3)
    joints = tuple(replace(joint, inertia=nothing, rotor_inertia=0.5) for joint in chain.joints)
    path = write_module(derive(replace(chain, joints=joints)), "rotors", tmp_path)[0]
    model = load_model(path, backend=backend)
    np.testing.assert_allclose(model.forward_dynamics([1, 2], [3, 4], [5, 6]), [10.0, 12.0], rtol=1e-15)
    for ask in (model.center_of_mass, model.center_of_mass_jacobian):
        with pytest.raises(NoMassError) as raised:
            ask([1.0, 2.0])
        assert str(raised.value) == (
            "there is no centre of mass: nothing that moves has mass; give a link or the payload some"
        )
    loaded = model.with_parameters(payload=Payload(1.0))
    np.testing.assert_allclose(loaded.center_of_mass([1, 2]), loaded.tip_pose([1, 2])[:3, 3], rtol=1e-14)


def test_two_threads_may_evaluate_one_model() -> None:
    model = load_model(generated("manipulator_5dof").module)
    states = np.random.default_rng(0).normal(size=(3, 2000, 5))
    expected = model.inverse_dynamics(*states)
    wrong: list[int] = []

    def work(seed: int) -> None:
        for k in np.random.default_rng(seed).permutation(2000):
            one = model.inverse_dynamics(*states[:, k])
            if not np.allclose(one, expected[k], rtol=1e-12, atol=1e-12):
                wrong.append(int(k))
        if not np.array_equal(model.inverse_dynamics(*states), expected):
            wrong.append(-1)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
