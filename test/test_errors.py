"""Every error of the package travels between processes."""

import copy
import importlib
import pickle
import pkgutil

import pytest

import kane_dynamics_ros
from kane_dynamics_ros.errors import KaneDynamicsError, SingularMassMatrixError


def every_error() -> list[type[KaneDynamicsError]]:
    """All subclasses that some module of the package defines, without ROS where there is none."""
    for module in pkgutil.walk_packages(kane_dynamics_ros.__path__, "kane_dynamics_ros."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                if str(error.name).startswith("kane_dynamics_ros"):
                    raise
    found, left = [], [KaneDynamicsError]
    while left:
        kind = left.pop()
        found.append(kind)
        left += kind.__subclasses__()
    return sorted(found, key=lambda kind: kind.__qualname__)


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_an_error_keeps_its_kind_message_and_values_when_it_is_pickled(kind: type[KaneDynamicsError]) -> None:
    error = kind.__new__(kind)  # constructors differ; what they set is message and attributes
    error.args = ("what was found, and what is allowed",)
    error.name, error.found = "q", [1.0, 2.0]  # type: ignore[attr-defined]
    for back in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(back) is kind
        assert (back.args, back.__dict__) == (error.args, error.__dict__)
        assert str(back) == str(error)


def test_a_real_error_comes_back_whole() -> None:
    error = SingularMassMatrixError(["wrist"])
    back = pickle.loads(pickle.dumps(error))
    assert (str(back), back.joints) == (str(error), ("wrist",))
