"""The interface explains itself, takes keywords, costs nothing in a call, and travels between processes."""

import gc
import inspect
import multiprocessing
import pickle
import pydoc
import re
import sys
import weakref
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from kane_dynamics_ros.errors import NonFiniteError
from kane_dynamics_ros.runtime import DynamicsModel, Payload, load_model
from kane_dynamics_ros.runtime.compilation import compiler
from kane_dynamics_ros.runtime.load import Backend
from kane_dynamics_ros.runtime.model import ModelError

BACKENDS: list[Backend] = ["python"] + (["c"] if compiler() else [])
EVALUATORS = [
    name
    for name, method in vars(DynamicsModel).items()
    if isinstance(method, FunctionType) and "out" in inspect.signature(method).parameters
]


def arguments_of(model: DynamicsModel, name: str) -> dict[str, np.ndarray]:
    """Numbers for what the evaluator needs."""
    given = inspect.signature(getattr(model, name)).parameters.values()
    random = np.random.default_rng(0)
    return {p.name: random.normal(size=len(model.joint_names)) for p in given if p.default is p.empty}


@pytest.fixture(params=BACKENDS)
def model(request: pytest.FixtureRequest, unchanged: Path) -> DynamicsModel:
    return load_model(unchanged, backend=request.param)


@pytest.mark.parametrize("variant", ["plain", "loaded"])
@pytest.mark.parametrize("name", EVALUATORS)
def test_help_shows_signature_and_the_documentation_of_the_class(
    model: DynamicsModel, name: str, variant: str
) -> None:
    ours: Any = model.with_parameters(payload=Payload(1.0)) if variant == "loaded" else model
    method, documented = getattr(ours, name), getattr(DynamicsModel, name)
    names = list(inspect.signature(documented).parameters)[1:]
    assert list(inspect.signature(method).parameters) == names
    assert inspect.getdoc(method) == inspect.getdoc(documented)
    text = pydoc.plain(pydoc.render_doc(method))
    assert f"{name}({names[0]}" in "".join(text.split())  # Python 3.13 breaks long signatures into lines
    for word in ("Args:", "Raises:", "out:", "(N, "):
        assert word in text


@pytest.mark.parametrize("friction", [False, True])
@pytest.mark.parametrize("name", EVALUATORS)
def test_keywords_and_positions_give_the_same(model: DynamicsModel, name: str, friction: bool) -> None:
    ours: Any = model.with_parameters(viscous=[1.0, 2.0]) if friction else model
    arguments = arguments_of(ours, name)
    expected = getattr(ours, name)(*arguments.values())
    out = np.empty_like(expected)
    assert getattr(ours, name)(**arguments, out=out) is out
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(getattr(ours, name)(*arguments.values(), None), expected)
    with pytest.raises(TypeError):
        getattr(ours, name)(*arguments.values(), colour=1)


@pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")
@pytest.mark.parametrize("name", EVALUATORS)
def test_no_python_runs_between_a_call_and_the_compiled_code(unchanged: Path, name: str) -> None:
    model = load_model(unchanged, backend="c")
    function, arguments = getattr(model, name), arguments_of(model, name).values()
    function(*arguments)  # the first call of a unit loads its library
    called: list[Any] = []
    sys.setprofile(lambda frame, event, argument: called.append(event) if event == "call" else None)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    assert called == []


def test_everything_public_is_documented() -> None:
    model = load_model("manipulator_5dof", backend="python")
    for name in (name for name in dir(model) if not name.startswith("_")):
        method = getattr(DynamicsModel, name, None)
        assert (
            inspect.getdoc(method) if method else re.search(rf"\b{name}\b[^:]*: ", DynamicsModel.__doc__)
        ), name


def test_help_names_the_types_briefly_and_a_model_prints_what_it_is() -> None:
    """``ArrayLike`` written out takes 400 characters an argument."""
    assert len(pydoc.plain(pydoc.render_doc(DynamicsModel.forward_dynamics)).splitlines()[2]) < 250
    model = load_model("manipulator_5dof", backend="python")
    assert "manipulator_5dof" in repr(model)
    assert "gamma_1, alpha_2, alpha_3, beta_4, gamma_4" in repr(model)
    assert "python" in repr(model)
    assert "0x" not in repr(model)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_method_keeps_its_model_alive(unchanged: Path, backend: Backend) -> None:
    """Nobody else keeps it: with keywords, of another model of the same library, and after a collection."""
    q, wrench = np.array([0.1, 0.2]), np.arange(6.0)
    model = load_model(unchanged, backend=backend)
    heavy = model.with_parameters(payload=Payload(2.0))
    found = load_model(unchanged, backend=backend).with_parameters(payload=Payload(2.0))
    expected = heavy.inverse_dynamics(q, q, q) - heavy.external_effort(q, wrench)
    method = found.inverse_dynamics
    del found
    gc.collect()
    np.testing.assert_array_equal(load_model(unchanged, backend=backend).gravity(q=q), model.gravity(q))
    np.testing.assert_array_equal(method(q, q, q, wrench=wrench), expected)


