"""Errors of the elastic room."""

from collections.abc import Sequence

from kane_dynamics_ros.errors import KaneDynamicsError


class ElasticValueError(KaneDynamicsError):
    """A property of an elastic link is missing or out of range."""

    def __init__(self, where: str, name: str, found: object, allowed: str) -> None:
        self.where, self.name, self.found, self.allowed = where, name, found, allowed
        super().__init__(f"{where}: {name}: found {found!r}; {allowed}")


class UnknownElasticLinkError(KaneDynamicsError):
    """An elastic description names a link that no moving body of the chain has."""

    def __init__(self, where: str, found: str, known: Sequence[str]) -> None:
        self.where, self.found, self.known = where, found, tuple(known)
        super().__init__(
            f"{where}: elastic link {found!r}: no moving body of the chain has this name; "
            f"the bodies are {', '.join(map(repr, known))}"
        )


class UnreachableMechanismError(KaneDynamicsError):
    """The loop of the mechanism cannot be closed at this position."""

    def __init__(self, crank: float, slider: float, distance: float, low: float, high: float) -> None:
        self.crank, self.slider, self.distance = crank, slider, distance
        super().__init__(
            f"the loop does not close at crank angle {crank:.6g} rad and slide {slider:.6g} m: B and D are "
            f"{distance:.6g} m apart; the lever and the pendulum reach from {low:.6g} m to {high:.6g} m"
        )


class NoElasticLinkError(KaneDynamicsError):
    """An elastic arm was asked for, and nothing says which link bends."""

    def __init__(self, robot: str, file: str | None) -> None:
        self.robot, self.file = robot, file
        where = "the URDF has no <elastic> element" if file is None else f"{file} names no link"
        super().__init__(
            f"robot {robot!r}: no elastic link: {where}; "
            "add <elastic> to a link, or name a YAML file of links"
        )


class OtherRobotError(KaneDynamicsError):
    """The URDF and the generated model are of different robots, or of different joints of one."""

    def __init__(self, model: str, expected: str, found: str) -> None:
        self.model, self.expected, self.found = model, expected, found
        super().__init__(
            f"the URDF is not the one that model {model!r} was generated from: found physics hash {found}, "
            f"the model's is {expected}; give that URDF, or generate the model again (locked joints are not "
            "supported with elastic links)"
        )
