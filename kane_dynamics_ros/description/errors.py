"""What is wrong with a URDF, said so that its owner can mend it: where, what was found, what to do."""

from collections.abc import Iterable
from typing import NamedTuple

from kane_dynamics_ros.description.model import Finding
from kane_dynamics_ros.errors import KaneDynamicsError


class Place(NamedTuple):
    """Where something is: file, line and element; each may be unknown."""

    file: str | None = None
    line: int | None = None
    element: str | None = None

    def __str__(self) -> str:
        file = "<text>" if self.file is None else self.file
        where = file if self.line is None else f"{file}:{self.line}"
        return where if self.element is None else f"{where}: {self.element}"


def listed(names: Iterable[str], most: int = 8) -> str:
    """Names quoted and separated by commas; beyond ``most`` of them only their number."""
    quoted = [repr(name) for name in names]
    rest = len(quoted) - most
    return ", ".join(quoted) if rest <= 0 else ", ".join(quoted[:most]) + f" and {rest} more"


class DescriptionError(KaneDynamicsError):
    """Base of this room's errors: a code of ``codes.CODES``, a place, what was found and what to do."""

    code: str

    def __init__(self, place: Place, found: str, remedy: str) -> None:
        self.place, self.found, self.remedy = place, found, remedy
        super().__init__(f"{place}: {found}; {remedy} [{self.code}]")

    @property
    def finding(self) -> Finding:
        """The same as a finding, for those who list findings."""
        return Finding(self.code, "error", f"{self.found}; {self.remedy}", *self.place)


class UnreadableFileError(DescriptionError):
    code = "KD101"

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(place, f"cannot be read: {reason}", "give the path of a URDF or xacro file")


class NotXmlError(DescriptionError):
    code = "KD102"

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(
            place, f"not well-formed XML: {reason}", "give URDF text, in UTF-8 if not declared otherwise"
        )


class TooLargeError(DescriptionError):
    code = "KD103"

    def __init__(self, place: Place, what: str, limit: int) -> None:
        super().__init__(
            place, f"too large: more than {limit} {what}", "a robot's URDF is far smaller: check the file"
        )


class DoctypeError(DescriptionError):
    code = "KD104"

    def __init__(self, place: Place) -> None:
        super().__init__(
            place,
            "has a document type declaration with entities or an external part, which are never read",
            "remove the <!DOCTYPE ...>",
        )


class XacroError(DescriptionError):
    code = "KD105"

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(place, f"xacro failed: {reason}", "try the file with the xacro command first")


class UnrunXacroError(DescriptionError):
    code = "KD106"

    def __init__(self, place: Place, what: str) -> None:
        self.is_tag = what.startswith("<xacro:")
        super().__init__(
            place,
            f"xacro that was not run: {what}",
            "expand it with the xacro command, or load the .xacro file itself",
        )


class NotUrdfError(DescriptionError):
    code = "KD107"

    def __init__(self, place: Place, tag: str) -> None:
        super().__init__(
            place, f"the outermost element is <{tag[:60]}>", "a URDF has <robot name='...'> there"
        )


class MissingError(DescriptionError):
    code = "KD201"

    def __init__(self, place: Place, what: str) -> None:
        super().__init__(place, f"{what} is missing or empty", "add it")


class DuplicateNameError(DescriptionError):
    code = "KD202"

    def __init__(self, place: Place, first_line: int | None) -> None:
        super().__init__(
            place, f"the name was given before, in line {first_line}", "names must be unique: rename one"
        )


class UndefinedLinkError(DescriptionError):
    code = "KD203"

    def __init__(self, place: Place, role: str, link: str) -> None:
        super().__init__(
            place, f"its {role} link {link!r} is not defined", f"add <link name={link!r}/> or mend the name"
        )


class SeveralRootsError(DescriptionError):
    code = "KD204"

    def __init__(self, place: Place, roots: Iterable[str]) -> None:
        super().__init__(
            place,
            f"several links have no parent: {listed(roots)}",
            "one root is allowed: join the others to it by joints",
        )


class LoopError(DescriptionError):
    code = "KD205"

    def __init__(self, place: Place, joints: Iterable[str]) -> None:
        super().__init__(
            place,
            f"joints form a loop: {listed(joints)}",
            "a URDF is a tree: remove the joint that closes the loop",
        )


class SeveralParentsError(DescriptionError):
    code = "KD206"

    def __init__(self, place: Place, joints: Iterable[str]) -> None:
        super().__init__(
            place,
            f"it is the child of several joints: {listed(joints)}",
            "a link has one parent (closed loops are not URDF): remove the others",
        )


class NoMovingJointError(DescriptionError):
    code = "KD207"

    def __init__(self, place: Place, root: str, tip: str | None) -> None:
        path = "in the whole robot" if tip is None else f"between the root {root!r} and the tip {tip!r}"
        super().__init__(
            place,
            f"no joint moves {path}",
            "a chain needs at least one revolute, continuous or prismatic joint that is not locked: choose "
            "another --tip",
        )


class UnknownJointTypeError(DescriptionError):
    code = "KD208"

    def __init__(self, place: Place, found: str, allowed: Iterable[str]) -> None:
        super().__init__(place, f"its type is {found!r}", f"allowed are {', '.join(allowed)}")


class MimicError(DescriptionError):
    code = "KD213"

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(place, f"its <mimic> cannot be followed: {reason}", "mend or remove the <mimic>")
