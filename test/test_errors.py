"""The base of every error: a message, a code to compare, values as attributes."""

import pickle

from kane_dynamics_ros.errors import KaneDynamicsError


class WheelError(KaneDynamicsError):
    code = "wheel"


def test_an_error_carries_its_code_and_its_values():
    error = WheelError("wheel 3 is flat; pump it up", "flat", wheel=3)
    assert (str(error), error.code, error.wheel) == ("wheel 3 is flat; pump it up", "flat", 3)
    assert WheelError("no wheel").code == "wheel"


def test_an_error_crosses_processes_whole():
    error = pickle.loads(pickle.dumps(WheelError("wheel 3 is flat", "flat", wheel=3)))
    assert (type(error), str(error), error.code, error.wheel) == (WheelError, "wheel 3 is flat", "flat", 3)
