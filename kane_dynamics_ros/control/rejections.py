"""Why a trajectory is refused: each message says where, what was found and what is allowed."""

from collections.abc import Sequence

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.text import named


class TrajectoryError(KaneDynamicsError):
    """Base of every reason to refuse a trajectory."""


class NoStateError(TrajectoryError):
    """There is no position to start from: no joint states yet, or a safety reaction is going on."""

    def __init__(self, fault: str | None) -> None:
        why = (
            "no joint states have come yet" if fault is None else f"the arm is in a safe state after {fault}"
        )
        super().__init__(f"{why}; send the trajectory again when the node controls the arm")


class NotActiveError(TrajectoryError):
    """No trajectory is followed now; ``why`` says what keeps the node from it, and how it comes back."""

    def __init__(self, why: str = "") -> None:
        super().__init__(f"the node is not active: {why}" if why else "the node is not active")


class NoEffectError(TrajectoryError):
    """Commands have no effect now."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; send the trajectory again when commands reach the arm")


class DuplicateJointError(TrajectoryError):
    """A joint is named twice."""

    def __init__(self, joint: str) -> None:
        super().__init__(f"joint {joint!r} is named twice in joint_names; each may be named once")


class UnknownTrajectoryJointError(TrajectoryError):
    """A joint that the model does not have."""

    def __init__(self, joint: str, known: Sequence[str]) -> None:
        super().__init__(f"unknown joint {joint!r}; the model's joints are {', '.join(map(repr, known))}")


class MissingJointsError(TrajectoryError):
    """Some joints are not named, and partial goals are not allowed."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(
            f"{named('joint', missing)} missing; name every joint, or set "
            "trajectory.allow_partial to true: joints that are not named then hold their position"
        )


class WrongLengthError(TrajectoryError):
    """A field of a point has the wrong number of values."""

    def __init__(self, index: int, field: str, found: int, joints: int) -> None:
        allowed = f"{joints}" if field == "positions" else f"0 or {joints}"
        super().__init__(
            f"point {index}: {field} has {found} values; allowed are {allowed}, one for each name in "
            "joint_names"
        )


class NonFinitePointError(TrajectoryError):
    """A value of a point is NaN or infinite."""

    def __init__(self, index: int, field: str, joint: str) -> None:
        super().__init__(f"point {index}: {field} of joint {joint!r} is not finite")


class AccelerationWithoutVelocityError(TrajectoryError):
    """A point carries accelerations and no velocities: no interpolation is defined for it."""

    def __init__(self, index: int) -> None:
        super().__init__(f"point {index}: accelerations without velocities; give both, or neither")


class TimeNotIncreasingError(TrajectoryError):
    """time_from_start does not increase strictly from 0 on."""

    def __init__(self, index: int, found_ns: int, previous_ns: int | None) -> None:
        allowed = (
            "0 or more" if previous_ns is None else f"more than {previous_ns * 1e-9:.9f} s (point before)"
        )
        super().__init__(f"point {index}: time_from_start is {found_ns * 1e-9:.9f} s; allowed is {allowed}")


class AlreadyPastError(TrajectoryError):
    """The whole trajectory lies in the past."""

    def __init__(self, age_ns: int) -> None:
        super().__init__(
            f"the last point's time is {age_ns * 1e-9:.3f} s in the past; stamp the header with a later "
            "start, or with 0 to start at reception"
        )


class MovingAtTheEndError(TrajectoryError):
    """The last point has a velocity."""

    def __init__(self, index: int, joint: str, found: float) -> None:
        super().__init__(
            f"point {index}, the last: velocity of joint {joint!r} is {found:g}; allowed is 0, unless "
            "trajectory.allow_nonzero_end_velocity is true"
        )


class OutsideLimitsError(TrajectoryError):
    """A position or velocity outside the URDF's limits, at a point or between points."""

    def __init__(
        self, quantity: str, joint: str, found: float, lower: float, upper: float, time: float
    ) -> None:
        super().__init__(
            f"{quantity} of joint {joint!r} reaches {found:g} at {time:.3f} s from the start; the limits "
            f"are {lower:g} to {upper:g}"
        )


class NoPointsError(TrajectoryError):
    """There is nothing to annotate."""

    def __init__(self) -> None:
        super().__init__("the trajectory has no points; efforts can be given to one point or more")


class TooManyPointsError(TrajectoryError):
    """The error asked for needs more points than allowed."""

    def __init__(self, max_points: int, error: float | None) -> None:
        within = "a hundredth of each joint's largest" if error is None else f"{error:g} of the true ones"
        super().__init__(
            f"linear efforts within {within} need more than {max_points} points; allow a larger error, or "
            "more points"
        )


class EffortBeyondLimitError(TrajectoryError):
    """The motion needs more effort than a joint has."""

    def __init__(self, joint: str, effort: float, limit: float, time: float) -> None:
        super().__init__(
            f"joint {joint!r} needs an effort of {effort:g} at {time:.3f} s from the start; the limit is "
            f"{limit:g}; move more slowly"
        )
