"""Errors of the simulated arm."""

import math
from collections.abc import Sequence

from kane_dynamics_ros.errors import KaneDynamicsError


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


def require_at_least(option: str, found: float, least: float) -> None:
    """Raise ``SimulationOptionError`` unless ``found`` is finite and at least ``least``."""
    if not (math.isfinite(found) and found >= least):
        raise SimulationOptionError(option, found, f"finite and >= {least:g}")


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
