"""Checks of run-time parameters and of arrays, in Python."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics_ros.errors import BatchError, NonFiniteError, ShapeError
from kane_dynamics_ros.runtime.errors import ParameterError
from kane_dynamics_ros.runtime.interface import Array
from kane_dynamics_ros.runtime.parameters import Parameters, Payload

TRIANGLE = 1e-9  # relative slack of the triangle inequality, for rounded input


def checked_arrays(n: int, **arrays: ArrayLike) -> list[Array]:
    """The arguments as float64 arrays, all (n,) or all (N, n), all finite.

    Raises:
        ShapeError, BatchError, NonFiniteError: naming the argument. TypeError: no real numbers.
    """
    checked: list[Array] = []
    for name, value in arrays.items():
        array = np.asarray(value)
        if not np.can_cast(array.dtype, np.float64, "safe"):
            raise TypeError(f"{name}: cannot take dtype {array.dtype} as float64")
        array = array.astype(np.float64, copy=False)
        if array.ndim not in (1, 2) or array.shape[-1] != n:
            raise ShapeError(name, array.shape, n)
        if checked and array.shape != checked[0].shape:
            raise BatchError(name, array.shape, checked[0].shape)
        if not np.isfinite(array).all():
            raise NonFiniteError(name)
        checked.append(array)
    return checked


def changed(parameters: Parameters, n: int, bodies: int, changes: dict[str, Any]) -> Parameters:
    """``parameters`` with some fields replaced, every value checked.

    Raises:
        ParameterError: an unknown name, or a value that makes no sense.
    """
    known = ("gravity", "rotor_inertia", "viscous", "coulomb", "coulomb_velocity", "payload", "inertial")
    fields: dict[str, Any] = {}
    for name, value in changes.items():
        if name not in known or (name == "inertial" and parameters.inertial is None):
            allowed = [k for k in known if k != "inertial" or parameters.inertial is not None]
            raise ParameterError(name, value, f"the parameters are {', '.join(allowed)}")
        if name == "gravity":
            fields[name] = _numbers(name, value, 3)
        elif name in ("rotor_inertia", "viscous", "coulomb"):
            fields[name] = _numbers(name, value, n, least=0.0)
        elif name == "coulomb_velocity":
            fields[name] = _positive(name, value)
        elif name == "inertial":
            fields[name] = _numbers(name, value, 10 * bodies)
        else:
            fields[name] = checked_payload(value)
    return replace(parameters, **fields)


def checked_payload(value: Any) -> Payload:
    """A payload whose numbers are finite and whose inertia a body can have.

    Raises:
        ParameterError: naming the part that is wrong.
    """
    if not isinstance(value, Payload):
        raise ParameterError("payload", value, "a Payload")
    mass = _numbers("payload.mass", [value.mass], 1, least=0.0)[0]
    com = _numbers("payload.com", value.com, 3)
    inertia = _numbers("payload.inertia", value.inertia, 6)
    xx, xy, xz, yy, yz, zz = inertia
    moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    slack = TRIANGLE * max(abs(moments))
    if moments[0] < -slack or moments[0] + moments[1] < moments[2] - slack:
        raise ParameterError(
            "payload.inertia",
            inertia,
            "principal moments that are not negative and of which no one exceeds the sum of the others",
        )
    if mass == 0.0 and any(inertia):
        raise ParameterError("payload.inertia", inertia, "zero when payload.mass is zero")
    return Payload(mass, (com[0], com[1], com[2]), (xx, xy, xz, yy, yz, zz))


def _numbers(name: str, value: Any, size: int, least: float = -math.inf) -> tuple[float, ...]:
    allowed = f"{size} finite number{'s' if size > 1 else ''}" + (
        f" >= {least:g}" if least > -math.inf else ""
    )
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        raise ParameterError(name, value, allowed) from None
    real = array.shape == (size,) and np.can_cast(array.dtype, np.float64, "safe")
    if not real or not all(math.isfinite(x) and x >= least for x in array):
        raise ParameterError(name, value, allowed)
    return tuple(float(x) for x in array)


def _positive(name: str, value: Any) -> float:
    number = _numbers(name, [value], 1)[0]
    if number <= 0.0:
        raise ParameterError(name, value, "a finite number > 0")
    return number
