"""Errors about numbers, inertias and limits in a URDF, and about the chain that was asked for."""

import difflib
from collections.abc import Iterable, Sequence

from kane_dynamics_ros.description.errors import DescriptionError, Place, listed


class NotANumberError(DescriptionError):
    code = "KD301"

    def __init__(self, place: Place, attribute: str, text: str) -> None:
        comma = " (the decimal mark is a point, in every locale)" if "," in text else ""
        super().__init__(
            place, f"{attribute}={shortened(text)} is not a number", f"write it as in 0.5 or 5e-1{comma}"
        )


class OutOfRangeError(DescriptionError):
    code = "KD302"

    def __init__(self, place: Place, attribute: str, text: str, largest: float) -> None:
        super().__init__(
            place,
            f"{attribute}={shortened(text)}",
            f"numbers must be finite and at most {largest:g} in magnitude",
        )


class NegativeValueError(DescriptionError):
    code = "KD308"

    def __init__(self, place: Place, attribute: str, value: float) -> None:
        super().__init__(place, f"{attribute} is {value!r}", "it must be 0 or more")


class OrientationError(DescriptionError):
    code = "KD309"

    def __init__(self, place: Place, found: str) -> None:
        super().__init__(place, found, "give rpy (turns about X, Y, Z in rad), or one quaternion of length 1")


class NumberCountError(DescriptionError):
    code = "KD303"

    def __init__(self, place: Place, attribute: str, text: str, count: int) -> None:
        super().__init__(
            place,
            f"{attribute}={shortened(text)} has {len(text.split())} numbers",
            f"{count} are needed, separated by spaces",
        )


class ZeroAxisError(DescriptionError):
    code = "KD304"

    def __init__(self, place: Place, axis: Sequence[float]) -> None:
        super().__init__(
            place,
            f"its axis is {' '.join(map(repr, axis))}, which has no direction",
            "give a unit vector, as in 0 0 1",
        )


class NegativeMassError(DescriptionError):
    code = "KD401"

    def __init__(self, place: Place, mass: float) -> None:
        super().__init__(place, f"its mass is {mass!r} kg", "a mass is 0 or more")


class InertiaWithoutMassError(DescriptionError):
    code = "KD402"

    def __init__(self, place: Place, moments: Sequence[float]) -> None:
        super().__init__(
            place,
            f"its mass is 0 but its principal moments of inertia are {in_kg_m2(moments)}",
            "give the mass too, or neither (0 and 0: a massless frame)",
        )


class UnphysicalInertiaError(DescriptionError):
    code = "KD403"

    def __init__(self, place: Place, failed: str) -> None:
        super().__init__(
            place,
            f"no body has its inertia: {failed}",
            "each must be 0 or more and at most the sum of the other two: take the values from CAD afresh "
            "(about the centre of mass, along the axes of <inertial><origin>)",
        )


class NoInertiaMovedError(DescriptionError):
    code = "KD404"

    def __init__(self, place: Place, joint: str, bodies: Iterable[str]) -> None:
        super().__init__(
            place,
            f"joint {joint!r} moves no inertia: nothing that it carries ({listed(bodies)}) resists its "
            "motion, so the mass matrix is singular",
            "give the link an <inertial>, give the joint a rotor inertia, lock it "
            f"(--lock {joint}=0), or choose a --tip before it",
        )


class LimitOrderError(DescriptionError):
    code = "KD504"

    def __init__(self, place: Place, lower: float, upper: float) -> None:
        super().__init__(
            place, f"its lower limit {lower!r} is above its upper limit {upper!r}", "exchange them"
        )


class UnknownNameError(DescriptionError):
    code = "KD601"

    def __init__(self, place: Place, kind: str, found: str, known: Iterable[str]) -> None:
        names = list(known)
        near = difflib.get_close_matches(found, names[:1000], n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        super().__init__(
            place, f"there is no {kind} {found!r}", f"{hint}its {kind}s are {listed(names, most=40)}"
        )


class UnsupportedJointError(DescriptionError):
    code = "KD605"

    def __init__(self, place: Place, kind: str, joint: str) -> None:
        super().__init__(
            place,
            f"{kind} joints are not part of a serial chain",
            "choose a --tip whose chain avoids it, lock it at its origin "
            f"(--lock {joint}=0), or use a URDF with a fixed base",
        )


class LockError(DescriptionError):
    code = "KD610"

    def __init__(self, place: Place, value: float, reason: str) -> None:
        super().__init__(place, f"it cannot be locked at {value!r}", reason)


def in_kg_m2(moments: Sequence[float]) -> str:
    """Moments of inertia as a message gives them."""
    return ", ".join(f"{moment:.6g}" for moment in moments) + " kg m^2"


def shortened(text: str, most: int = 60) -> str:
    """``text`` quoted, cut after ``most`` characters."""
    return repr(text if len(text) <= most else text[:most] + "...")
