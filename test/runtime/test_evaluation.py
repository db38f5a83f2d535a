"""Evaluating a model: what is taken and refused, batches, singular matrices, threads."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from generated_robots import generated
from random_chains import random_chain

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description.model import Inertia
from kane_dynamics_ros.errors import NonFiniteError, ShapeError, SingularMassMatrixError
from kane_dynamics_ros.runtime import Payload, load_model
from kane_dynamics_ros.runtime.compilation import compiler
from kane_dynamics_ros.runtime.model import ModelError

BACKENDS = ["python"] + (["c"] if compiler() else [])
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")


@pytest.mark.parametrize("backend", BACKENDS)
def test_wrong_arguments_raise_our_errors(unchanged: Path, backend: str) -> None:
    model = load_model(unchanged, backend=backend)
    zero = np.zeros(2)
    cases: list[tuple[tuple, tuple]] = [
        ((np.zeros(3), zero, zero), ("shape", "q", (3,))),
        ((zero, np.zeros((1, 1, 2)), zero), ("shape", "qd", (1, 1, 2))),
        ((zero, zero, 1.0), ("shape", "qdd", ())),
        ((zero, zero, np.zeros((4, 2))), ("batch", "qdd", (4, 2))),
    ]
    for arguments, values in cases:
        with pytest.raises(ShapeError) as raised:
            model.inverse_dynamics(*arguments)
        assert (raised.value.code, raised.value.name, raised.value.found) == values
        assert "2" in str(raised.value)  # the width that is allowed
    for bad in (np.nan, np.inf, -np.inf):
        for arguments in ((zero, zero, [0.0, bad]), (np.zeros((300, 2)), np.zeros((300, 2)), _last(bad))):
            with pytest.raises(NonFiniteError) as raised:
                model.inverse_dynamics(*arguments)
            assert raised.value.name == "qdd"
    with pytest.raises(TypeError, match=r"^qdd: .*complex"):
        model.inverse_dynamics(zero, zero, 1j * zero)


def _last(bad: float) -> np.ndarray:
    batch = np.zeros((300, 2))
    batch[-1, 1] = bad
    return batch


@pytest.mark.parametrize("backend", BACKENDS)
def test_any_real_array_is_taken_and_none_is_changed(unchanged: Path, backend: str) -> None:
    model = load_model(unchanged, backend=backend)
    expected = model.inverse_dynamics([1.0, 2.0], [3.0, 4.0], [5.0, 6.0])
    reversed_q = np.array([2.0, 9.0, 1.0])[::-2]
    found = model.inverse_dynamics(reversed_q, np.array([3, 4]), np.array([5, 6], dtype=np.float32))
    np.testing.assert_array_equal(found, expected)
    assert model.inverse_dynamics(*np.zeros((3, 0, 2))).shape == (0, 2)
    assert model.mass_matrix(np.zeros((3, 2))).shape == (3, 2, 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_result_goes_into_the_array_that_is_given(unchanged: Path, backend: str) -> None:
    model = load_model(unchanged, backend=backend)
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
def test_a_result_over_an_input_is_refused(unchanged: Path, backend: str) -> None:
    q = np.zeros(2)
    with pytest.raises(ValueError, match=r"^out: it overlaps an input$"):
        load_model(unchanged, backend=backend).inverse_dynamics(q, np.ones(2), np.ones(2), q)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_effort_is_never_stretched_over_a_batch_that_rubs(unchanged: Path, backend: str) -> None:
    model = load_model(unchanged, backend=backend).with_parameters(viscous=[1.0, 2.0])
    with pytest.raises(ShapeError) as raised:
        model.forward_dynamics(np.zeros((3, 2)), np.zeros((3, 2)), np.zeros(2))
    assert (raised.value.code, raised.value.name) == ("batch", "tau")
    with pytest.raises(ShapeError) as raised:
        model.forward_dynamics(np.zeros(2), np.zeros(2), 0.0)
    assert (raised.value.code, raised.value.name) == ("shape", "tau")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("bad", [["1", "2"], [None, 0.0], np.array([1.0, 2.0], dtype=object), [[1, 2], [3]]])
def test_texts_and_objects_are_not_numbers(unchanged: Path, backend: str, bad: object) -> None:
    with pytest.raises(TypeError, match=r"^qd: "):
        load_model(unchanged, backend=backend).bias([0.0, 0.0], bad)


@pytest.mark.parametrize("backend", BACKENDS)
def test_masked_entries_are_refused_and_masks_of_nothing_are_taken(unchanged: Path, backend: str) -> None:
    """What a mask hides is no value: it was used as if it were one."""
    model = load_model(unchanged, backend=backend)
    whole = np.ma.masked_array([0.1, 0.2], mask=[False, False])
    np.testing.assert_array_equal(model.gravity(whole), model.gravity([0.1, 0.2]))
    for q in (
        np.ma.masked_array([0.1, 0.2], mask=[False, True]),
        np.ma.masked_array([[0.1, 0.2]], mask=True),
    ):
        with pytest.raises(NonFiniteError) as raised:
            model.gravity(q)
        assert (raised.value.code, raised.value.name) == ("masked", "q")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("states", [(2,), (40, 2)])
def test_a_result_that_is_not_finite_raises(unchanged: Path, backend: str, states: tuple[int, ...]) -> None:
    """Arguments and parameters that are finite, and too large: no NaN leaves a model, from either backend."""
    model = load_model(unchanged, backend=backend)
    one, huge = np.ones(states), np.full(states, 1e308)
    heavy = model.with_parameters(payload=Payload(1e300, (0.1, 0.2, 0.3)))
    calls: list[Callable[[], object]] = [
        lambda: model.inverse_dynamics(one, huge, one),
        lambda: model.forward_dynamics(one, huge, one),
        lambda: model.inverse_dynamics_derivatives(one, huge, huge),
        lambda: model.forward_dynamics_derivatives(one, huge, huge),
        lambda: model.energy(one, huge),
        lambda: model.momentum(one, huge),
        lambda: heavy.inverse_dynamics(one, 1e10 * one, one),
    ]
    for call in calls:
        with pytest.raises(NonFiniteError) as raised:
            call()
        assert raised.value.name == "result"


@needs_compiler
@pytest.mark.parametrize("count", [1, 31, 32, 33, 8191, 16384, 50001])
def test_batches_of_any_length_are_cut_and_shared_without_a_seam(unchanged: Path, count: int) -> None:
    """Blocks of 32 states, threads from 16,384 on: each row as in pure Python."""
    states = np.random.default_rng(count).normal(size=(3, count, 2))
    compiled, python = (load_model(unchanged, backend=backend) for backend in ("c", "python"))
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
    assert raised.value.joints == ("wrist",)
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
        with pytest.raises(ModelError) as raised:
            ask([1.0, 2.0])
        assert raised.value.code == "no_mass"
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
