"""What can be wrong with the input of an identification; each message says what to do about it."""

from collections.abc import Sequence

from kane_dynamics_ros.errors import KaneDynamicsError


class SolverMissingError(KaneDynamicsError):
    """The optional solver of semidefinite programs is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "identify needs the solver Clarabel, which is not installed: pip install '.[identify]' in a "
            "checkout, or pip install clarabel"
        )


class SolverFailedError(KaneDynamicsError):
    """The solver found no parameters that satisfy every constraint."""

    def __init__(self, status: str, constraints: Sequence[str]) -> None:
        asked = ", ".join(constraints) or "none beyond physical consistency"
        super().__init__(
            f"the solver stopped with {status!r}: no parameters meet every constraint (asked for: {asked}); "
            "loosen or leave out what was asked for"
        )


class NoEffortError(KaneDynamicsError):
    """No joint measures anything."""

    def __init__(self, bags: Sequence[str]) -> None:
        super().__init__(
            f"{', '.join(bags)}: the measured effort of every joint is constant; nothing can be identified. "
            "Have the driver or joint_state_broadcaster publish measured efforts, and record again"
        )


class NothingToJudgeError(KaneDynamicsError):
    """No samples are left on one side of the split."""

    def __init__(self, part: str, seconds: float) -> None:
        super().__init__(
            f"{seconds:.3g} s of motion leave nothing {part}; record longer, or give other bags to --validate"
        )


class EffortScaleError(KaneDynamicsError):
    """An effort scale that cannot be used."""

    def __init__(self, found: str, joints: Sequence[str]) -> None:
        super().__init__(
            f"--effort-scale {found!r}: give one number for all joints, or JOINT=NUMBER with a number other "
            f"than 0 and a joint of {', '.join(map(repr, joints))}"
        )


class PayloadError(KaneDynamicsError):
    """A payload of a bag that cannot be read."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"--payload {found!r}: give BAG=MASS or BAG=MASS,X,Y,Z, with the mass in kg and its centre in "
            "the tip frame in m"
        )


class UrdfTextError(KaneDynamicsError):
    """A number of the URDF that cannot be found in its text."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}")


class NoTrajectoryFoundError(KaneDynamicsError):
    """No exciting trajectory meets the limits."""

    def __init__(self, broken: str) -> None:
        super().__init__(
            f"no trajectory within all limits was found; what remains broken: {broken}. Give the arm more "
            "room (--floor, --clearance, --range), or more time (--period)"
        )
