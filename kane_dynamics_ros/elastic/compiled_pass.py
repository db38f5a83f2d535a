"""arm_pass.c on the constants of an arm: the same equations as ``arm.equations``, many times faster."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.elastic.arm import ArmEquations
from kane_dynamics_ros.elastic.arm_model import ArmBody, ArmModel, Flexure
from kane_dynamics_ros.runtime.compilation import shared_function

SOURCE = Path(__file__).with_name("arm_pass.c")


def _doubles(n: int) -> Any:
    return ctypes.c_double * n


class _Body(ctypes.Structure):
    """``kd_body`` of arm_pass.c."""

    _fields_ = [
        *((name, ctypes.c_long) for name in ("coordinate", "parent", "prismatic", "beam", "rigid")),
        *((name, ctypes.c_double) for name in ("multiplier", "offset")),
        ("turning", _doubles(27)),
        ("p_PJ", _doubles(3)),
        ("axis", _doubles(3)),
        ("spatial", _doubles(36)),
    ]


class _Beam(ctypes.Structure):
    """``kd_beam`` of arm_pass.c."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("D", "E", "m_O", "m")),
        *((name, ctypes.c_long) for name in ("n", "place", "has_rest")),
        ("R_LB", _doubles(9)),
        ("p_LoBo_L", _doubles(3)),
        ("mass", ctypes.c_double),
        ("length", ctypes.c_double),
        ("S", _doubles(3)),
        ("R2", _doubles(9)),
        ("rest", _doubles(36)),
    ]


class _Arm(ctypes.Structure):
    """``kd_arm`` of arm_pass.c."""

    _fields_ = [
        *((name, ctypes.c_long) for name in ("size", "joints", "bodies")),
        *((name, ctypes.c_void_p) for name in ("body", "beam", "rotor", "work", "ends", "motions")),
    ]


class CompiledPass:
    """Mass matrix and inertia forces of one arm; not for several threads at once."""

    def __init__(self, function: Any, model: ArmModel) -> None:
        """``function``: ``kd_arm_equations``."""
        self._function, self._size = function, model.size
        beams = [body.flexure for body in model.bodies if body.flexure is not None]
        longest = max((len(beam.m) for beam in beams), default=0)
        self._held: list[Any] = []  # what the C code points to must live as long as this
        bodies = (_Body * len(model.bodies))(*(_body(body, beams) for body in model.bodies))
        flexures = (_Beam * max(1, len(beams)))(*(self._beam(beam) for beam in beams))
        work = np.zeros(18 * model.size + 33 * longest)
        room = (work, np.zeros(6 * model.size * len(bodies)), np.zeros(9 * len(bodies)))
        pointers = [ctypes.addressof(bodies), ctypes.addressof(flexures), self._address(model.rotor)]
        self._arm = _Arm(model.size, model.n, len(bodies), *pointers, *map(self._address, room))
        self._held += [bodies, flexures]

    def __call__(self, x: Array, u: Array, gravity: Array) -> ArmEquations:
        """What ``arm.equations`` returns."""
        M, h = np.empty((self._size, self._size)), np.empty(self._size)
        inputs = [np.ascontiguousarray(array, dtype=float) for array in (x, u, gravity)]
        self._function(ctypes.byref(self._arm), *(ctypes.c_void_p(a.ctypes.data) for a in (*inputs, M, h)))
        return ArmEquations(M, h)

    def _beam(self, flexure: Flexure) -> _Beam:
        body = flexure.body
        addresses = [self._address(array) for array in (body.D, body.E, body.m_O, flexure.m)]
        beam = _Beam(*addresses, len(flexure.m), flexure.place.start, bool(flexure.rest.any()))
        beam.mass, beam.length = body.mass, body.length
        for name, array in (("R_LB", flexure.R_LB), ("p_LoBo_L", flexure.p_LoBo_L), ("rest", flexure.rest)):
            getattr(beam, name)[:] = array.ravel().tolist()
        beam.S[:], beam.R2[:] = body.S.tolist(), body.R2.ravel().tolist()
        return beam

    def _address(self, array: Array) -> int:
        """Address of a contiguous copy that stays."""
        kept = np.array(array, dtype=float, order="C")
        self._held.append(kept)
        return int(kept.ctypes.data)


def _body(body: ArmBody, beams: list[Flexure]) -> _Body:
    joint = body.joint
    number = next((i for i, beam in enumerate(beams) if beam is body.flexure), -1)
    slides, rigid = joint.kind == "prismatic", bool(body.spatial.any())
    result = _Body(joint.coordinate, joint.parent, slides, number, rigid)
    result.multiplier, result.offset = joint.multiplier, joint.offset
    result.turning[:] = np.concatenate([part.ravel() for part in body.turning]).tolist()
    result.p_PJ[:], result.axis[:] = body.p_PJ.tolist(), body.axis.tolist()
    result.spatial[:] = body.spatial.ravel().tolist()
    return result


def compiled_pass(model: ArmModel) -> CompiledPass | None:
    """The compiled equations; None without a C compiler, and for ``stiffened`` links."""
    if any(body.flexure is not None and body.flexure.stiffened for body in model.bodies):
        return None
    function = shared_function(SOURCE, "kd_arm_equations", None)
    return None if function is None else CompiledPass(function, model)
