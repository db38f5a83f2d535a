"""The seam between a plant (ours or MuJoCo's) and everything around it, and the room's errors."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.errors import KaneDynamicsError, singular_mass_matrix
from kane_dynamics_ros.runtime import JointInfo, Payload

_RELATIVE_PIVOT = 1e-13  # of M_ii; rounding in M leaves a few 1e-16


class SimulationOptionError(KaneDynamicsError):
    """An option of the plant, an actuator, a sensor or a fault has a value that makes no sense."""

    def __init__(self, option: str, found: object, allowed: str) -> None:
        self.option, self.found, self.allowed = option, found, allowed
        super().__init__(f"simulation option {option}: found {found!r}; allowed: {allowed}")


class SimulationDivergedError(KaneDynamicsError):
    """The state left the finite numbers: the step is too long for what acts on the arm."""

    def __init__(self, time: float, joint: str, time_step: float) -> None:
        self.time, self.joint, self.time_step = time, joint, time_step
        super().__init__(
            f"the simulated arm diverged at {time:.6g} s, first at joint {joint!r}: its state is not finite "
            f"any more; use a step shorter than {time_step:g} s, softer controller gains, or a rotor inertia "
            "on that joint"
        )


class CommandLengthError(KaneDynamicsError):
    """A command does not have one value per joint."""

    def __init__(self, found: tuple[int, ...], n: int) -> None:
        self.found, self.n = found, n
        super().__init__(f"command: found shape {found}; allowed: one value per joint, ({n},)")


class EngineError(KaneDynamicsError):
    """A second engine cannot simulate this arm."""

    def __init__(self, found: str, remedy: str) -> None:
        self.found, self.remedy = found, remedy
        super().__init__(f"engine mujoco: {found}; {remedy}")


class UnknownBodyError(KaneDynamicsError):
    """A link name that is not one of the model's moving bodies."""

    def __init__(self, found: str, known: Sequence[str]) -> None:
        self.found, self.known = found, tuple(known)
        super().__init__(f"unknown body {found!r}; the model's bodies are {', '.join(map(repr, known))}")


class FixedInertiaError(KaneDynamicsError):
    """A mismatch was asked of a model whose masses and inertias are built in."""

    def __init__(self, model: str) -> None:
        self.model = model
        super().__init__(
            f"model {model!r} has its masses and inertias built in, so the plant cannot differ from them; "
            "generate it with --inertial runtime"
        )


class TipMotion(NamedTuple):
    """The tip frame in the root frame: orientation (3, 3), origin (3,) [m], velocity of the origin [m/s]."""

    R_RT: Array
    p_RoTo_R: Array
    v_To_R: Array


# from the tip's motion to the wrench (6,) on the arm: force, then torque about its origin, root axes
TipLoad = Callable[[TipMotion], Array]


class Engine(Protocol):
    """An arm that moves when efforts act on it. Arrays are (n,), in the order of ``joints``.

    ``q`` [rad or m] and ``qd`` [rad/s or m/s] are the true state, not what a sensor sees; they are
    the engine's own arrays: read them, do not write to them.
    """

    @property
    def joints(self) -> tuple[JointInfo, ...]: ...
    @property
    def time_step(self) -> float: ...  # [s]
    @property
    def q(self) -> Array: ...
    @property
    def qd(self) -> Array: ...

    def step(self, effort: Array) -> None:
        """Advance one time step under constant joint efforts [N m or N].

        Raises ``SimulationDivergedError`` when the next state is not finite; the state then stays.
        """

    def reset(self, q: Array, qd: Array) -> None:
        """Put the arm into a state."""

    def set_payload(self, payload: Payload) -> None:
        """Attach a body to the tip, or release it (mass 0); position and velocity stay."""

    def set_brake(self, effort: Array) -> None:
        """Dry friction of the joint brakes [N m or N]: 0 is open, infinity locks the joint."""

    def set_tip_load(self, load: TipLoad | None) -> None:
        """What touches the tip from the next step on, None for nothing; see ``contact``."""


def refuse_divergence(engine: Engine, q: Array, qd: Array, time: float) -> None:
    """Raise ``SimulationDivergedError`` when the next state, at ``time`` [s], is not finite."""
    finite = np.isfinite(q) & np.isfinite(qd)
    if not finite.all():
        raise SimulationDivergedError(time, engine.joints[int(np.argmin(finite))].name, engine.time_step)


def refuse_singular(M: Array, names: Sequence[str], locked: NDArray[np.bool_]) -> None:
    """Raise ``SingularMassMatrixError`` when M (n, n), without the locked joints, cannot be inverted.

    Cholesky's pivot of joint i is the inertia that resists it while the joints before it move freely
    and those after it stand still; a joint without one is named.
    """
    free = np.flatnonzero(~locked)
    S = M[np.ix_(free, free)].copy()
    scale = max(np.diag(S).max(initial=0.0), np.finfo(float).tiny)
    singular = []
    for k, joint in enumerate(free.tolist()):
        if S[k, k] <= max(_RELATIVE_PIVOT * M[joint, joint], np.finfo(float).eps * scale * _RELATIVE_PIVOT):
            singular.append(names[joint])
            continue
        S[k + 1 :, k + 1 :] -= np.outer(S[k + 1 :, k], S[k, k + 1 :]) / S[k, k]
    if singular:
        raise singular_mass_matrix(singular)


def require_at_least(option: str, found: float, least: float) -> None:
    """Raise ``SimulationOptionError`` unless ``found`` is finite and at least ``least``."""
    if not (math.isfinite(found) and found >= least):
        raise SimulationOptionError(option, found, f"finite and >= {least:g}")