def test_models_that_nobody_holds_are_freed(model: DynamicsModel) -> None:
    other = model.with_parameters(payload=Payload(2.0))
    gone = weakref.ref(other)
    other.gravity(q=[0.1, 0.2])
    del other
    assert gone() is None


def test_a_result_that_anything_holds_is_never_written_again(model: DynamicsModel) -> None:
    """Compiled functions use arrays again that nobody holds; views, slices and buffers hold them."""
    states = np.random.default_rng(0).normal(size=(40, 2))
    expected = model.gravity(states)
    held: list[Any] = []
    for k, q in enumerate(states):
        result = model.gravity(q)
        held.append((result, result[:1], result.view(), memoryview(result), {"a": result})[k % 5])
    del result
    for k, (kept, right) in enumerate(zip(held, expected, strict=True)):
        found = np.asarray(kept["a"] if isinstance(kept, dict) else kept)
        np.testing.assert_allclose(found, right[: len(found)], rtol=1e-14, err_msg=str(k))


@pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")
def test_an_array_that_was_changed_and_dropped_is_not_a_result_again(unchanged: Path) -> None:
    model = load_model(unchanged, backend="c")
    q = np.array([0.1, 0.2])
    expected = model.gravity(q).copy()
    for spoil in ("shape", "dtype", "frozen", "short"):
        for result in [model.gravity(q) for _ in range(3)]:
            if spoil == "shape":
                result.shape = (2, 1)
            elif spoil == "dtype":
                result.dtype = np.int64  # type: ignore[misc]
            elif spoil == "frozen":
                result.flags.writeable = False
            else:
                result.resize(1, refcheck=False)
        del result
        for _ in range(4):
            found = model.gravity(q)
            assert (found.dtype, found.shape, found.flags.writeable) == (np.float64, (2,), True)
            np.testing.assert_array_equal(found, expected)


class Shadow(np.ndarray):
    """A subclass, as users of units and of tables have."""


def test_a_subclass_of_ndarray_takes_the_result(model: DynamicsModel) -> None:
    out = np.zeros(2).view(Shadow)
    assert model.gravity([0.1, 0.2], out) is out
    np.testing.assert_array_equal(out, model.gravity([0.1, 0.2]))
    strided = np.zeros(4).view(Shadow)[::2]
    with pytest.raises(TypeError, match=r"^out: a writable float64 array in C order is needed$"):
        model.gravity([0.1, 0.2], strided)


def evaluate(model: DynamicsModel, q: np.ndarray) -> tuple[str, np.ndarray]:
    return model.backend, model.gravity(q)


def test_a_model_is_pickled_with_its_backend_and_parameters(model: DynamicsModel) -> None:
    heavy = model.with_parameters(payload=Payload(2.0), viscous=[1.0, 2.0])
    back = pickle.loads(pickle.dumps(heavy))
    assert (back.backend, back.parameters, back.joint_names) == (
        model.backend,
        heavy.parameters,
        model.joint_names,
    )
    np.testing.assert_array_equal(back.bias([1.0, 2.0], [3.0, 4.0]), heavy.bias([1.0, 2.0], [3.0, 4.0]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_pickled_model_whose_module_was_replaced_is_refused(backend: Backend, small: Path) -> None:
    kept = pickle.dumps(load_model(small, backend=backend))
    from kane_dynamics_ros.checksum import with_checksum

    body = small.read_text().rpartition("\n\n\n")[0]
    small.write_text(with_checksum(body.replace("'robot': ", "'robot':  ")))
    with pytest.raises(ModelError) as raised:
        pickle.loads(kept)
    assert raised.value.code == "replaced"


def test_methods_are_pickled_with_their_model(model: DynamicsModel) -> None:
    """As ``ProcessPoolExecutor.map(model.gravity, states)`` does with each state."""
    heavy = model.with_parameters(payload=Payload(2.0))
    q = np.random.default_rng(0).normal(size=(3, 2))
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        np.testing.assert_array_equal(list(pool.map(heavy.gravity, q)), heavy.gravity(q))
        np.testing.assert_array_equal(
            list(pool.map(heavy.inverse_dynamics, q, q, q)), heavy.inverse_dynamics(q, q, q)
        )


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_workers_of_a_pool_evaluate_a_model_and_hand_errors_back(model: DynamicsModel, method: str) -> None:
    q = np.random.default_rng(0).normal(size=(4, 2))
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.starmap_async(evaluate, [(model, row) for row in q]).get(timeout=120)
        assert [backend for backend, _ in found] == [model.backend] * 4
        np.testing.assert_array_equal([gravity for _, gravity in found], [model.gravity(row) for row in q])
        with pytest.raises(NonFiniteError) as raised:
            pool.apply_async(evaluate, (model, np.array([0.0, np.nan]))).get(timeout=120)
    assert raised.value.name == "q"
