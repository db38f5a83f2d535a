"""The seam between a plant (ours or MuJoCo's) and everything around it, and the room's errors."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.errors import KaneDynamicsError, singular_mass_matrix
from kane_dynamics_ros.runtime import JointInfo, Payload

_RELATIVE_PIVOT = 1e-13  # of M_ii; rounding in M leaves a few 1e-16


class SimulationError(KaneDynamicsError):
    """The simulated arm cannot be as asked.

    Codes: ``option``, of the plant, an actuator, a sensor or a fault (``option``, ``found``, ``allowed``);
    ``command_length`` (``found``); ``body``, a link that is no moving body of the model (``found``,
    ``known``); ``fixed_inertia``, a mismatch of a model whose masses are built in; ``engine``, MuJoCo cannot
    simulate this arm.
    """

    found: object
    allowed: str


class SimulationDivergedError(KaneDynamicsError):
    """The state left the finite numbers; ``time`` [s], ``joint``, ``time_step`` [s]."""


def option_error(option: str, found: object, allowed: str) -> SimulationError:
    """An option has a value that makes no sense."""
    message = f"simulation option {option}: found {found!r}; allowed: {allowed}"
    return SimulationError(message, "option", option=option, found=found, allowed=allowed)


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

    joints: tuple[JointInfo, ...]
    time_step: float  # [s]

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
        joint = engine.joints[int(np.argmin(finite))].name
        raise SimulationDivergedError(
            f"the simulated arm diverged at {time:.6g} s, first at joint {joint!r}: its state is not finite "
            f"any more; use a step shorter than {engine.time_step:g} s, softer controller gains, or a rotor "
            "inertia on that joint",
            time=time,
            joint=joint,
            time_step=engine.time_step,
        )


def refuse_singular(M: Array, names: Sequence[str], locked: Mask) -> None:
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


def require(option: str, found: float, *, above: float = -math.inf, least: float = -math.inf) -> None:
    """Raise ``SimulationError`` unless ``found`` is finite, above ``above`` and at least ``least``."""
    if not (math.isfinite(found) and found > above and found >= least):
        raise option_error(
            option, found, f"finite and {f'>= {least:g}' if math.isfinite(least) else f'> {above:g}'}"
        )
