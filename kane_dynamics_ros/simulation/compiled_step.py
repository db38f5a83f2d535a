"""plant_step.c on the compiled functions of a generated module: the same step, some fifty times faster."""

import ctypes
import logging
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kane_dynamics_ros.runtime.compilation import shared_library
from kane_dynamics_ros.runtime.errors import CompileError
from kane_dynamics_ros.runtime.interface import Array, DynamicsModel
from kane_dynamics_ros.simulation.friction import LOCKED
from kane_dynamics_ros.simulation.plant_step import MOST_PARTS, MOST_TURN, Resistances

SOURCE = Path(__file__).with_name("plant_step.c")
_ARRAYS = ("viscous", "coulomb", "rest", "stribeck_velocity", "brake", "lower", "upper")
log = logging.getLogger(__name__)


class _Plant(ctypes.Structure):
    """``kd_plant`` of plant_step.c."""

    _fields_ = [
        ("n", ctypes.c_long),
        *((name, ctypes.c_void_p) for name in ("mass_matrix", "bias", "prepared")),
        *((name, ctypes.c_double) for name in ("h", "restitution", "locked", "most_turn", "most_parts")),
        *((name, ctypes.c_void_p) for name in (*_ARRAYS, "q", "qd")),
    ]


class CompiledStep:
    """Steps the arrays q and qd in place, with the equations of a model that has C addresses."""

    def __init__(
        self, function: Any, model: DynamicsModel, resistances: Resistances, q: Array, qd: Array, h: float
    ) -> None:
        """``function``: ``kd_plant_step``; ``model`` must have C addresses."""
        self._function = function
        self._held = model, resistances, q, qd  # what the C code points to must live as long as this
        self._effort = np.zeros(len(q))
        plant = _Plant(len(q), *(model.c_addresses or (None,) * 3), h)
        plant.restitution, plant.locked = resistances.restitution, LOCKED
        plant.most_turn, plant.most_parts = MOST_TURN, MOST_PARTS
        for name in _ARRAYS:
            setattr(plant, name, getattr(resistances, name).ctypes.data)
        plant.q, plant.qd = q.ctypes.data, qd.ctypes.data
        self._arguments = ctypes.byref(plant), ctypes.c_void_p(self._effort.ctypes.data)

    def __call__(self, effort: Array) -> bool:
        """One step under ``effort`` (n,); False when the state diverged and stays what it was."""
        self._effort[:] = effort
        return int(self._function(*self._arguments)) == 0


def compiled_step(
    model: DynamicsModel, resistances: Resistances, q: Array, qd: Array, h: float
) -> CompiledStep | None:
    """The compiled step of a plant; None when the model is not compiled, or no C compiler was found."""
    if model.c_addresses is None:
        return None
    function = _step_function()
    return None if function is None else CompiledStep(function, model, resistances, q, qd, h)


@cache
def _step_function() -> Any:
    """``kd_plant_step``, built where it is absent; None when it cannot be had."""
    try:
        function = shared_library(SOURCE).kd_plant_step
    except CompileError as error:
        log.warning("%s cannot be compiled (%s); NumPy gives the same steps, slower", SOURCE.name, error)
        return None
    function.restype = ctypes.c_int
    return function
